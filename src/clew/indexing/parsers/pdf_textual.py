"""Tables of words without ruling lines: definitions, lists of people, pipelines; columns begin at shared edges."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.indexing.parsers.pdf_aligned import AlignedTable, Piece, pieces_of
from clew.indexing.parsers.pdf_lines import Row, box_around

_EDGE = 3.0
"""Pieces that begin this near (points) begin at one edge."""
_MIN_ROWS = 3
_MARKER = re.compile(
    r"(?:[•●○▪■◦‣·–—\-*†‡□☐☒√►➢]|[(（]?[0-9A-Za-z]{1,3}[).）]|\d{1,2}(?:\.\d{1,2})*\.?|[一二三四五六七八九十]+、"
    r"|(?:item|note|part|exhibit)\s*[\dIVX]{1,4}[A-C]?\.?)$",
    re.I,
)


def _column(piece: Piece, edges: Sequence[float]) -> int | None:
    """The column whose edge the piece begins at, if it ends before the next one."""
    for index, edge in enumerate(edges):
        if abs(piece.x0 - edge) <= _EDGE:
            after = edges[index + 1] if index + 1 < len(edges) else float("inf")
            return index if piece.x1 < after + _EDGE else None
    return None


def _grown(edges: list[float], pieces: Sequence[Piece]) -> list[float] | None:
    """The edges with those of one more row, or ``None`` if the row does not fit them."""
    new = sorted([*edges, *(p.x0 for p in pieces if all(abs(p.x0 - edge) > _EDGE for edge in edges))])
    if len(pieces) == 1 and len(new) > len(edges):
        return None
    if len(new) > len(edges) and all(abs(p.x0 - edge) > _EDGE for p in pieces for edge in edges):
        return None
    return new if all(_column(piece, new) is not None for piece in pieces) else None


def _region(rows: Sequence[Row], pieces: Sequence[Sequence[Piece]], start: int) -> tuple[int, list[float]]:
    """Index after the last row of the table that begins at ``start``, and its column edges."""
    edges = sorted(piece.x0 for piece in pieces[start])
    end = start + 1
    while end < len(rows):
        if rows[end].y0 - rows[end - 1].y1 > 2.5 * rows[end].size:
            break
        grown = _grown(edges, pieces[end])
        if grown is None or any(_column(p, grown) is None for line in pieces[start:end] for p in line):
            break
        edges = grown
        end += 1
    return end, edges


def _table(rows: Sequence[Row], pieces: Sequence[Sequence[Piece]], edges: Sequence[float]) -> AlignedTable:
    grid: list[list[str]] = []
    for index, line in enumerate(pieces):
        columns = [_column(piece, edges) or 0 for piece in line]
        close = index > 0 and rows[index].y0 - rows[index - 1].y1 < 0.5 * rows[index].size
        if grid and close and (0 not in columns or len(line) == 1):
            cells = grid[-1]
        else:
            cells = [""] * len(edges)
            grid.append(cells)
        for piece, column in zip(line, columns, strict=True):
            cells[column] = f"{cells[column]} {piece.text}".strip()
    header = int(rows[0].bold and len(rows) > 1 and not rows[1].bold)
    bands = [(edge, edge) for edge in edges]
    return AlignedTable(box_around(row.bbox for row in rows), grid, header, [], bands)


def textual_tables(rows: Sequence[Row]) -> tuple[list[AlignedTable], list[Row]]:
    """Tables of words among the rows of one column, and the rows that belong to none.

    A table has at least three rows with pieces in two columns; list markers and labels of headings make no column.
    """
    pieces = [pieces_of(row) for row in rows]
    tables: list[AlignedTable] = []
    rest: list[Row] = []
    index = 0
    while index < len(rows):
        if len(pieces[index]) > 1 and not _MARKER.match(pieces[index][0].text):
            end, edges = _region(rows, pieces, index)
            wide = [line for line in pieces[index:end] if len(line) > 1]
            marked = sum(bool(_MARKER.match(line[0].text)) for line in wide)
            if (
                len(wide) >= _MIN_ROWS
                and 2 * len(wide) >= end - index - _loose(pieces[index:end], edges)
                and not marked
            ):
                tables.append(_table(rows[index:end], pieces[index:end], edges))
                index = end
                continue
        rest.append(rows[index])
        index += 1
    return tables, rest


def _loose(pieces: Sequence[Sequence[Piece]], edges: Sequence[float]) -> int:
    """Rows that only carry on a cell to the right of the first column."""
    return sum(1 for line in pieces if len(line) == 1 and _column(line[0], edges) != 0)
