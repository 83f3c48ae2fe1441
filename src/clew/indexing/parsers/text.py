"""Plain text: paragraphs by blank lines or line widths, headings by numbering, tables by tabs or pipes."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.errors import EmptyFileError
from clew.indexing.outline import Line, heading_levels
from clew.indexing.parsers.base import BlockBuilder, clean_text, join_lines, make_table, one_line
from clew.indexing.parsers.encodings import decode_text
from clew.types import BlockType, ParsedFile

MEDIA_TYPE = "text/plain"

_BULLET = re.compile(
    r"^\s*(?:[-*+•·●○■◆▪–—]\s+|[（(]?\d{1,3}[.、)）]\s*(?=\D)|[①-⑳]|[（(][一二三四五六七八九十]{1,3}[）)])"
)
_RULE = re.compile(r"^\s*([=\-_*~])\1{3,}\s*$")
_ENDS_SENTENCE = re.compile(r"[。！？!?；;：:…”」』）)]\s*$|[a-z0-9]\.[\"”']?\s*$")
# Lines that fill at least this share of the usual width were broken by the writer's margin, not by the writer.
_FULL_LINE = 0.75
_MIN_WRAP_WIDTH, _MAX_WRAP_WIDTH = 40, 130
_PAGE_RECORD_TYPES = {"text", "excel", "页眉", "页脚"}


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a text file. Raises FileFailedError where it is empty or no text."""
    if not data.strip():
        raise EmptyFileError(f"{name}: the file is empty.")
    decoded = decode_text(data, name)
    builder = BlockBuilder()
    records = _page_records(decoded.text)
    pages = None
    if records is not None:
        pages = _add_page_records(records, builder)
    else:
        add_text(decoded.text, builder)
    title = _first_line_title(builder)
    return builder.finish(name, MEDIA_TYPE, title=title, pages=pages, warnings=filter(None, [decoded.warning]))


def add_text(text: str, builder: BlockBuilder, page: int | None = None) -> None:
    """The blocks of a text without markup."""
    groups = list(_groups(clean_text(text.replace("\x0c", "\n\n"))))
    width = _wrap_width(groups)
    units = [unit for group in groups for unit in _units(group, width)]
    levels = heading_levels([Line(unit.text, unit.alone, body=unit.rows is not None) for unit in units])
    items: list[str] = []
    for index, unit in enumerate(units):
        if unit.item and index not in levels:
            items.append(unit.text)
            continue
        if items:
            builder.list(items, page)
            items = []
        if index in levels:
            builder.heading(unit.text, levels[index], page)
        elif unit.rows is not None:
            builder.table(make_table(unit.rows), page)
        else:
            builder.paragraph(unit.text, page)
    if items:
        builder.list(items, page)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, list item, possible heading or table."""

    text: str
    alone: bool = False
    item: bool = False
    rows: Sequence[Sequence[str]] | None = None


def _groups(text: str) -> Iterator[list[str]]:
    """Lines that no blank line separates."""
    group: list[str] = []
    for line in text.split("\n"):
        if line.strip(" \t\u3000"):
            group.append(line.rstrip())
        elif group:
            yield group
            group = []
    if group:
        yield group


def _wrap_width(groups: Sequence[Sequence[str]]) -> int | None:
    """The margin at which the file's lines were broken, if they were: the width that most full lines share."""
    inner = sorted(_width(line) for group in groups for line in group[:-1])
    if len(inner) < 5:
        return None
    widest = inner[int(len(inner) * 0.9)]
    full = sum(1 for width in inner if width >= _FULL_LINE * widest)
    if not _MIN_WRAP_WIDTH <= widest <= _MAX_WRAP_WIDTH or full < 0.5 * len(inner):
        return None
    return widest


def _width(line: str) -> int:
    return sum(2 if ord(character) >= 0x2E80 else 1 for character in line.strip()[:400])


def _units(group: list[str], wrap: int | None) -> Iterator[_Unit]:
    if len(group) == 2 and _RULE.match(group[1]) and len(group[0]) <= 120:
        group = group[:1]
    alone = len(group) == 1
    position = 0
    while position < len(group):
        rows = _table_rows(group, position)
        if len(rows) >= 2:
            yield _Unit("\n".join(group[position : position + len(rows)]), rows=[row for row in rows if row])
            position += len(rows)
            continue
        end = position + 1
        while end < len(group) and wrap is not None and _goes_on(group[end - 1], group[end], wrap):
            end += 1
        text = join_lines(group[position:end])
        if text and not _RULE.match(text):
            yield _Unit(text, alone=alone, item=bool(_BULLET.match(text)))
        position = end


def _goes_on(line: str, following: str, wrap: int) -> bool:
    """Whether a line was broken by the margin: it is full, and the next one is neither indented nor a list item."""
    width = _width(line)
    if width < _FULL_LINE * wrap or _BULLET.match(following):
        return False
    indent = len(following) - len(following.lstrip(" \t\u3000"))
    before = len(line) - len(line.lstrip(" \t\u3000"))
    if indent > before + 1:
        return False
    return width >= 0.95 * wrap or not _ENDS_SENTENCE.search(line)


def _table_rows(group: Sequence[str], start: int) -> list[list[str]]:
    """The rows of a table that begins at ``start``: lines with as many tabs, or between pipes."""
    rows: list[list[str]] = []
    tabs = group[start].strip().count("\t")
    pipes = group[start].strip().startswith("|") and group[start].count("|") >= 2
    for line in group[start:]:
        stripped = line.strip()
        if pipes and stripped.startswith("|"):
            cells = [cell.strip() for cell in stripped.strip("|").split("|")]
            rows.append([] if re.fullmatch(r"[-:=+|\s]+", stripped) else cells)
        elif pipes and re.fullmatch(r"[-+=]{3,}", stripped):
            rows.append([])
        elif not pipes and tabs and stripped.count("\t") == tabs:
            rows.append([cell.strip() for cell in stripped.split("\t")])
        else:
            break
    return rows


def _first_line_title(builder: BlockBuilder) -> str:
    """A short first line before any heading that stands in book quotes or on its own: the text's title."""
    blocks = builder.blocks
    if len(blocks) < 2 or blocks[0].type is not BlockType.PARAGRAPH:
        return ""
    text = blocks[0].text
    short = len(text) <= 40 and "\n" not in text and not _ENDS_SENTENCE.search(text)
    return text if short else ""


def _page_records(text: str) -> list[dict[str, object]] | None:
    """Lines of JSON with ``page``, ``type`` and ``inside``: how some tools store the text of a PDF."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not lines[0].lstrip().startswith("{") or '"inside"' not in lines[0]:
        return None
    records: list[dict[str, object]] = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            return None
        if not record:  # the last line of such files is often ``{}``
            continue
        if not isinstance(record, dict) or record.get("type") not in _PAGE_RECORD_TYPES:
            return None
        records.append(record)
    return records


def _add_page_records(records: Sequence[dict[str, object]], builder: BlockBuilder) -> int | None:
    """Text and table rows with their pages; running headers and footers go. Returns the number of pages."""
    shown = [record for record in records if record["type"] in ("text", "excel") and record.get("inside")]
    running = _running_headers(shown)
    shown = [r for r in shown if not (r["type"] == "text" and one_line(str(r["inside"])) in running)]
    levels = heading_levels([Line(str(r["inside"]), alone=True, body=r["type"] == "excel") for r in shown])
    position = 0
    while position < len(shown):
        record = shown[position]
        page, text = _page(record), str(record["inside"])
        if record["type"] == "excel":
            end = position
            while end < len(shown) and shown[end]["type"] == "excel" and _page(shown[end]) == page:
                end += 1
            builder.table(make_table([_cells(str(r["inside"])) for r in shown[position:end]]), page)
            position = end
            continue
        if position in levels:
            builder.heading(text, levels[position], page)
        else:
            builder.paragraph(text, page)
        position += 1
    return max((page for record in records if (page := _page(record)) is not None), default=None)


def _running_headers(records: Sequence[dict[str, object]]) -> set[str]:
    """Texts that begin most pages."""
    first: dict[int | None, str] = {}
    for record in records:
        if record["type"] == "text":
            first.setdefault(_page(record), one_line(str(record["inside"])))
    often = Counter(first.values())
    return {text for text, pages in often.items() if pages > max(3, 0.2 * len(first)) and len(text) <= 60}


def _page(record: dict[str, object]) -> int | None:
    page = record.get("page")
    return page if isinstance(page, int) and page > 0 else None


def _cells(row: str) -> list[str]:
    try:
        cells = ast.literal_eval(row)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [row]
    return [str(cell) for cell in cells] if isinstance(cells, list) else [row]
