"""What a parser may use beside a file's bytes: options, and a way to say how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

__all__ = ["DEFAULT_CONTEXT", "PageTexts", "ParseContext", "ParseOptions"]


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How files are read; the settings ``indexing.ocr`` and whether someone wants to see the images."""

    ocr: bool = True
    ocr_dpi: int = 200
    """Pixels an inch at which a page is drawn before its text is recognised."""
    ocr_max_pages: int = 500
    """Pages of one file that are recognised; the others are named in a warning."""
    pictures: bool = False
    """Whether :attr:`~clew.types.ParsedFile.pictures` is wanted, for a vision model."""


class PageTexts(Protocol):
    """What text recognition read from pictures, by a hash of the picture: a page that did not change is not read
    again."""

    def get(self, key: str) -> str | None:
        """What was put under the key."""
        ...

    def put(self, key: str, text: str) -> None:
        """Keep what was read."""
        ...


class _NoTexts:
    """Knows nothing and keeps nothing."""

    def get(self, key: str) -> str | None:
        return None

    def put(self, key: str, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class ParseContext:
    """Given to the parsers that need more than bytes and a name (PDF, images, mail)."""

    options: ParseOptions = ParseOptions()
    on_page: Callable[[int, int], None] = lambda done, total: None
    """Told after each page whose text was recognised: pages done and to do. The time limit counts from there anew."""
    page_texts: PageTexts = field(default_factory=_NoTexts)
    depth: int = 0
    """How many files this one is attached inside of."""

    def inside(self) -> ParseContext:
        """The context of a file that is attached to this one."""
        return replace(self, depth=self.depth + 1)


DEFAULT_CONTEXT = ParseContext()
