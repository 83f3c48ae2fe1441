"""Reads PDF pages through PDFium: words with their boxes and fonts, ruling lines, images and links.

Coordinates are PDF points with the origin at the top left of the page as it is shown (rotation applied). A page
whose text runs mostly sideways (a landscape table bound into a portrait report) is turned so that its text reads
from left to right.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from clew.indexing.parsers.pdf_drawings import drawings, links
from clew.indexing.parsers.pdf_page import Affine, PageContent, Word, then

_SPACES = frozenset(" \t\r\n\u00a0\u2002\u2003\u2009\u200a\u202f\x00")
_INVISIBLE = frozenset("\u200b\u200c\u200d\ufeff\u00ad")
_HYPHEN_MARKS = frozenset("\x02\ufffe")
"""PDFium's stand-ins for a hyphen at the end of a line."""


def _frame(page: Any) -> tuple[Affine, float, float]:
    """The map from PDF user space to the page as it is shown, and the shown width and height."""
    left, bottom, right, top = page.get_bbox()
    wide, high = right - left, top - bottom
    quarter = int(page.get_rotation() // 90) % 4
    if quarter == 1:
        return (0, 1, 1, 0, -bottom, -left), high, wide
    if quarter == 2:
        return (-1, 0, 0, 1, right, -bottom), wide, high
    if quarter == 3:
        return (0, -1, -1, 0, top, right), high, wide
    return (1, 0, 0, -1, -left, top), wide, high


def _upright(turn: int, width: float, height: float) -> Affine:
    """The map from the shown page to one in which text that runs ``turn`` degrees clockwise reads upright."""
    return {
        0: (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        90: (0.0, -1.0, 1.0, 0.0, 0.0, width),
        180: (-1.0, 0.0, 0.0, -1.0, width, height),
        270: (0.0, 1.0, -1.0, 0.0, height, 0.0),
    }[turn]


@dataclass(frozen=True, slots=True)
class _Font:
    name: str
    bold: bool
    italic: bool


class _Fonts:
    """Fonts of a document by their address, looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, _Font] = {}

    def of(self, text_object: Any) -> _Font:
        font = pdfium.FPDFTextObj_GetFont(text_object)
        address = ctypes.addressof(font.contents) if font else 0
        known = self._known.get(address)
        if known is None:
            buffer = ctypes.create_string_buffer(256)
            if address:
                pdfium.FPDFFont_GetBaseFontName(font, buffer, 256)
            name = buffer.value.decode("utf-8", "replace").split("+")[-1]
            low = name.lower()
            weight = pdfium.FPDFFont_GetWeight(font) if address else 400
            named = any(mark in low for mark in ("bold", "black", "heavy", "demi", "simhei", "-medium"))
            # PDFium guesses the weight from the stem width where the name says nothing, and guesses high for italics.
            bold = named or (
                weight >= 600 and not any(mark in low for mark in ("italic", "oblique", "regular", "roman"))
            )
            italic = "italic" in low or "oblique" in low
            known = self._known[address] = _Font(name, bold, italic)
        return known


@dataclass(slots=True)
class _Glyph:
    char: str
    x0: float
    x1: float
    base: float
    size: float
    font: _Font
    bold: bool
    spaced: bool
    joint: bool


def _glyphs(textpage: Any, frames: dict[int, Affine], fonts: _Fonts) -> tuple[dict[int, list[_Glyph]], int, int]:
    """Characters by the direction of their text (see :func:`_upright`), noise characters, all characters.

    ``frames`` maps user space to the upright page of each direction.
    """
    by_turn: dict[int, list[_Glyph]] = {}
    matrix, rect = pdfium.FS_MATRIX(), pdfium.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    noise = total = 0
    spaced = True
    last = -1
    font = _Font("", False, False)
    turn, size, bold = 0, 0.0, False
    unsized: list[tuple[_Glyph, float]] = []
    shown = frames[0]
    for index in range(pdfium.FPDFText_CountChars(textpage)):
        code = pdfium.FPDFText_GetUnicode(textpage, index)
        char = chr(code) if code < 0x110000 else "\ufffd"
        if char in _SPACES:
            spaced = True
            continue
        if char in _INVISIBLE:
            continue
        char = "-" if char in _HYPHEN_MARKS else char
        total += 1
        noise += char == "\ufffd" or "\ue000" <= char <= "\uf8ff" or char < " "
        text_object = pdfium.FPDFText_GetTextObject(textpage, index)
        address = ctypes.addressof(text_object.contents) if text_object else 0
        joint = address != last
        if joint:
            last = address
            pdfium.FPDFText_GetMatrix(textpage, index, matrix)
            along = matrix.a * shown[0] + matrix.b * shown[2], matrix.a * shown[1] + matrix.b * shown[3]
            angle = math.degrees(math.atan2(along[1], along[0])) % 360
            turn = round(angle / 90) % 4 * 90 if min(angle % 90, 90 - angle % 90) < 5 else -1
            size = pdfium.FPDFText_GetFontSize(textpage, index) * math.hypot(matrix.c, matrix.d)
            font = fonts.of(text_object) if address else _Font("", False, False)
            bold = font.bold or bool(address and pdfium.FPDFTextObj_GetTextRenderMode(text_object) == 2)
        if turn < 0 or not pdfium.FPDFText_GetLooseCharBox(textpage, index, rect):
            continue
        pdfium.FPDFText_GetCharOrigin(textpage, index, x, y)
        a, b, c, d, e, f = frames[turn]
        ax, bx = a * rect.left + c * rect.bottom + e, a * rect.right + c * rect.top + e
        base = b * x.value + d * y.value + f
        glyph = _Glyph(char, min(ax, bx), max(ax, bx), base, size, font, bold, spaced, joint)
        if size < 1:
            unsized.append((glyph, rect.top - rect.bottom))
        by_turn.setdefault(turn, []).append(glyph)
        spaced = False
    _size_by_height(unsized)
    return by_turn, noise, total


def _size_by_height(glyphs: list[tuple[_Glyph, float]]) -> None:
    """Sizes for glyphs whose font states none (Type 3): from the tallest glyphs of the font."""
    heights: dict[int, list[float]] = {}
    for glyph, height in glyphs:
        heights.setdefault(id(glyph.font), []).append(height)
    sizes = {font: max(sorted(tall)[int(0.9 * len(tall))] / 0.75, 1.0) for font, tall in heights.items()}
    for glyph, _ in glyphs:
        glyph.size = sizes[id(glyph.font)]


def _words(glyphs: list[_Glyph]) -> list[Word]:
    """Glyphs in stream order to words; a word ends at a space, a gap, a new line, size or weight."""
    words: list[Word] = []
    word: Word | None = None
    base = 0.0
    for g in glyphs:
        if (
            word is None
            or g.spaced
            or abs(g.base - base) > 0.1 * g.size
            or not -0.3 * g.size < g.x0 - word.x1 < 0.25 * g.size
            or abs(g.size - word.size) > 0.12 * g.size
            or g.bold != word.bold
        ):
            top, bottom = g.base - 0.86 * g.size, g.base + 0.2 * g.size
            word = Word(g.char, g.x0, top, g.x1, bottom, g.size, g.bold,
                        g.font.italic, g.font.name, [g.x0], g.spaced)  # fmt: skip
            base = g.base
            words.append(word)
        else:
            if g.joint:
                word.joints.append(len(word.text))
            word.text += g.char
            word.x1 = max(word.x1, g.x1)
            word.starts.append(g.x0)
    return words


class PageReader:
    """Reads pages of an open document (``pypdfium2.PdfDocument``) one after the other."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._fonts = _Fonts()

    def read(self, number: int) -> PageContent:
        """The content of page ``number`` (from 1); raises ``pypdfium2.PdfiumError`` if it cannot be loaded."""
        page = self._document[number - 1]
        try:
            shown, width, height = _frame(page)
            frames = {turn: then(shown, _upright(turn, width, height)) for turn in (0, 90, 180, 270)}
            textpage = page.get_textpage()
            try:
                by_turn, noise, total = _glyphs(textpage.raw, frames, self._fonts)
            finally:
                textpage.close()
            turn = max(by_turn, key=lambda t: len(by_turn[t]), default=0)
            if turn in (90, 270):
                width, height = height, width
            content = PageContent(number, width, height, turn=turn, noise=noise / total if total else 0.0)
            content.words = _words(by_turn.get(turn, []))
            content.rules, content.images, content.digests = drawings(page.raw, frames[turn], width, height)
            content.links = links(self._document.raw, page.raw, frames[turn])
            return content
        finally:
            page.close()
