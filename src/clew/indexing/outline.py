"""Which lines of a text without markup are headings, and on which level.

Numbering and length make a line a candidate (:mod:`clew.indexing.numbering`); its neighbours decide. A candidate with
nothing below it before the next one of its rank is an entry of a list or of a printed table of contents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.indexing.numbering import dense_levels, is_heading_like, is_toc_line, is_toc_title, numbering_level

_LIST_RANK = 6
_MIN_EMPTY = 3
_KNOWN_TITLE = re.compile(
    r"^(?:[前序引绪]\s*[言论]|摘\s*要|声\s*明|释\s*义|后\s*记|结\s*[语论]|致\s*谢|参考文献|重[大要](?:事项)?提示|特别提示|楔\s*子|尾\s*声"
    r"|abstract|introduction|conclusions?|references|acknowledge?ments?|preface|foreword|summary|glossary)\s*$",
    re.I,
)
_SECTION_RANK = 3
_TOP = 0  # as high as the highest numbered heading of the text
_EMPHASIS_RANK = 13
_CAPITALS_RANK = 3
_ANY_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line as the outline sees it: ``alone`` where blank lines (or the page's ends) stand on both sides."""

    text: str
    alone: bool = False
    body: bool = False
    """Something that can be no heading (a table row, a piece of code)."""
    emphasis: int | None = None
    """Order of the line's look among those that stand out (0 is the most prominent); ``None``: ordinary text."""


def heading_levels(lines: Sequence[Line], *, emphasised: bool = False) -> dict[int, int]:
    """Level of each line that is a heading, by its index in ``lines``.

    ``emphasised``: the text sets its headings in another type, so below chapters and sections only lines with an
    ``emphasis`` can be headings, numbered or not.
    """
    ranks = {index: rank for index, line in enumerate(lines) if (rank := _rank(line, emphasised)) is not None}
    for run in _runs(ranks):
        for index in _entries(run, ranks, at_end=run[-1] == len(lines) - 1):
            del ranks[index]
    _drop_announced(lines, ranks)
    top = min((rank for rank in ranks.values() if rank != _TOP), default=_TOP)
    ranks = {index: top if rank == _TOP else rank for index, rank in ranks.items()}
    levels = dense_levels(ranks.values())
    return {index: levels[rank] for index, rank in ranks.items()}


def _rank(line: Line, emphasised: bool) -> int | None:
    text = line.text.strip()
    if line.body or not text or is_toc_line(text):
        return None
    rank = numbering_level(text)
    if rank is not None:
        plain = emphasised and line.emphasis is None and rank > _SECTION_RANK
        return rank if not plain and is_heading_like(text, numbered=True) else None
    if line.emphasis is not None:
        return _EMPHASIS_RANK + line.emphasis
    if not line.alone or not is_heading_like(text, numbered=False):
        return None
    if _KNOWN_TITLE.match(text) or is_toc_title(text):
        return _TOP
    words = re.findall(r"[A-Za-z]{2,}", text)
    if len(words) >= 2 and text.upper() == text and not re.search(r"[\u3400-\u9fff]", text):
        return _CAPITALS_RANK
    return None


def _runs(ranks: dict[int, int]) -> list[list[int]]:
    """Candidates that follow each other directly."""
    runs: list[list[int]] = []
    for index in ranks:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _entries(run: Sequence[int], ranks: dict[int, int], *, at_end: bool) -> list[int]:
    """Those of a run that are entries and no headings: they have nothing below them."""
    empty = [index for index, following in pairwise(run) if ranks[following] <= ranks[index]]
    if not empty:
        return []
    tail = len(run) - 1
    while tail and ranks[run[tail - 1]] < ranks[run[tail]]:
        tail -= 1
    if len(empty) >= _MIN_EMPTY:
        last_is_entry = _is_list_rank(ranks[run[-1]]) and ranks[run[-1]] == ranks[run[tail - 1]]
        return list(run) if at_end or last_is_entry else list(run[:tail])
    low = {ranks[index] for index in empty if _is_list_rank(ranks[index])}
    return [index for index in run if ranks[index] in low]


def _is_list_rank(rank: int) -> bool:
    """Whether the numbering is one that lists have as often as headings: ``1.``, ``(1)``, ``a)``."""
    return _LIST_RANK <= rank < _EMPHASIS_RANK


def _drop_announced(lines: Sequence[Line], ranks: dict[int, int]) -> None:
    """Of a title that occurs twice, once right in front of the other's chapter list, keep the later one.

    The last entry of a table of contents has text below it and looks like a heading; but its title comes again.
    """
    keys = {index: _ANY_SPACE.sub("", lines[index].text) for index in ranks}
    often = Counter(keys.values())
    toc = next((index for index, line in enumerate(lines[:400]) if is_toc_title(line.text)), None)
    if toc is None:
        return
    for index in list(ranks):
        if toc < index <= toc + 400 and often[keys[index]] > 1 and ranks[index] < _LIST_RANK:
            often[keys[index]] -= 1
            del ranks[index]
