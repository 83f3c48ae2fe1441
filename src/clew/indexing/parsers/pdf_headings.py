"""Headings of a PDF: from its outline and printed contents where it has them, else from numbering and fonts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clew.indexing.numbering import is_heading_like, numbering_level
from clew.indexing.parsers.base import is_wide, join_lines
from clew.indexing.parsers.pdf_contents import ContentsEntry, bare, label_of, plain
from clew.indexing.parsers.pdf_lines import Row, segments_of

_MAX_ROWS = 4
"""A heading is at most so many rows high."""
_CHAPTER_RANK = 3
"""Numbering up to here (part, chapter, section, item) makes a heading without any help of fonts."""
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|chart|exhibit|图表?|表|图)\s*[A-Z]?\d|[图表注][:：]|(?:资料|数据)来源|(?:source|notes?)s?:|[（(]?单位[:：]",
    re.I,
)
_NOTE = re.compile(r"note\s+\d{1,2}[a-z]?\b", re.I)
_IN_BRACKETS = re.compile(r"\(.*\)|（.*）")
"""A row with a remark below a heading: a unit, "(Unaudited)"."""
_RUN_IN = re.compile(r"[a-z0-9][^\s]*\.$")
Position = tuple[int, int]
"""Page number and index of a row on it."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A bookmark: title, page (from 1) and depth (from 0)."""

    title: str
    page: int
    depth: int


@dataclass(frozen=True, slots=True)
class Heading:
    """Rows ``first`` to ``last`` of a page that are one heading. ``depth``: of its bookmark, where it has one."""

    page: int
    first: int
    last: int
    text: str
    size: float
    bold: bool
    italic: bool
    depth: int | None = None


@dataclass(slots=True)
class _Pages:
    rows: Mapping[int, Sequence[Row]]
    keys: dict[int, list[str]] = field(default_factory=dict)
    taken: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def key(self, page: int, index: int) -> str:
        if page not in self.keys:
            self.keys[page] = [plain(row.text) for row in self.rows[page]]
        return self.keys[page][index]

    def text(self, page: int, span: tuple[int, int]) -> str:
        """The text of rows ``span[0]`` to ``span[1]``."""
        return join_lines(row.text for row in self.rows[page][span[0] : span[1] + 1])

    def find(self, page: int, title: str, prefix: bool) -> tuple[int, int] | None:
        """First and last row of a page that together read like the title; ``prefix``: or begin with it."""
        for start in range(len(self.rows.get(page, ()))):
            text = ""
            for end in range(start, min(start + _MAX_ROWS, len(self.rows[page]))):
                if end in self.taken[page]:
                    break
                text += self.key(page, end)
                if text == title or (
                    prefix and len(title) >= 6 and text.startswith(title) and len(text) < len(title) * 2
                ):
                    return start, end
                if not text or not title.startswith(text):
                    break
        return None

    def find_entry(self, page: int, title: str, stands_out: Callable[[Row], bool]) -> tuple[int, int] | None:
        """The rows of a page that read like a contents entry: with or without its label, or its shorter form.

        A shorter form ("Balance Sheets" for "Balance Sheets as of June 30") has to stand out.
        """
        wanted, label = bare(title), label_of(title)
        shorter: tuple[int, int] | None = None
        for start in range(len(self.rows.get(page, ()))):
            text = ""
            for end in range(start, min(start + _MAX_ROWS, len(self.rows[page]))):
                if end in self.taken[page]:
                    break
                text = f"{text} {self.rows[page][end].text}"
                key = bare(text)
                if key == wanted and wanted:
                    return start, end
                if key and not wanted.startswith(key):
                    same = label and label_of(text) == label and label.startswith("item")
                    if shorter is None and same and stands_out(self.rows[page][start]) and not _RUN_IN.search(text):
                        shorter = (start, start)
                    break
                if len(key) >= 8 and stands_out(self.rows[page][start]) and _enough(key, wanted):
                    shorter = (start, end)
        return shorter


def _enough(key: str, wanted: str) -> bool:
    """Whether the first words of a title stand for all of it."""
    return len(key) >= 0.6 * len(wanted) or bool(re.match(r"\(|(?:asof|forthe|at)[a-z]*", wanted[len(key) :]))


def body_size(rows: Iterable[Row]) -> float:
    """The font size of most characters."""
    sizes: Counter[float] = Counter()
    for row in rows:
        sizes[round(row.size * 2) / 2] += sum(len(word.text) for word in row.words)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def find_headings(
    pages: Mapping[int, Sequence[Row]],
    outline: Sequence[OutlineEntry],
    contents: Sequence[ContentsEntry],
    offset: int,
) -> list[Heading]:
    """The headings among the rows of running text (neither tables nor running headers), in reading order.

    ``pages``: rows by page number; ``offset``: printed page number minus position in the file.
    """
    known = _Pages(pages)
    size = body_size(row for rows in pages.values() for row in rows)
    found: dict[Position, Heading] = {}
    _from_outline(known, outline, found)
    complete = len(found) >= 0.3 * len(pages) and len(found) >= 10
    _from_contents(known, contents, offset, found, size)
    cover = min((entry.on_page for entry in contents), default=0)
    for page, rows in pages.items():
        if cover <= 6 and page < cover:
            continue  # a cover's large print is no section
        _from_style(known, page, rows, found, size, complete)
    return _rejoined([found[position] for position in sorted(found)], pages)


def _rejoined(headings: list[Heading], pages: Mapping[int, Sequence[Row]]) -> list[Heading]:
    """Headings whose second line was taken for one of its own, as one."""
    joined: list[Heading] = []
    for heading in headings:
        before = joined[-1] if joined else None
        follows = before is not None and before.page == heading.page and before.last + 1 == heading.first
        if before is not None and follows and _same_heading(pages[heading.page], before.last):
            joined[-1] = replace(before, last=heading.last, text=join_lines([before.text, heading.text]))
            continue
        joined.append(heading)
    return joined


def _take(known: _Pages, page: int, span: tuple[int, int], found: dict[Position, Heading], depth: int | None) -> None:
    rows = known.rows[page][span[0] : span[1] + 1]
    known.taken[page].update(range(span[0], span[1] + 1))
    text = join_lines(row.text for row in rows)
    first = max(rows, key=lambda row: len(row.text))
    found[page, span[0]] = Heading(page, *span, text, first.size, first.bold, first.italic, depth)


def _from_outline(known: _Pages, outline: Sequence[OutlineEntry], found: dict[Position, Heading]) -> None:
    deep = any(entry.depth for entry in outline)
    for entry in outline:
        title = plain(entry.title)
        if len(title) < 2 or title.isdigit():
            continue
        for page in (entry.page, entry.page + 1, entry.page - 1):
            span = known.find(page, title, prefix=True) or known.find_entry(page, entry.title, lambda _: False)
            if span is not None and is_heading_like(text := known.text(page, span)) and not _CAPTION.match(text):
                _take(known, page, span, found, entry.depth if deep else None)
                break


def _from_contents(
    known: _Pages, contents: Sequence[ContentsEntry], offset: int, found: dict[Position, Heading], size: float
) -> None:
    """Contents entries at the page they name, or else wherever a row reads like them and looks like a heading."""
    skip = {entry.on_page for entry in contents}

    def stands_out(row: Row) -> bool:
        return _stands_out(row, size)

    for entry in contents:
        title = plain(entry.title)
        spot = entry.target or (entry.printed - offset if entry.printed is not None else None)
        near = [] if spot is None else [spot, spot + 1, spot - 1]
        for page in near:
            if page not in skip and (span := known.find_entry(page, entry.title, stands_out)) is not None:
                _take(known, page, span, found, None)
                break
        else:
            if any(bare(h.text) == bare(entry.title) and h.page in near for h in found.values()):
                continue
            for page in sorted(known.rows):
                span = known.find(page, title, prefix=False) if page not in skip else None
                if span is not None and stands_out(known.rows[page][span[0]]):
                    _take(known, page, span, found, None)
                    break


def _stands_out(row: Row, size: float) -> bool:
    return row.bold or row.size > 1.1 * size or row.text.isupper() or (numbering_level(row.text) or 99) <= _CHAPTER_RANK


def _from_style(
    known: _Pages,
    page: int,
    rows: Sequence[Row],
    found: dict[Position, Heading],
    size: float,
    complete: bool,
) -> None:
    index = 0
    while index < len(rows):
        caption = bool(_CAPTION.match(rows[index].text))
        if index in known.taken[page] or not (caption or _looks_like_heading(rows, index, size, complete)):
            index += 1
            continue
        last = index
        while last + 1 < len(rows) and last - index < _MAX_ROWS - 1 and last + 1 not in known.taken[page]:
            if not _same_heading(rows, last):
                break
            last += 1
        text = join_lines(row.text for row in rows[index : last + 1])
        if not caption and is_heading_like(text) and (rows[index].bold or not _RUN_IN.search(text)):
            _take(known, page, (index, last), found, None)
        index = last + 1


def _same_heading(rows: Sequence[Row], index: int) -> bool:
    """Whether a row goes on in the next one: set alike, close below, and with a first word that had no room."""
    row, below = rows[index], rows[index + 1]
    near = rows[max(index - 8, 0) : index + 9]
    right = max(r.x1 for r in near if r.x0 < row.x1 and r.x1 > row.x0)
    first = below.text.split(" ", 1)[0]
    need = 2.5 if is_wide(below.text[0]) else 0.5 * len(first) + 2
    return (
        abs(row.size - below.size) < 0.3
        and row.bold == below.bold
        and row.italic == below.italic
        and below.y0 - row.y1 < 0.5 * row.size
        and numbering_level(below.text) is None
        and not _IN_BRACKETS.fullmatch(below.text)
        and right - row.x1 < need * row.size
    )


def _looks_like_heading(rows: Sequence[Row], index: int, size: float, complete: bool) -> bool:
    """``complete``: the outline names the document's headings, so only chapters are added to it."""
    row = rows[index]
    text = row.text.strip()
    rank = numbering_level(text)
    letters = sum(c.isalpha() for c in text)
    if (
        letters < 2
        or letters < 0.4 * len(text.replace(" ", ""))
        or not is_heading_like(text, numbered=rank is not None)
    ):
        return False
    if _CAPTION.match(text) or (_RUN_IN.search(text) and not row.bold):
        return False
    if rank is None and (text[0] in "($（" or text[0].islower() or len(segments_of(row)) > 1):
        return False  # a unit; the heads of columns
    if rank is not None and rank <= _CHAPTER_RANK:
        return row.bold or row.size > 1.05 * size or _alone(rows, index)
    if complete:
        return row.bold and rank is not None and _alone(rows, index)
    large = row.size > 1.12 * size
    if rank is not None and rank <= 5:
        return row.bold or large or _alone(rows, index)
    before_text = index + 1 < len(rows) and not rows[index + 1].italic
    return large or ((row.bold or (row.italic and before_text)) and _alone(rows, index))


def _alone(rows: Sequence[Row], index: int) -> bool:
    """Whether a row is a paragraph of its own: short of the margin, and followed by a row set otherwise or apart."""
    row = rows[index]
    right = max(r.x1 for r in rows)
    if right - row.x1 < 2 * row.size and len(rows) > 1:
        return False
    if index + 1 == len(rows):
        return True
    below = rows[index + 1]
    apart = below.y0 - row.y1 > 0.35 * row.size
    return apart or below.bold != row.bold or abs(below.size - row.size) > 0.5 or below.x0 - row.x0 > 1.2 * row.size


def heading_levels(headings: Sequence[Heading]) -> list[int]:
    """Levels from 1: a heading set or numbered like an open one is its sibling, else it stands below what outranks it.

    Numbered headings rank by their numbering, others by size and weight; bookmarks in a tree rank by their depth.
    """
    levels: list[int] = []
    stack: list[tuple[tuple[object, ...], Heading, float | None]] = []
    for heading in headings:
        rank = _rank(heading.text)
        key: tuple[object, ...] = ("n", rank) if rank is not None else ("s", *_weight(heading))
        if heading.depth is not None:
            key = ("o", heading.depth)
            while stack and not (stack[-1][0][0] == "o" and _depth(stack[-1][1]) < heading.depth):
                stack.pop()
        elif any(entry[0] == key for entry in stack):
            while stack[-1][0] != key:
                stack.pop()
            stack.pop()
        else:
            while stack and not _outranks(stack[-1], heading, rank):
                stack.pop()
        stack.append((key, heading, rank))
        levels.append(len(stack))
    return levels


def _rank(text: str) -> float | None:
    """The rank of a heading's numbering; the notes of financial statements stand below items."""
    return 3.5 if _NOTE.match(text) else numbering_level(text)


def _depth(heading: Heading) -> int:
    return heading.depth if heading.depth is not None else 99


def _weight(heading: Heading) -> tuple[float, bool, bool, bool]:
    return round(heading.size), heading.bold, heading.text.isupper(), not heading.italic


def _outranks(entry: tuple[tuple[object, ...], Heading, float | None], heading: Heading, rank: float | None) -> bool:
    _, above, above_rank = entry
    if above.depth is not None:
        return True
    if rank is not None and above_rank is not None:
        return above_rank < rank
    if above_rank is not None and above_rank <= _CHAPTER_RANK:
        return heading.size < 1.3 * above.size
    if rank is not None and rank <= _CHAPTER_RANK:
        return above.size > 1.15 * heading.size
    if above_rank is not None:
        return _weight(above) >= _weight(heading)
    return _weight(above) > _weight(heading)
