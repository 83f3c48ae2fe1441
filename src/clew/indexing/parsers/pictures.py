"""Pictures for a vision model: cut out of PDF pages, and brought to a size that models read."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pypdfium2
from PIL import Image, UnidentifiedImageError

from clew.types import BBox, Block, BlockType, Picture

MAX_SIDE = 1280
"""Pixels of the longer side: vision models reduce what is larger, and bill for it."""
_MIN_SIDE = 40
"""Smaller pictures are bullets, rules and icons."""
_MAX_PICTURES = 1000
_MARGIN = 4.0
_DRAWN = frozenset((BlockType.IMAGE, BlockType.CHART, BlockType.TABLE))
_PNG_UP_TO = 256 * 1024
"""Drawings and text are kept without loss where that is small; what is larger becomes a JPEG."""


def drawn_pictures(document: Any, blocks: Iterable[Block]) -> dict[str, Picture]:
    """Images, charts and tables of an open ``pypdfium2.PdfDocument`` as they are shown, by content hash."""
    wanted = [block for block in blocks if block.type in _DRAWN and block.page and block.bbox]
    found: dict[str, Picture] = {}
    for number, members in groupby(wanted[:_MAX_PICTURES], key=lambda block: block.page):
        if number is None:
            continue
        try:
            page = document[number - 1]
        except pypdfium2.PdfiumError:
            continue
        try:
            for block in members:
                if block.bbox is not None and block.content_hash not in found:
                    found[block.content_hash] = _encoded(_drawn(page, block.bbox))
        finally:
            page.close()
    return found


def _drawn(page: Any, box: BBox) -> Image.Image:
    wide, high = page.get_size()
    left, top = max(0.0, box.x0 - _MARGIN), max(0.0, box.y0 - _MARGIN)
    right, bottom = min(wide, box.x1 + _MARGIN), min(high, box.y1 + _MARGIN)
    scale = min(200 / 72, MAX_SIDE / max(right - left, bottom - top, 1.0))
    bitmap = page.render(scale=scale, crop=(left, high - bottom, wide - right, top), rev_byteorder=True)
    return Image.fromarray(np.ascontiguousarray(bitmap.to_numpy()[:, :, :3]))


def reduced(pictures: Mapping[str, Picture]) -> dict[str, Picture]:
    """The pictures at a size that models read; those that cannot be decoded or are tiny are left out."""
    found: dict[str, Picture] = {}
    for key, picture in list(pictures.items())[:_MAX_PICTURES]:
        try:
            with Image.open(io.BytesIO(picture.data)) as image:
                if min(image.size) < _MIN_SIDE or image.width * image.height > 100_000_000:
                    continue
                image.draft("RGB", (2 * MAX_SIDE, 2 * MAX_SIDE))
                found[key] = picture if _is_fit(image, picture) else _encoded(_on_white(image))
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            continue
    return found


def _is_fit(image: Image.Image, picture: Picture) -> bool:
    known = picture.media_type in ("image/png", "image/jpeg")
    return known and max(image.size) <= MAX_SIDE and len(picture.data) <= 2 * _PNG_UP_TO


def _on_white(image: Image.Image) -> Image.Image:
    if image.has_transparency_data:
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    return image


def _encoded(image: Image.Image) -> Picture:
    image = image.convert("RGB")
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    if buffer.tell() <= _PNG_UP_TO:
        return Picture(buffer.getvalue(), "image/png")
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return Picture(buffer.getvalue(), "image/jpeg")
