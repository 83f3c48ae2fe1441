"""Evidence → pieces that can be quoted: sentences, and table rows with all that says what they are about.

The text of a passage keeps one line a row, and blank lines between paragraphs and tables
(:mod:`clew.indexing.chunking`); so caption, header rows, subheadings and rows can be told apart again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from clew.text.sentences import sentence_spans

CELL = " | "
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_YEAR = r"(?:19|20)\d\d"
_PERIOD = re.compile(
    rf"(?<![\d,.]){_YEAR}(?:\s*[./-]\s*\d{{1,2}}){{2}}(?!\d)"
    rf"|(?<![\d,.]){_YEAR}(?!\d|[,.]\d)\s*年?(?:\s*\d{{1,2}}\s*月)?(?:\s*\d{{1,2}}\s*日)?"
    rf"|\b{_MONTH}\s+\d{{1,2}}(?:,?\s+{_YEAR})?\b|\b\d{{1,2}}\s+{_MONTH}(?:\s+{_YEAR})?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_DIGIT = re.compile(r"\d")
_MAX_HEADER_ROWS = 3
_MAX_HEADER_CELL = 40
_MAX_ROW_CELL = 120
_MIN_CHARACTERS = 2
_MIN_LIST_ROWS = 3
_WORDS_IN_LIST = 0.2
_LIST_MARK = re.compile(r"^\W*(?:\d{1,2}|[一二三四五六七八九十]{1,3})[)）、.．]\s*(?!\d)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence or a table row of the evidence with index ``evidence``.

    ``header`` holds the header rows of a row's table (one a line), ``caption`` what stands above the table and the
    subheading that the row is under, or what a sentence in a cell is about; both are empty for other sentences.
    """

    evidence: int
    text: str
    header: str = ""
    caption: str = ""
    is_row: bool = False

    @property
    def holds_figure(self) -> bool:
        """Whether it says a figure: a row in its values, a sentence beside its number in a list."""
        if self.is_row:
            return any(map(has_figure, cells_of(self.text)[1:]))
        return has_figure(_LIST_MARK.sub("", self.text))

    @property
    def holds_figures_only(self) -> bool:
        """Whether all values of a row are figures."""
        values = [cell for cell in cells_of(self.text)[1:] if any(map(str.isalnum, cell))] if self.is_row else []
        return bool(values) and all(has_figure(value) and not _WORD.search(value) for value in values)

    @property
    def label(self) -> str:
        """What a row is about: its cells before the first figure; empty for a sentence."""
        if not self.is_row:
            return ""
        cells: list[str] = []
        for cell in cells_of(self.text):
            if cells and (has_figure(cell) or len(cell) > _MAX_HEADER_CELL):
                break
            cells.append(cell)
        return " ".join(cells)


def pieces_of(evidence: int, text: str) -> list[Piece]:
    """The pieces of one passage, in order."""
    pieces: list[Piece] = []
    for block in _BLANK_LINE.split(text):
        if CELL in block:
            pieces.extend(_table_pieces(evidence, block))
        else:
            pieces.extend(Piece(evidence, sentence) for sentence in _sentences(block))
    return [piece for piece in pieces if sum(ch.isalnum() for ch in piece.text) >= _MIN_CHARACTERS]


def has_figure(text: str) -> bool:
    """Whether there is a digit that does not belong to a year or a date."""
    return bool(_DIGIT.search(_PERIOD.sub("", text)))


def cells_of(row: str) -> list[str]:
    """The cells of a row. One whose first or last cell is empty lost the space beside its separator."""
    return [cell.strip() for cell in f" {row.strip()} ".split(CELL)]


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        yield text[start:end].strip()


def _table_pieces(evidence: int, block: str) -> Iterator[Piece]:
    captions: list[str] = []
    header: list[str] = []
    subheading = ""
    # Whether rows of data stand between the header and this line, and whether a subheading stands right before it.
    below_rows = below_subheading = False
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    has_header = not _is_list_of_values(_first_rows(lines))
    for row in lines:
        if not _is_row(row):
            yield from (Piece(evidence, sentence) for sentence in _sentences(row))
            if header or below_rows:
                subheading, below_subheading, has_header = row, True, True
            else:
                captions.append(row)
            continue
        opens_header = has_header and _opens_header(row, header, below_rows, below_subheading)
        below_subheading = False
        if opens_header:
            if below_rows:
                header, below_rows = [], False
            header.append(row)
            if _may_be_data(row):
                yield Piece(evidence, row, "", _joined([*captions, subheading]), is_row=True)
            continue
        below_rows = True
        yield from _row_pieces(evidence, row, "\n".join(header), _joined([*captions, subheading]))


def _row_pieces(evidence: int, row: str, header: str, caption: str) -> Iterator[Piece]:
    """A row; one with a cell of running text is read as its sentences, below the cell that says what they are about."""
    cells = cells_of(row)
    texts = [cell for cell in cells if len(cell) > _MAX_ROW_CELL]
    if not texts:
        yield Piece(evidence, row, header, caption, is_row=True)
        return
    about = _joined([caption, CELL.join(cell for cell in cells if cell and len(cell) <= _MAX_ROW_CELL)])
    for text in texts:
        yield from (Piece(evidence, sentence, "", about) for sentence in _sentences(text))


def _is_row(line: str) -> bool:
    return CELL in f" {line} "


def _opens_header(row: str, header: Sequence[str], below_rows: bool, below_subheading: bool) -> bool:
    """Whether a row belongs to the header: it holds no figures, and either begins the table or goes on with it."""
    first, *others = cells_of(row)
    if any(map(has_figure, others)) or max(map(len, (first, *others))) > _MAX_HEADER_CELL:
        return False
    if below_rows:
        return not first or below_subheading
    if not header:
        return True
    names_period = len(others) > 1 and any(map(_DIGIT.search, others))
    return len(header) < _MAX_HEADER_ROWS and (not first or first == cells_of(header[-1])[0] or names_period)


def _first_rows(lines: Sequence[str]) -> list[list[str]]:
    """The rows above the first subheading."""
    below_caption = dropwhile(lambda line: not _is_row(line), lines)
    return [cells_of(line) for line in takewhile(_is_row, below_caption)]


def _is_list_of_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table is a list of names and their values, without a header: two columns, and in the second one
    figures and words by turns."""
    if len(rows) < _MIN_LIST_ROWS or any(len(row) != 2 for row in rows):
        return False
    is_word = [not _DIGIT.search(value) for _, value in rows[1:] if any(map(str.isalnum, value))]
    return _WORDS_IN_LIST * len(is_word) <= sum(is_word) < len(is_word)


def _may_be_data(row: str) -> bool:
    """A first row of two cells may as well be the first pair of a list of names and values."""
    cells = cells_of(row)
    return len(cells) == 2 and all(cells)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(filter(None, lines))
