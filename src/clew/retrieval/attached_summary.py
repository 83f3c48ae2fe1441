"""What a summary of an attachment reads while its section summaries are not ready: the passages of the section that
the question names, else of the whole file, spread over its length as far as the budget goes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.text.tokenizing import tokenize
from clew.types import ParentChunk, Section

_NUMBER = re.compile(
    r"第[一二三四五六七八九十百\d]+[章节条部分篇]|\d+(?:\.\d+)+|\b(?:chapter|section|part)\s+[\divxlc]+\b", re.I
)
_MIN_SHARE = 0.6


def named_section(question: str, sections: Sequence[Section]) -> Section | None:
    """The section whose title (or number) the question names, the most specific one; None where it names none."""
    asked = set(tokenize(question))
    numbers = {number.casefold().replace(" ", "") for number in _NUMBER.findall(question)}
    best: tuple[float, int, Section] | None = None
    for section in sections:
        if not section.path:
            continue
        title = section.title.casefold()
        if any(title.replace(" ", "").startswith(number) for number in numbers):
            return section
        terms = set(tokenize(title))
        share = len(terms & asked) / len(terms) if terms else 0.0
        if share >= _MIN_SHARE and (best is None or (share, section.level) > best[:2]):
            best = (share, section.level, section)
    return best[2] if best else None


def spread(parents: Sequence[ParentChunk], budget: int) -> list[ParentChunk]:
    """Passages of at most ``budget`` tokens together, in reading order: all where they fit, else some from everywhere,
    the first one among them."""
    total = sum(parent.tokens for parent in parents)
    if total <= budget:
        return list(parents)
    chosen: list[ParentChunk] = []
    read = 0
    step = total / max(1, budget)
    wanted = 0.0
    left = budget
    for parent in parents:
        # The next passage is due once as much of the file has passed as its share of the budget stands for.
        if read >= wanted and parent.tokens <= left:
            chosen.append(parent)
            left -= parent.tokens
            wanted += parent.tokens * step
        read += parent.tokens
    return chosen
