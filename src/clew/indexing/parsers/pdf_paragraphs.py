"""Rows to paragraphs and lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.indexing.parsers.base import is_wide, join_lines
from clew.indexing.parsers.pdf_lines import Row, box_around
from clew.types import BBox

_ITEM = re.compile(
    r"(?:[•●○▪■◦‣·□☐☒√►➢]\s*|[-–—*]\s+|[(（][0-9a-zA-Z一二三四五六七八九十]{1,3}[）)]|[①-⑳]|\d{1,2}[.、)）](?!\d)"
    r"|[一二三四五六七八九十]{1,3}、|[a-z][.)]\s)"
)
_SENTENCE_END = re.compile(r"[。！？；.!?;:：…][”」』）)\"’]*$")
_OPEN_END = re.compile(r"[^。！？!?.：:；;]$")


@dataclass(slots=True)
class Paragraph:
    """Rows that are one paragraph; ``item`` where it opens with a list marker."""

    rows: list[Row]
    item: bool = False

    @property
    def text(self) -> str:
        """The text with its lines joined."""
        return join_lines(row.text for row in self.rows)

    @property
    def bbox(self) -> BBox:
        """The rectangle around the rows."""
        return box_around(row.bbox for row in self.rows)


def line_pitch(rows: Sequence[Row]) -> float:
    """The usual distance between lines of running text, in font sizes."""
    steps: Counter[float] = Counter()
    for before, after in pairwise(rows):
        step = (after.y1 - before.y1) / max(after.size, 1)
        if 0.9 < step < 3 and abs(before.size - after.size) < 0.5:
            steps[round(step, 1)] += 1
    return steps.most_common(1)[0][0] if steps else 1.4


def paragraphs_of(rows: Sequence[Row], right: float | None = None, pitch: float | None = None) -> list[Paragraph]:
    """Paragraphs of one column's rows. ``right``: the column's right edge; ``pitch``: see :func:`line_pitch`."""
    if not rows:
        return []
    right = max(row.x1 for row in rows) if right is None else right
    pitch = line_pitch(rows) if pitch is None else pitch
    paragraphs = [Paragraph([rows[0]], bool(_ITEM.match(rows[0].text)))]
    for row in rows[1:]:
        current = paragraphs[-1]
        if _breaks(current, row, right, pitch):
            paragraphs.append(Paragraph([row], bool(_ITEM.match(row.text))))
        else:
            current.rows.append(row)
    return paragraphs


def _breaks(current: Paragraph, row: Row, right: float, pitch: float) -> bool:
    before = current.rows[-1]
    size = max(row.size, 1.0)
    step = (row.y1 - before.y1) / size
    if abs(row.size - before.size) > 0.15 * size or step > pitch * 1.45 + 0.2 or step < -0.5:
        return True
    if _ITEM.match(row.text) and (_room(before, row, right) or row.text[0] in "•●○▪■◦‣□☐☒►➢"):
        return True
    if row.bold != before.bold and (row.bold or _room(before, row, right)):
        return True
    if _room(before, row, right):
        return True
    indent = (row.x0 - before.x0) / size
    if len(current.rows) == 1:
        # The first line of a paragraph may be indented itself, or hang out before an item's other lines.
        return not current.item and indent > 0.8 and not (is_wide(row.text[0]) and indent < 1.5)
    return indent > 0.8


def _room(before: Row, row: Row, right: float) -> bool:
    """Whether the next line's first word would have fitted on the line before: then a person broke it there."""
    text = row.text
    if is_wide(text[0]):
        need = 2.2 * row.size
    else:
        first = re.split(r"[\s\u2e80-\uffff]", text, maxsplit=1)[0]
        need = (len(first) * 0.5 + 0.8) * row.size
    room = right - before.x1
    if _SENTENCE_END.search(before.text):
        return room > need + 0.3 * row.size
    # A ragged line without a full stop is more often only ragged.
    return room > need + (3 if is_wide(text[0]) else 8) * row.size


def goes_on(before: Paragraph, after: Paragraph, right: float) -> bool:
    """Whether a paragraph at the top of a page continues the last one of the page before."""
    last, first = before.rows[-1], after.rows[0]
    return (
        not after.item
        and bool(_OPEN_END.search(before.text))
        and abs(last.size - first.size) < 0.1 * first.size
        and last.bold == first.bold
        and right - last.x1 < 6 * last.size
        and first.x0 - min(row.x0 for row in before.rows) < 1.2 * first.size
    )


def first_sentence_end(text: str) -> int:
    """Index after the first sentence of a text; its length where it has only one."""
    match = re.search(r"[。！？!?；;][”」』）)\"]*|\.[”\")]*(?=\s)", text)
    return match.end() if match else len(text)
