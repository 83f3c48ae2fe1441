"""Ruled tables: a grid from the lines drawn on a page, its cells (merged ones too) and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.indexing.parsers.base import join_lines
from clew.indexing.parsers.pdf_aligned import pieces_of
from clew.indexing.parsers.pdf_lines import rows_of
from clew.indexing.parsers.pdf_page import Rule, Word
from clew.types import BBox, CellSpan

_TOUCH = 3.0
"""Lines that come this near (points) meet."""
_SAME = 2.5
"""Lines this near in position are one."""
_OVERHANG = 8.0
"""A horizontal line that goes on this far beyond the last vertical one has an open cell there."""
_NUMBER_PART = re.compile(r"[-(]?[\d,.]+[)%]?$")
_WHOLE_NUMBER = re.compile(r"[-(]?\d{1,3}(?:,\d{3})*(?:\.\d+)?[)%]?$")


@dataclass(frozen=True, slots=True)
class RuledTable:
    """A grid of cells as drawn: ``rows`` and ``spans`` as in :class:`clew.types.Table`, ``columns`` the x positions."""

    bbox: BBox
    columns: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[CellSpan, ...]
    bold_rows: int = 0
    """How many of the first rows are wholly bold."""


@dataclass(frozen=True, slots=True)
class _Line:
    at: float
    start: float
    end: float


def _merged(lines: Iterable[_Line]) -> list[_Line]:
    """Pieces of one line, drawn cell by cell, as one."""
    merged: list[_Line] = []
    groups: list[list[_Line]] = []
    for line in sorted(lines, key=lambda item: item.at):
        if groups and line.at - groups[-1][0].at <= 1.5:
            groups[-1].append(line)
        else:
            groups.append([line])
    for group in groups:
        current: _Line | None = None
        for line in sorted(group, key=lambda item: item.start):
            if current is not None and line.start - current.end <= _TOUCH:
                current = _Line(current.at, current.start, max(current.end, line.end))
            else:
                if current is not None:
                    merged.append(current)
                current = line
        if current is not None:
            merged.append(current)
    return merged


def _components(across: Sequence[_Line], down: Sequence[_Line]) -> list[tuple[list[_Line], list[_Line]]]:
    """Sets of horizontal and vertical lines that hang together."""
    parent = list(range(len(across) + len(down)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for i, h in enumerate(across):
        for j, v in enumerate(down):
            if h.start - _TOUCH <= v.at <= h.end + _TOUCH and v.start - _TOUCH <= h.at <= v.end + _TOUCH:
                parent[find(i)] = find(len(across) + j)
    groups: dict[int, tuple[list[_Line], list[_Line]]] = {}
    for index in range(len(parent)):
        group = groups.setdefault(find(index), ([], []))
        if index < len(across):
            group[0].append(across[index])
        else:
            group[1].append(down[index - len(across)])
    return [group for group in groups.values() if len(group[0]) >= 2 and group[1]]


def _positions(values: Iterable[float]) -> list[float]:
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value - distinct[-1] > _SAME:
            distinct.append(value)
    return distinct


def _covered(lines: Sequence[_Line], at: float, middle: float) -> bool:
    return any(abs(line.at - at) <= _SAME and line.start - 1 <= middle <= line.end + 1 for line in lines)


class _Grid:
    """Elementary cells between all lines, joined where no line parts them."""

    def __init__(self, across: list[_Line], down: list[_Line]) -> None:
        left, right = min(line.start for line in across), max(line.end for line in across)
        top, bottom = min(line.start for line in down), max(line.end for line in down)
        xs, ys = _positions(line.at for line in down), _positions(line.at for line in across)
        if xs[0] - left > _OVERHANG:
            xs.insert(0, left)
        if right - xs[-1] > _OVERHANG:
            xs.append(right)
        if ys[0] - top > _OVERHANG:
            ys.insert(0, top)
        if bottom - ys[-1] > _OVERHANG:
            ys.append(bottom)
        self.xs, self.ys = xs, ys
        self._across, self._down = across, down
        self.owner = self._joined()

    def walled(self, row: int, column: int) -> bool:
        """Whether a line stands left of the elementary cell."""
        return _covered(self._down, self.xs[column], (self.ys[row] + self.ys[row + 1]) / 2)

    def roofed(self, row: int, column: int) -> bool:
        """Whether a line lies above the elementary cell."""
        return _covered(self._across, self.ys[row], (self.xs[column] + self.xs[column + 1]) / 2)

    @property
    def solid(self) -> bool:
        """Whether vertical lines part at least half of the rows into cells."""
        height, width = len(self.ys) - 1, len(self.xs) - 1
        parted = sum(any(self.walled(row, column) for column in range(1, width)) for row in range(height))
        return 2 * parted >= height

    def _joined(self) -> dict[tuple[int, int], tuple[int, int, int, int]]:
        """For each elementary cell the rectangle (row, column, rows, columns) of the cell it belongs to."""
        height, width = len(self.ys) - 1, len(self.xs) - 1
        owner: dict[tuple[int, int], tuple[int, int, int, int]] = {}
        walls = {(r, c) for r in range(height) for c in range(1, width) if self.walled(r, c)}
        roofs = {(r, c) for r in range(1, height) for c in range(width) if self.roofed(r, c)}
        for r in range(height):
            for c in range(width):
                if (r, c) in owner:
                    continue
                columns = 1
                while c + columns < width and (r, c + columns) not in walls and (r, c + columns) not in owner:
                    columns += 1
                rows = 1
                while (
                    r + rows < height
                    and all((r + rows, k) not in roofs and (r + rows, k) not in owner for k in range(c, c + columns))
                    and all((r + rows, k) not in walls for k in range(c + 1, c + columns))
                    and (c == 0 or (r + rows, c) in walls)
                    and (c + columns == width or (r + rows, c + columns) in walls)
                ):
                    rows += 1
                for i in range(r, r + rows):
                    for k in range(c, c + columns):
                        owner[i, k] = (r, c, rows, columns)
        return owner


def _index(positions: Sequence[float], value: float) -> int:
    for index in range(len(positions) - 1):
        if value < positions[index + 1]:
            return index
    return len(positions) - 2


def _cell_text(words: list[Word]) -> str:
    lines: list[str] = []
    for row in rows_of(words):
        text = row.text
        if (
            lines
            and _NUMBER_PART.match(lines[-1])
            and _NUMBER_PART.match(text)
            and not (_WHOLE_NUMBER.match(lines[-1]) and _WHOLE_NUMBER.match(text))
            and _WHOLE_NUMBER.match(lines[-1] + text)
        ):
            lines[-1] += text  # a number that was too wide for its cell
        else:
            lines.append(text)
    return join_lines(lines)


def _filled(grid: _Grid, words: Iterable[Word]) -> dict[tuple[int, int], list[Word]]:
    """Words by the cell they stand in (its top left elementary cell); words across a line are cut there."""
    cells: dict[tuple[int, int], list[Word]] = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop()
        row = _index(grid.ys, word.middle)
        for column in range(1, len(grid.xs) - 1):
            x = grid.xs[column]
            if word.x0 + 1 < x < word.x1 - 1 and grid.walled(row, column) and (halves := word.split(x)):
                waiting.extend(halves)
                break
        else:
            column = _index(grid.xs, (word.x0 + word.x1) / 2)
            top, left, _, _ = grid.owner[row, column]
            cells.setdefault((top, left), []).append(word)
    return cells


def _holds_columns(words: list[Word]) -> bool:
    """Whether a cell holds several figures side by side or stacked: then the lines are not all that parts the cells."""
    rows = rows_of(words)
    if sum(1 for row in rows if len(row.text) > 2 and _WHOLE_NUMBER.match(row.text.lstrip("$ "))) >= 2:
        return True
    for row in rows:
        figures = [piece for piece in pieces_of(row) if piece.numeric]
        if len(figures) >= 2 and max(b.x0 - a.x1 for a, b in pairwise(figures)) > row.size:
            return True
    return False


def _build(grid: _Grid, words: list[Word]) -> RuledTable | None:
    height, width = len(grid.ys) - 1, len(grid.xs) - 1
    if not grid.solid:
        return None
    cells = _filled(grid, words)
    rectangles = set(grid.owner.values())
    if len(rectangles) < 2 or width < 2 or len(cells) < 2:
        return None
    if len(cells) < 0.1 * len(rectangles) and len(cells) < 6:  # the grid of a chart
        return None
    if 10 * sum(_holds_columns(inside) for inside in cells.values()) >= len(cells):
        return None  # rules under sums, not cells
    rows = [[""] * width for _ in range(height)]
    for (r, c), inside in cells.items():
        rows[r][c] = _cell_text(inside)
    spans = tuple(
        CellSpan(r, c, tall, wide) for r, c, tall, wide in sorted(rectangles) if tall > 1 or wide > 1
    )  # fmt: skip
    bold = 0
    for r in range(height):
        inside = [w for (i, _), found in cells.items() if i == r for w in found]
        if not inside or not all(w.bold for w in inside):
            break
        bold += 1
    bbox = BBox(grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1])
    return RuledTable(bbox, tuple(grid.xs), tuple(map(tuple, rows)), spans, bold)


def ruled_tables(rules: Sequence[Rule], words: Sequence[Word]) -> tuple[list[RuledTable], list[Word]]:
    """The ruled tables of a page from top to bottom, and the words that stand in none of them."""
    across = _merged(_Line(r.y0, r.x0, r.x1) for r in rules if r.horizontal)
    down = _merged(_Line(r.x0, r.y0, r.y1) for r in rules if not r.horizontal)
    across = [line for line in across if line.end - line.start >= 8]
    down = [line for line in down if line.end - line.start >= 5]
    tables: list[RuledTable] = []
    rest = list(words)
    if len(across) * len(down) > 250_000:
        return [], rest
    groups = _components(across, down)
    groups.sort(key=lambda g: -(g[0][-1].at - g[0][0].at))
    for group in groups:
        grid = _Grid(*group)
        if len(grid.xs) < 3 or len(grid.ys) < 2:
            continue
        left, top, right, bottom = grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1]
        inside = [w for w in rest if left - 1 < (w.x0 + w.x1) / 2 < right + 1 and top - 1 < w.middle < bottom + 1]
        table = _build(grid, inside)
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            rest = [w for w in rest if id(w) not in taken]
    return sorted(tables, key=lambda t: (t.bbox.y0, t.bbox.x0)), rest
