"""Which pages of a PDF need text recognition, and what it makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pypdfium2

from clew.indexing.parsers.context import ParseContext
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.recognition import covered_share, recognise, without_overlap
from clew.types import BBox

_NOISE = 0.3
"""A text layer with more than this share of meaningless characters counts as missing."""
_FEW_CHARACTERS = 150
_MOSTLY = 0.5
"""A page with fewer characters than that and images over more than this share is a scan with a stamp or header."""
_MAX_PIXELS = 25_000_000
"""A page is drawn with no more pixels: posters and plans are larger than any text on them needs."""
_ENOUGH = 20
"""Characters from which on the picture of a page is its text, and no image beside it."""


def recognise_pages(document: Any, contents: Sequence[PageContent], context: ParseContext) -> list[str]:
    """Puts recognised words where the text layer is missing or noise; returns warnings.

    ``document`` is the open ``pypdfium2.PdfDocument`` that ``contents`` were read from.
    """
    wanted = [content for content in contents if _is_wanted(content)]
    options = context.options
    if not options.ocr:
        lost = [content.number for content in wanted if not content.words and content.images]
        return [f"{pages_text(lost)}: no text layer, and text recognition is off (indexing.ocr)."] if lost else []
    warnings = []
    if len(wanted) > options.ocr_max_pages:
        left = [content.number for content in wanted[options.ocr_max_pages :]]
        wanted = wanted[: options.ocr_max_pages]
        warnings.append(
            f"{pages_text(left)} ({len(left)} in all) are scans and were not read: the text of at most "
            f"{options.ocr_max_pages} pages of a file is recognised. Split the file, or raise indexing.ocr.max_pages."
        )
    empty = []
    for done, content in enumerate(wanted, start=1):
        try:
            _recognise(document, content, context)
        except pypdfium2.PdfiumError:
            content.words = []
        if not content.words and content.images:
            empty.append(content.number)
        context.on_page(done, len(wanted))
    if empty:
        warnings.append(f"{pages_text(empty)}: a picture on which no text was recognised.")
    return warnings


def _is_wanted(content: PageContent) -> bool:
    """Whether the page's text has to be recognised; a text layer that is noise is dropped here."""
    if content.width <= 0 or content.height <= 0:
        return False  # could not be read at all
    if content.noise > _NOISE:
        content.words = []
    if not content.words:
        return True
    characters = sum(len(word.text) for word in content.words)
    return characters < _FEW_CHARACTERS and covered_share(content.images, content.width, content.height) > _MOSTLY


def _recognise(document: Any, content: PageContent, context: ParseContext) -> None:
    wide, high = (content.width, content.height) if content.turn in (0, 180) else (content.height, content.width)
    scale = min(context.options.ocr_dpi / 72, (_MAX_PIXELS / (wide * high)) ** 0.5)
    page = document[content.number - 1]
    try:
        picture = page.render(scale=scale, rev_byteorder=True).to_numpy()
    finally:
        page.close()
    found = recognise(np.ascontiguousarray(picture[:, :, :3]), wide, high, content.number, context.page_texts)
    if not content.words:
        content.words, content.turn = found.words, found.turn
        content.width, content.height = found.width, found.height
        content.rules = found.rules
        content.images = [_in_frame(box, found) for box in content.images]
    elif found.turn == content.turn:
        content.words.extend(without_overlap(found.words, content.words))
    if sum(len(word.text) for word in found.words) >= _ENOUGH:
        content.images = []


def _in_frame(box: BBox, content: PageContent) -> BBox:
    """A box of the page as it is shown, in the coordinates of its upright content."""
    if content.turn == 90:
        return BBox(box.y0, content.height - box.x1, box.y1, content.height - box.x0)
    if content.turn == 180:
        return BBox(content.width - box.x1, content.height - box.y1, content.width - box.x0, content.height - box.y0)
    if content.turn == 270:
        return BBox(content.width - box.y1, box.x0, content.width - box.y0, box.x1)
    return box


def pages_text(numbers: Sequence[int]) -> str:
    """Page numbers for people, the first ten of them."""
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    return f"Page {shown}" if len(numbers) == 1 else f"Pages {shown}"
