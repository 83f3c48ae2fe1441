"""PPTX: a slide becomes a page and a section with its title, text, tables, charts, images and notes."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from clew.indexing.parsers.base import BlockBuilder, file_stem, one_line
from clew.indexing.parsers.grids import Cell, table_from_cells
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
from clew.types import BBox, ParsedFile

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_POINTS_PER_EMU = 1 / 12_700
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("sldNum", "dt", "ftr", "hdr")


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a presentation. Raises FileFailedError where it is damaged, encrypted or empty."""
    package = Package(data, name)
    presentation = package.xml("ppt/presentation.xml")
    targets = package.relations("ppt/presentation.xml")
    builder = BlockBuilder()
    number = 0
    title = ""
    for slide in children(child(presentation, "sldIdLst")):
        part = targets.get(slide.get(RELATION_ID) or "", "")
        if part in package:
            number += 1
            heading = _Slide(package, part, number, builder).read()
            title = title or (heading if number == 1 else "")
    return builder.finish(name, MEDIA_TYPE, title=title or file_stem(name), pages=number or None)


class _Slide:
    """Reads one slide's shapes from top to bottom."""

    def __init__(self, package: Package, part: str, number: int, builder: BlockBuilder) -> None:
        self._package = package
        self._part = part
        self._number = number
        self._builder = builder
        self._relations = package.relations(part)

    def read(self) -> str:
        """Adds the slide's blocks; returns its title."""
        root = self._package.xml(self._part)
        shapes = list(_shapes(child(root, "cSld", "spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES and _text(shape)]
        title = one_line(" ".join(_text(shape) for shape in titles[:1]))
        # A slide without a title is a section all the same: what it says stays together.
        self._builder.heading(title or f"{self._number}", 1, self._number)
        for shape in sorted(shapes, key=_place):
            if shape not in titles[:1] and _placeholder(shape) not in _FURNITURE:
                self._shape(shape)
        self._notes()
        return title

    def _shape(self, shape: etree._Element) -> None:
        kind = local_name(shape)
        if kind == "pic":
            self._picture(shape)
        elif kind == "graphicFrame":
            self._frame(shape)
        else:
            self._paragraphs(shape)

    def _paragraphs(self, shape: etree._Element) -> None:
        items = []
        for paragraph in children(child(shape, "txBody")):
            if local_name(paragraph) != "p":
                continue
            text = _paragraph_text(paragraph)
            if text:
                level = int(attribute(child(paragraph, "pPr"), "lvl") or 0)
                items.append((level, text))
        if len(items) > 1 and _placeholder(shape) in ("body", "obj", ""):
            self._builder.list([f"{'  ' * level}- {text}" for level, text in items], self._number, _box(shape))
        else:
            self._builder.paragraph("\n".join(text for _, text in items), self._number, _box(shape))

    def _picture(self, shape: etree._Element) -> None:
        properties = next(descendants(shape, "cNvPr"), None)
        alt = one_line(attribute(properties, "descr") or "")
        blip = next(descendants(shape, "blip"), None)
        target = self._relations.get((blip.get(RELATION_EMBED) if blip is not None else None) or "")
        if target and target in self._package:
            self._builder.image(alt, self._package.read(target), self._number, _box(shape))

    def _frame(self, shape: etree._Element) -> None:
        table = next(descendants(shape, "tbl"), None)
        if table is not None:
            rows = [
                [
                    Cell(
                        _text(cell, "txBody"),
                        rows=int(attribute(cell, "rowSpan") or 1),
                        columns=int(attribute(cell, "gridSpan") or 1),
                    )
                    for cell in row
                    if local_name(cell) == "tc" and not (attribute(cell, "hMerge") or attribute(cell, "vMerge"))
                ]
                for row in table
                if local_name(row) == "tr"
            ]
            marked = attribute(child(table, "tblPr"), "firstRow") in ("1", "true")
            self._builder.table(table_from_cells(rows, header_rows=1 if marked else None), self._number, _box(shape))
        for chart in descendants(shape, "chart"):
            target = self._relations.get(chart.get(RELATION_ID) or "")
            if target and target in self._package:
                text = chart_text(self._package, target)
                self._builder.chart(text, text.encode(), self._number, _box(shape))

    def _notes(self) -> None:
        for target in self._relations.values():
            if "notesSlide" not in target or target not in self._package:
                continue
            for shape in _shapes(child(self._package.xml(target), "cSld", "spTree")):
                if _placeholder(shape) == "body":
                    self._builder.paragraph(_text(shape), self._number)


def _shapes(tree: etree._Element | None) -> Iterator[etree._Element]:
    for element in children(tree):
        kind = local_name(element)
        if kind == "grpSp":
            yield from _shapes(element)
        elif kind == "AlternateContent":
            yield from _shapes(child(element, "Choice"))
        elif kind in ("sp", "pic", "graphicFrame", "cxnSp"):
            yield element


def _placeholder(shape: etree._Element) -> str | None:
    """The kind of placeholder that a shape fills: ``""`` for a plain one, ``None`` where it is none."""
    holder = child(child(shape, "nvSpPr", "nvPr"), "ph")
    return None if holder is None else attribute(holder, "type") or ""


def _text(shape: etree._Element, body: str = "txBody") -> str:
    paragraphs = (p for p in children(child(shape, body)) if local_name(p) == "p")
    return "\n".join(filter(None, map(_paragraph_text, paragraphs)))


def _paragraph_text(paragraph: etree._Element) -> str:
    parts = []
    for element in paragraph.iter():
        kind = local_name(element)
        if kind == "t":
            parts.append(element.text or "")
        elif kind == "br":
            parts.append("\n")
    return "".join(parts).strip()


def _place(shape: etree._Element) -> tuple[float, float]:
    """Top and left edge; placeholders without a place of their own come first."""
    box = _box(shape)
    return (round(box.y0 / 12), box.x0) if box else (-1.0, 0.0)


def _box(shape: etree._Element) -> BBox | None:
    transform = next(descendants(shape, "xfrm"), None)
    offset, extent = child(transform, "off"), child(transform, "ext")
    if offset is None or extent is None:
        return None
    try:
        x, y = int(attribute(offset, "x") or 0), int(attribute(offset, "y") or 0)
        width, height = int(attribute(extent, "cx") or 0), int(attribute(extent, "cy") or 0)
    except ValueError:
        return None
    scale = _POINTS_PER_EMU
    return BBox(x * scale, y * scale, (x + width) * scale, (y + height) * scale)
