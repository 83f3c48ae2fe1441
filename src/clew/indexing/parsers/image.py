"""Pictures (PNG, JPEG, TIFF, WebP, GIF, BMP): their text is recognised, several frames are pages."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from clew.errors import DamagedFileError, FileFailedError
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext
from clew.indexing.parsers.pdf_blocks import blocks_of_pages
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.recognition import recognise
from clew.types import BBox, ParsedFile

PAGE_SIDE = 842.0
"""Points of a picture's longer side (A4): its boxes are in points of a page of that size."""
_MAX_PIXELS = 100_000_000
_MAX_SIDE = 4000
"""Larger pictures are reduced: letters that need more pixels than that do not fill a page."""
_MAX_FRAMES = 200


def parse(data: bytes, name: str, context: ParseContext = DEFAULT_CONTEXT) -> ParsedFile:
    """Blocks of a picture's text. Raises FileFailedError where it is damaged, too large or shows no text."""
    if not context.options.ocr:
        raise FileFailedError(
            f"{name}: the text of pictures is not recognised, because that is off. Set indexing.ocr.enabled, or add "
            "the text itself."
        )
    contents = []
    try:
        with Image.open(io.BytesIO(data)) as image:
            media_type = Image.MIME.get(image.format or "", "image/*")
            frames = min(getattr(image, "n_frames", 1), _MAX_FRAMES, context.options.ocr_max_pages)
            dropped = getattr(image, "n_frames", 1) - frames
            for number, picture in enumerate(_frames(image, name, 1 if media_type == "image/gif" else frames), start=1):
                contents.append(_recognised(picture, number))
                context.on_page(number, frames)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DamagedFileError(
            f"{name}: the picture is damaged or cut off ({error}). Open it in a picture viewer and save it again."
        ) from error
    if not any(content.words for content in contents):
        raise FileFailedError(
            f"{name}: no text was recognised on the picture, so there is nothing to search. "
            "Add a text that describes it."
        )
    warnings = [f"Only the first {frames} of {frames + dropped} pictures in the file were read."] if dropped > 0 else []
    return blocks_of_pages(contents, name, media_type, cover=False, warnings=warnings)


def _frames(image: Image.Image, name: str, count: int) -> Iterator[Image.Image]:
    for index in range(count):
        if index:
            image.seek(index)
        if image.width * image.height > _MAX_PIXELS:
            raise FileFailedError(
                f"{name}: the picture has {image.width} × {image.height} pixels, more than {_MAX_PIXELS // 10**6} "
                "million. Reduce it or cut it into parts."
            )
        image.draft("RGB", (_MAX_SIDE, _MAX_SIDE))
        frame = ImageOps.exif_transpose(image)
        if frame.has_transparency_data:
            # Black letters on nothing: what is transparent is paper.
            frame = Image.alpha_composite(Image.new("RGBA", frame.size, "white"), frame.convert("RGBA"))
        frame = frame.convert("RGB")
        frame.thumbnail((_MAX_SIDE, _MAX_SIDE))
        yield frame


def _recognised(picture: Image.Image, number: int) -> PageContent:
    scale = PAGE_SIDE / max(picture.size)
    width, height = picture.width * scale, picture.height * scale
    content = recognise(np.asarray(picture), width, height, number)
    content.images = [] if content.words else [BBox(0, 0, width, height)]
    return content
