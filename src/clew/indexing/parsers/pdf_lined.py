"""Tables whose rows are parted by lines across the whole width and whose columns by white space alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from clew.indexing.parsers.base import join_lines
from clew.indexing.parsers.grids import is_data_number
from clew.indexing.parsers.pdf_aligned import AlignedTable, pieces_of
from clew.indexing.parsers.pdf_lines import rows_of
from clew.indexing.parsers.pdf_page import Rule, Word
from clew.types import BBox

_MIN_LINES = 4
_MAX_ROW = 120.0
"""A table row is at most so many points high."""
_SLACK = 4.0

Lines = list[float]


def _stacks(rules: Sequence[Rule], width: float) -> list[tuple[float, float, Lines]]:
    """Left, right and heights of sets of long lines of one length, one under the other."""
    stacks: list[tuple[float, float, Lines]] = []
    for rule in sorted((r for r in rules if r.horizontal and r.x1 - r.x0 > 0.4 * width), key=lambda r: r.y0):
        for left, right, heights in stacks:
            if abs(rule.x0 - left) <= _SLACK and abs(rule.x1 - right) <= _SLACK and rule.y0 - heights[-1] <= _MAX_ROW:
                if rule.y0 - heights[-1] > 3:
                    heights.append(rule.y0)
                break
        else:
            stacks.append((rule.x0, rule.x1, [rule.y0]))
    return [stack for stack in stacks if len(stack[2]) >= _MIN_LINES]


def _table(left: float, right: float, heights: Lines, words: Sequence[Word]) -> AlignedTable | None:
    strips = [[w for w in words if top <= w.middle < bottom] for top, bottom in pairwise(heights)]
    pieces = [piece for strip in strips for row in rows_of(strip) for piece in pieces_of(row)]
    spans = sorted((p.x0, p.x1) for p in pieces if p.x1 - p.x0 < 0.6 * (right - left))
    columns: list[tuple[float, float]] = []
    for x0, x1 in spans:
        if columns and x0 < columns[-1][1] + 2:
            columns[-1] = (columns[-1][0], max(columns[-1][1], x1))
        else:
            columns.append((x0, x1))
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    for strip in strips:
        cells: list[list[Word]] = [[] for _ in columns]
        for word in strip:
            middle = (word.x0 + word.x1) / 2
            near = min(range(len(columns)), key=lambda i: max(columns[i][0] - middle, middle - columns[i][1], 0.0))
            cells[near].append(word)
        rows.append([join_lines(row.text for row in rows_of(cell)) for cell in cells])
    filled = sum(1 for row in rows if sum(1 for cell in row if cell) > 1)
    if filled < 3 or filled < 0.6 * sum(1 for row in rows if any(row)):
        return None
    figures = [any(map(is_data_number, row[1:])) for row in rows]
    header = int((not figures[0] and any(rows[0]) and any(figures)) or all(w.bold for w in strips[0]))
    return AlignedTable(BBox(left, heights[0], right, heights[-1]), rows, header, [], columns)


def lined_tables(rules: Sequence[Rule], words: Sequence[Word], width: float) -> tuple[list[AlignedTable], list[Word]]:
    """Such tables on a page ``width`` points wide, and the words that stand in none."""
    tables: list[AlignedTable] = []
    rest = list(words)
    for left, right, heights in _stacks(rules, width):
        inside = [w for w in rest if heights[0] <= w.middle < heights[-1] and left - 2 <= w.x0 and w.x1 <= right + 2]
        table = _table(left, right, heights, inside)
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            rest = [w for w in rest if id(w) not in taken]
    return tables, rest
