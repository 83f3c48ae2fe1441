"""XLSX and CSV: a sheet becomes a section, each region of rows without a blank row between them a table; pictures,
charts and text boxes follow."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from clew.errors import EmptyFileError
from clew.indexing.parsers.base import BlockBuilder, clean_text, file_stem, one_line
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.grids import MAX_COLUMNS, Cell, table_from_cells
from clew.indexing.parsers.office import (
    RELATION_EMBED,
    RELATION_ID,
    Package,
    attribute,
    chart_text,
    child,
    children,
    descendants,
    local_name,
)
from clew.types import ParsedFile

CSV_TYPE = "text/csv"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_BUILT_IN_FORMATS = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0",
    38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 31: "yyyy-mm-dd", 57: "yyyy-mm", 58: "m-d",
}  # fmt: skip
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_MAX_ROWS = 1_048_576


def parse_csv(data: bytes, name: str) -> ParsedFile:
    """Blocks of a CSV or TSV file. Raises FileFailedError where it is empty or no text."""
    decoded = decode_text(data, name)
    text = clean_text(decoded.text)
    if not text.strip():
        raise EmptyFileError(f"{name}: the file is empty.")
    csv.field_size_limit(1_000_000_000)
    rows = [[Cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""), _dialect(text, name))]
    builder = BlockBuilder()
    _add_tables(rows, builder)
    return builder.finish(name, CSV_TYPE, warnings=filter(None, [decoded.warning]))


def _dialect(text: str, name: str) -> type[csv.Dialect]:
    class Found(csv.excel):
        """Excel's rules with the delimiter that the first lines have most alike."""

    unquoted = re.sub(r'"[^"]*"', "", text[:20_000])
    lines = [line for line in unquoted.split("\n") if line.strip()][:20] or [""]
    counts = {mark: min(line.count(mark) for line in lines) for mark in ",\t;|"}
    Found.delimiter = "\t" if name.lower().endswith(".tsv") else max(counts, key=lambda mark: counts[mark])
    return Found


def _add_tables(rows: Sequence[Sequence[Cell]], builder: BlockBuilder) -> None:
    region: list[Sequence[Cell]] = []
    for row in [*rows, []]:
        if any(cell.text.strip() for cell in row):
            region.append(row)
        elif region:
            _add_region(region, builder)
            region = []


def _add_region(region: Sequence[Sequence[Cell]], builder: BlockBuilder) -> None:
    filled = [[cell.text for cell in row if cell.text.strip()] for row in region]
    if len(region) == 1 or all(len(cells) == 1 for cells in filled):
        for cells in filled:
            builder.paragraph(" ".join(cells))
    else:
        builder.table(table_from_cells(region))


def parse_xlsx(data: bytes, name: str) -> ParsedFile:
    """Blocks of a workbook: stored values as they are shown; formulas that were never computed as formulas.

    Raises FileFailedError where it is damaged, encrypted or empty.
    """
    package = Package(data, name)
    workbook = package.xml("xl/workbook.xml")
    targets = package.relations("xl/workbook.xml")
    book = _Book(package, attribute(child(workbook, "workbookPr"), "date1904") in ("1", "true"))
    builder = BlockBuilder()
    for sheet in children(child(workbook, "sheets")):
        part = targets.get(sheet.get(RELATION_ID) or "", "")
        if part not in package or "sheet" not in part or attribute(sheet, "state") in ("hidden", "veryHidden"):
            continue
        root = package.xml(part)
        drawn = BlockBuilder()
        for drawing in descendants(root, "drawing"):
            _add_drawing(package, package.relations(part).get(drawing.get(RELATION_ID) or "", ""), drawn)
        add_sheet(attribute(sheet, "name") or "Sheet", book.rows(root), builder, drawn)
    return builder.finish(name, XLSX_TYPE, title=file_stem(name))


def add_sheet(
    name: str, rows: Sequence[Sequence[Cell]], builder: BlockBuilder, drawn: BlockBuilder | None = None
) -> None:
    """A sheet as a section: its tables, then what is drawn over them; nothing where it is empty."""
    inner = BlockBuilder()
    _add_tables(rows, inner)
    if drawn is not None:
        inner.attached(drawn.blocks, drawn.pictures, below=0)
    if len(inner):
        builder.heading(name, 1)
        builder.attached(inner.blocks, inner.pictures, below=1)


def _add_drawing(package: Package, part: str, builder: BlockBuilder) -> None:
    """Pictures, charts and text boxes of a sheet, in the order in which they were drawn."""
    if part not in package:
        return
    targets = package.relations(part)
    for shape in descendants(package.xml(part), "pic", "chart", "txBody"):
        if local_name(shape) == "txBody":
            lines = ("".join(str(t.text or "") for t in descendants(line, "t")) for line in descendants(shape, "p"))
            builder.paragraph("\n".join(lines))
            continue
        blip = next(descendants(shape, "blip"), None)
        target = targets.get(shape.get(RELATION_ID) or (blip.get(RELATION_EMBED) if blip is not None else None) or "")
        if target is None or target not in package:
            continue
        if local_name(shape) == "chart":
            text = chart_text(package, target)
            builder.chart(text, text.encode())
        else:
            alt = attribute(next(descendants(shape, "cNvPr"), None), "descr") or ""
            builder.image(one_line(alt), package.read(target))


@dataclass
class _Book:
    """Shared strings and number formats of a workbook."""

    package: Package
    from_1904: bool
    _strings: list[str] = field(init=False)
    _formats: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._strings = []
        if "xl/sharedStrings.xml" in self.package:
            root = self.package.xml("xl/sharedStrings.xml")
            self._strings = [_string(item) for item in root if local_name(item) == "si"]
        self._formats = list(self._read_formats())

    def _read_formats(self) -> Iterator[str]:
        if "xl/styles.xml" not in self.package:
            return
        root = self.package.xml("xl/styles.xml")
        own = {attribute(f, "numFmtId"): attribute(f, "formatCode") or "" for f in descendants(root, "numFmt")}
        for style in children(child(root, "cellXfs")):
            identifier = attribute(style, "numFmtId") or "0"
            yield own.get(identifier) or _BUILT_IN_FORMATS.get(int(identifier) if identifier.isdigit() else 0, "")

    def rows(self, sheet: etree._Element) -> list[list[Cell]]:
        """The rows of a sheet, with blank rows where numbers are skipped (never more than one in a row)."""
        spans, covered = _merged(sheet)
        rows: list[list[Cell]] = []
        last = 0
        for row in descendants(sheet, "row"):
            number = int(attribute(row, "r") or last + 1)
            if number > last + 1 and rows:
                rows.append([])
            last = number
            if attribute(row, "hidden") in ("1", "true"):
                continue
            rows.append(self._row(row, number, spans, covered))
        return rows

    def _row(
        self,
        row: etree._Element,
        number: int,
        spans: dict[tuple[int, int], tuple[int, int]],
        covered: set[tuple[int, int]],
    ) -> list[Cell]:
        cells: list[Cell] = []
        column = position = 0
        for element in row:
            reference = _REFERENCE.fullmatch(attribute(element, "r") or "")
            column = _column(reference[1]) if reference else column + 1
            if column > MAX_COLUMNS:
                break
            while position < column - 1:
                position += 1
                if (number, position) not in covered:
                    cells.append(Cell(""))
            position = column
            if (number, column) in covered:
                continue
            height, width = spans.get((number, column), (1, 1))
            cells.append(Cell(self._text(element), rows=height, columns=width))
            position = column + width - 1
        return cells

    def _text(self, cell: etree._Element) -> str:
        kind = attribute(cell, "t") or "n"
        if kind == "inlineStr":
            return _string(child(cell, "is"))
        value = child(cell, "v")
        formula = child(cell, "f")
        if value is None or value.text is None:
            return f"={formula.text}" if formula is not None and formula.text else ""
        if kind == "s":
            index = int(value.text)
            return self._strings[index] if 0 <= index < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value.text == "1" else "FALSE"
        if kind != "n":
            return value.text
        style = int(attribute(cell, "s") or 0)
        return format_value(value.text, self._formats[style] if style < len(self._formats) else "", self.from_1904)


def _merged(sheet: etree._Element) -> tuple[dict[tuple[int, int], tuple[int, int]], set[tuple[int, int]]]:
    """Merged ranges as top-left (row, column) → (rows, columns), and the positions that they cover."""
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    covered: set[tuple[int, int]] = set()
    for merge in descendants(sheet, "mergeCell"):
        corners = _REFERENCE.findall(attribute(merge, "ref") or "")
        if len(corners) != 2:
            continue
        (left, top), (right, bottom) = corners
        first = (int(top), _column(left))
        height = min(int(bottom), _MAX_ROWS) - first[0] + 1
        width = min(_column(right), MAX_COLUMNS) - first[1] + 1
        if height < 1 or width < 1 or height * width > 1_000_000 or len(covered) > 5_000_000:
            continue
        spans[first] = (height, width)
        covered.update((first[0] + i, first[1] + j) for i in range(height) for j in range(width) if (i, j) != (0, 0))
    return spans, covered


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _string(item: etree._Element | None) -> str:
    """A rich or plain string; phonetic guides are left out."""
    if item is None:
        return ""
    runs = (child(part, "t") if local_name(part) == "r" else part for part in item if local_name(part) in ("t", "r"))
    return one_line("".join(str(run.text or "") for run in runs if run is not None))


def format_value(raw: str, pattern: str, from_1904: bool = False) -> str:
    """A stored number as the sheet shows it: dates, per cent, thousands and decimals; other formats as stored."""
    try:
        number = float(raw)
    except ValueError:
        return raw
    shown = _LITERAL.sub("", pattern.split(";")[0])
    if re.search(r"[ymdhs年月日]", shown, re.I) and "general" not in shown.lower():
        return _date(number, shown.lower(), from_1904)
    decimals = len(shown.partition(".")[2].rstrip("%_ )").replace(",", "")) if "." in shown else 0
    if "%" in shown:
        return f"{number * 100:.{decimals}f}%"
    if "," in shown and "0" in shown:
        return f"{number:,.{decimals}f}"
    if re.fullmatch(r"[#0]*0(?:\.0+)?", shown):
        # A code such as 000059 keeps its zeros.
        places = shown.partition(".")[0].count("0") + (decimals + 1 if decimals else 0)
        return f"{number:0{places}.{decimals}f}"
    return f"{number:.15g}" if "e" not in f"{number:.15g}" or abs(number) >= 1e15 else f"{number:.15f}".rstrip("0")


def _date(number: float, pattern: str, from_1904: bool) -> str:
    epoch = datetime.datetime(1904, 1, 1) if from_1904 else datetime.datetime(1899, 12, 30)
    try:
        moment = epoch + datetime.timedelta(seconds=round(number * 86_400))
    except OverflowError:
        return f"{number:.15g}"
    has_date, has_time = bool(re.search(r"[yd年日]|mmm", pattern)), bool(re.search(r"[hs]", pattern))
    if not has_date:
        return moment.strftime("%H:%M:%S" if "s" in pattern else "%H:%M") if has_time else moment.strftime("%m-%d")
    if has_time and (moment.hour or moment.minute or moment.second):
        return moment.strftime("%Y-%m-%d %H:%M")
    return moment.strftime("%Y-%m" if "d" not in pattern and "日" not in pattern else "%Y-%m-%d")
