"""Reading order: a page's rows as one column, or as bands of columns that are read one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from clew.indexing.parsers.pdf_lines import Row, rows_of, segments_of
from clew.indexing.parsers.pdf_page import Word

_MIN_ROWS = 5
_GUTTER = 0.8
"""Least width of the space between two columns, in font sizes."""


def in_reading_order(rows: Sequence[Row], depth: int = 0) -> list[list[Row]]:
    """Rows grouped into stretches of one column each, in the order in which they are read.

    A stretch of rows is cut into two columns where a vertical gap runs through at least five rows and what
    stands on either side reads like running text (long lines of words, not figures).
    """
    if len(rows) < _MIN_ROWS or depth > 2:
        return [list(rows)] if rows else []
    found = _widest_stretch(rows)
    if found is None:
        return [list(rows)]
    first, last, gutter = found
    left: list[Word] = []
    right: list[Word] = []
    for row in rows[first:last]:
        for word in row.words:
            (left if (word.x0 + word.x1) / 2 < gutter else right).append(word)
    parts = in_reading_order(rows[:first], depth)
    for words in (left, right):
        parts.extend(in_reading_order(rows_of(words), depth + 1))
    return parts + in_reading_order(rows[last:], depth)


def _widest_stretch(rows: Sequence[Row]) -> tuple[int, int, float] | None:
    """First row, row after the last, and x of the longest gutter between columns of running text."""
    x0, x1 = min(row.x0 for row in rows), max(row.x1 for row in rows)
    best: tuple[int, int, float] | None = None
    for gutter in _candidates(rows, x0, x1):
        start = 0
        for index in range(len(rows) + 1):
            if index < len(rows) and not _crosses(rows[index], gutter):
                continue
            longest = index - start >= _MIN_ROWS and (best is None or index - start > best[1] - best[0])
            if longest and _two_columns(rows[start:index], gutter):
                best = (start, index, gutter)
            start = index + 1
    return best


def _candidates(rows: Sequence[Row], x0: float, x1: float) -> list[float]:
    """Middles of gaps inside rows that many rows share, away from the edges."""
    votes: dict[int, int] = {}
    for row in rows:
        parts = segments_of(row, _GUTTER)
        for before, after in pairwise(parts):
            low, high = int(before.x1 // 4) + 1, int(after.x0 // 4)
            for step in range(low, high + 1):
                votes[step] = votes.get(step, 0) + 1
    inside = {s: n for s, n in votes.items() if x0 + 0.2 * (x1 - x0) < 4 * s < x0 + 0.8 * (x1 - x0) and n >= 4}
    chosen: list[float] = []
    for step, _ in sorted(inside.items(), key=lambda item: -item[1]):
        if all(abs(4 * step - other) > 12 for other in chosen):
            chosen.append(4.0 * step)
        if len(chosen) == 4:
            break
    return chosen


def _crosses(row: Row, gutter: float) -> bool:
    return any(word.x0 < gutter - 1 and word.x1 > gutter + 1 for word in row.words) or _tight(row, gutter)


def _tight(row: Row, gutter: float) -> bool:
    """Whether the words on either side of the gutter stand as near as words of one line."""
    left = [w for w in row.words if w.x1 <= gutter + 1]
    right = [w for w in row.words if w.x0 >= gutter - 1]
    return bool(left and right) and right[0].x0 - left[-1].x1 < 0.6 * right[0].size


def _both(row: Row, gutter: float) -> bool:
    return row.x0 < gutter < row.x1


def _beside(rows: Sequence[Row], gutter: float) -> Sequence[Row]:
    """The rows from where both columns have begun to where one of them ends: below it the other may hold anything."""
    left = [index for index, row in enumerate(rows) if row.x0 < gutter]
    right = [index for index, row in enumerate(rows) if row.x1 > gutter]
    return rows[max(left[0], right[0]) : min(left[-1], right[-1]) + 1] if left and right else []


def _two_columns(rows: Sequence[Row], gutter: float) -> bool:
    rows = _beside(rows, gutter)
    both = [row for row in rows if _both(row, gutter)]
    if len(both) < 4:
        return False
    left = [w for row in rows for w in row.words if w.x1 <= gutter + 1]
    right = [w for row in rows for w in row.words if w.x0 >= gutter - 1]
    if _running_text(left) and _running_text(right):
        return True
    # A column of short lines beside running text has lines of its own, on other base lines; cells of a table have not.
    few, many = sorted((len(rows_of(left)), len(rows_of(right))))
    beside = few > 0.6 * many and (_running_text(left) or _running_text(right))
    return beside and 2 * sum(_shares_base(row, gutter) for row in both) < len(both)


def _shares_base(row: Row, gutter: float) -> bool:
    left = [w for w in row.words if w.x1 <= gutter + 1]
    right = [w for w in row.words if w.x0 >= gutter - 1]
    return bool(left and right) and abs(left[-1].y1 - right[0].y1) < 0.12 * right[0].size


def _running_text(words: Sequence[Word]) -> bool:
    rows = rows_of(words)
    if len(rows) < 4:
        return False
    x0, x1 = min(row.x0 for row in rows), max(row.x1 for row in rows)
    filled = sum(1 for row in rows if row.x1 - row.x0 > 0.7 * (x1 - x0))
    characters = [c for word in words for c in word.text]
    digits = sum(c.isdigit() for c in characters)
    per_row = len(characters) / len(rows)
    parted = sum(1 for row in rows if len(segments_of(row)) > 1)
    return parted < 0.2 * len(rows) and filled >= 0.5 * len(rows) and digits < 0.25 * len(characters) and per_row >= 14
