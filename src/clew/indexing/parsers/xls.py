"""XLS (Excel 97 to 2003), read by ``xlrd``; the same sections and tables as of XLSX."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterator

import xlrd

from clew.errors import DamagedFileError, EncryptedFileError
from clew.indexing.parsers.base import BlockBuilder, file_stem
from clew.indexing.parsers.grids import MAX_COLUMNS, Cell
from clew.indexing.parsers.spreadsheets import add_sheet, format_value
from clew.types import ParsedFile

MEDIA_TYPE = "application/vnd.ms-excel"

# What xlrd raises on broken files beside its own errors.
_FAULTS = (
    xlrd.XLRDError, xlrd.compdoc.CompDocError, OSError, AssertionError, NotImplementedError, struct.error, LookupError,
    ValueError, TypeError,
)  # fmt: skip


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a workbook. Raises FileFailedError where it is damaged, encrypted or empty."""
    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, logfile=_Nowhere())
    except _FAULTS as error:
        if "encrypted" in str(error).lower():
            raise EncryptedFileError(
                f"{name}: the workbook is protected with a password. Remove the password in Excel and add it again."
            ) from error
        raise DamagedFileError(
            f"{name}: the workbook is damaged ({error}). Open it in Excel and save it as XLSX."
        ) from error
    builder = BlockBuilder()
    for sheet in book.sheets():
        if sheet.visibility == 0:
            add_sheet(sheet.name, list(_rows(book, sheet)), builder)
    return builder.finish(name, MEDIA_TYPE, title=file_stem(name))


class _Nowhere:
    """Takes what xlrd would print."""

    def write(self, text: str) -> int:
        return len(text)


def _rows(book: xlrd.Book, sheet: xlrd.sheet.Sheet) -> Iterator[list[Cell]]:
    spans = {(top, left): (bottom - top, right - left) for top, bottom, left, right in sheet.merged_cells}
    covered = {
        (row, column)
        for (top, left), (height, width) in spans.items()
        for row in range(top, top + height)
        for column in range(left, left + width)
        if (row, column) != (top, left)
    }
    for row in range(sheet.nrows):
        info = sheet.rowinfo_map.get(row)
        if info is not None and info.hidden:
            continue
        cells = []
        for column, cell in enumerate(sheet.row(row)[:MAX_COLUMNS]):
            if (row, column) not in covered:
                height, width = spans.get((row, column), (1, 1))
                cells.append(Cell(_text(book, cell), rows=height, columns=width))
        yield cells


def _text(book: xlrd.Book, cell: xlrd.sheet.Cell) -> str:
    """The value as the sheet shows it."""
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#ERROR"))
    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        pattern = ""
        if cell.xf_index is not None and cell.xf_index < len(book.xf_list):
            known = book.format_map.get(book.xf_list[cell.xf_index].format_key)
            pattern = known.format_str if known is not None else ""
        if cell.ctype == xlrd.XL_CELL_DATE and not pattern:
            try:
                return str(datetime.datetime(*xlrd.xldate_as_tuple(cell.value, book.datemode)))
            except (xlrd.XLDateError, ValueError):
                return f"{cell.value:.15g}"
        return format_value(repr(cell.value), "" if pattern == "General" else pattern, book.datemode == 1)
    return str(cell.value)
