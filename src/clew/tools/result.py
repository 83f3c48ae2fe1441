"""What a tool hands back: compact text for a model, bounded in tokens, with what its citation numbers refer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.types import Evidence

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """``text`` is for the model and holds at most as many tokens as were asked for; ``data`` is for programs."""

    text: str
    tokens: int
    citations: list[dict[str, Any]] = field(default_factory=list)
    """Per passage in ``text``: number, chunk_id, file_id, file, section_path, section_titles, page."""
    not_read: list[str] = field(default_factory=list)
    """What was found or belongs to the scope and is not in ``text``, in words."""
    data: dict[str, Any] = field(default_factory=dict)

    def structured(self) -> dict[str, Any]:
        """The result as JSON, without repeating the text."""
        return {"tokens": self.tokens, "citations": self.citations, "not_read": self.not_read, **self.data}


def passages_result(
    evidence: Sequence[Evidence],
    head: str,
    notes: Sequence[str],
    *,
    max_tokens: int,
    count_tokens: CountTokens,
    data: dict[str, Any],
) -> ToolResult:
    """Passages under their citation numbers, best first, then what was not read.

    Passages that do not fit any more are cut or left out, and the notes say so; the notes themselves always fit.
    """
    not_read = list(notes)
    room = max_tokens - count_tokens(_text(head, [], [*not_read, _left_out(len(evidence))]))
    pieces: list[str] = []
    citations = []
    for item in evidence:
        piece = _passage(item)
        tokens = count_tokens(piece) + 1
        if tokens > room and not pieces:
            piece = cut_to(piece, room, count_tokens)
            tokens = count_tokens(piece)
        if tokens > room or not piece:
            break
        room -= tokens
        pieces.append(piece)
        citations.append(_citation(item))
    if len(pieces) < len(evidence):
        not_read.append(_left_out(len(evidence) - len(pieces)))
    text = cut_to(_text(head, pieces, not_read), max_tokens, count_tokens)
    return ToolResult(text, count_tokens(text), citations, not_read, data)


def cut_to(text: str, max_tokens: int, count_tokens: CountTokens) -> str:
    """The beginning of ``text`` that has at most ``max_tokens`` tokens, ending in … where something is missing."""
    if max_tokens <= 0:
        return ""
    if count_tokens(text) <= max_tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + " …") <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + " …" if low else ""


def _text(head: str, pieces: Sequence[str], notes: Sequence[str]) -> str:
    parts = [head, *pieces]
    if notes:
        parts.append("Not read: " + " ".join(notes))
    return "\n\n".join(part for part in parts if part)


def _left_out(count: int) -> str:
    return f"{count} of the passages found did not fit into max_tokens."


def _passage(evidence: Evidence) -> str:
    place = " > ".join([evidence.file_name, *evidence.section_titles])
    page = f", p. {evidence.page}" if evidence.page else ""
    return f"[{evidence.number}] {place}{page}\n{evidence.text}"


def _citation(evidence: Evidence) -> dict[str, Any]:
    return {
        "number": evidence.number,
        "chunk_id": evidence.candidate.chunk_id,
        "file_id": evidence.candidate.file_id,
        "file": evidence.file_name,
        "section_path": evidence.section_path,
        "section_titles": list(evidence.section_titles),
        "page": evidence.page,
    }
