"""Drawn and aligned tables to table values: header rows, and tables that go on from the page before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.indexing.parsers.base import make_table
from clew.indexing.parsers.pdf_aligned import AlignedTable
from clew.indexing.parsers.pdf_ruled import RuledTable
from clew.types import CellSpan, Table

_MAX_HEADERS = 5
_FIGURE = re.compile(r"[(\-–—−+]?[$€£¥￥]?\s*(?:\d[\d,]*(?:\.\d+)?|\.\d+)\s*[%％)]{0,2}$|[—–\-−]+$")
_YEAR = re.compile(r"(?:19|20)\d\d$")
_SAME = 4.0

Drawn = RuledTable | AlignedTable


def _is_figure(cell: str) -> bool:
    return bool(_FIGURE.match(cell)) and not _YEAR.match(cell)


def header_rows(table: RuledTable) -> int:
    """How many of a ruled table's first rows head its columns."""
    rows = table.rows
    width = len(rows[0])
    figures = [i for i, row in enumerate(rows) if any(_is_figure(cell) for cell in row[1:])]
    if 0 in figures:
        return 0
    if figures:
        count = 1
        while count < min(figures[0], _MAX_HEADERS) and _heads(rows[count], rows[0]):
            count += 1
    else:
        filled = sum(1 for cell in rows[0] if cell)
        count = (
            1 if width > 2 and filled >= width - 1 - _covered(table, 0) and len(rows) > 1 else min(table.bold_rows, 1)
        )
    if count:
        for span in table.spans:
            if span.row < count and span.rows > 1 and span.row + span.rows <= _MAX_HEADERS and span.row == 0:
                count = max(count, min(span.rows, len(rows) - 1))
    return min(count, len(rows) - 1) if len(rows) > 1 else 0


def _heads(row: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a row under a header row belongs to the header: it names columns, and labels no row."""
    return any(row[1:]) and (not row[0] or row[0] == first[0])


def _covered(table: RuledTable, row: int) -> int:
    return sum(span.columns - 1 for span in table.spans if span.row == row)


class TableMaker:
    """Makes the table values of a file, page by page; remembers the last table for its continuation."""

    def __init__(self) -> None:
        self._drawn: Drawn | None = None
        self._header: list[list[str]] = []
        self._header_spans: list[CellSpan] = []

    def forget(self) -> None:
        """What follows continues no table."""
        self._drawn = None

    def make(self, drawn: Drawn, first_on_page: bool) -> Table:
        """The table's value; ``first_on_page``: nothing stands between it and the last table but a page break."""
        continued = first_on_page and self._drawn is not None and _continues(self._drawn, drawn)
        rows = [list(row) for row in drawn.rows]
        spans = list(drawn.spans)
        if not continued:
            headers = header_rows(drawn) if isinstance(drawn, RuledTable) else drawn.header_rows
            self._header = rows[:headers]
            self._header_spans = [s for s in spans if s.row + s.rows <= headers]
        elif rows[: len(self._header)] != self._header:
            shift = len(self._header)
            spans = [*self._header_spans, *(CellSpan(s.row + shift, s.column, s.rows, s.columns) for s in spans)]
            rows = [list(row) for row in self._header] + rows
        self._drawn = drawn
        return make_table(rows, header_rows=len(self._header), spans=spans, continued=continued)


def _continues(before: Drawn, after: Drawn) -> bool:
    if isinstance(before, RuledTable) and isinstance(after, RuledTable):
        left, right = before.columns, after.columns
        if len(left) != len(right):
            return False
        shift = right[0] - left[0]
        return all(abs(b - a - shift) <= _SAME for a, b in zip(left, right, strict=True))
    if isinstance(before, AlignedTable) and isinstance(after, AlignedTable):
        same = len(before.columns) == len(after.columns)
        return (
            same
            and after.header_rows == 0
            and all(abs(a[1] - b[1]) <= 3 * _SAME for a, b in zip(before.columns, after.columns, strict=True))
        )
    return False
