"""Several look-ups that depend on each other (spec 3.2).

Round by round: look up the sub-question, merge what it found into the pool, ask the planner whether to go on and with
which question. Nothing is reranked in here; that happens once, after the last round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clew.config import RecursionSettings
from clew.errors import ServiceError
from clew.retrieval.planners import Plan, Planner, Situation, Variant, question_key
from clew.retrieval.recall import Recalled
from clew.trace import MultiHopStep, StageTrace, StopReason
from clew.types import Candidate, ChildChunk, Query

LookUp = Callable[[Sequence[Variant], int], list[Recalled]]
"""Look-ups of one round inside the request's scope: what each variant finds."""

_WHY = {
    "max_rounds": "the last round that is allowed has been asked",
    "repeated_question": "the next question has been asked already",
    "no_new_chunks": "the round found nothing new",
    "token_budget": "the evidence fills the context",
    "planner_failed": "the planner failed",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends the rounds, and how much each of them may add."""

    rounds: int
    new_candidates: int
    per_parent: int
    budget_tokens: int
    places: int
    """Passages that the context will hold; the rounds end where these alone fill its budget."""

    @staticmethod
    def of(settings: RecursionSettings, budget_tokens: int, places: int) -> Limits:
        """The limits that a KB's settings give."""
        return Limits(
            settings.max_rounds,
            settings.new_candidates_per_round,
            settings.new_candidates_per_parent,
            budget_tokens,
            places,
        )


@dataclass(slots=True)
class Recursion:
    """What the rounds left: the pool best first, its chunks, the rounds, and why they ended."""

    pool: list[Candidate] = field(default_factory=list)
    chunks: dict[str, ChildChunk] = field(default_factory=dict)
    history: list[Recalled] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    stop_reason: StopReason = "max_rounds"
    uncertain: bool = False
    uncertain_reason: str = ""

    def situation(self, queries: Mapping[str, Query], round: int, rounds_left: int) -> Situation:
        """The state as a planner sees it."""
        query = next(iter(queries.values()))
        return Situation(
            question=query.text,
            query=query,
            queries=queries,
            history=tuple(self.history),
            asked=tuple(self.asked),
            pool=tuple(self.pool),
            chunks=self.chunks,
            round=round,
            rounds_left=rounds_left,
            entities=tuple(self.entities),
        )


def run_rounds(
    queries: Mapping[str, Query],
    planner: Planner,
    look_up: LookUp,
    limits: Limits,
    *,
    first: Recalled | None = None,
) -> Generator[MultiHopStep, None, Recursion]:
    """Yields each round as it ends and returns what they left.

    ``queries`` is the question as each KB's embedder sees it, the first KB's first; ``first`` is the first round's
    look-up where it has been done already. Raises what ``look_up`` raises; a failing planner does not raise, it ends
    the rounds with ``planner_failed``.
    """
    state = Recursion()
    question, entities = next(iter(queries.values())).text, tuple[str, ...]()
    variants: tuple[Variant, ...] = (Variant(question, planner.begin(queries)),)
    for round in range(1, limits.rounds + 1):
        start = time.perf_counter()
        state.asked.append(question)
        found = [first] if round == 1 and first is not None else look_up(variants, round)
        state.history.extend(found)
        recalled = united(found)
        stage = merge(state, recalled, round, limits)
        step = _step(round, question, variants, entities, recalled, stage)
        plan = _plan(state, step, queries, planner, round, limits)
        step.ms = (time.perf_counter() - start) * 1000
        yield step
        if plan is None:
            break
        question, entities = plan.next_question, plan.key_entities
        variants = plan.variants or (Variant(question),)
    return state


def after_first(queries: Mapping[str, Query], first: Recalled, limits: Limits) -> Situation:
    """The situation that a first look-up leaves, as :func:`run_rounds` makes it, before anything is planned."""
    state = Recursion(history=[first], asked=[next(iter(queries.values())).text])
    merge(state, first, 1, limits)
    return state.situation(queries, 1, limits.rounds - 1)


def united(found: Sequence[Recalled]) -> Recalled:
    """What the look-ups of one round found together, each chunk at its best score."""
    if len(found) == 1:
        return found[0]
    best: dict[str, Candidate] = {}
    for candidate in (c for recalled in found for c in recalled.candidates):
        before = best.get(candidate.chunk_id)
        best[candidate.chunk_id] = candidate if before is None else _merged(before, candidate)
    return Recalled(
        sorted(best.values(), key=lambda c: (-c.score, c.chunk_id)),
        {chunk_id: chunk for recalled in found for chunk_id, chunk in recalled.chunks.items()},
        [stage for recalled in found for stage in recalled.stages],
    )


def merge(state: Recursion, recalled: Recalled, round: int, limits: Limits) -> StageTrace:
    """Merge a round's hits into the pool by ``chunk_id``, keeping best score, all representations and first round.

    Of chunks that are new at most ``limits.new_candidates`` enter, at most ``limits.per_parent`` of one parent.
    """
    stage = StageTrace("merge", candidates_in=len(recalled.candidates))
    known = {candidate.chunk_id: candidate for candidate in state.pool}
    per_parent: dict[str, int] = {}
    new = 0
    for candidate in recalled.candidates:
        before = known.get(candidate.chunk_id)
        if before is not None:
            known[candidate.chunk_id] = _merged(before, candidate)
            continue
        taken = per_parent.get(candidate.parent_id, 0)
        if new == limits.new_candidates or taken == limits.per_parent:
            full = new == limits.new_candidates
            reason = "the round has its new candidates" if full else "too many of one parent in this round"
            stage.dropped.append({"chunk_id": candidate.chunk_id, "reason": reason})
            continue
        per_parent[candidate.parent_id] = taken + 1
        new += 1
        known[candidate.chunk_id] = replace(candidate, round=round)
        state.chunks[candidate.chunk_id] = recalled.chunks[candidate.chunk_id]
        stage.ranking.append({"chunk_id": candidate.chunk_id, "score": candidate.score})
    state.pool = sorted(known.values(), key=lambda c: (-c.score, c.round, c.chunk_id))
    stage.candidates_out = new
    return stage


def _merged(before: Candidate, again: Candidate) -> Candidate:
    better = again if again.score > before.score else before
    return replace(
        before,
        score=better.score,
        representations=tuple(dict.fromkeys([*before.representations, *again.representations])),
        ranks={**again.ranks, **before.ranks, **better.ranks},
        scores={**again.scores, **before.scores, **better.scores},
    )


def _plan(
    state: Recursion,
    step: MultiHopStep,
    queries: Mapping[str, Query],
    planner: Planner,
    round: int,
    limits: Limits,
) -> Plan | None:
    """The plan to go on with, or None where the rounds end; says why in the step and in the state."""
    if round > 1 and step.new_chunks == 0:
        _stop(state, step, "no_new_chunks", uncertain=True)
        return None
    try:
        plan = planner.plan(state.situation(queries, round, limits.rounds - round))
    except ServiceError as error:
        _stop(state, step, "planner_failed", uncertain=True, why=str(error))
        return None
    step.confidence = plan.confidence
    step.why = plan.reason
    state.entities.extend(name for name in plan.key_entities if name not in state.entities)
    reason = _reason_to_stop(state, plan, round, limits)
    if reason is not None:
        _stop(state, step, reason, uncertain=plan.need_more)
        return None
    step.goes_on = True
    return plan


def _reason_to_stop(state: Recursion, plan: Plan, round: int, limits: Limits) -> StopReason | None:
    if not plan.need_more:
        return "sufficient"
    if round == limits.rounds:
        return "max_rounds"
    if not plan.next_question or _repeats(plan.next_question, state.asked):
        return "repeated_question"
    return "token_budget" if _fills_budget(state, limits) else None


def _stop(state: Recursion, step: MultiHopStep, reason: StopReason, *, uncertain: bool, why: str = "") -> None:
    state.stop_reason = reason
    state.uncertain = uncertain
    said = why or _WHY.get(reason, "")
    step.why = "; ".join(part for part in (step.why, said) if part)
    state.uncertain_reason = step.why if uncertain else ""


def _repeats(question: str, asked: Sequence[str]) -> bool:
    key = question_key(question)
    return any(question_key(earlier) == key for earlier in asked)


def _fills_budget(state: Recursion, limits: Limits) -> bool:
    """Whether the passages that would get a place fill the context already, so that one more would not fit."""
    parents: dict[str, int] = {}
    for candidate in state.pool:
        parents.setdefault(candidate.parent_id, state.chunks[candidate.chunk_id].tokens)
    return sum(list(parents.values())[: limits.places]) >= limits.budget_tokens


def _step(
    round: int,
    question: str,
    variants: Sequence[Variant],
    entities: Sequence[str],
    recalled: Recalled,
    stage: StageTrace,
) -> MultiHopStep:
    new = {entry["chunk_id"] for entry in stage.ranking}
    return MultiHopStep(
        round=round,
        sub_question=question,
        query=" | ".join(variant.text for variant in variants),
        entities=list(entities),
        hits=[
            {
                "chunk_id": c.chunk_id,
                "file_id": c.file_id,
                "section_titles": list(recalled.chunks[c.chunk_id].section_titles),
                "page": recalled.chunks[c.chunk_id].page,
                "score": c.score,
                "representations": list(c.representations),
                "new": c.chunk_id in new,
            }
            for c in recalled.candidates[:10]
        ],
        new_chunks=stage.candidates_out,
        stages=[*recalled.stages, stage],
    )
