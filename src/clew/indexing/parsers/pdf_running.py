"""Running headers, footers and page numbers: what repeats at the edges of pages, and is no part of the text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clew.indexing.parsers.pdf_lines import Row

_EDGE_ROWS = 3
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]+$")
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|第)?\s*[-–—]*\s*(\d{1,4}|[ivxlc]{1,7})\s*[-–—]*\s*(?:页)?"
    r"(?:\s*(?:/|of|共|，共)\s*\d{1,4}\s*(?:页)?)?$",
    re.I,
)
_AT_ENDS = re.compile(r"^\d{1,4}(?=\s|[|—–-])|(?<=[\s|—–-])\d{1,4}$")


def _key(row: Row) -> str:
    text = "".join(unicodedata.normalize("NFKC", row.text).lower().split())
    text = _DIGITS.sub("#", text)
    return "#" if _ROMAN.match(text) else text


@dataclass(frozen=True, slots=True)
class _Edge:
    """A row near the top or bottom of a page; ``distance`` from that edge in steps of four points."""

    side: str
    index: int
    key: str
    distance: int


def _edge_keys(rows: Sequence[Row], height: float) -> list[_Edge]:
    count = len(rows)
    top = range(min(_EDGE_ROWS, count))
    edges = [_Edge("top", i, _key(rows[i]), round(rows[i].y0 / 4)) for i in top]
    bottom = range(max(count - _EDGE_ROWS, len(top)), count)
    return edges + [_Edge("bottom", i, _key(rows[i]), round((height - rows[i].y1) / 4)) for i in bottom]


def running_rows(pages: Sequence[Sequence[Row]], heights: Sequence[float]) -> list[set[int]]:
    """For each page the indices of its rows (sorted from top to bottom) that are running headers or footers.

    A row counts as running if the same text (digits aside) stands at the edge of at least three pages and either
    of a third of all pages, or at the same height of a twelfth of them; and, alone at an edge, the page's number.
    """
    keys = [_edge_keys(rows, height) for rows, height in zip(pages, heights, strict=True)]
    seen: Counter[tuple[str, str]] = Counter()
    placed: Counter[tuple[str, str, int]] = Counter()
    for page_keys in keys:
        seen.update({(edge.side, edge.key) for edge in page_keys})
        placed.update(
            {(e.side, e.key, near) for e in page_keys for near in (e.distance - 1, e.distance, e.distance + 1)}
        )
    offset = _number_offset(pages)
    running: list[set[int]] = []
    for number, (page_keys, rows) in enumerate(zip(keys, pages, strict=True), start=1):
        found = {
            edge.index
            for edge in page_keys
            if (
                seen[edge.side, edge.key] >= max(3, len(pages) / 3)
                or placed[edge.side, edge.key, edge.distance] >= max(3, len(pages) / 12)
            )
            and not _is_figure(rows[edge.index], heights[number - 1])
        }
        if offset is not None:
            outer = [index for index in range(len(rows)) if index not in found]
            found.update(i for i in {*outer[:1], *outer[-1:]} if _number_of(rows[i]) == number + offset)
        running.append(_outermost(found, len(rows)))
    return running


def _is_figure(row: Row, height: float) -> bool:
    """A bare figure in the middle of the page: the last row of a short page's table, no page number."""
    return _key(row) == "#" and 0.2 * height < row.y0 < 0.6 * height


def _outermost(found: set[int], count: int) -> set[int]:
    """Only rows that reach the edge without a gap of more than one other row."""
    kept: set[int] = set()
    for order in (range(count), range(count - 1, -1, -1)):
        misses = 0
        for index in order:
            if index in found:
                kept.add(index)
            else:
                misses += 1
                if misses > 1:
                    break
    return kept


def _number_of(row: Row) -> int | None:
    match = _PAGE_NUMBER.match(row.text.strip())
    return int(match.group(1)) if match and match.group(1).isdigit() else None


def _numbers_beside(row: Row) -> list[int]:
    """A row's number, if it is a page number alone or stands at either end of a running header."""
    text = row.text.strip()
    alone = _number_of(row)
    if alone is not None or len(text) > 90:
        return [] if alone is None else [alone]
    return [int(match) for match in _AT_ENDS.findall(text)]


def _number_offset(pages: Sequence[Sequence[Row]]) -> int | None:
    """Printed page number minus position in the file, where at least a third of the pages agree."""
    offsets: Counter[int] = Counter()
    for number, rows in enumerate(pages, start=1):
        near = {*range(min(_EDGE_ROWS, len(rows))), *range(max(len(rows) - _EDGE_ROWS, 0), len(rows))}
        edge = {n for i in near for n in _numbers_beside(rows[i])}
        offsets.update({n - number for n in edge if abs(n - number) <= 60})
    if not offsets:
        return None
    best, count = offsets.most_common(1)[0]
    return best if count >= max(2, len(pages) / 3) else None


def printed_offset(pages: Sequence[Sequence[Row]]) -> int:
    """Printed page number minus position in the file; 0 where pages print none."""
    offset = _number_offset(pages)
    return 0 if offset is None else offset
