"""Styles of a Word document: what a paragraph is, through its style and the styles that one is based on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from clew.indexing.parsers.office import attribute, child, local_name

_HEADING_NAME = re.compile(r"^(?:heading|标题|標題)\s*([1-9])\b", re.I)
_TITLE_NAME = re.compile(r"^(?:title|标题|標題)$", re.I)
_CONTENTS_NAME = re.compile(r"^(?:toc|目录|目錄)\s*\d|^table of figures$", re.I)
_CODE_NAME = re.compile(r"code|source|preformatted|代码", re.I)
_MAX_CHAIN = 20
_OUTLINE_LEVELS = 9


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a paragraph's own properties and its style say."""

    level: int | None = None
    """Heading level from 1, ``None`` for body text."""
    is_title: bool = False
    is_contents: bool = False
    """An entry of an automatic table of contents."""
    is_code: bool = False
    list_id: str = ""
    list_level: int = 0
    centred: bool = False
    bold: bool = False
    italic: bool = False
    size: float = 0.0


class Styles:
    """The styles part of a document."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, etree._Element] = {}
        self._default = ""
        self._size = 0.0
        for element in root if root is not None else ():
            if local_name(element) == "style":
                identifier = attribute(element, "styleId") or ""
                self._styles[identifier] = element
                if attribute(element, "type") == "paragraph" and attribute(element, "default") in ("1", "true"):
                    self._default = identifier
            elif local_name(element) == "docDefaults":
                self._size = _points(child(element, "rPrDefault", "rPr"))

    def of(self, properties: etree._Element | None) -> ParagraphStyle:
        """The style of a paragraph with these properties (``w:pPr``)."""
        chain = self._chain(attribute(child(properties, "pStyle"), "val") or self._default)
        layers = [properties, *(child(style, "pPr") for style in chain)]
        names = [attribute(child(style, "name"), "val") or "" for style in chain]
        list_id, list_level = _list(layers)
        level = _outline(layers)
        if level is None and names:
            level = next((int(match[1]) for name in names if (match := _HEADING_NAME.match(name))), None)
        fonts = [child(style, "rPr") for style in chain]
        return ParagraphStyle(
            level=level if level is None or level <= _OUTLINE_LEVELS else None,
            is_title=bool(names and _TITLE_NAME.match(names[0])),
            is_contents=any(_CONTENTS_NAME.match(name) for name in names),
            is_code=any(_CODE_NAME.search(name) for name in names),
            list_id=list_id,
            list_level=list_level,
            centred=_first(attribute(child(layer, "jc"), "val") for layer in layers) == "center",
            bold=_flag(fonts, "b"),
            italic=_flag(fonts, "i"),
            size=next((size for font in fonts if (size := _points(font))), self._size),
        )

    def run(self, properties: etree._Element | None, paragraph: ParagraphStyle) -> tuple[bool, bool, float]:
        """Bold, italic and size in points of a run with these properties (``w:rPr``)."""
        chain = self._chain(attribute(child(properties, "rStyle"), "val") or "")
        fonts = [properties, *(child(style, "rPr") for style in chain)]
        return (
            _flag(fonts, "b", paragraph.bold),
            _flag(fonts, "i", paragraph.italic),
            next((size for font in fonts if (size := _points(font))), paragraph.size),
        )

    def _chain(self, identifier: str) -> list[etree._Element]:
        """A style and those it is based on."""
        chain: list[etree._Element] = []
        while identifier in self._styles and len(chain) < _MAX_CHAIN:
            chain.append(self._styles[identifier])
            identifier = attribute(child(chain[-1], "basedOn"), "val") or ""
        return chain


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def _outline(layers: list[etree._Element | None]) -> int | None:
    value = _first(attribute(child(layer, "outlineLvl"), "val") for layer in layers)
    return int(value) + 1 if value is not None and value.isdigit() else None


def _list(layers: list[etree._Element | None]) -> tuple[str, int]:
    identifier = _first(attribute(child(layer, "numPr", "numId"), "val") for layer in layers) or ""
    level = _first(attribute(child(layer, "numPr", "ilvl"), "val") for layer in layers) or "0"
    return ("" if identifier == "0" else identifier), int(level) if level.isdigit() else 0


def _flag(fonts: list[etree._Element | None], name: str, default: bool = False) -> bool:
    for font in fonts:
        element = child(font, name)
        if element is not None:
            return (attribute(element, "val") or "1") not in ("0", "false", "off", "none")
    return default


def _points(font: etree._Element | None) -> float:
    half = attribute(child(font, "sz"), "val") or ""
    return int(half) / 2 if half.isdigit() else 0.0
