"""Markdown (CommonMark with pipe tables, front matter) by markdown-it-py."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from clew.errors import EmptyFileError
from clew.indexing.parsers.base import BlockBuilder, is_wide, make_table
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.html import add_html
from clew.types import ParsedFile

MEDIA_TYPE = "text/markdown"

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.M | re.I)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_BREAK_TAG = re.compile(r"<br\s*/?>", re.I)
_MAX_NESTING = 120
_DEEP_NESTING = re.compile(r"^[ \t]*(?:(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s))[ \t]*){40,}", re.M)


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a Markdown file. Raises FileFailedError where it is empty or no text."""
    if not data.strip():
        raise EmptyFileError(f"{name}: the file is empty.")
    decoded = decode_text(data, name)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    front = _FRONT_MATTER.match(text)
    if front:
        named = _FRONT_TITLE.search(front[1])
        title = named[1].strip("\"'") if named else ""
        text = text[front.end() :]
    builder = BlockBuilder()
    add_markdown(text, builder)
    return builder.finish(name, MEDIA_TYPE, title=title, warnings=filter(None, [decoded.warning]))


def add_markdown(text: str, builder: BlockBuilder, page: int | None = None) -> None:
    """The blocks of a Markdown text."""
    # What is nested more deeply than its limit markdown-it leaves out; nobody means such quotes and lists.
    text = _DEEP_NESTING.sub("", text)
    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    tokens = markdown.parse(text)
    _Walker(builder, page).walk(tokens)


class _Walker:
    """Goes through the tokens once; holds the open lists."""

    def __init__(self, builder: BlockBuilder, page: int | None) -> None:
        self._builder = builder
        self._page = page
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets
        self._items: list[str] = []
        self._marker = ""

    def walk(self, tokens: Sequence[Token]) -> None:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "table_open":
                self._flush()
                end = next(i for i in range(position, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[position:end])
                position = end
            else:
                self._block(token, tokens[position - 1] if position else None)
            position += 1
        self._flush()

    def _block(self, token: Token, before: Token | None) -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            self._lists.append(int(token.attrGet("start") or 1) if kind.startswith("ordered") else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
            if not self._lists:
                self._flush()
        elif kind == "list_item_open":
            self._marker = self._next_marker()
        elif kind in ("fence", "code_block"):
            self._flush()
            language = token.info.split()[0] if token.info.split() else None
            self._builder.code(token.content, language, self._page)
        elif kind == "html_block":
            self._flush()
            self._html(token.content)
        elif kind == "inline":
            self._inline(token, before)

    def _next_marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _inline(self, token: Token, before: Token | None) -> None:
        if before is not None and before.type == "heading_open":
            self._flush()
            self._builder.heading(inline_text(token), int(before.tag[1:]), self._page)
            return
        alone = [child for child in token.children or [] if child.type not in ("softbreak", "text") or child.content]
        if len(alone) == 1 and alone[0].type == "image":
            self._flush()
            self._builder.image(alone[0].content, str(alone[0].attrGet("src") or "").encode(), self._page)
            return
        text = inline_text(token)
        if self._lists:
            indent = "  " * (len(self._lists) - 1)
            self._items.append(f"{indent}{self._marker}{text}")
            self._marker = ""
        else:
            self._builder.paragraph(text, self._page)

    def _html(self, content: str) -> None:
        content = _COMMENT.sub("", content)
        if content.strip():
            add_html(content, self._builder, page=self._page)

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[str]] = []
        headers = 0
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "thead_close":
                headers = len(rows)
            elif token.type == "inline":
                rows[-1].append(_BREAK_TAG.sub(" ", inline_text(token)))
        self._builder.table(make_table(rows, header_rows=headers), self._page)

    def _flush(self) -> None:
        if self._items:
            self._builder.list(self._items, self._page)
            self._items = []


def inline_text(token: Token) -> str:
    """The text of an inline token: marks gone, soft line breaks joined as the script asks."""
    parts: list[str] = []
    children = token.children or []
    for index, child in enumerate(children):
        if child.type in ("text", "code_inline", "image"):
            parts.append(child.content)
        elif child.type == "hardbreak":
            parts.append("\n")
        elif child.type == "html_inline":
            parts.append("\n" if _BREAK_TAG.match(child.content) else "")
        elif child.type == "softbreak":
            left = parts[-1][-1:] if parts else ""
            right = next((c.content[:1] for c in children[index + 1 :] if c.content), "")
            parts.append("" if left and right and is_wide(left) and is_wide(right) else " ")
    return "".join(parts)
