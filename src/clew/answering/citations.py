"""Citation numbers in an answer's text: unknown ones are dropped, code is left alone, also while streaming."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from clew.types import Citation, Evidence

_MARK = re.compile(r"\[(\d{1,4}(?:\s*[,，、]\s*\d{1,4})*)\]")
_POSSIBLE_MARK = re.compile(r"\[[\d\s,，、]*$")
_MAX_HELD = 64


class CitationFilter:
    """Passes an answer through piece by piece.

    ``[3]`` stays where source 3 exists and is removed where it does not; ``[1, 9]`` becomes ``[1]``. Text inside
    fenced blocks and inline code is not touched. ``used`` collects the numbers in order of first appearance.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = frozenset(numbers)
        self._held = ""
        self._fence = ""
        self.used: list[int] = []

    def feed(self, piece: str) -> str:
        """The part of what was fed so far that cannot change any more."""
        text = self._held + piece
        cut = _safe_length(text)
        self._held = text[cut:]
        return "".join(self._pass(text[:cut]))

    def finish(self) -> str:
        """The rest."""
        rest, self._held = self._held, ""
        return "".join(self._pass(rest))

    def _pass(self, text: str) -> Iterator[str]:
        for part in re.split(r"(`+)", text):
            if part.startswith("`"):
                if not self._fence:
                    self._fence = part
                elif part == self._fence:
                    self._fence = ""
                yield part
            elif self._fence:
                # Inline code does not run over an empty line; an unpaired backtick is ordinary text.
                if len(self._fence) < 3 and "\n\n" in part:
                    self._fence = ""
                    yield _MARK.sub(self._resolve, part)
                else:
                    yield part
            else:
                yield _MARK.sub(self._resolve, part)

    def _resolve(self, match: re.Match[str]) -> str:
        known = [n for n in map(int, re.findall(r"\d+", match.group(1))) if n in self._numbers]
        for number in known:
            if number not in self.used:
                self.used.append(number)
        return "".join(f"[{number}]" for number in known)


def _safe_length(text: str) -> int:
    """How much of ``text`` can be passed on: a mark or a run of backticks may still be growing at its end."""
    cut = len(text)
    growing = _POSSIBLE_MARK.search(text)
    if growing and len(text) - growing.start() <= _MAX_HELD:
        cut = growing.start()
    stripped = text.rstrip("`")
    return min(cut, len(stripped)) if len(stripped) < len(text) else cut


def citations_of(evidence: Sequence[Evidence], quotes: dict[int, str] | None = None) -> list[Citation]:
    """One citation per passage of the context, with the quoted sentence where one is known."""
    return [
        Citation(
            number=e.number,
            chunk_id=e.candidate.chunk_id,
            file_id=e.candidate.file_id,
            file_name=e.file_name,
            section_path=e.section_path,
            section_titles=e.section_titles,
            page=e.page,
            regions=e.regions,
            quote=(quotes or {}).get(e.number, ""),
            facts=e.facts,
        )
        for e in evidence
    ]
