"""DOCX: headings by style and outline level, numbering, lists, tables with merged cells, text boxes, images, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lxml import etree

from clew.indexing.parsers.base import BlockBuilder, one_line
from clew.indexing.parsers.docx_numbering import Numbering
from clew.indexing.parsers.docx_styles import ParagraphStyle, Styles
from clew.indexing.parsers.grids import Cell, table_from_cells
from clew.indexing.parsers.items import Item, Kind, Style, add_items
from clew.indexing.parsers.office import (
    RELATION_EMBED,
    RELATION_ID,
    Package,
    attribute,
    chart_text,
    child,
    descendants,
    local_name,
)
from clew.types import ParsedFile

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_DOCUMENT_TYPE = "/officeDocument"
_TRANSPARENT = frozenset(("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "AlternateContent", "Choice"))
_INLINE = _TRANSPARENT | {"hyperlink", "fldSimple", "r", "dir", "bdo"}
_MAX_NESTED_TABLES = 20


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a Word document. Raises FileFailedError where it is damaged, encrypted or empty."""
    package = Package(data, name)
    part = _main_part(package)
    reader = _Reader(package, part)
    body = child(package.xml(part), "body")
    items = list(reader.blocks(body)) if body is not None else []
    builder = BlockBuilder()
    add_items(items, builder)
    title = reader.title or _property_title(package, items)
    return builder.finish(name, MEDIA_TYPE, title=title)


def _main_part(package: Package) -> str:
    if "_rels/.rels" in package:
        for relation in package.xml("_rels/.rels"):
            if (relation.get("Type") or "").endswith(_DOCUMENT_TYPE):
                return (relation.get("Target") or "").lstrip("/")
    return "word/document.xml"


def _property_title(package: Package, items: Sequence[Item]) -> str:
    """The title property, where the document's beginning bears it out: it often is a template's."""
    if "docProps/core.xml" not in package:
        return ""
    title = one_line(next((str(e.text or "") for e in descendants(package.xml("docProps/core.xml"), "title")), ""))
    beginning = re.sub(r"\s", "", "".join(item.text for item in items[:30]))
    return title if title and re.sub(r"\s", "", title) in beginning else ""


@dataclass(slots=True)
class _Runs:
    """A paragraph's text and what else was found in it."""

    text: str = ""
    bold: int = 0
    italic: int = 0
    size: float = 0.0
    boxes: list[etree._Element] | None = None
    pictures: list[Item] | None = None
    notes: list[str] | None = None


class _Reader:
    """Reads the paragraphs and tables of a document in order."""

    def __init__(self, package: Package, part: str) -> None:
        self._package = package
        self._relations = package.relations(part)
        folder = part.rpartition("/")[0]
        self._styles = Styles(self._optional(f"{folder}/styles.xml"))
        self._numbering = Numbering(self._optional(f"{folder}/numbering.xml"))
        self._notes = {
            kind: self._note_texts(self._optional(f"{folder}/{kind}s.xml")) for kind in ("footnote", "endnote")
        }
        self.title = ""

    def _optional(self, part: str) -> etree._Element | None:
        return self._package.xml(part) if part in self._package else None

    def _note_texts(self, root: etree._Element | None) -> dict[str, str]:
        if root is None:
            return {}
        notes = {}
        for note in root:
            text = one_line(" ".join("".join(str(t.text or "") for t in descendants(p, "t")) for p in note))
            if text and attribute(note, "type") in (None, "normal"):
                notes[attribute(note, "id") or ""] = text
        return notes

    def blocks(self, container: etree._Element, depth: int = 0) -> Iterator[Item]:
        """The items of a body, cell or text box."""
        for element in _flattened(container):
            kind = local_name(element)
            if kind == "p":
                yield from self._paragraph(element, depth)
            elif kind == "tbl":
                yield from self._table(element, depth)

    def _paragraph(self, paragraph: etree._Element, depth: int) -> Iterator[Item]:
        properties = child(paragraph, "pPr")
        style = self._styles.of(properties)
        runs = _Runs(boxes=[], pictures=[], notes=[])
        self._read_runs(paragraph, runs, style)
        text = runs.text.strip()
        formula = next(descendants(paragraph, "oMathPara"), None)
        if style.is_contents:
            return
        if text:
            yield self._text_item(text, runs, style, properties, is_formula=formula is not None)
        yield from (runs.pictures or [])
        if depth < _MAX_NESTED_TABLES:
            for box in runs.boxes or []:
                yield from self.blocks(box, depth + 1)
        for note in runs.notes or []:
            yield Item(Kind.TEXT, note)

    def _text_item(
        self, text: str, runs: _Runs, style: ParagraphStyle, properties: etree._Element | None, *, is_formula: bool
    ) -> Item:
        label = self._numbering.label(style.list_id, style.list_level) if style.list_id else None
        shown = Style(
            bold=runs.bold >= 0.95 * len(text.replace(" ", "")),
            italic=runs.italic >= 0.95 * len(text.replace(" ", "")),
            size=runs.size,
            centred=attribute(child(properties, "jc"), "val") == "center" or style.centred,
        )
        if style.level is not None:
            heading = f"{label}{'' if label.endswith(('、', '）')) else ' '}{text}" if label and label != "-" else text
            return Item(Kind.HEADING, heading, shown, level=style.level)
        if style.is_title and not self.title and len(text) <= 200:
            self.title = one_line(text)
        if label:
            return Item(Kind.ITEM, f"{'  ' * style.list_level}{label} {text}", shown)
        if is_formula:
            return Item(Kind.FORMULA, text)
        return Item(Kind.CODE, text) if style.is_code else Item(Kind.TEXT, text, shown)

    def _read_runs(self, parent: etree._Element, runs: _Runs, style: ParagraphStyle) -> None:
        """Collects a paragraph's text. Deleted text, field codes and fallbacks of drawings are left out."""
        for element in parent:
            kind = local_name(element)
            if kind == "r":
                self._read_run(element, runs, style)
            elif kind in _INLINE:
                self._read_runs(element, runs, style)
            elif kind in ("oMath", "oMathPara"):
                runs.text += "".join(str(t.text or "") for t in descendants(element, "t"))

    def _read_run(self, run: etree._Element, runs: _Runs, style: ParagraphStyle) -> None:
        start = len(runs.text)
        for element in _flattened(run):
            kind = local_name(element)
            if kind == "t":
                runs.text += element.text or ""
            elif kind in ("tab", "ptab"):
                runs.text += "\t"
            elif kind in ("br", "cr"):
                runs.text += "" if attribute(element, "type") == "page" else "\n"
            elif kind == "noBreakHyphen":
                runs.text += "-"
            elif kind in ("drawing", "pict", "object"):
                self._read_drawing(element, runs)
            elif kind in ("footnoteReference", "endnoteReference"):
                note = self._notes[kind.removesuffix("Reference")].get(attribute(element, "id") or "")
                if note and runs.notes is not None:
                    runs.notes.append(note)
        added = len(re.sub(r"\s", "", runs.text[start:]))
        if added:
            bold, italic, size = self._styles.run(child(run, "rPr"), style)
            runs.bold += added * bold
            runs.italic += added * italic
            runs.size = max(runs.size, size)

    def _read_drawing(self, drawing: etree._Element, runs: _Runs) -> None:
        boxes = [e for e in descendants(drawing, "txbxContent") if not _in_fallback(e, drawing)]
        if runs.boxes is not None:
            runs.boxes += boxes
        alt = next((attribute(e, "descr") or attribute(e, "title") or "" for e in descendants(drawing, "docPr")), "")
        for picture in descendants(drawing, "blip", "imagedata", "chart"):
            if runs.pictures is None or _in_fallback(picture, drawing):
                continue
            target = self._relations.get(picture.get(RELATION_EMBED) or picture.get(RELATION_ID) or "")
            if target is None or target not in self._package:
                continue
            if local_name(picture) == "chart":
                text = "\n".join(filter(None, [one_line(alt), chart_text(self._package, target)]))
                runs.pictures.append(Item(Kind.CHART, text, payload=text.encode()))
            else:
                runs.pictures.append(Item(Kind.IMAGE, one_line(alt), payload=self._package.read(target)))

    def _table(self, table: etree._Element, depth: int) -> Iterator[Item]:
        rows = [row for row in _flattened(table) if local_name(row) == "tr"]
        cells = [[cell for cell in _flattened(row) if local_name(cell) == "tc"] for row in rows]
        if depth < _MAX_NESTED_TABLES and all(len(row) <= 1 for row in cells):
            for row in cells:  # a frame around text
                for inner in row:
                    yield from self.blocks(inner, depth + 1)
            return
        pictures: list[Item] = []
        grid = self._grid(rows, cells, depth, pictures)
        headers = 0
        for element in rows:
            if child(element, "trPr", "tblHeader") is None:
                break
            headers += 1
        yield Item(Kind.TABLE, table=table_from_cells(grid, header_rows=headers or None))
        yield from pictures

    def _grid(
        self,
        rows: Sequence[etree._Element],
        cells: Sequence[Sequence[etree._Element]],
        depth: int,
        pictures: list[Item],
    ) -> list[list[Cell]]:
        placed = [_columns(row, row_cells) for row, row_cells in zip(rows, cells, strict=True)]
        grid: list[list[Cell]] = []
        for index, row in enumerate(placed):
            line: list[Cell] = []
            at = 0
            for column, width, cell in row:
                merge = child(cell, "tcPr", "vMerge")
                if merge is not None and attribute(merge, "val") != "restart" and index:
                    at = column + width
                    continue  # covered from above
                if column > at and not line:
                    line.append(Cell("", columns=column - at))
                height = 1 + (_covered(placed[index + 1 :], column) if merge is not None else 0)
                line.append(Cell(self._cell_text(cell, depth, pictures), rows=height, columns=width))
                at = column + width
            grid.append(line)
        return grid

    def _cell_text(self, cell: etree._Element, depth: int, pictures: list[Item]) -> str:
        if depth >= _MAX_NESTED_TABLES:
            return "".join(str(t.text or "") for t in descendants(cell, "t"))
        parts = []
        for item in self.blocks(cell, depth + 1):
            if item.kind in (Kind.IMAGE, Kind.CHART):
                pictures.append(item)
            elif item.table is not None:
                parts += [" ".join(filter(None, row)) for row in item.table.rows]
            else:
                parts.append(item.text.strip())
        return " ".join(parts)


def _flattened(container: etree._Element) -> Iterator[etree._Element]:
    """Children, with what content controls, insertions and alternatives hold in their place."""
    for element in container:
        if local_name(element) in _TRANSPARENT:
            yield from _flattened(element)
        else:
            yield element


def _in_fallback(element: etree._Element, top: etree._Element) -> bool:
    parent = element.getparent()
    while parent is not None and parent is not top:
        if local_name(parent) in ("Fallback", "txbxContent"):
            return True
        parent = parent.getparent()
    return False


def _columns(row: etree._Element, cells: Sequence[etree._Element]) -> list[tuple[int, int, etree._Element]]:
    """Grid column and width of each cell of a row."""
    before = attribute(child(row, "trPr", "gridBefore"), "val")
    column = int(before) if before and before.isdigit() else 0
    placed = []
    for cell in cells:
        span = attribute(child(cell, "tcPr", "gridSpan"), "val")
        width = max(1, int(span)) if span and span.isdigit() else 1
        placed.append((column, width, cell))
        column += width
    return placed


def _covered(rows: Sequence[Sequence[tuple[int, int, etree._Element]]], column: int) -> int:
    """How many of the following rows a vertically merged cell at ``column`` covers."""
    count = 0
    for row in rows:
        cell = next((cell for at, _, cell in row if at == column), None)
        merge = child(cell, "tcPr", "vMerge")
        if merge is None or attribute(merge, "val") == "restart":
            break
        count += 1
    return count
