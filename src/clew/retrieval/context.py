"""From ranked candidates to the passages that an answer reads: parent window, neighbours, budget, places per round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clew.storage.base import Records
from clew.text.windows import window_around
from clew.trace import StageTrace
from clew.types import Candidate, ChildChunk, Evidence, File, ParentChunk

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """``places`` passages at most, ``budget_tokens`` in all, ``neighbours`` parents on each side of a passage."""

    places: int
    budget_tokens: int
    neighbours: int


@dataclass(frozen=True, slots=True)
class _Window:
    """What of a parent (and its neighbours) goes into the context."""

    text: str
    tokens: int


def build_context(
    candidates: Sequence[Candidate],
    chunks: dict[str, ChildChunk],
    records: Records,
    limits: ContextLimits,
    count_tokens: CountTokens,
    *,
    before: Sequence[Evidence] = (),
    first: frozenset[str] = frozenset(),
) -> tuple[list[Evidence], StageTrace]:
    """The evidence for an answer, in rank order, within the budget.

    Candidates of one parent share one place. Every chosen passage first gets its child chunk; what is left of the
    budget widens the passages in rank order, first to the whole parent, then to neighbouring parents of the same
    section. A round that has candidates keeps at least one place. Never empty where there are candidates, and never
    above the budget unless the budget is smaller than a single sentence-sized piece of the best child.

    ``before`` is evidence that stands already: it comes first and takes its tokens from the budget. Passages of the
    files ``first`` come next, and are widened first.
    """
    trace = StageTrace("context", candidates_in=len(candidates))
    places = sorted(choose_places(candidates, limits.places), key=lambda c: c.file_id not in first)
    limits = replace(limits, budget_tokens=max(0, limits.budget_tokens - sum(e.tokens for e in before)))
    parents = records.parents([c.parent_id for c in places])
    places = [c for c in places if c.parent_id in parents]
    windows = _base_windows(places, chunks, limits.budget_tokens, count_tokens)
    left = limits.budget_tokens - sum(window.tokens for window in windows.values())
    for candidate in places:
        if candidate.chunk_id in windows:
            left = _widen(candidate, chunks, parents, records, windows, left, limits.neighbours, count_tokens)
    files = {file_id: records.get_file(file_id) for file_id in {c.file_id for c in places}}
    evidence = [
        *before,
        *(
            _evidence(
                number, candidate, chunks[candidate.chunk_id], files[candidate.file_id], windows[candidate.chunk_id]
            )
            for number, candidate in enumerate((c for c in places if c.chunk_id in windows), start=len(before) + 1)
        ),
    ]
    trace.candidates_out = len(evidence)
    trace.tokens = sum(e.tokens for e in evidence)
    trace.ranking = [{"chunk_id": e.candidate.chunk_id, "number": e.number, "tokens": e.tokens} for e in evidence]
    used = {e.candidate.chunk_id for e in evidence}
    trace.dropped = [
        {"chunk_id": c.chunk_id, "reason": "shares a parent, or no place or budget left"}
        for c in candidates
        if c.chunk_id not in used
    ]
    return evidence, trace


def choose_places(candidates: Sequence[Candidate], places: int) -> list[Candidate]:
    """The candidates that get a place, one a parent, in the given order.

    Each round keeps at least one place: where the best of a round would fall behind the last place, it replaces the
    lowest-ranked candidate of a round that has several.
    """
    by_parent: dict[str, Candidate] = {}
    for candidate in candidates:
        by_parent.setdefault(candidate.parent_id, candidate)
    distinct = list(by_parent.values())
    chosen = distinct[:places]
    for round in sorted({c.round for c in distinct} - {c.round for c in chosen}):
        replaceable = [c for c in chosen if sum(o.round == c.round for o in chosen) > 1]
        if not replaceable:
            break
        chosen.remove(replaceable[-1])
        chosen.append(next(c for c in distinct if c.round == round))
    order = {c.chunk_id: i for i, c in enumerate(distinct)}
    return sorted(chosen, key=lambda c: order[c.chunk_id])


def u_shaped(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The passages as a model reads them best: the best first, the second best last, the weakest in the middle.

    After Liu et al., "Lost in the Middle", TACL 2024. Numbers stay as they are: they say how good a passage is.
    """
    return [*evidence[::2], *reversed(evidence[1::2])]


def _base_windows(
    places: Sequence[Candidate], chunks: dict[str, ChildChunk], budget: int, count_tokens: CountTokens
) -> dict[str, _Window]:
    """Each place's own child, as far as the budget goes; the best of each round comes first and is cut rather than
    left out, so that no round falls out of the context."""
    firsts: dict[int, Candidate] = {}
    for candidate in places:
        firsts.setdefault(candidate.round, candidate)
    share = budget // max(1, len(firsts))
    scarce = sum(chunks[c.chunk_id].tokens for c in firsts.values()) > budget
    windows: dict[str, _Window] = {}
    left = budget
    for candidate in [*firsts.values(), *(c for c in places if c is not firsts[c.round])]:
        child = chunks[candidate.chunk_id]
        first = candidate is firsts[candidate.round]
        room = min(left, share) if first and scarce else left
        if child.tokens <= room:
            windows[candidate.chunk_id] = _Window(child.text, child.tokens)
            left -= child.tokens
        elif first and (text := _cut(child.text, room, count_tokens)):
            tokens = count_tokens(text)
            windows[candidate.chunk_id] = _Window(text, tokens)
            left -= tokens
    return windows


def _widen(
    candidate: Candidate,
    chunks: dict[str, ChildChunk],
    parents: dict[str, ParentChunk],
    records: Records,
    windows: dict[str, _Window],
    left: int,
    neighbours: int,
    count_tokens: CountTokens,
) -> int:
    """Grow one window into what is left of the budget; returns what is left then."""
    window = windows[candidate.chunk_id]
    parent = parents[candidate.parent_id]
    room = window.tokens + left
    if parent.tokens > room:
        child = chunks[candidate.chunk_id]
        text = window_around(parent.text, child.start, child.end, room, count_tokens)
        tokens = count_tokens(text)
        if window.tokens < tokens <= room:
            windows[candidate.chunk_id] = _Window(text, tokens)
            return room - tokens
        return left
    text, tokens = parent.text, parent.tokens
    taken = {c.parent_id for c in chunks.values() if c.chunk_id in windows}
    if neighbours and parent.tokens < room:
        around = records.file_parents(
            parent.file_id, first=max(0, parent.ordinal - neighbours), last=parent.ordinal + neighbours
        )
        near = sorted(around, key=lambda p: abs(p.ordinal - parent.ordinal))
        pieces = {parent.ordinal: parent.text}
        for other in near:
            fits = tokens + other.tokens <= room
            if other.section_path == parent.section_path and other.chunk_id not in taken and fits:
                pieces[other.ordinal] = other.text
                tokens += other.tokens
        text = "\n\n".join(pieces[ordinal] for ordinal in sorted(pieces))
    windows[candidate.chunk_id] = _Window(text, tokens)
    return room - tokens


def _cut(text: str, tokens: int, count_tokens: CountTokens) -> str:
    """The beginning of ``text`` with at most ``tokens`` tokens."""
    while text and (count := count_tokens(text)) > tokens:
        text = text[: min(len(text) - 1, int(len(text) * tokens / count))]
    return text


def _evidence(number: int, candidate: Candidate, child: ChildChunk, file: File, window: _Window) -> Evidence:
    return Evidence(
        number=number,
        candidate=candidate,
        file_name=file.name,
        file_title=file.title or file.name,
        section_path=child.section_path,
        section_titles=child.section_titles,
        text=window.text,
        passage=child.text,
        tokens=window.tokens,
        page=child.page,
        regions=child.regions,
        facts=file.shown_facts,
    )
