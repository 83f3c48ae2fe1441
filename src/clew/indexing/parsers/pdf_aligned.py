"""Tables without ruling lines: rows and columns found by alignment, as in the statements of US filings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clew.indexing.parsers.pdf_lines import Row, box_around, words_text
from clew.indexing.parsers.pdf_page import Word
from clew.types import BBox, CellSpan

_CURRENCY = re.compile(r"(?:US|HK|A|C)?[$€£¥￥]$|(?:USD|EUR|RMB|CNY)$")
_NUMERIC = re.compile(
    r"(?:[$€£¥￥]\s*)?[(\-–—−+]?\s*(?:[$€£¥￥]\s*)?(?:\d[\d,]*(?:\.\d+)?|\.\d+)\s*[%％)xX†*]{0,3}(?:\s*%\)?)?"
    r"(?:\s*\(?[a-z1-9]\))?$|[—–\-−]+%?$|(?:NM|N/M|n/?a|N/A|nm|\*)$"
)
_DASH = re.compile(r"[$€£]?\s*[—–\-−]+$")
_TAIL = re.compile(r"[)%％]+$|\)\s*%$|pts?$|x$")
_YEAR = re.compile(r"(?:19|20)\d\d[*†]?$")
_FORECAST = re.compile(r"(?:19|20)\d\d\s?[AEFPQ]$|[1-4]Q\d\d$")
"""A year as analysts write it: actual, estimated …"""
_BULLET = re.compile(
    r"(?:[•●○▪■◦·–—\-*□☐☒]|[(（]?[0-9A-Za-z]{1,3}[).）]|\d{1,2}(?:\.\d{1,2})*|[一二三四五六七八九十]+、)$"
)
_MAX_FIGURE_WORDS = 4
"""A figure with its signs is at most so many words."""
_MAX_HEADERS = 9
_MAX_LOOSE = 6
"""So many rows without figures may stand between two rows with figures of one table."""


@dataclass(slots=True)
class Piece:
    """Words of one row that belong together: a label, a heading of a column, a figure with its sign and unit."""

    words: list[Word]
    x0: float
    x1: float
    text: str

    @property
    def numeric(self) -> bool:
        """Whether it is a figure, or the dash that stands for none."""
        return bool(_NUMERIC.match(self.text))

    @property
    def year(self) -> bool:
        """Whether it is a year, which heads a column more often than it fills one."""
        return bool(_YEAR.match(self.text))


@dataclass(slots=True)
class AlignedTable:
    """A table found by alignment; ``rows``, ``header_rows`` and ``spans`` as in :class:`clew.types.Table`."""

    bbox: BBox
    rows: list[list[str]]
    header_rows: int
    spans: list[CellSpan] = field(default_factory=list)
    columns: list[tuple[float, float]] = field(default_factory=list)


def pieces_of(row: Row) -> list[Piece]:
    """A row cut at wide gaps, and at narrower ones between figures; currency signs join the figure after them."""
    groups: list[list[Word]] = []
    for word in row.words:
        if not groups:
            groups.append([word])
            continue
        last = groups[-1][-1]
        gap = (word.x0 - last.x1) / max(min(word.size, last.size), 1)
        text = words_text(groups[-1]) if len(groups[-1]) <= _MAX_FIGURE_WORDS else ""
        if (_CURRENCY.match(text) and word.text[0] in "(-–—−0123456789.,") or (
            _TAIL.match(word.text) and _NUMERIC.match(text) and gap < 1.5
        ):
            joined = True
        elif _NUMERIC.match(text) and (_CURRENCY.match(word.text) or _NUMERIC.match(word.text)):
            joined = gap < 0.35
        elif _CURRENCY.match(word.text):
            joined = gap < 0.45
        else:
            joined = gap < 1.5
        if joined:
            groups[-1].append(word)
        else:
            groups.append([word])
    pieces = []
    for group in groups:
        text = words_text(group)
        if _NUMERIC.match(text) and len(group) > 1 and "  " not in text:
            text = text.replace("( ", "(").replace(" )", ")").replace("$ ", "$").replace(" %", "%")
        pieces.append(Piece(group, group[0].x0, max(w.x1 for w in group), text))
    return pieces


@dataclass(slots=True)
class _Line:
    row: Row
    pieces: list[Piece]

    @property
    def figures(self) -> list[Piece]:
        """Figures to the right of the label (all, where there is no label)."""
        found = [p for p in self.pieces[1:] if p.numeric]
        if self.pieces[0].numeric and (len(self.pieces) > 1 and found):
            found.insert(0, self.pieces[0])
        return found

    @property
    def data(self) -> bool:
        """Whether the row holds a label and figures, or several figures."""
        figures = self.figures
        if not figures or (_BULLET.match(self.pieces[0].text) and len(self.pieces) < 3):
            return False
        forecasts = sum(1 for p in self.pieces if _FORECAST.match(p.text))
        labels = len(self.pieces) - len(figures) - forecasts
        # Two tables side by side have two labels over their years.
        return not all(p.year for p in figures) or labels > max(1, (len(figures) + forecasts) // 3)

    @property
    def years(self) -> bool:
        """Whether all its figures are years."""
        figures = [p for p in self.pieces if p.numeric]
        return bool(figures) and all(p.year for p in figures)


def _bands(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    bands: list[tuple[float, float]] = []
    for x0, x1 in sorted(intervals):
        if bands and x0 < bands[-1][1] + 0.5:
            bands[-1] = (bands[-1][0], max(bands[-1][1], x1))
        else:
            bands.append((x0, x1))
    return bands


def _overlaps(piece: Piece, bands: Sequence[tuple[float, float]], slack: float = 0.0) -> list[int]:
    return [i for i, (x0, x1) in enumerate(bands) if piece.x0 < x1 + slack and piece.x1 > x0 - slack]


def _fits(line: _Line, bands: list[tuple[float, float]]) -> bool:
    """Whether most figures of the row stand in the columns so far."""
    figures = line.figures
    hits = sum(1 for p in figures if len(_overlaps(p, bands)) == 1)
    return hits * 2 >= len(figures)


def _prose(line: _Line, left: float, zone: float, right: float) -> bool:
    """Whether a row of one piece runs across the label and into the figures."""
    if len(line.pieces) > 1:
        return False
    piece = line.pieces[0]
    return piece.x0 < zone and piece.x1 > zone + 0.35 * (right - zone) and piece.x1 - piece.x0 > 0.5 * (right - left)


def _end(lines: Sequence[_Line], start: int) -> int:
    """Index after the last row of the table whose first row with figures is ``start``."""
    bands = _bands((p.x0, p.x1) for p in lines[start].figures)
    left = lines[start].pieces[0].x0
    end = start + 1
    index = start + 1
    loose = 0
    while index < len(lines):
        line, before = lines[index], lines[index - 1]
        gap = line.row.y0 - before.row.y1
        if gap > (6 if line.data and _fits(line, bands) else 3.2) * line.row.size:
            break
        if line.data:
            if not _fits(line, bands) and index - end < 1 and len(line.figures) != len(bands):
                bands_new = _bands([*bands, *((p.x0, p.x1) for p in line.figures)])
                if len(bands_new) < len(bands):
                    break
            elif not _fits(line, bands) and index - end >= 1:
                break
            merged = _bands([*bands, *((p.x0, p.x1) for p in line.figures)])
            if len(merged) < len(bands):
                break
            bands = merged
            end = index + 1
            loose = 0
        else:
            loose += 1
            prose = _prose(line, left, bands[0][0], bands[-1][1])
            if loose > _MAX_LOOSE or (prose and not _long_label(lines, index, bands)):
                break
        index += 1
    return end


def _long_label(lines: Sequence[_Line], index: int, bands: list[tuple[float, float]]) -> bool:
    """Whether a row that runs into the figures is the first line of the label of the next row."""
    line = lines[index]
    if index + 1 == len(lines) or line.pieces[0].text.endswith((".", "。", ":")):
        return False
    after = lines[index + 1]
    near = after.row.y0 - line.row.y1 < 0.5 * line.row.size and abs(after.row.x0 - line.row.x0) < 2 * line.row.size
    return near and after.data and _fits(after, bands) and line.row.x1 < bands[-1][0]


def _start(lines: Sequence[_Line], first: int, floor: int, zone: float, right: float) -> int:
    """Index of the first header row above the first row with figures."""
    top = first
    index = first - 1
    left = min(line.pieces[0].x0 for line in lines[first : first + 3])
    while index >= floor and first - index <= _MAX_HEADERS:
        line, below = lines[index], lines[index + 1]
        if below.row.y0 - line.row.y1 > 2.6 * line.row.size or _prose(line, left, zone, right):
            break
        size = line.row.size
        over = [p for p in line.pieces if p.x1 > zone and p.x0 > zone - 4 * size]
        if _centred(line, left, right):
            break  # the table's title
        outside = any(p.x0 > right + 6 * size for p in line.pieces)
        if outside:
            break
        if over and (len(line.pieces) > 1 or line.pieces[0].x0 > zone - 4 * size):
            top = index
        elif not (len(line.pieces) == 1 and line.pieces[0].x1 < zone and first - index <= 3):
            break
        index -= 1
    return top


def _centred(line: _Line, left: float, right: float) -> bool:
    """Whether a row of one piece stands in the middle of label and figures, in bold, capitals or brackets."""
    piece = line.pieces[0]
    middle = abs((piece.x0 + piece.x1) - (left + right)) / 2 < 1.5 * line.row.size
    marked = line.row.bold or piece.text.isupper() or piece.text.startswith("(")
    return len(line.pieces) == 1 and middle and marked


def _merge_wrapped(lines: list[_Line], headers: int, zone: float) -> list[list[_Line]]:
    """Rows of the table, each one or more lines: a label that goes on on the next line is one label."""
    groups: list[list[_Line]] = []
    for index, line in enumerate(lines):
        if groups and index > headers:
            before = groups[-1][-1]
            alone = len(before.pieces) == 1 and not before.pieces[0].numeric
            label = line.pieces[0].text
            close = line.row.y0 - before.row.y1 < 0.6 * line.row.size
            lower = label[:1].islower() or (label[:1] in "(（" and not line.pieces[0].numeric)
            single = len(line.pieces) == 1
            if groups[-1] and single and not line.pieces[0].numeric and line.pieces[0].x0 > zone and close:
                groups[-1].append(line)  # text that goes on in a column of text
                continue
            if close and lower and (alone or single) and not before.pieces[0].text.endswith((":", "：")):
                groups[-1].append(line)
                continue
        groups.append([line])
    return groups


def _table(lines: list[_Line], headers: int) -> AlignedTable | None:
    body = [line for line in lines[headers:] if line.data]
    bands = _bands((p.x0, p.x1) for line in body for p in line.figures)
    zone = bands[0][0]
    texts = [
        (p.x0, p.x1) for line in body for p in line.pieces[1:] if not p.numeric and not _overlaps(p, bands) and p.x0 > 0
    ]
    label_edge = max((line.pieces[0].x1 for line in body if not line.pieces[0].numeric), default=zone)
    extra = [band for band in _bands(t for t in texts if t[0] > min(label_edge, zone) - 1)
             if not any(band[0] < x1 and band[1] > x0 for x0, x1 in bands)]  # fmt: skip
    columns = sorted([*bands, *extra])
    rows: list[list[str]] = []
    spans: list[CellSpan] = []
    head_count = 0
    for group in _merge_wrapped(lines, headers, zone):
        cells = [""] * (len(columns) + 1)
        is_header = group[0] in lines[:headers]
        for line in group:
            for position, piece in enumerate(line.pieces):
                hit = _overlaps(piece, columns)
                label = position == 0 and not piece.numeric and (not hit or piece.x0 < columns[0][0] - 2)
                if (label and not is_header) or (not hit and piece.x1 <= columns[0][0]):
                    target = 0
                elif hit:
                    target = hit[0] + 1
                    if len(hit) > 1 and (is_header or not piece.numeric):
                        spans.append(CellSpan(len(rows), target, 1, len(hit)))
                    elif len(hit) > 1:
                        target = max(hit, key=lambda i: columns[i][1] if columns[i][1] <= piece.x1 + 3 else -1) + 1
                else:
                    middle = (piece.x0 + piece.x1) / 2
                    near = min(range(len(columns)), key=lambda i: abs(sum(columns[i]) / 2 - middle))
                    target = near + 1
                cells[target] = f"{cells[target]} {piece.text}".strip()
        rows.append(cells)
        head_count += is_header
    while head_count and not any(rows[head_count - 1][1:]):
        head_count -= 1  # "Current assets:" above the first figures heads no column
    spans = [span for span in spans if span.row < head_count or not rows[span.row][0]]
    bbox = box_around(line.row.bbox for line in lines)
    return AlignedTable(bbox, rows, head_count, spans, columns)


def aligned_tables(rows: Sequence[Row]) -> tuple[list[AlignedTable], list[Row]]:
    """Tables of figures among the rows of one text column, and the rows that belong to none.

    A table needs at least two rows with figures (three, where there is one column of figures only) that line up.
    """
    lines = [_Line(row, pieces_of(row)) for row in rows]
    tables: list[AlignedTable] = []
    rest: list[Row] = []
    floor = index = 0
    while index < len(lines):
        if not lines[index].data:
            index += 1
            continue
        end = _end(lines, index)
        body = [line for line in lines[index:end] if line.data]
        bands = _bands((p.x0, p.x1) for line in body for p in line.figures)
        if len(body) < (2 if len(bands) > 1 else 3):
            index = end
            continue
        zone = bands[0][0]
        start = _start(lines, index, floor, zone, bands[-1][1])
        table = _table(lines[start:end], index - start)
        if table is not None:
            tables.append(table)
            rest.extend(line.row for line in lines[floor:start])
            floor = end
        index = end
    rest.extend(line.row for line in lines[floor:])
    return tables, rest
