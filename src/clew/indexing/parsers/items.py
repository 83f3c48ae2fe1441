"""Items of a styled document (HTML, DOCX) → blocks; finds headings by numbering and type where none is marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from clew.indexing.numbering import is_heading_like, numbering_level
from clew.indexing.outline import Line, heading_levels
from clew.indexing.parsers.base import BlockBuilder, is_wide
from clew.types import Table

_MIN_MARKED = 3
_MIN_EMPHASISED = 3
_MAX_JOINED = 3
_BARE_NUMBER_CHARS = 12
_PAGE_NUMBER = re.compile(r"^(?:-\s*)?(?:page\s*)?[\divx]{1,5}(?:\s*-)?$", re.I)


class Kind(StrEnum):
    """What an item is."""

    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"
    IMAGE = "image"
    CHART = "chart"
    FORMULA = "formula"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is set; ``size`` in points, 0 where unknown."""

    bold: bool = False
    italic: bool = False
    underline: bool = False
    size: float = 0.0
    centred: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A line, list item, table, piece of code, image or rule of a document, in reading order."""

    kind: Kind
    text: str = ""
    style: Style = Style()
    level: int | None = None
    table: Table | None = None
    language: str | None = None
    payload: bytes | None = None


def add_items(
    items: Sequence[Item], builder: BlockBuilder, page: int | None = None, *, find_headings: bool = True
) -> None:
    """The blocks of a page's items; ``find_headings``: where few are marked, also those that only look like one."""
    items = _without_page_furniture(items)
    if find_headings and sum(1 for item in items if item.kind is Kind.HEADING) < _MIN_MARKED:
        items = _with_found_headings(items)
    waiting: list[str] = []
    for item in items:
        if item.kind is Kind.ITEM:
            waiting.append(item.text)
            continue
        if waiting:
            builder.list(waiting, page)
            waiting = []
        _add(item, builder, page)
    if waiting:
        builder.list(waiting, page)


def _add(item: Item, builder: BlockBuilder, page: int | None) -> None:
    if item.kind is Kind.HEADING:
        builder.heading(item.text, item.level or 1, page)
    elif item.kind is Kind.TABLE and item.table is not None:
        builder.table(item.table, page)
    elif item.kind is Kind.CODE:
        builder.code(item.text, item.language, page)
    elif item.kind is Kind.IMAGE:
        builder.image(item.text, item.payload, page)
    elif item.kind is Kind.CHART:
        builder.chart(item.text, item.payload, page)
    elif item.kind is Kind.FORMULA:
        builder.formula(item.text, page)
    elif item.kind is Kind.TEXT:
        builder.paragraph(item.text, page)


def _without_page_furniture(items: Sequence[Item]) -> list[Item]:
    """Without rules and, beside them, the page numbers and running titles of a printed page."""
    near = [
        any(items[k].kind is Kind.RULE for k in range(max(0, i - 2), min(len(items), i + 3))) for i in range(len(items))
    ]
    often = Counter(item.text for item, by in zip(items, near, strict=True) if by and item.kind is Kind.TEXT)
    kept = []
    for item, by in zip(items, near, strict=True):
        furniture = item.kind is Kind.TEXT and by and (bool(_PAGE_NUMBER.match(item.text)) or often[item.text] >= 5)
        if item.kind is not Kind.RULE and not furniture:
            kept.append(item)
    return kept


def _with_found_headings(items: Sequence[Item]) -> list[Item]:
    usual = _usual_size(items)
    emphasised = [index for index, item in enumerate(items) if _is_emphasised(item, usual)]
    by_style = len(emphasised) >= _MIN_EMPHASISED
    if by_style:
        items = _joined(items, usual)
    order = _style_order([item.style for item in items if _is_emphasised(item, usual)])
    lines = [
        Line(
            item.text,
            alone=not by_style,
            body=item.kind not in (Kind.TEXT, Kind.HEADING) or "\n" in item.text,
            emphasis=order[_look(item.style)] if _is_emphasised(item, usual) else None,
        )
        for item in items
    ]
    levels = heading_levels(lines, emphasised=by_style)
    return [
        replace(item, kind=Kind.HEADING, level=levels[index])
        if index in levels
        else (replace(item, kind=Kind.TEXT) if item.kind is Kind.HEADING and item.level is None else item)
        for index, item in enumerate(items)
    ]


def _usual_size(items: Sequence[Item]) -> float:
    sizes: Counter[float] = Counter()
    for item in items:
        if item.kind is Kind.TEXT:
            sizes[item.style.size] += len(item.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _is_emphasised(item: Item, usual: float) -> bool:
    """Whether a line stands out as headings do: all bold, or plainly larger than the text."""
    if item.kind is Kind.HEADING:
        return True
    if item.kind is not Kind.TEXT or not is_heading_like(item.text) or item.text.startswith(("(", "（")):
        numbered = numbering_level(item.text) is not None and item.style.bold
        return numbered and is_heading_like(item.text) and _is_wordy(item.text)
    larger = usual > 0 and item.style.size >= 1.15 * usual
    underlined = item.style.underline and item.style.italic
    return (item.style.bold or larger or underlined) and _is_wordy(item.text)


def _is_wordy(text: str) -> bool:
    """Whether a line says something: mostly letters, and more than one short word."""
    letters = sum(1 for character in text if character.isalpha())
    return 2 * letters >= len(text.replace(" ", "")) and (letters >= 5 or any(is_wide(c) for c in text))


def _look(style: Style) -> tuple[float, bool, bool]:
    return (-round(style.size), not style.bold, style.italic)


def _style_order(styles: Sequence[Style]) -> dict[tuple[float, bool, bool], int]:
    """The looks that occur, from the most to the least prominent: larger, bold, upright first."""
    return {look: index for index, look in enumerate(sorted({_look(style) for style in styles}))}


def _joined(items: Sequence[Item], usual: float) -> list[Item]:
    """Headings set on two or three lines as one."""
    joined: list[Item] = []
    run = 1
    for item in items:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.kind is Kind.TEXT
            and run < _MAX_JOINED
            and _is_emphasised(item, usual)
            and _is_emphasised(before, usual)
            and item.style == before.style
            and numbering_level(item.text) is None
            and (numbering_level(before.text) is None or len(before.text) <= _BARE_NUMBER_CHARS)
            and is_heading_like(f"{before.text} {item.text}")
        ):
            joined[-1] = replace(before, text=f"{before.text} {item.text}")
            run += 1
        else:
            joined.append(item)
            run = 1
    return joined
