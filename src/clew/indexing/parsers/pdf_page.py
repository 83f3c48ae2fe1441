"""The values that the PDF parser works with: what stands on a page, in points from its top left corner."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from clew.types import BBox

Point = tuple[float, float]
Affine = tuple[float, float, float, float, float, float]
"""a, b, c, d, e, f as in PDF: x' = a x + c y + e, y' = b x + d y + f."""


@dataclass(slots=True)
class Word:
    """A run of characters without a gap, in one size and weight.

    ``starts[i]`` is the left edge of character i; ``joints`` are the characters with which a new drawing command
    began; ``spaced`` says that a space stood before the word.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    italic: bool
    font: str
    starts: list[float]
    spaced: bool = False
    joints: list[int] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.y0 + self.y1) / 2

    def split(self, x: float) -> tuple[Word, Word] | None:
        """The two halves left and right of ``x``, cut between drawing commands if that is near, or ``None``.

        Numbers in narrow cells often overhang the line between them; each is drawn by a command of its own.
        """
        near = [j for j in self.joints if abs(self.starts[j] - x) < self.size]
        if near:
            cut = min(near, key=lambda j: abs(self.starts[j] - x))
        elif min(x - self.x0, self.x1 - x) < 0.9 * self.size:
            return None  # it only hangs over
        else:
            ends = [*self.starts[1:], self.x1]
            cut = sum(1 for start, end in zip(self.starts, ends, strict=True) if (start + end) / 2 < x)
        if not 0 < cut < len(self.text):
            return None
        at = self.starts[cut]
        left = replace(self, text=self.text[:cut], x1=at, starts=self.starts[:cut], joints=[])
        right = replace(self, text=self.text[cut:], x0=at, starts=self.starts[cut:], spaced=True)
        right.joints = [j - cut for j in self.joints if j > cut]
        left.joints = [j for j in self.joints if j < cut]
        return left, right


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight horizontal or vertical line; its thickness is ignored."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def horizontal(self) -> bool:
        """Whether the line lies rather than stands."""
        return self.x1 - self.x0 >= self.y1 - self.y0


@dataclass(slots=True)
class PageContent:
    """One page as read from the file; ``number`` counts from 1."""

    number: int
    width: float
    height: float
    words: list[Word] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    images: list[BBox] = field(default_factory=list)
    digests: list[tuple[BBox, bytes]] = field(default_factory=list)
    """Boxes of the larger images and the SHA-256 of their data."""
    links: list[tuple[BBox, int]] = field(default_factory=list)
    """Boxes that lead to another page of the same file, with that page's number."""
    turn: int = 0
    """Clockwise degrees by which the content was turned to read upright: 0, 90, 180 or 270."""
    noise: float = 0.0
    """Share of characters without a meaning (no Unicode value, private use)."""

    def fingerprint(self, box: BBox) -> bytes | None:
        """What the images inside ``box`` show, independent of where it stands; None where nothing is known."""
        inside = [
            digest
            for other, digest in self.digests
            if other.x0 >= box.x0 - 1 and other.y0 >= box.y0 - 1 and other.x1 <= box.x1 + 1 and other.y1 <= box.y1 + 1
        ]
        return b"".join(inside) or None

    def shown(self, box: BBox) -> BBox:
        """A box in the coordinates of the page as it is shown."""
        if self.turn == 90:
            return BBox(self.height - box.y1, box.x0, self.height - box.y0, box.x1)
        if self.turn == 180:
            return BBox(self.width - box.x1, self.height - box.y1, self.width - box.x0, self.height - box.y0)
        if self.turn == 270:
            return BBox(box.y0, self.width - box.x1, box.y1, self.width - box.x0)
        return box


def then(first: Affine, second: Affine) -> Affine:
    """The map that does ``first`` and then ``second``."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def at(map: Affine, x: float, y: float) -> Point:
    return map[0] * x + map[2] * y + map[4], map[1] * x + map[3] * y + map[5]


def box_of(map: Affine, left: float, bottom: float, right: float, top: float) -> BBox:
    (ax, ay), (bx, by) = at(map, left, bottom), at(map, right, top)
    return BBox(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
