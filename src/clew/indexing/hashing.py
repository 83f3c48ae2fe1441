"""Content hashes: what a block or chunk says, independent of where it stands."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from clew.types import BlockType, Table

_ANY_SPACE = re.compile(r"\s+")


def content_hash(type: BlockType, text: str, table: Table | None = None, payload: bytes | None = None) -> str:
    """SHA-256 hex digest of a block's normalised content, independent of its position.

    White space counts as one space and Unicode is composed (NFC), so a new line wrap is no new content.
    ``payload``: the bytes of an image, whose text says little.
    """
    digest = hashlib.sha256(type.value.encode())
    parts = [text] if table is None else [cell for row in table.rows for cell in row]
    if type is BlockType.CODE:  # its white space is its content
        parts = [unicodedata.normalize("NFC", part) for part in parts]
    else:
        parts = [_ANY_SPACE.sub(" ", unicodedata.normalize("NFC", part)).strip() for part in parts]
    if table is not None:
        spans = sorted((s.row, s.column, s.rows, s.columns) for s in table.spans)
        width = len(table.rows[0]) if table.rows else 0
        digest.update(f"\x1e{len(table.rows)}x{width}\x1e{table.header_rows}\x1e{spans}".encode())
    for part in parts:
        digest.update(b"\x1f" + part.encode("utf-8", "replace"))
    if payload is not None:
        digest.update(b"\x1d" + hashlib.sha256(payload).digest())
    return digest.hexdigest()
