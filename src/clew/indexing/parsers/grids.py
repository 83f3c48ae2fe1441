"""Cells with row and column spans → the full grid of a :class:`~clew.types.Table`, and which rows are headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.indexing.parsers.base import make_table, one_line
from clew.types import CellSpan, Table

MAX_COLUMNS = 1_000
MAX_CELLS = 2_000_000
_MAX_HEADER_ROWS = 5

_YEAR_OR_DATE = re.compile(
    r"(?:19|20)\d{2}(?:\s*[年./\-–—~至]\s*(?:\d{1,4}|度)?)*(?:[月日./\-]\s*\d{0,2})*\s*(?:年度?|月|日|末|[EAFP])?"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul"
    r"|Aug|Sept?|Oct|Nov|Dec)\.?\s+\d{1,2}(?:,?\s*(?:19|20)\d{2})?|Q[1-4]|FY\s*\d{2,4}|第[一二三四1-4]季度|\d{1,2}月",
    re.I,
)
_NUMBER = re.compile(r"[(（\-−–+]?\s*[$€£¥￥]?\s*\d[\d,.]*\s*[)）]?\s*[%％]?")
_PREFIX_CELL = re.compile(r"^(?:US|HK|RMB|C|A)?[$€£¥￥]$|^[(（]$")
_SUFFIX_CELL = re.compile(r"^[)）]?[%％]?[)）]?$|^(?:pts|bps|x)$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as formats write it."""

    text: str
    rows: int = 1
    columns: int = 1
    header: bool = False


def table_from_cells(rows: Sequence[Sequence[Cell]], *, header_rows: int | None = None) -> Table:
    """The table of rows of cells; ``header_rows``: how many the format itself marks, ``None`` where it does not."""
    grid, spans = _placed(rows)
    _join_signs(grid)
    if header_rows is None:
        shown = [(i, [cell for cell in row if cell.text.strip()]) for i, row in enumerate(rows)]
        marked = _leading((i, all(cell.header for cell in row)) for i, row in shown if row)
        header_rows = marked if 0 < marked < len(rows) else guess_header_rows(grid)
    return make_table(grid, header_rows=header_rows, spans=spans)


def _placed(rows: Sequence[Sequence[Cell]]) -> tuple[list[list[str]], list[CellSpan]]:
    grid: list[list[str]] = []
    spans: list[CellSpan] = []
    open_until: dict[int, int] = {}  # column → first row that a cell from above no longer covers
    cells = 0
    for index, row in enumerate(rows):
        line: list[str] = []
        for cell in row:
            while open_until.get(len(line), 0) > index:
                line.append("")
            if len(line) >= MAX_COLUMNS:
                break
            column = len(line)
            width = max(1, min(cell.columns, MAX_COLUMNS - column))
            height = max(1, min(cell.rows, len(rows) - index))
            line += [one_line(cell.text), *[""] * (width - 1)]
            for covered in range(column, column + width):
                open_until[covered] = index + height
            if width > 1 or height > 1:
                spans.append(CellSpan(index, column, height, width))
        while open_until.get(len(line), 0) > index:
            line.append("")
        grid.append(line)
        cells += len(line)
        if cells > MAX_CELLS:
            break
    width = max((len(line) for line in grid), default=0)
    return [line + [""] * (width - len(line)) for line in grid], spans


def _join_signs(grid: list[list[str]]) -> None:
    """Currency signs, brackets and per cent signs in cells of their own (SEC filings) join their number."""
    for line in grid:
        filled = [column for column, text in enumerate(line) if text]
        for at, column in enumerate(filled):
            text = line[column]
            if _PREFIX_CELL.match(text) and at + 1 < len(filled):
                following = filled[at + 1]
                if re.match(r"[\d(（\-−–—.]", line[following]):
                    line[column], line[following] = text + line[following], ""
                    filled[at + 1] = column
            elif _SUFFIX_CELL.match(text) and at and re.search(r"[\d—–-]$|\)$", line[filled[at - 1]]):
                line[filled[at - 1]] += text
                line[column] = ""
                filled[at] = filled[at - 1]


def guess_header_rows(grid: Sequence[Sequence[str]]) -> int:
    """How many leading rows are headers where the format does not say: those before the first row with numbers.

    Years and dates are no numbers here. A table of words has one header row; one whose first row holds numbers
    (a form: name, value, name, value) has none.
    """
    filled = [index for index, row in enumerate(grid) if any(row)]
    for at, index in enumerate(filled[: _MAX_HEADER_ROWS + 1]):
        if any(is_data_number(cell) for cell in grid[index]):
            # "Operating expenses:" alone in its row belongs to the rows below it.
            while at and not any(grid[filled[at - 1]][1:]):
                at -= 1
            return filled[at - 1] + 1 if at else 0
    return filled[0] + 1 if len(filled) > 1 else 0


def is_data_number(text: str) -> bool:
    """Whether a cell holds a number that is neither a year nor a date."""
    text = text.strip()
    if not text or not any(character.isdigit() for character in text):
        return False
    return bool(_NUMBER.fullmatch(text)) and not _YEAR_OR_DATE.fullmatch(text)


def _leading(flags: Iterable[tuple[int, bool]]) -> int:
    """One past the index of the last of the leading true flags."""
    end = 0
    for index, flag in flags:
        if not flag:
            break
        end = index + 1
    return end
