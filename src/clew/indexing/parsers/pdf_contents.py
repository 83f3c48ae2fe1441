"""Printed tables of contents: which rows they are, and the titles and pages that they name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.indexing.numbering import is_toc_line, is_toc_title
from clew.indexing.parsers.pdf_lines import Row, segments_of
from clew.types import BBox

_LEADERS = re.compile(r"\s*(?:[.．·…⋯‥_\-—]\s*){2,}\s*")
_PAGE_AT_END = re.compile(r"^(?P<title>.*?\D)\s*[-–—]?\s*(?P<page>\d{1,4}|[ivxl]{1,6})\s*[-–—]?$")
_TITLE = re.compile(
    r"^(?:(?:form\s*10-?[kq]\s*)?(?:table of contents|contents|index)(?:\s+page)?|目\s*[录錄次]"
    r"|.{0,30}(?:table of contents|目\s*[录錄次]))$",
    re.I,
)
_LABEL = re.compile(
    r"(?:(?:item|part|note|chapter|section|appendix)\s*(?:\d{1,2}[a-c]?|[ivx]{1,5}|[a-h])\b|第.{1,4}[章节節编篇部]"
    r"|\d{1,2}(?:\.\d{1,2})*\b|\(?[a-z]\)|[a-h]\b(?=\.|\s)|[一二三四五六七八九十]{1,3}、|[（(][一二三四五六七八九十]{1,3}[）)])"
    r"[\s.:：、\-–—]*"
)
_MIN_ENTRIES = 4


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """An entry as printed: its title, the page it names (as printed, or by its link), its left edge."""

    title: str
    printed: int | None
    target: int | None
    x0: float
    on_page: int


@dataclass(frozen=True, slots=True)
class ContentsPage:
    """The rows (indices, first to last) of a page that are contents, and their entries."""

    first: int
    last: int
    entries: tuple[ContentsEntry, ...]


def plain(text: str) -> str:
    """A title for comparison: composed, lower case, without spaces and punctuation at its ends."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("“", '"').replace("”", '"')
    return "".join(text.split()).strip(".。:：,，;；-–—")


def label_of(text: str) -> str:
    """The label that a title opens with (``item1a``, ``parti``, ``note3``, ``第三节``, ``2.1``), or ``""``."""
    match = _LABEL.match(unicodedata.normalize("NFKC", text).lower().strip())
    return "".join(c for c in match.group() if c.isalnum()) if match else ""


def bare(text: str) -> str:
    """A title for comparison, without the label that it opens with."""
    text = unicodedata.normalize("NFKC", text).lower().strip()
    match = _LABEL.match(text)
    return plain(text[match.end() :]) if match else plain(text)


def parted_title(row: Row, title: str) -> tuple[Row, Row] | None:
    """A row that opens with a title, a full stop and the first words of a sentence, as two; ``None`` for any other."""
    wanted, opening = plain(title), ""
    for index, word in enumerate(row.words[:-1], start=1):
        opening += word.text
        if not wanted.startswith(plain(opening)):
            return None
        if plain(opening) == wanted:
            return (Row(row.words[:index]), Row(row.words[index:])) if word.text.endswith(".") else None
    return None


def _entry(row: Row, links: Sequence[tuple[BBox, int]], page: int) -> ContentsEntry | None:
    text = row.text.strip()
    match = _PAGE_AT_END.match(text)
    if not match:
        return None
    leaders = is_toc_line(text)
    apart = len(segments_of(row, 1.2)) > 1
    title = _LEADERS.sub(" ", match.group("title")).strip() if leaders else match.group("title").strip()
    if not (leaders or apart) or len(plain(title)) < 2:
        return None
    label = match.group("page")
    target = next(
        (to for box, to in links if box.y0 - 1 < (row.y0 + row.y1) / 2 < box.y1 + 1 and box.x1 > row.x0), None
    )
    return ContentsEntry(title, int(label) if label.isdigit() else None, target, row.x0, page)


def contents_page(
    rows: Sequence[Row],
    links: Sequence[tuple[BBox, int]],
    page: int,
    pages: int,
    goes_on: bool,
) -> ContentsPage | None:
    """The contents on a page, or ``None``.

    There are at least four entries, their page numbers do not fall, and either a title (``目录``, ``Contents``)
    stands above them, or they have dot leaders or links, or the page before was contents too (``goes_on``).
    """
    entries = [(i, e) for i, row in enumerate(rows) if (e := _entry(row, links, page)) is not None]
    titled = next(
        (i for i, row in enumerate(rows[:12]) if is_toc_title(row.text) or _TITLE.match(row.text.strip())), None
    )
    if titled is not None:
        entries = [(i, e) for i, e in entries if i > titled]
    numbers = [e.printed for _, e in entries if e.printed is not None]
    if len(entries) < _MIN_ENTRIES or len(numbers) < _MIN_ENTRIES:
        return None
    falls = sum(1 for a, b in pairwise(numbers) if b < a)
    beyond = sum(1 for n in numbers if n > pages + 50)
    if falls > 0.15 * len(numbers) or beyond > 0.2 * len(numbers) or numbers[-1] < numbers[0] + 2:
        return None
    leaders = sum(is_toc_line(rows[i].text) for i, _ in entries)
    linked = sum(e.target is not None for _, e in entries)
    sure = titled is not None or leaders > 0.6 * len(entries) or linked > 0.6 * len(entries)
    if not sure and not (goes_on and len(entries) > 0.5 * len(rows)):
        return None
    first, last = entries[0][0], entries[-1][0]
    if len(entries) < 0.4 * (last - first + 1):
        return None
    if titled is not None and first - titled <= 6:
        first = titled
    while last + 1 < len(rows) and _unnumbered(rows[last + 1], rows[last]):
        last += 1
    return ContentsPage(
        first, last, tuple(_with_parts(rows, [i for i, _ in entries], [e for _, e in entries], links, page))
    )


def _unnumbered(row: Row, before: Row) -> bool:
    """A last entry without a page ("Signatures"), set like those before it."""
    return row.y0 - before.y1 < 0.8 * row.size and abs(row.size - before.size) < 0.5 and len(row.text) < 40


def _with_parts(
    rows: Sequence[Row],
    at: Sequence[int],
    entries: Sequence[ContentsEntry],
    links: Sequence[tuple[BBox, int]],
    page: int,
) -> list[ContentsEntry]:
    """Entries, with a title that was wrapped over two rows put together again."""
    result: list[ContentsEntry] = []
    for index, entry in zip(at, entries, strict=True):
        above = rows[index - 1] if index else None
        free = index - 1 not in at
        if above is not None and free and _wrapped(above, rows[index]):
            entry = ContentsEntry(f"{above.text} {entry.title}", entry.printed, entry.target, above.x0, page)
        result.append(entry)
    return result


def _wrapped(above: Row, row: Row) -> bool:
    """Whether the row above is the first half of this entry: long, and this one opens with no label of its own."""
    near = row.y0 - above.y1 < 0.7 * row.size
    return near and above.x1 - above.x0 > 12 * above.size and label_of(row.text) == "" and not is_toc_title(above.text)
