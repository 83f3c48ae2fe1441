"""Ruling lines, images and links of a PDF page, read through PDFium."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium

from clew.indexing.parsers.pdf_page import Affine, Point, Rule, at, box_of, then
from clew.types import BBox

_MAX_OBJECTS = 500_000
_MAX_FORM_DEPTH = 6
_MAX_SEGMENTS = 400
_TEXT = pdfium.FPDF_PAGEOBJ_TEXT
_LARGE = 60.0
_MAX_DIGESTS = 500
"""Images of at least so many points on one side are told apart, so many of them on a page."""
_THIN = 2.5
"""Up to this many points, a filled box is a line."""


def _objects(parent: Any, map: Affine, depth: int = 0) -> Iterator[tuple[Any, int, Affine]]:
    """Paths and images of a page (``depth`` 0) or form, with their kind and the map that places them."""
    if depth:
        count, get = pdfium.FPDFFormObj_CountObjects(parent), pdfium.FPDFFormObj_GetObject
    else:
        count, get = pdfium.FPDFPage_CountObjects(parent), pdfium.FPDFPage_GetObject
    kind_of = pdfium.FPDFPageObj_GetType
    for index in range(min(count, _MAX_OBJECTS)):
        item = get(parent, index)
        kind = kind_of(item)
        if kind == _TEXT:
            continue
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_FORM_DEPTH:
            yield from _objects(item, then(_matrix(item), map), depth + 1)
        elif kind in (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE):
            yield item, kind, map


def _matrix(item: Any) -> Affine:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(item, matrix)
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _path_points(item: Any, map: Affine) -> list[Point | None] | None:
    """A path's points, ``None`` before each new stroke; ``None`` in all for curves and very long paths."""
    count = pdfium.FPDFPath_CountSegments(item)
    if count > _MAX_SEGMENTS:
        return None
    points: list[Point | None] = []
    start: Point | None = None
    px, py = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(item, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            return None
        pdfium.FPDFPathSegment_GetPoint(segment, px, py)
        point = at(map, px.value, py.value)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            points.append(None)
            start = point
        points.append(point)
        if pdfium.FPDFPathSegment_GetClose(segment) and start is not None:
            points.append(start)
    return points


def _path_rules(item: Any, map: Affine) -> Iterator[Rule]:
    """The straight lines that a path draws: strokes, thin fills and the edges of stroked boxes."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(item, fill, stroke)
    points = _path_points(item, map) if fill.value or stroke.value else None
    known = [point for point in points or () if point is not None]
    if not points or not known:
        return
    xs, ys = [p[0] for p in known], [p[1] for p in known]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    if min(wide, high) <= _THIN:
        if max(wide, high) > _THIN:
            yield _thin(min(xs), min(ys), max(xs), max(ys))
    elif stroke.value:
        for before, after in pairwise(points):
            if before is not None and after is not None:
                ax, bx = sorted((before[0], after[0]))
                ay, by = sorted((before[1], after[1]))
                if min(bx - ax, by - ay) <= 1 and max(bx - ax, by - ay) > _THIN:
                    yield _thin(ax, ay, bx, by)


def _thin(x0: float, y0: float, x1: float, y1: float) -> Rule:
    if x1 - x0 >= y1 - y0:
        return Rule(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)
    return Rule((x0 + x1) / 2, y0, (x0 + x1) / 2, y1)


def drawings(
    page: Any, map: Affine, width: float, height: float
) -> tuple[list[Rule], list[BBox], list[tuple[BBox, bytes]]]:
    """Ruling lines, the boxes of images, and digests of the larger ones' data, as far as they lie on the page."""
    rules: list[Rule] = []
    images: list[BBox] = []
    digests: list[tuple[BBox, bytes]] = []
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for item, kind, place in _objects(page, map):
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            rules.extend(_path_rules(item, then(_matrix(item), place)))
        elif pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
            box = box_of(place, left.value, bottom.value, right.value, top.value)
            box = BBox(max(0.0, box.x0), max(0.0, box.y0), min(width, box.x1), min(height, box.y1))
            if box.x1 > box.x0 and box.y1 > box.y0:
                images.append(box)
                if max(box.x1 - box.x0, box.y1 - box.y0) >= _LARGE and len(digests) < _MAX_DIGESTS:
                    digests.append((box, _digest(item)))
    return rules, images, digests


def _digest(image: Any) -> bytes:
    """What tells an image from another, wherever it stands: the SHA-256 of its stored bytes."""
    size = pdfium.FPDFImageObj_GetImageDataRaw(image, None, 0)
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFImageObj_GetImageDataRaw(image, buffer, size)
    return hashlib.sha256(buffer.raw).digest()


def links(document: Any, page: Any, map: Affine) -> list[tuple[BBox, int]]:
    found: list[tuple[BBox, int]] = []
    position = ctypes.c_int(0)
    link = pdfium.FPDF_LINK()
    rect = pdfium.FS_RECTF()
    while pdfium.FPDFLink_Enumerate(page, position, link):
        dest = pdfium.FPDFLink_GetDest(document, link)
        if not dest and (action := pdfium.FPDFLink_GetAction(link)):
            dest = pdfium.FPDFAction_GetDest(document, action)
        if dest and pdfium.FPDFLink_GetAnnotRect(link, rect):
            index = pdfium.FPDFDest_GetDestPageIndex(document, dest)
            if index >= 0:
                found.append((box_of(map, rect.left, rect.bottom, rect.right, rect.top), index + 1))
    return found
