"""The bytes of a stored original as a response, whole or in part (RFC 9110 ranges)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from clew.types import File

PIECE = 256 * 1024
# Shown in the browser; anything else could run script with this origin's rights and is only offered as a download.
_INLINE = frozenset({"application/pdf", "image/png", "image/jpeg", "text/plain"})
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def original_response(file: File, source: BinaryIO, request: Request) -> Response:
    """Streams ``source`` and closes it. Several ranges at once are answered with the whole, as the RFC allows."""
    disposition = "inline" if file.media_type in _INLINE else "attachment"
    headers = {
        "Accept-Ranges": "bytes",
        "ETag": f'"{file.content_hash}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(file.name, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        source.close()
        return Response(status_code=304, headers=headers)
    span = _span(request, file.size, headers["ETag"])
    if span is None:
        headers["Content-Length"] = str(file.size)
        return StreamingResponse(_pieces(source, 0, file.size), headers=headers, media_type=file.media_type)
    start, end = span
    if start >= end:
        source.close()
        return Response(status_code=416, headers={"Content-Range": f"bytes */{file.size}"})
    headers["Content-Length"] = str(end - start)
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    return StreamingResponse(_pieces(source, start, end), status_code=206, headers=headers, media_type=file.media_type)


def _span(request: Request, size: int, etag: str) -> tuple[int, int] | None:
    """The asked-for span as (start, end), end exclusive; None for the whole; an empty span cannot be satisfied."""
    match = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if match is None or match[1] == match[2] == "" or request.headers.get("if-range", etag) != etag:
        return None
    if match[1] == "":
        return max(size - int(match[2]), 0), size
    start, last = int(match[1]), int(match[2]) if match[2] else size - 1
    if match[2] and last < start:
        return None
    return start, min(last + 1, size)


def _pieces(source: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    with source:
        source.seek(start)
        left = end - start
        while left > 0 and (piece := source.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
