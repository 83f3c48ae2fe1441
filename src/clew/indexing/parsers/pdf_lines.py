"""Words to rows: what stands side by side on a page, and its text with spaces where a reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.indexing.parsers.base import is_wide
from clew.indexing.parsers.pdf_page import Word
from clew.types import BBox

_NUMBER_LABEL = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*\.?|第.{1,4}[章节節编篇条])$")
_FIRST_WIDE = "\u2e80"
"""No character before this one belongs to a script without spaces."""


@dataclass(slots=True)
class Row:
    """Words that stand side by side, from left to right."""

    words: list[Word]
    _text: str | None = None

    @property
    def x0(self) -> float:
        """Left edge."""
        return self.words[0].x0

    @property
    def x1(self) -> float:
        """Right edge."""
        return max(word.x1 for word in self.words)

    @property
    def y0(self) -> float:
        """Top edge."""
        return min(word.y0 for word in self.words)

    @property
    def y1(self) -> float:
        """Bottom edge."""
        return max(word.y1 for word in self.words)

    @property
    def size(self) -> float:
        """The font size of most of its characters."""
        return max(self.words, key=lambda word: len(word.text)).size

    @property
    def bold(self) -> bool:
        """Whether nearly all its characters are bold."""
        return sum(len(w.text) for w in self.words if w.bold) >= 0.9 * sum(len(w.text) for w in self.words)

    @property
    def italic(self) -> bool:
        """Whether nearly all its characters are italic."""
        return sum(len(w.text) for w in self.words if w.italic) >= 0.9 * sum(len(w.text) for w in self.words)

    @property
    def text(self) -> str:
        """The row's text."""
        if self._text is None:
            self._text = words_text(self.words)
        return self._text

    @property
    def bbox(self) -> BBox:
        """The rectangle around the words."""
        return BBox(self.x0, self.y0, self.x1, self.y1)


def words_text(words: Sequence[Word]) -> str:
    """Words of one row as text.

    Chinese typesetting leaves a narrow gap between Chinese characters and Latin words or digits: that is no space.
    """
    text = ""
    before: Word | None = None
    for word in words:
        if before is not None and _spaced(before, word, first=before is words[0]):
            text += " "
        text += word.text
        before = word
    return text


def _spaced(before: Word, word: Word, first: bool) -> bool:
    gap = (word.x0 - before.x1) / max(word.size, before.size)
    if before.text[-1] < _FIRST_WIDE and word.text[0] < _FIRST_WIDE:
        return word.spaced or gap > 0.2
    left, right = is_wide(before.text[-1]), is_wide(word.text[0])
    if left and right:
        return gap > 0.4 or (first and gap > 0.15 and bool(_NUMBER_LABEL.match(before.text)))
    if left or right:
        return gap > 0.6 or (first and gap > 0.1 and bool(_NUMBER_LABEL.match(before.text)))
    return word.spaced or gap > 0.2


def rows_of(words: Iterable[Word]) -> list[Row]:
    """Words grouped into rows from top to bottom; superscripts join the row that they stand beside."""
    rows: list[list[Word]] = []
    bounds: list[tuple[float, float]] = []
    for word in sorted(words, key=lambda w: (w.middle, w.x0)):
        best, share = -1, 0.5
        for index in range(len(rows) - 1, max(-1, len(rows) - 9), -1):
            top, bottom = bounds[index]
            overlap = min(bottom, word.y1) - max(top, word.y0)
            part = overlap / min(bottom - top, word.y1 - word.y0)
            if part > share:
                best, share = index, part
        if best < 0:
            rows.append([word])
            bounds.append((word.y0, word.y1))
        else:
            rows[best].append(word)
            if word.size > rows[best][0].size:  # the taller word says where the row is
                bounds[best] = (word.y0, word.y1)
    for row in rows:
        row.sort(key=lambda w: w.x0)
    rows.sort(key=lambda row: (max(row, key=lambda w: w.size).middle, row[0].x0))
    return [Row(row) for row in rows]


def segments_of(row: Row, gap: float = 1.5) -> list[Row]:
    """A row cut at gaps wider than ``gap`` times the font size."""
    parts: list[list[Word]] = [[row.words[0]]]
    edge = row.words[0].x1
    for word in row.words[1:]:
        if word.x0 - edge > gap * max(word.size, parts[-1][-1].size):
            parts.append([])
        parts[-1].append(word)
        edge = max(edge, word.x1)
    return [Row(part) for part in parts]


def box_around(boxes: Iterable[BBox]) -> BBox:
    """The smallest rectangle that holds all (at least one)."""
    known = list(boxes)
    return BBox(min(b.x0 for b in known), min(b.y0 for b in known), max(b.x1 for b in known), max(b.y1 for b in known))
