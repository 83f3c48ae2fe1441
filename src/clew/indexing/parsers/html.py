"""HTML: headings, paragraphs, lists, tables, code and images of a page; scripts and navigation go.

The tree is walked once, without recursion, and becomes a list of items; :mod:`clew.indexing.parsers.items` makes
blocks of them and finds the headings of pages that mark none (SEC filings style spans instead).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lxml import etree

from clew.errors import DamagedFileError, EmptyFileError
from clew.indexing.parsers.base import BlockBuilder, clean_text, collapse, one_line
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.grids import Cell, table_from_cells
from clew.indexing.parsers.html_dom import (
    BLOCKS,
    SKIPPED,
    common_style,
    is_hidden,
    language_of,
    number_of,
    parent_of,
    payload_of,
    runs_of,
    style_of,
    tag_of,
    text_of,
)
from clew.indexing.parsers.items import Item, Kind, Style, add_items
from clew.types import ParsedFile

MEDIA_TYPE = "text/html"

_META_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_GROUPING_TAG = re.compile(r"</?(?:div|span|font|section|article|center|b|i|em|strong|a|u|small|big)\b[^>]*>", re.I)
_ANY_TAG = re.compile(r"<[^<>]{0,2000}>")
_TOO_DEEP = etree.ErrorTypes.ERR_RESOURCE_LIMIT
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAVIGATION = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|box|igation|_list|list)?|menu|breadcrumbs?|footer|foot|sidebar|toolbar|editsection|noprint"
    r"|cookie|share|pagination|skip-link|printfooter|catlinks|mw-jump-link|vector-(?:toc|header|menu)\S*)(?:$|[\s_-])",
    re.I,
)
_BULLET = re.compile(r"^(?:[•·●○■▪◦*–—-]|[（(]?\w{1,3}[.)）、]|[①-⑳])$")


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a page. Raises FileFailedError where it is empty or no text."""
    if not data.strip():
        raise EmptyFileError(f"{name}: the file is empty.")
    declared = _META_CHARSET.search(data[:8192])
    decoded = decode_text(data, name, declared[1].decode("ascii", "replace") if declared else None)
    try:
        root = _tree(decoded.text)
    except (etree.LxmlError, ValueError) as error:
        raise DamagedFileError(f"{name}: the HTML cannot be read ({error}). Save the page again.") from error
    builder = BlockBuilder()
    if root is not None:
        add_items(_Walker().items(_content(root)), builder)
    return builder.finish(name, MEDIA_TYPE, title=_title(root), warnings=filter(None, [decoded.warning]))


def add_html(
    text: str,
    builder: BlockBuilder,
    page: int | None = None,
    *,
    find_headings: bool = True,
    payload: Callable[[str], bytes] = payload_of,
) -> None:
    """The blocks of a piece of HTML; ``find_headings`` as in :func:`~clew.indexing.parsers.items.add_items`,
    ``payload`` gives the bytes of an image from its address."""
    root = _tree(text)
    if root is not None:
        add_items(_Walker(payload).items(root), builder, page, find_headings=find_headings)


def _tree(text: str) -> etree._Element | None:
    text = clean_text(text)
    if _XML_DECLARATION.match(text) or "xmlns=" in text[:3000]:
        # XHTML closes elements that HTML would leave open (<div/>); where it is well formed it is read as XML.
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
        )
        try:
            return etree.fromstring(_XML_DECLARATION.sub("", text).encode(), parser)
        except etree.XMLSyntaxError:
            pass
    text = _XML_DECLARATION.sub("", text)
    # The library stops reading at its limit of nesting; without elements that only group, or without any, the text is
    # all there.
    for left_out in (None, _GROUPING_TAG, _ANY_TAG):
        html = etree.HTMLParser(
            encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True, no_network=True
        )
        shown = left_out.sub(" ", text) if left_out else text
        root = etree.fromstring(shown.encode() or b"<p/>", html)
        if not any(error.type == _TOO_DEEP for error in html.error_log):
            break
    return root


def _title(root: etree._Element | None) -> str:
    if root is None:
        return ""
    filing = _filing_title(root)
    if filing:
        return filing
    title = next((one_line(text_of(e)) for e in root.iter() if tag_of(e) == "title"), "")
    # A file name or a code as title says less than the first heading.
    return title if re.search(r"\s|[\u3400-\u9fff]", title) else ""


def _filing_title(root: etree._Element) -> str:
    """Company, form and fiscal year of a filing in inline XBRL; empty for other pages."""
    facts: dict[str, str] = {}
    for element in root.iter():
        fact = element.get("name") or ""
        if fact.startswith("dei:") and fact not in facts:
            facts[fact] = one_line(text_of(element))
    company, form = facts.get("dei:EntityRegistrantName", ""), facts.get("dei:DocumentType", "")
    if not company or not form:
        return ""
    period = facts.get("dei:DocumentFiscalPeriodFocus", "")
    return " ".join(filter(None, [company, form, facts.get("dei:DocumentFiscalYearFocus"), period.removeprefix("FY")]))


def _content(root: etree._Element) -> etree._Element:
    """The main element of a page that has one, else the whole page."""
    mains = [e for e in root.iter() if tag_of(e) == "main" or e.get("role") == "main"]
    if not mains:
        mains = [e for e in root.iter() if tag_of(e) == "article"]
    if len(mains) != 1:
        return root
    inside = sum(len(text) for text in mains[0].itertext())
    return mains[0] if inside > 400 else root


class _Walker:
    """One pass over the tree; what is open (styles, lists, the current line) is kept in stacks."""

    def __init__(self, payload: Callable[[str], bytes] = payload_of) -> None:
        self._payload = payload
        self._items: list[Item] = []
        self._line: list[tuple[str, Style]] = []
        self._styles = [Style()]
        self._lists: list[int | None] = []
        self._marker = ""
        self._heading: int | None = None

    def items(self, root: etree._Element) -> list[Item]:
        """The items below ``root``."""
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                if not self._enter(element):
                    walk.skip_subtree()
            else:
                self._leave(element)
        self._flush()
        return self._items

    def _enter(self, element: etree._Element) -> bool:
        """Opens an element; false where its content is not wanted or was read here."""
        tag = tag_of(element)
        self._styles.append(style_of(element, tag, self._styles[-1]))
        if self._is_skipped(element, tag):
            return False
        if tag in BLOCKS:
            self._flush()
        if tag in ("pre", "table", "img", "br", "hr"):
            return self._enter_special(element, tag)
        if tag in ("ul", "ol"):
            self._lists.append(number_of(element.get("start"), 1) if tag == "ol" else None)
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        self._text(element.text)
        return True

    def _enter_special(self, element: etree._Element, tag: str) -> bool:
        if tag == "br":
            self._line.append(("\n", self._styles[-1]))
        elif tag == "hr":
            self._items.append(Item(Kind.RULE))
        elif tag == "img":
            self._image(element)
        elif tag == "pre":
            self._items.append(Item(Kind.CODE, text_of(element), language=language_of(element)))
            return False
        else:
            return self._table(element)
        return True

    def _leave(self, element: etree._Element) -> None:
        tag = tag_of(element)
        if tag in BLOCKS:
            self._flush()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag in _HEADINGS:
            self._heading = None
        self._styles.pop()
        self._text(element.tail)

    def _is_skipped(self, element: etree._Element, tag: str) -> bool:
        if tag in SKIPPED or not tag or is_hidden(element):
            return True
        if element.get("hidden") is not None or element.get("role") in ("navigation", "search"):
            return True
        if tag in ("body", "html", "main", "article", "table", "td", "tr"):
            return False
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        return tag in ("ul", "ol", "div", "footer", "header", "aside", "span", "section", "p") and bool(
            names.strip() and _NAVIGATION.search(names) and _is_mostly_links(element)
        )

    def _next_marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _text(self, text: str | None) -> None:
        if text:
            self._line.append((collapse(text), self._styles[-1]))

    def _flush(self) -> None:
        line, self._line = self._line, []
        for runs in _paragraphs(line):
            text = "".join(text for text, _ in runs).strip()
            if not text:
                continue
            style = common_style(runs)
            if self._heading is not None:
                self._items.append(Item(Kind.HEADING, text, style, level=self._heading))
            elif self._lists and self._marker is not None:
                indent = "  " * (len(self._lists) - 1)
                self._items.append(Item(Kind.ITEM, f"{indent}{self._marker}{text}", style))
                self._marker = ""
            else:
                self._items.append(Item(Kind.TEXT, text, style))

    def _image(self, element: etree._Element) -> None:
        alt, source = one_line(element.get("alt") or ""), element.get("src") or ""
        small = max(number_of(element.get("width"), 100), number_of(element.get("height"), 100)) <= 32
        if source and (alt or not small):
            self._flush()
            self._items.append(Item(Kind.IMAGE, alt, payload=self._payload(source)))

    def _table(self, element: etree._Element) -> bool:
        """Reads a table of data; true where it only lays out its content, which then is walked like any other."""
        if any(tag_of(e) == "table" for e in element.iterdescendants()) or element.get("role") == "presentation":
            return True
        rows = [[_cell(cell) for cell in row if tag_of(cell) in ("td", "th")] for row in _rows(element)]
        rows = [row for row in rows if row]
        filled = [[cell.text for cell in row if cell.text.strip()] for row in rows]
        shown = [cells for cells in filled if cells]
        if not shown:
            return False
        if all(len(cells) == 1 for cells in shown) or _holds_blocks(element):
            return True
        if all(len(cells) == 2 and _BULLET.match(cells[0]) for cells in shown):
            self._items += [Item(Kind.ITEM, f"{first} {second}") for first, second in shown]
        elif len(shown) == 1:
            style = common_style(runs_of(element, self._styles[-1]))
            self._items.append(Item(Kind.TEXT, " ".join(shown[0]), style))
        else:
            heads = sum(1 for row in element.iter() if tag_of(row) == "tr" and tag_of(parent_of(row)) == "thead")
            caption = next((one_line(text_of(e)) for e in element if tag_of(e) == "caption"), "")
            if caption:
                self._items.append(Item(Kind.TEXT, caption))
            self._items.append(Item(Kind.TABLE, table=table_from_cells(rows, header_rows=heads or None)))
        return False


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    return (element for element in table.iter() if tag_of(element) == "tr")


def _cell(element: etree._Element) -> Cell:
    text = "".join(text for text, _ in runs_of(element, Style()))
    return Cell(
        text=one_line(text),
        rows=number_of(element.get("rowspan"), 1),
        columns=number_of(element.get("colspan"), 1),
        header=tag_of(element) == "th",
    )


def _holds_blocks(table: etree._Element) -> bool:
    """Whether cells hold headings or several long paragraphs: a table for the layout."""
    headings = sum(1 for e in table.iterdescendants() if tag_of(e) in _HEADINGS)
    long = sum(1 for e in table.iterdescendants() if tag_of(e) in ("p", "li") and len(text_of(e)) > 200)
    cells = sum(1 for e in table.iterdescendants() if tag_of(e) in ("td", "th"))
    return cells <= 6 and (headings > 0 or long >= 2)


def _paragraphs(line: list[tuple[str, Style]]) -> Iterator[list[tuple[str, Style]]]:
    """Runs between two line breaks in a row; a single break stays."""
    current: list[tuple[str, Style]] = []
    breaks = 0
    for text, style in line:
        if text == "\n":
            breaks += 1
            continue
        if not text.strip() and breaks:
            continue
        if breaks >= 2 and current:
            yield current
            current = []
        elif breaks and current:
            current.append(("\n", style))
        breaks = 0
        current.append((text, style))
    if current:
        yield current


def _is_mostly_links(element: etree._Element) -> bool:
    total = len(one_line(text_of(element)))
    linked = sum(len(one_line(text_of(e))) for e in element.iter() if tag_of(e) == "a")
    return total < 2_000 and (total == 0 or linked >= 0.5 * total or total < 200)
