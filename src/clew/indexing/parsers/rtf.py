"""RTF: paragraphs, headings, list items and tables of a document; also the bodies of Outlook messages.

The format is a stream of control words and text in nested groups ("Rich Text Format Specification 1.9.1"); text is in
the code page of its font, or in ``\\u`` escapes followed by a replacement for old readers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from clew.errors import DamagedFileError, EmptyFileError
from clew.indexing.parsers.base import BlockBuilder
from clew.indexing.parsers.grids import Cell, table_from_cells
from clew.indexing.parsers.items import Item, Kind, Style, add_items
from clew.types import ParsedFile

MEDIA_TYPE = "application/rtf"

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.S
)
_CODE_PAGES = {
    2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250",
}  # fmt: skip
_SKIPPED_WORDS = (
    "colortbl info pict object header headerl headerr headerf footer footerl footerr footerf fldinst bkmkstart bkmkend "
    "sn sv xe tc rxe ftnsep ftnsepc ftncn atnid atnauthor annotation pntxta pntxtb nonshppict filetbl"
)
_SKIPPED = frozenset(_SKIPPED_WORDS.split())
_KEPT_IF_STARRED = frozenset(("shpinst", "shptxt", "fldrslt", "htmltag", "listtext"))
_CHARACTERS = {
    "tab": "\t", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "line": "\n", "emspace": " ", "enspace": " ", "nestcell": " | ", "nestrow": "\n",
}  # fmt: skip
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
_PARAGRAPH_ENDS = frozenset(("par", "sect", "page"))
_STYLE_NAME = re.compile(r"(?:heading|标题)\s*(\d)\s*;?$", re.I)
_MAX_DEPTH = 10_000
_PLAIN = Style()


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a document. Raises FileFailedError where it is empty or no RTF."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DamagedFileError(f"{name}: this is no RTF file. Open it in the program that made it and save it again.")
    reader = _Reader(data)
    reader.read()
    builder = BlockBuilder()
    add_items(reader.items, builder)
    if not len(builder):
        raise EmptyFileError(f"{name}: the document holds no text. Check that it is the right file.")
    return builder.finish(name, MEDIA_TYPE)


def rtf_body(data: bytes) -> tuple[str, str]:
    """Text and HTML of a message's RTF body, one of them empty: Outlook wraps HTML into RTF (``\\fromhtml1``)."""
    reader = _Reader(data)
    reader.read()
    if reader.from_html:
        return "", reader.html
    return "\n".join(item.text for item in reader.items), ""


def compressed_rtf(data: bytes) -> bytes:
    """The RTF that a message holds compressed [MS-OXRTFCP]; empty where it is damaged."""
    if len(data) < 16:
        return b""
    raw_size, kind = struct.unpack_from("<II", data, 4)
    if kind == 0x414C454D:  # "MELA": not compressed
        return data[16 : 16 + raw_size]
    window = bytearray(_DICTIONARY.ljust(4096, b"\0"))
    write, position = len(_DICTIONARY), 16
    result = bytearray()
    while position < len(data) and len(result) < raw_size:
        control = data[position]
        position += 1
        for bit in range(8):
            if control & (1 << bit):
                if position + 2 > len(data):
                    return bytes(result)
                (reference,) = struct.unpack_from(">H", data, position)
                position += 2
                offset, length = reference >> 4, (reference & 15) + 2
                if offset == write % 4096:
                    return bytes(result)
                piece = []
                for index in range(length):
                    byte = window[(offset + index) % 4096]
                    piece.append(byte)
                    window[write % 4096] = byte
                    write += 1
                result.extend(piece)
            elif position < len(data):
                result.append(data[position])
                window[write % 4096] = data[position]
                write += 1
                position += 1
    return bytes(result[:raw_size])


_DICTIONARY = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor "
    rb"MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


@dataclass(slots=True)
class _Group:
    """What a group inherits from the one around it."""

    skipped: bool = False
    font: int = -1
    replacements: int = 1
    hidden: bool = False
    in_html_only: bool = False
    style: Style = _PLAIN
    table: str = ""
    """``fonttbl`` or ``stylesheet`` while their entries are read."""
    marker: bool = False
    """Inside the number or bullet of a list item."""
    html_tag: bool = False


@dataclass(slots=True)
class _Paragraph:
    runs: list[tuple[str, Style]] = field(default_factory=list)
    level: int | None = None
    item: bool = False
    centred: bool = False


class _Reader:
    """One pass over the tokens; ``items`` and ``html`` are the results."""

    def __init__(self, data: bytes) -> None:
        self.items: list[Item] = []
        self.from_html = False
        self._html: list[str] = []
        self._data = data
        self._group = _Group()
        self._stack: list[_Group] = []
        self._fonts: dict[int, str] = {}
        self._code_page = "cp1252"
        self._default_font = 0
        self._levels: dict[int, int] = {}
        self._entry = -1
        self._pending = bytearray()
        self._to_skip = 0
        self._starred = False
        self._paragraph = _Paragraph()
        self._cells: list[Cell] = []
        self._rows: list[list[Cell]] = []
        self._cell_text: list[str] = []
        self._in_row = False
        self._merges: list[bool] = []
        self._merging = False
        self._name: list[str] = []

    @property
    def html(self) -> str:
        """The HTML that was wrapped, where ``from_html``."""
        return "".join(self._html)

    def read(self) -> None:
        """Reads all of it; what follows the last closing brace is no more RTF."""
        position = 0
        while match := _TOKEN.match(self._data, position):
            position = match.end()
            word, number, byte, symbol, brace, text = match.groups()
            if word:
                if word == b"bin" and number:
                    position += max(0, int(number))
                self._word(word.decode("ascii"), int(number) if number else None)
            elif byte:
                self._bytes(bytes([int(byte, 16)]))
            elif symbol:
                self._symbol(symbol)
            elif brace == b"{":
                self._open()
            elif brace:
                if not self._close():
                    break
            elif text:
                self._bytes(text)
        self._end_paragraph()
        self._end_table()

    # --- groups ----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._flush()
        if len(self._stack) < _MAX_DEPTH:
            self._stack.append(replace(self._group))
            self._group.html_tag = False
        self._starred = False
        self._to_skip = 0

    def _close(self) -> bool:
        self._flush()
        if self._group.table == "stylesheet":
            self._end_style()
        if not self._stack:
            return False
        self._group = self._stack.pop()
        return bool(self._stack)

    # --- tokens ----------------------------------------------------------------------------------------------

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._starred = True
        elif symbol in b"\r\n":
            self._word("par", None)
        elif symbol in _SYMBOLS:
            self._text(_SYMBOLS[symbol])

    def _word(self, word: str, number: int | None) -> None:
        if word == "u" and number is not None:
            self._flush()
            self._text(chr(number % 65536))
            self._to_skip = self._group.replacements
            return
        self._flush()
        starred, self._starred = self._starred, False
        group = self._group
        if word in _SKIPPED or (starred and word not in _KEPT_IF_STARRED):
            group.skipped = True
        elif word in ("fonttbl", "stylesheet"):
            group.table = word
        elif word == "htmltag":
            group.html_tag = True
        elif word in ("listtext", "pntext"):
            group.marker = self._paragraph.item = True
        elif word in _CHARACTERS:
            self._text(_CHARACTERS[word])
        elif word in _PARAGRAPH_ENDS:
            self._end(word)
        elif action := _ACTIONS.get(word):
            action(self, number)

    def _bytes(self, data: bytes) -> None:
        if self._to_skip:
            dropped = min(self._to_skip, len(data))
            self._to_skip -= dropped
            data = data[dropped:]
        self._pending += data

    def _flush(self) -> None:
        """Bytes so far as text in the font's code page: a Chinese character is two of them."""
        self._to_skip = 0
        if self._pending:
            page = self._fonts.get(self._group.font if self._group.font >= 0 else self._default_font, self._code_page)
            data, self._pending = bytes(self._pending), bytearray()
            self._text(data.decode(page, "replace"))

    def _text(self, text: str) -> None:
        group = self._group
        if self._pending:
            self._flush()
        if group.table == "stylesheet":
            self._name.append(text)
        elif group.table or group.skipped:
            return
        elif self.from_html:
            if group.html_tag or not (group.in_html_only or group.hidden):
                self._html.append(text)
        elif not group.hidden:
            self._paragraph.runs.append((" " if group.marker and text == "\t" else text, group.style))

    # --- paragraphs and tables -------------------------------------------------------------------------------

    def _end(self, word: str) -> None:
        if self.from_html:
            if self._group.html_tag or not self._group.in_html_only:
                self._html.append("\n")
        elif not self._group.skipped:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        paragraph = self._paragraph
        text = _repaired("".join(text for text, _ in paragraph.runs))
        self._paragraph = _Paragraph(level=paragraph.level, centred=paragraph.centred)
        if self._in_row:
            self._cell_text.append(text)
        elif text.strip():
            self._end_table()
            kind = Kind.HEADING if paragraph.level else Kind.ITEM if paragraph.item else Kind.TEXT
            style = replace(_most_common(paragraph.runs), centred=paragraph.centred)
            self.items.append(Item(kind, text.strip("\n"), style, level=paragraph.level))

    def _begin_row(self, number: int | None) -> None:
        self._merges = []

    def _define_cell(self, number: int | None) -> None:
        self._merges.append(self._merging)
        self._merging = False

    def _in_table(self, number: int | None) -> None:
        self._in_row = True

    def _new_paragraph(self, number: int | None) -> None:
        if not self._cells and not self._cell_text:
            self._in_row = False
        self._paragraph.level, self._paragraph.centred = None, False

    def _end_cell(self, number: int | None) -> None:
        if self._group.skipped:
            return
        self._in_row = True
        self._end_paragraph()
        text = "\n".join(self._cell_text).strip()
        self._cell_text = []
        merged = len(self._cells) < len(self._merges) and self._merges[len(self._cells)]
        self._cells.append(Cell("" if merged else text))

    def _end_row(self, number: int | None) -> None:
        if self._group.skipped:
            return
        row: list[Cell] = []
        for index, cell in enumerate(self._cells):
            if row and index < len(self._merges) and self._merges[index]:
                row[-1] = replace(row[-1], columns=row[-1].columns + 1)
            else:
                row.append(cell)
        if row:
            self._rows.append(row)
        self._cells, self._cell_text = [], []
        self._in_row = False

    def _end_table(self) -> None:
        if self._cells:
            self._end_row(None)
        if self._rows:
            self.items.append(Item(Kind.TABLE, table=table_from_cells(self._rows)))
            self._rows = []

    # --- properties ------------------------------------------------------------------------------------------

    def _set_font(self, number: int | None) -> None:
        self._group.font = self._entry = number or 0

    def _set_charset(self, number: int | None) -> None:
        if self._group.table == "fonttbl" and number in _CODE_PAGES:
            self._fonts[self._entry] = _CODE_PAGES[number or 0]

    def _set_code_page(self, number: int | None) -> None:
        page = "gb18030" if number in (936, 54936) else "utf-8" if number == 65001 else f"cp{number}"
        try:
            b"".decode(page)
        except LookupError:
            return
        self._code_page = page

    def _set_style(self, number: int | None) -> None:
        if self._group.table == "stylesheet":
            self._entry = number or 0
        else:
            self._paragraph.level = self._levels.get(number or 0)

    def _end_style(self) -> None:
        named, self._name = _STYLE_NAME.search("".join(self._name).strip()), []
        if named:
            self._levels[self._entry] = int(named[1])

    def _set_outline(self, number: int | None) -> None:
        if self._group.table == "stylesheet":
            if number is not None and number < 9:
                self._levels.setdefault(self._entry, number + 1)
        elif number is not None and number < 9:
            self._paragraph.level = number + 1

    def _set(self, **changes: object) -> None:
        self._group.style = replace(self._group.style, **changes)  # type: ignore[arg-type]

    def _plain(self, number: int | None) -> None:
        self._group.style, self._group.hidden = _PLAIN, False

    def _hide(self, number: int | None) -> None:
        self._group.hidden = number != 0

    def _html_only(self, number: int | None) -> None:
        self._group.in_html_only = number != 0


def _repaired(text: str) -> str:
    """Surrogates that came as two escapes as one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _most_common(runs: list[tuple[str, Style]]) -> Style:
    weights: dict[Style, int] = {}
    for text, style in runs:
        weights[style] = weights.get(style, 0) + len(text.strip())
    return max(weights, key=lambda style: weights[style]) if weights else _PLAIN


def _control_words() -> Iterator[tuple[str, Callable[[_Reader, int | None], None]]]:
    """Control words that do something, and what."""
    yield "f", _Reader._set_font
    yield "fcharset", _Reader._set_charset
    yield "ansicpg", _Reader._set_code_page
    yield "deff", lambda r, n: setattr(r, "_default_font", n or 0)
    yield "uc", lambda r, n: setattr(r._group, "replacements", 1 if n is None else max(0, n))
    yield "s", _Reader._set_style
    yield "outlinelevel", _Reader._set_outline
    yield "plain", _Reader._plain
    yield "v", _Reader._hide
    yield "deleted", _Reader._hide
    yield "htmlrtf", _Reader._html_only
    yield "fromhtml", lambda r, n: setattr(r, "from_html", True)
    yield "b", lambda r, n: r._set(bold=n != 0)
    yield "i", lambda r, n: r._set(italic=n != 0)
    yield "ul", lambda r, n: r._set(underline=n != 0)
    yield "ulnone", lambda r, n: r._set(underline=False)
    yield "fs", lambda r, n: r._set(size=(n or 0) / 2)
    yield "qc", lambda r, n: setattr(r._paragraph, "centred", True)
    yield "pard", _Reader._new_paragraph
    yield "trowd", _Reader._begin_row
    yield "clmrg", lambda r, n: setattr(r, "_merging", True)
    yield "cellx", _Reader._define_cell
    yield "intbl", _Reader._in_table
    yield "cell", _Reader._end_cell
    yield "row", _Reader._end_row


_ACTIONS = dict(_control_words())
