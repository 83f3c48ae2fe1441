"""What all parsers share: the signature, clean text, content hashes and the builder of blocks.

A parser is a function ``parse(data: bytes, name: str) -> ParsedFile``. It returns blocks in reading order, without
sections (:mod:`clew.indexing.sections` adds them), and raises one of the :class:`~clew.errors.FileFailedError`
children with a reason that a person understands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from clew.errors import EmptyFileError
from clew.indexing.hashing import content_hash
from clew.types import BBox, Block, BlockType, CellSpan, ParsedFile, Picture, Table

__all__ = [
    "BlockBuilder",
    "Parser",
    "clean_text",
    "collapse",
    "content_hash",
    "detect_language",
    "file_stem",
    "flowing",
    "image_type",
    "is_wide",
    "join_lines",
    "make_table",
    "one_line",
    "row_text",
    "table_lines",
    "table_text",
]

Parser = Callable[[bytes, str], ParsedFile]

MAX_HEADING_LEVEL = 9
CELL_SEPARATOR = " | "
_MAX_REPEATED_CHARS = 40

_IMAGE_SIGNATURES = {
    b"\x89PNG\r\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
}
_LINE_ENDS = re.compile(r"\r\n?|[\u0085\u2028\u2029\x0b\x0c]")
# Control characters, lone surrogates, zero-width characters, soft hyphens, byte order marks, non-characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\u00ad\u200b\u200e\u200f\u2060\ufeff\ufffe\uffff]"
)
_ODD_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f]")
_RADICALS = re.compile("[\u2e80-\u2fdf\uf900-\ufaff]")
_SPACE_RUN = re.compile(r"[ \t\u3000]+")
_ANY_SPACE = re.compile(r"\s+")
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_WIDE_BREAK = re.compile(f"(?<=[{_WIDE}])[ \\t]*\\n\\s*(?=[{_WIDE}])")
_ONLY_RULES = re.compile(r"[\s_\-=*~\u2013\u2014\u2500-\u257f]{3,}")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_COVER_LINE = re.compile(
    r"(?:公司|集团|银行|报告(?:书|全文|摘要)?|年报|说明书|意向书|章程|合同|协议|办法|规定|手册|白皮书)(?:[（(].{1,10}[）)])?$"
)
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f]+")


def clean_text(text: str) -> str:
    """Text without characters that nobody sees: control and zero-width characters, odd spaces and line ends.

    Radicals and compatibility ideographs, which PDF fonts put where the ordinary character is meant, become the
    ordinary character. Line breaks stay (as ``\\n``), so do runs of spaces.
    """
    text = _LINE_ENDS.sub("\n", text)
    text = _INVISIBLE.sub("", text)
    text = _ODD_SPACES.sub(" ", text)
    if _RADICALS.search(text):
        text = _RADICALS.sub(lambda m: unicodedata.normalize("NFKC", m.group()), text)
    return text


def one_line(text: str) -> str:
    """``clean_text`` with every run of white space as one space, stripped."""
    return collapse(clean_text(text)).strip()


def collapse(text: str) -> str:
    """Runs of white space as one space; a line break between Chinese characters as nothing."""
    if "\n" in text:
        text = _WIDE_BREAK.sub("", text)
    return _ANY_SPACE.sub(" ", text)


def flowing(text: str) -> str:
    """``clean_text`` for prose: runs of spaces become one, lines are stripped, blank lines go."""
    lines = (_SPACE_RUN.sub(" ", line).strip() for line in clean_text(text).split("\n"))
    return "\n".join(line for line in lines if line)


def _item_text(item: str) -> str:
    """``flowing`` that keeps the spaces before a nested item."""
    indent = len(item) - len(item.lstrip(" "))
    text = flowing(item)
    return " " * indent + text if text else ""


def join_lines(lines: Iterable[str]) -> str:
    """Lines that were wrapped by a printer as one: no space between Chinese characters, a hyphenated word mended."""
    joined = ""
    for line in (one_line(line) for line in lines):
        if not line:
            continue
        if not joined:
            joined = line
        elif joined[-1] == "-" and len(joined) > 1 and joined[-2].isalpha() and line[0].islower():
            joined = joined[:-1] + line
        elif is_wide(joined[-1]) or is_wide(line[0]):
            joined += line
        else:
            joined += " " + line
    return joined


def is_wide(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words (Chinese, kana, full-width forms)."""
    return ord(character) >= 0x2E80 and unicodedata.east_asian_width(character) in "WF"


def detect_language(texts: Iterable[str], *, enough: int = 20_000) -> str:
    """``zh`` or ``en``, by the share of Chinese characters against Latin words in the first ``enough`` characters."""
    han = latin = seen = 0
    for text in texts:
        sample = text[: enough - seen]
        han += len(_HAN.findall(sample))
        latin += len(_LATIN_WORD.findall(sample))
        seen += len(sample)
        if seen >= enough:
            break
    return "zh" if han > latin else "en"


def file_stem(name: str) -> str:
    """A file's name without folders and extension: the title of a file that has none inside."""
    path = PurePath(name.replace("\\", "/"))
    return one_line(path.stem) or one_line(path.name) or name


def make_table(
    rows: Sequence[Sequence[str]],
    *,
    header_rows: int = 1,
    spans: Iterable[CellSpan] = (),
    continued: bool = False,
) -> Table:
    """A :class:`~clew.types.Table` with clean cells, rows of equal length and neither empty rows nor empty columns.

    A row or column counts as empty if no cell has text and none is covered by a span that has text.
    """
    spans = tuple(spans)
    width = max((len(row) for row in rows), default=0)
    grid = [[one_line(cell) for cell in row] + [""] * (width - len(row)) for row in rows]
    spans = tuple(s for s in spans if s.row < len(grid) and s.column < width and (s.rows > 1 or s.columns > 1))
    filled_rows = {i for i, row in enumerate(grid) if any(row)}
    filled_columns = {j for row in grid for j, cell in enumerate(row) if cell}
    for span in spans:
        if grid[span.row][span.column]:
            # A cell merged over several rows keeps them (a person sees them); one merged over columns only does not
            # keep columns that hold nothing in any row.
            filled_rows.update(range(span.row, min(span.row + span.rows, len(grid))))
    keep_rows = [i for i in range(len(grid)) if i in filled_rows]
    keep_columns = [j for j in range(width) if j in filled_columns]
    kept = _without_dropped(spans, keep_rows, keep_columns)
    headers = sum(1 for i in keep_rows if i < header_rows)
    return Table(
        rows=tuple(tuple(grid[i][j] for j in keep_columns) for i in keep_rows),
        header_rows=min(headers, max(len(keep_rows) - 1, 0)),
        spans=kept,
        continued=continued,
    )


def _without_dropped(
    spans: Iterable[CellSpan], keep_rows: Sequence[int], keep_columns: Sequence[int]
) -> tuple[CellSpan, ...]:
    kept = []
    for span in spans:
        rows = [i for i, row in enumerate(keep_rows) if span.row <= row < span.row + span.rows]
        columns = [j for j, column in enumerate(keep_columns) if span.column <= column < span.column + span.columns]
        if rows and columns and len(rows) * len(columns) > 1:
            kept.append(CellSpan(rows[0], columns[0], len(rows), len(columns)))
    return tuple(kept)


def row_text(row: Sequence[str]) -> str:
    """One table row as a line: cells joined by `` | ``, empty cells at the end left out."""
    cells = [cell.replace("\n", " ") for cell in row]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return CELL_SEPARATOR.join(cells)


def table_lines(table: Table) -> list[str]:
    """One line a row, each readable alone.

    A short cell that is merged over rows is repeated in each of them, a header that is merged over columns above each
    of them; other positions that a merged cell covers are left out.
    """
    if not table.spans:
        return [row_text(row) for row in table.rows]
    grid: list[list[str | None]] = [list(row) for row in table.rows]
    width = len(table.rows[0])
    for span in table.spans:
        text = table.rows[span.row][span.column]
        short = bool(text) and len(text) <= _MAX_REPEATED_CHARS
        across = short and span.row < table.header_rows and span.columns < width
        for row in range(span.row, min(span.row + span.rows, len(grid))):
            for column in range(span.column, min(span.column + span.columns, width)):
                if (row, column) == (span.row, span.column) or grid[row][column]:
                    continue
                if column == span.column:
                    grid[row][column] = text if short else ""
                else:
                    grid[row][column] = text if across else None
    return [row_text([cell for cell in row if cell is not None]) for row in grid]


def table_text(table: Table) -> str:
    """A table's plain text, one line a row."""
    return "\n".join(table_lines(table))


class BlockBuilder:
    """Collects a file's blocks in reading order.

    Blocks without content are dropped (images stay: their picture is their content). Every method takes the page
    (from 1) and the box where the format has them.
    """

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._pictures: dict[str, Picture] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def heading(self, text: str, level: int, page: int | None = None, bbox: BBox | None = None) -> None:
        """A heading; levels outside 1 to 9 are brought inside."""
        level = min(max(level, 1), MAX_HEADING_LEVEL)
        self._add(BlockType.HEADING, one_line(text.replace("\n", " ")), page, bbox, level=level)

    def paragraph(self, text: str, page: int | None = None, bbox: BBox | None = None) -> None:
        """A paragraph; line breaks inside it are kept, so join wrapped lines first (:func:`join_lines`)."""
        self._add(BlockType.PARAGRAPH, flowing(text), page, bbox)

    def list(self, items: Iterable[str], page: int | None = None, bbox: BBox | None = None) -> None:
        """A list, one item a line; markers (``-``, ``1.``, ``（一）``) are part of the items."""
        self._add(BlockType.LIST, "\n".join(filter(None, map(_item_text, items))), page, bbox)

    def table(self, table: Table, page: int | None = None, bbox: BBox | None = None) -> None:
        """A table (make it with :func:`make_table`)."""
        if any(any(row) for row in table.rows):
            self._add(BlockType.TABLE, table_text(table), page, bbox, table=table)

    def code(self, text: str, language: str | None = None, page: int | None = None, bbox: BBox | None = None) -> None:
        """A piece of code; its white space is kept."""
        text = _LINE_ENDS.sub("\n", _INVISIBLE.sub("", text)).strip("\n").rstrip()
        self._add(BlockType.CODE, text, page, bbox, language=language or None)

    def formula(self, text: str, page: int | None = None, bbox: BBox | None = None) -> None:
        """A formula on its own, as text or LaTeX."""
        self._add(BlockType.FORMULA, flowing(text), page, bbox)

    def image(
        self, text: str = "", payload: bytes | None = None, page: int | None = None, bbox: BBox | None = None
    ) -> None:
        """An image: its alternative text or caption, and its bytes for the content hash."""
        self._add(BlockType.IMAGE, flowing(text), page, bbox, payload=payload)

    def chart(
        self, text: str = "", payload: bytes | None = None, page: int | None = None, bbox: BBox | None = None
    ) -> None:
        """A chart: its title and data as far as the format has them as text."""
        self._add(BlockType.CHART, flowing(text), page, bbox, payload=payload)

    def attached(self, blocks: Iterable[Block], pictures: Mapping[str, Picture], *, below: int) -> None:
        """Blocks of another file (an attachment), its headings below a heading of level ``below``.

        Pages and boxes are left out: they are those of the other file.
        """
        self._pictures.update(pictures)
        for block in blocks:
            level = None if block.level is None else min(block.level + below, MAX_HEADING_LEVEL)
            self._blocks.append(replace(block, ordinal=len(self._blocks), level=level, page=None, bbox=None))

    def _add(
        self,
        type: BlockType,
        text: str,
        page: int | None,
        bbox: BBox | None,
        *,
        level: int | None = None,
        table: Table | None = None,
        language: str | None = None,
        payload: bytes | None = None,
    ) -> None:
        if not text.strip() and type not in (BlockType.IMAGE, BlockType.CHART):
            return
        if type is BlockType.PARAGRAPH and _ONLY_RULES.fullmatch(text):
            return
        identity = content_hash(type, text, table, payload)
        if payload is not None and (kind := image_type(payload)):
            self._pictures.setdefault(identity, Picture(payload, kind))
        self._blocks.append(
            Block(
                ordinal=len(self._blocks),
                type=type,
                text=text,
                content_hash=identity,
                page=page,
                bbox=bbox,
                level=level,
                table=table,
                language=language,
            )
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks so far."""
        return tuple(self._blocks)

    @property
    def pictures(self) -> Mapping[str, Picture]:
        """What those of the images show that came with their bytes, by content hash."""
        return self._pictures

    def finish(
        self,
        name: str,
        media_type: str,
        *,
        title: str = "",
        pages: int | None = None,
        warnings: Iterable[str] = (),
    ) -> ParsedFile:
        """The parsed file; an empty ``title`` becomes the first top heading, else the file's name.

        Raises:
            EmptyFileError: there is neither text nor an image.
        """
        if not self._blocks:
            raise EmptyFileError(f"{name}: the file holds no text and no images. Check that it is the right file.")
        return ParsedFile(
            title=one_line(title) or _title_of(self._blocks) or file_stem(name),
            language=detect_language(block.text for block in self._blocks),
            media_type=media_type,
            pages=pages,
            blocks=self.blocks,
            warnings=tuple(warnings),
            pictures=dict(self._pictures),
        )


def image_type(payload: bytes) -> str:
    """The media type of an image's bytes; empty for anything else (an address, a chart's text)."""
    for signature, kind in _IMAGE_SIGNATURES.items():
        if payload.startswith(signature):
            return kind
    return "image/webp" if payload[:4] == b"RIFF" and payload[8:12] == b"WEBP" else ""


def _title_of(blocks: Sequence[Block]) -> str:
    """The title that a file has inside, empty where none can be told.

    The only heading of the highest level, if it comes before all others; else what a Chinese cover says (company,
    name of the report) before the first heading or table.
    """
    headings = [(block.level or 1, block.ordinal, block.text) for block in blocks if block.type is BlockType.HEADING]
    if headings:
        top = min(level for level, _, _ in headings)
        first = headings[0]
        if first[0] == top and sum(1 for level, _, _ in headings if level == top) == 1:
            return first[2]
    cover: list[str] = []
    for block in blocks[:8]:
        if block.type is not BlockType.PARAGRAPH or len(block.text) > 40 or not _HAN.search(block.text):
            break
        if _COVER_LINE.search(block.text) and block.text not in cover:
            cover.append(block.text)
    return " ".join(cover[:2])
