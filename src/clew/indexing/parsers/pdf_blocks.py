"""Pages as read → blocks in reading order: what PDF and pictures share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clew.indexing.parsers.base import BlockBuilder, is_wide, join_lines
from clew.indexing.parsers.pdf_aligned import AlignedTable
from clew.indexing.parsers.pdf_contents import bare, contents_page, label_of, parted_title
from clew.indexing.parsers.pdf_elements import Contents, Page, Picture, TextRun, arrange, pictures_of
from clew.indexing.parsers.pdf_headings import Heading, OutlineEntry, body_size, find_headings, heading_levels
from clew.indexing.parsers.pdf_lined import lined_tables
from clew.indexing.parsers.pdf_lines import Row, box_around, rows_of
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.pdf_paragraphs import Paragraph, first_sentence_end, goes_on, line_pitch, paragraphs_of
from clew.indexing.parsers.pdf_ruled import RuledTable, ruled_tables
from clew.indexing.parsers.pdf_running import printed_offset, running_rows
from clew.indexing.parsers.pdf_tables import TableMaker
from clew.types import BBox, ParsedFile, Table

_GENERATED_TITLE = re.compile(
    r"^(?:microsoft|untitled|document\d*$|doc\d*$|幻灯片|powerpoint|<[0-9a-f]{8}|doi:|\(anonymous\)|标准网|内部|confidential|internal)"
    r"|\.(?:docx?|exe|dvi|xlsx?|pptx?|pdf|indd|qxd)\b|www\.|^[\d\-_. ]+$",
    re.I,
)
_BULLET = re.compile(r"[•●○▪■◦‣·➢►]")
_UNIT = re.compile(r"[（(]?\s*(?:金额)?单位\s*[：:]")


def blocks_of_pages(
    contents: list[PageContent],
    name: str,
    media_type: str,
    *,
    outline: Sequence[OutlineEntry] = (),
    title: str = "",
    cover: bool = True,
    warnings: Sequence[str] = (),
) -> ParsedFile:
    """The file whose pages hold ``contents``; ``outline`` and ``title`` are what the file says of itself.

    ``cover``: where it says no title, the largest lines of the first page are it.
    """
    pages = _pages(contents)
    return _Writer(pages, list(outline)).write(name, media_type, title, cover, warnings)


def _pages(contents: list[PageContent]) -> list[Page]:
    """Pages with their elements in reading order; running headers gone, contents recognised."""
    pages = []
    for content in contents:
        ruled, words = ruled_tables(content.rules, content.words)
        lined, words = lined_tables(content.rules, words, content.width)
        pages.append(Page(content, [*ruled, *lined], rows_of(words)))
    offset = printed_offset([page.rows for page in pages])
    running = running_rows([page.rows for page in pages], [page.content.height for page in pages])
    removed: list[list[Row]] = []
    for page, gone in zip(pages, running, strict=True):
        page.offset = offset
        removed.append([page.rows[index] for index in sorted(gone)])
        page.rows = [row for index, row in enumerate(page.rows) if index not in gone]
    goes = False
    for page in pages[: max(15, len(pages) // 5)]:
        number = page.content.number
        page.contents = contents_page(page.rows, page.content.links, number, len(pages) + offset, goes)
        goes = page.contents is not None
    _keep_titles(pages, removed)
    _part_run_in_titles(pages)
    for page, pictures in zip(pages, pictures_of(contents), strict=True):
        page.elements = arrange(page, pictures)
    return pages


def _keep_titles(pages: Sequence[Page], removed: Sequence[Sequence[Row]]) -> None:
    """Puts a running header that is a contents entry back on the first page it stands on: there it is a heading."""
    wanted = {bare(entry.title) for page in pages if page.contents for entry in page.contents.entries}
    for page, rows in zip(pages, removed, strict=True):
        if page.contents is None:
            for row in rows:
                if (key := bare(row.text)) in wanted:
                    wanted.discard(key)
                    page.rows = sorted([*page.rows, row], key=lambda r: r.y1)


def _part_run_in_titles(pages: Sequence[Page]) -> None:
    """Makes a row of its own of a numbered contents entry that a paragraph opens with ("15(a)(3) Exhibits. They …")."""
    by_number = {page.content.number: page for page in pages}
    for entry in (entry for page in pages if page.contents for entry in page.contents.entries):
        spot = entry.target or (entry.printed or 0) - pages[0].offset
        for page in (by_number[n] for n in (spot, spot + 1, spot - 1) if n in by_number and label_of(entry.title)):
            if page.contents is None and any(parted := [parted_title(row, entry.title) for row in page.rows]):
                pairs = zip(page.rows, parted, strict=True)
                page.rows = [part for row, parts in pairs for part in parts or (row,)]
                break


@dataclass(slots=True)
class _Item:
    """A block to be: text of a kind, a table or an image."""

    kind: str
    page: int
    bbox: BBox
    text: str = ""
    level: int = 0
    table: Table | None = None
    items: list[str] = field(default_factory=list)
    paragraph: Paragraph | None = None
    right: float = 0.0
    payload: bytes | None = None


class _Writer:
    """Turns arranged pages into blocks."""

    def __init__(self, pages: list[Page], outline: list[OutlineEntry]) -> None:
        self._pages = pages
        texts = {page.content.number: page.text_rows for page in pages}
        entries = [entry for page in pages if page.contents for entry in page.contents.entries]
        headings = find_headings(texts, outline, entries, pages[0].offset)
        self._headings: Mapping[tuple[int, int], tuple[Heading, int]] = {
            (h.page, h.first): (h, level) for h, level in zip(headings, heading_levels(headings), strict=True)
        }
        rows = [row for page_rows in texts.values() for row in page_rows]
        self._pitch = line_pitch(rows)
        self._size = body_size(rows)
        self._right = _usual_right(texts)
        self._tables = TableMaker()
        self._items: list[_Item] = []

    def write(self, name: str, media_type: str, title: str, cover: bool, warnings: Sequence[str]) -> ParsedFile:
        """The parsed file."""
        for page in self._pages:
            self._page(page)
        self._mend_page_breaks()
        builder = BlockBuilder()
        for item in self._items:
            self._emit(builder, item)
        title = "" if _GENERATED_TITLE.search(title.strip()) or len(title.strip()) < 4 else title
        if not title and cover:
            title = self._cover_title()
        return builder.finish(name, media_type, title=title, pages=len(self._pages), warnings=warnings)

    def _page(self, page: Page) -> None:
        index = 0
        for position, element in enumerate(page.elements):
            number = page.content.number
            if isinstance(element, TextRun):
                self._run(page, element, index)
                index += len(element.rows)
                self._tables.forget()
            elif isinstance(element, RuledTable | AlignedTable):
                table = self._tables.make(element, first_on_page=position == 0)
                self._items.append(_Item("table", number, page.content.shown(element.bbox), table=table))
            elif isinstance(element, Contents):
                box = page.content.shown(box_around(row.bbox for row in element.rows))
                lines = [_without_leaders(row.text) for row in element.rows]
                self._items.append(_Item("list", number, box, items=lines))
                self._tables.forget()
            elif isinstance(element, Picture):
                box = page.content.shown(element.bbox)
                self._items.append(_Item("image", number, box, payload=page.content.fingerprint(element.bbox)))

    def _run(self, page: Page, run: TextRun, start: int) -> None:
        number = page.content.number
        right = max(run.right, self._right) if run.columns == 1 else run.right
        pending: list[Row] = []
        skip = 0
        for index, row in enumerate(run.rows, start=start):
            if skip:
                skip -= 1
                continue
            known = self._headings.get((number, index))
            if known is None:
                if _UNIT.match(row.text):
                    self._flush(page, pending, right)
                    self._flush(page, [row], right)
                    pending = []
                else:
                    pending.append(row)
                continue
            self._flush(page, pending, right)
            pending = []
            heading, level = known
            skip = heading.last - heading.first
            box = box_around(r.bbox for r in run.rows[index - start : index - start + skip + 1])
            self._items.append(_Item("heading", number, page.content.shown(box), text=heading.text, level=level))
        self._flush(page, pending, right)

    def _flush(self, page: Page, rows: list[Row], right: float) -> None:
        for paragraph in paragraphs_of(rows, right, self._pitch):
            box = page.content.shown(paragraph.bbox)
            text = paragraph.text
            last = self._items[-1] if self._items else None
            if _BULLET.match(text):
                if last is not None and last.kind == "list" and last.page == page.content.number and last.paragraph:
                    last.items.append(text)
                    last.bbox = box_around([last.bbox, box])
                else:
                    item = _Item("list", page.content.number, box, items=[text], paragraph=paragraph, right=right)
                    self._items.append(item)
            else:
                item = _Item("paragraph", page.content.number, box, text=text, paragraph=paragraph, right=right)
                self._items.append(item)

    def _mend_page_breaks(self) -> None:
        """A sentence that runs over a page break goes wholly to the page where it begins."""
        for before, after in zip(self._items, self._items[1:], strict=False):
            if before.kind != "paragraph" or after.kind != "paragraph" or after.page != before.page + 1:
                continue
            if before.paragraph and after.paragraph and goes_on(before.paragraph, after.paragraph, before.right):
                cut = first_sentence_end(after.text)
                if cut > 600:
                    continue
                before.text = join_lines([before.text, after.text[:cut]])
                after.text = after.text[cut:].lstrip()

    def _emit(self, builder: BlockBuilder, item: _Item) -> None:
        if item.kind == "heading":
            builder.heading(item.text, item.level, item.page, item.bbox)
        elif item.kind == "paragraph" and item.text:
            builder.paragraph(item.text, item.page, item.bbox)
        elif item.kind == "list":
            builder.list(item.items, item.page, item.bbox)
        elif item.kind == "table" and item.table is not None:
            builder.table(item.table, item.page, item.bbox)
        elif item.kind == "image":
            builder.image(payload=item.payload, page=item.page, bbox=item.bbox)

    def _cover_title(self) -> str:
        """The largest lines of the first page with text, if they are larger than running text."""
        for page in self._pages[:3]:
            rows = [row for row in page.rows if sum(c.isalpha() for c in row.text) >= 2]
            if not rows:
                continue
            largest = max(row.size for row in rows)
            if largest < 1.2 * self._size:
                return ""
            first = next(i for i, row in enumerate(rows) if row.size == largest)
            picked = [rows[first]]
            for row in rows[first + 1 : first + 4]:
                if row.size < 0.75 * largest or row.y0 - picked[-1].y1 > 3 * largest:
                    break
                picked.append(row)
            if first and rows[first - 1].size >= 0.75 * largest:
                picked.insert(0, rows[first - 1])
            title = ""
            for row in picked:
                glue = "" if not title or (is_wide(title[-1]) and is_wide(row.text[0])) else " "
                title += glue + row.text
            return title[:200]
        return ""


def _without_leaders(text: str) -> str:
    return re.sub(r"\s*(?:[.．·…⋯‥_]\s*){3,}\s*", " … ", text)


def _usual_right(texts: Mapping[int, Sequence[Row]]) -> float:
    """The right edge that most pages share, 0 if they differ."""
    edges = sorted(max(row.x1 for row in rows) for rows in texts.values() if len(rows) > 5)
    if len(edges) < 3:
        return 0.0
    middle = edges[len(edges) // 2]
    return middle if sum(abs(edge - middle) < 6 for edge in edges) > 0.6 * len(edges) else 0.0
