"""The text on the pictures inside documents (Office files, e-books, pages with embedded images).

A picture is read like a file of its own, after what the document itself says of it. The same picture is read once,
however often it is shown, and not again in another file.
"""

from __future__ import annotations

import io
from dataclasses import replace

from PIL import Image, UnidentifiedImageError

from clew.errors import FileFailedError
from clew.indexing.parsers.base import detect_language
from clew.indexing.parsers.context import ParseContext
from clew.indexing.parsers.image import content_of
from clew.indexing.parsers.pdf_blocks import blocks_of_pages
from clew.types import Block, BlockType, ParsedFile, Picture

_MIN_SIDE = 20
_MIN_PIXELS = 6_000
"""Smaller pictures are icons and rules."""
_MIN_LETTERS = 4
"""Less is what strokes of a drawing look like."""


def with_picture_texts(parsed: ParsedFile, name: str, context: ParseContext) -> ParsedFile:
    """The file with the recognised text of its images behind their own. Where there are more pictures than
    ``ocr_max_pages`` the rest stays as it is, and a warning says so."""
    shown = [
        block for block in parsed.blocks if block.type is BlockType.IMAGE and block.content_hash in parsed.pictures
    ]
    # By their bytes: a picture with another caption is another block.
    pictures = list(dict.fromkeys(parsed.pictures[block.content_hash] for block in shown))
    wanted = [picture for picture in pictures if _is_readable(picture)]
    texts: dict[Picture, str] = {}
    for number, picture in enumerate(wanted[: context.options.ocr_max_pages], start=1):
        texts[picture] = _text_of(picture, name, context)
        context.on_page(number, min(len(wanted), context.options.ocr_max_pages))
    said = {block.content_hash: texts.get(parsed.pictures[block.content_hash], "") for block in shown}
    blocks = tuple(_with_text(block, said.get(block.content_hash, "")) for block in parsed.blocks)
    left = len(wanted) - context.options.ocr_max_pages
    warning = f"The text of {left} pictures was not recognised: indexing.ocr.max_pages allows no more."
    return replace(
        parsed,
        blocks=blocks,
        language=detect_language(block.text for block in blocks),
        warnings=(*parsed.warnings, warning) if left > 0 else parsed.warnings,
    )


def _is_readable(picture: Picture) -> bool:
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            return min(image.size) >= _MIN_SIDE and image.width * image.height >= _MIN_PIXELS
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False


def _text_of(picture: Picture, name: str, context: ParseContext) -> str:
    """Its text as a file of its own would have it; nothing where it is damaged or too large."""
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            content = content_of(image, name, context)
    except (FileFailedError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return ""
    if sum(character.isalnum() for word in content.words for character in word.text) < _MIN_LETTERS:
        return ""
    return "\n".join(block.text for block in blocks_of_pages([content], name, picture.media_type, cover=False).blocks)


def _with_text(block: Block, text: str) -> Block:
    """The hash stays that of the picture and the document's own words: recognised text follows from them."""
    if not text or "".join(text.split()) in "".join(block.text.split()):
        return block
    return replace(block, text="\n".join(filter(None, [block.text, text])))
