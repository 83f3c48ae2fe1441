"""Pictures (PNG, JPEG, TIFF, WebP, GIF, BMP): their text is recognised, several frames are pages."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from clew.errors import DamagedFileError, FileFailedError
from clew.indexing.parsers.base import BlockBuilder, content_hash
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext
from clew.indexing.parsers.pdf_blocks import blocks_of_pages
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.recognition import recognise
from clew.types import BBox, Block, BlockType, ParsedFile, Picture

PAGE_SIDE = 842.0
"""Points of a picture's longer side (A4): its boxes are in points of a page of that size."""
_MAX_PIXELS = 100_000_000
_MAX_SIDE = 4000
"""Larger pictures are reduced: letters that need more pixels than that do not fill a page."""
_MAX_FRAMES = 200


def parse(data: bytes, name: str, context: ParseContext = DEFAULT_CONTEXT) -> ParsedFile:
    """Blocks of a picture's text. Raises FileFailedError where it is damaged, too large or shows no text."""
    if not context.options.ocr and not context.options.pictures:
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
                contents.append(_page(picture, number, context))
                context.on_page(number, frames)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DamagedFileError(
            f"{name}: the picture is damaged or cut off ({error}). Open it in a picture viewer and save it again."
        ) from error
    whole = BBox(0, 0, contents[0].width, contents[0].height)
    if not any(content.words for content in contents):
        if context.options.pictures:  # a vision model may tell what it shows
            builder = BlockBuilder()
            builder.image(payload=data, page=1, bbox=whole)
            return builder.finish(name, media_type, pages=len(contents))
        raise FileFailedError(
            f"{name}: no text was recognised on the picture, so there is nothing to search. "
            "Add a text that describes it."
        )
    warnings = [f"Only the first {frames} of {frames + dropped} pictures in the file were read."] if dropped > 0 else []
    parsed = blocks_of_pages(contents, name, media_type, cover=False, warnings=warnings)
    return _with_picture(parsed, Picture(data, media_type), whole) if context.options.pictures else parsed


def content_of(image: Image.Image, name: str, context: ParseContext) -> PageContent:
    """The words of an opened picture's first frame. Raises FileFailedError where it is too large."""
    return next(_page(picture, 1, context) for picture in _frames(image, name, 1))


def _with_picture(parsed: ParsedFile, picture: Picture, box: BBox) -> ParsedFile:
    """The recognised text and, after it, the picture itself."""
    identity = content_hash(BlockType.IMAGE, "", None, picture.data)
    block = Block(len(parsed.blocks), BlockType.IMAGE, "", identity, page=1, bbox=box)
    return replace(parsed, blocks=(*parsed.blocks, block), pictures={identity: picture})


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


def _page(picture: Image.Image, number: int, context: ParseContext) -> PageContent:
    scale = PAGE_SIDE / max(picture.size)
    width, height = picture.width * scale, picture.height * scale
    if not context.options.ocr:
        return PageContent(number, width, height)
    return recognise(np.asarray(picture), width, height, number, context.page_texts)
