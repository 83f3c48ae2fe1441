"""A page's content in reading order: stretches of text rows, tables, contents, images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clew.indexing.parsers.pdf_aligned import AlignedTable, aligned_tables
from clew.indexing.parsers.pdf_columns import in_reading_order
from clew.indexing.parsers.pdf_contents import ContentsPage
from clew.indexing.parsers.pdf_lines import Row
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.pdf_ruled import RuledTable
from clew.indexing.parsers.pdf_textual import textual_tables
from clew.types import BBox

_MIN_IMAGE = 60.0
"""Images smaller than this (points, either side) are decoration."""
_BACKGROUND = 0.85
"""An image over more than this share of a page that has text is its background, or a scan under its own text."""


@dataclass(slots=True)
class TextRun:
    """Rows of one column, uninterrupted; ``right`` is the column's right edge."""

    rows: list[Row]
    right: float
    columns: int = 1

    @property
    def top(self) -> float:
        """Top edge."""
        return self.rows[0].y0


@dataclass(slots=True)
class Contents:
    """Rows of a printed table of contents."""

    rows: list[Row]


@dataclass(slots=True)
class Picture:
    """An image."""

    bbox: BBox


Element = TextRun | RuledTable | AlignedTable | Contents | Picture


@dataclass(slots=True)
class Page:
    """One page on its way from content to blocks."""

    content: PageContent
    ruled: list[RuledTable | AlignedTable]
    rows: list[Row]
    contents: ContentsPage | None = None
    elements: list[Element] = field(default_factory=list)
    offset: int = 0
    """The file's printed page numbers minus their positions."""

    @property
    def text_rows(self) -> list[Row]:
        """Rows of running text in reading order."""
        return [row for element in self.elements if isinstance(element, TextRun) for row in element.rows]


def arrange(page: Page, pictures: Sequence[BBox]) -> list[Element]:
    """The page's elements in reading order; wide tables and contents part the page into bands."""
    rows = page.rows
    bands: list[list[Row]] = []
    walls: list[tuple[float, Element]] = []
    if page.contents is not None:
        inside = rows[page.contents.first : page.contents.last + 1]
        walls.append((inside[0].y0, Contents(inside)))
        rows = rows[: page.contents.first] + rows[page.contents.last + 1 :]
    narrow: list[RuledTable | AlignedTable] = []
    for table in page.ruled:
        if table.bbox.x1 - table.bbox.x0 > 0.45 * page.content.width:
            walls.append((table.bbox.y0, table))
        else:
            narrow.append(table)
    walls.sort(key=lambda wall: wall[0])
    rest = list(rows)
    for y, _ in walls:
        bands.append([row for row in rest if (row.y0 + row.y1) / 2 < y])
        rest = [row for row in rest if (row.y0 + row.y1) / 2 >= y]
    bands.append(rest)
    elements: list[Element] = []
    for index, band in enumerate(bands):
        elements.extend(_band(band))
        if index < len(walls):
            elements.append(walls[index][1])
    loose: list[RuledTable | AlignedTable | Picture] = [*narrow, *(Picture(box) for box in pictures)]
    for element in sorted(loose, key=lambda e: e.bbox.y0):
        _insert(elements, element)
    return elements


def _band(rows: Sequence[Row]) -> list[Element]:
    elements: list[Element] = []
    stretches = in_reading_order(rows)
    for stretch in stretches:
        right = max(row.x1 for row in stretch)
        tables, rest = aligned_tables(stretch)
        walls = [table.bbox.y0 for table in tables]
        words: list[Row] = []
        for part in _parts(rest, walls):
            more, left = textual_tables(part)
            tables.extend(more)
            words.extend(left)
        rest = words
        for table in sorted(tables, key=lambda t: t.bbox.y0):
            above = [row for row in rest if row.y0 < table.bbox.y0]
            if above:
                elements.append(TextRun(above, right, len(stretches)))
            elements.append(table)
            rest = rest[len(above) :]
        if rest:
            elements.append(TextRun(rest, right, len(stretches)))
    return elements


def _parts(rows: Sequence[Row], walls: Sequence[float]) -> list[list[Row]]:
    """Rows cut where a table stands between them."""
    parts: list[list[Row]] = []
    rest = list(rows)
    for y in sorted(walls):
        parts.append([row for row in rest if row.y0 < y])
        rest = [row for row in rest if row.y0 >= y]
    parts.append(rest)
    return [part for part in parts if part]


def _box(element: Element) -> BBox:
    if isinstance(element, TextRun | Contents):
        rows = element.rows
        return BBox(min(r.x0 for r in rows), rows[0].y0, max(r.x1 for r in rows), max(r.y1 for r in rows))
    return element.bbox


def _insert(elements: list[Element], new: RuledTable | AlignedTable | Picture) -> None:
    """Puts an element before the first one of its column that lies below it, cutting a text run if need be."""
    box = new.bbox
    for index, element in enumerate(elements):
        other = _box(element)
        if other.x0 > box.x1 or other.x1 < box.x0 or other.y1 <= box.y0 + 2:
            continue
        if isinstance(element, TextRun):
            above = [row for row in element.rows if (row.y0 + row.y1) / 2 < box.y0]
            if above and len(above) < len(element.rows):
                below = TextRun(element.rows[len(above) :], element.right, element.columns)
                elements[index : index + 1] = [TextRun(above, element.right, element.columns), new, below]
                return
            if len(above) == len(element.rows):
                continue
        elements.insert(index, new)
        return
    elements.append(new)


def pictures_of(pages: Iterable[PageContent]) -> list[list[BBox]]:
    """Per page the images worth a block: neither decoration, nor backgrounds, nor what repeats on every page."""
    known = list(pages)
    repeated: Counter[tuple[int, ...]] = Counter()
    for page in known:
        repeated.update({_place(box) for box in page.images})
    result: list[list[BBox]] = []
    for page in known:
        area = page.width * page.height
        boxes = [
            box
            for box in _joined(page.images)
            if min(box.x1 - box.x0, box.y1 - box.y0) >= _MIN_IMAGE
            and not (page.words and (box.x1 - box.x0) * (box.y1 - box.y0) > _BACKGROUND * area)
            and repeated[_place(box)] < max(3, len(known) / 4)
        ]
        result.append(boxes[:50])
    return result


def _place(box: BBox) -> tuple[int, ...]:
    return tuple(round(edge / 3) for edge in (box.x0, box.y0, box.x1, box.y1))


def _joined(boxes: Sequence[BBox]) -> list[BBox]:
    """Strips of one image, which some programs write, as one box; boxes inside others go."""
    merged: list[BBox] = []
    for box in sorted(boxes[:2000], key=lambda b: (round(b.x0), b.y0)):
        last = merged[-1] if merged else None
        if last and abs(last.x0 - box.x0) < 2 and abs(last.x1 - box.x1) < 2 and box.y0 - last.y1 < 2:
            merged[-1] = BBox(last.x0, last.y0, last.x1, max(last.y1, box.y1))
        else:
            merged.append(box)
    return [
        box
        for box in merged
        if not any(
            o is not box and o.x0 <= box.x0 and o.y0 <= box.y0 and o.x1 >= box.x1 and o.y1 >= box.y1
            for o in merged[:300]
        )
    ]
