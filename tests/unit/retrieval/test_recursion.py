"""The rounds: merging, limits and each reason to stop, with a planner that says what the test tells it to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from clew.errors import ServiceUnavailableError
from clew.retrieval.planners import Plan, Situation, Variant
from clew.retrieval.recall import Recalled
from clew.retrieval.recursion import Limits, Recursion, run_rounds
from clew.storage.base import Posting
from clew.trace import MultiHopStep
from clew.types import Candidate, ChildChunk, Query

LIMITS = Limits(rounds=3, new_candidates=8, per_parent=2, budget_tokens=6000, places=6)
ENOUGH = Plan(False, reason="all is there", confidence=0.9)


def go_on(question: str, *entities: str) -> Plan:
    return Plan(True, question, entities, 0.3, f"asks {question}")


@dataclass
class Scripted:
    """A planner that answers in order; an exception is raised."""

    plans: Sequence[Plan | Exception]
    seen: list[Situation] = field(default_factory=list)
    name: str = "scripted"

    def begin(self, queries: Mapping[str, Query]) -> Mapping[str, Sequence[Posting]]:
        return {}

    def plan(self, situation: Situation) -> Plan:
        self.seen.append(situation)
        plan = self.plans[len(self.seen) - 1]
        if isinstance(plan, Exception):
            raise plan
        return plan

    def order(self, situation: Situation) -> list[Candidate] | None:
        return None


def recalled(*found: Candidate) -> Recalled:
    chunks = {
        c.chunk_id: ChildChunk(c.chunk_id, c.parent_id, "f", 0, "0001/", ("T",), f"text {c.chunk_id}", 100, 0, 9)
        for c in found
    }
    return Recalled(list(found), chunks, [])


def hit(name: str, score: float = 0.5, parent: str = "", route: str = "bm25") -> Candidate:
    return Candidate(name, parent or f"p-{name}", "f", "kb", score, (route,), {route: 1}, {route: score})


class LookUps:
    """Look-ups by question; remembers what was asked."""

    def __init__(self, found: Mapping[str, Recalled]) -> None:
        self.found = found
        self.asked: list[str] = []

    def __call__(self, variants: Sequence[Variant], round: int) -> list[Recalled]:
        self.asked.extend(variant.text for variant in variants)
        return [self.found.get(variant.text, recalled()) for variant in variants]


def run(planner: Scripted, look_up: LookUps, limits: Limits = LIMITS) -> tuple[list[MultiHopStep], Recursion]:
    rounds = run_rounds({"kb": Query("q1", "en")}, planner, look_up, limits)
    steps = []
    while True:
        try:
            steps.append(next(rounds))
        except StopIteration as end:
            return steps, cast(Recursion, end.value)


FOUND = {
    "q1": recalled(hit("a"), hit("b")),
    "q2": recalled(hit("c")),
    "q3": recalled(hit("d")),
    "q4": recalled(hit("e")),
}


def test_it_stops_when_the_planner_has_enough() -> None:
    look_up = LookUps(FOUND)
    planner = Scripted([go_on("q2", "Edwards"), ENOUGH])
    steps, state = run(planner, look_up)
    assert look_up.asked == ["q1", "q2"]
    assert [step.goes_on for step in steps] == [True, False]
    assert (steps[1].sub_question, steps[1].entities, steps[1].new_chunks) == ("q2", ["Edwards"], 1)
    assert (state.stop_reason, state.uncertain, state.uncertain_reason) == ("sufficient", False, "")
    assert {c.chunk_id: c.round for c in state.pool} == {"a": 1, "b": 1, "c": 2}
    assert planner.seen[1].asked == ("q1", "q2")
    assert planner.seen[1].entities == ("Edwards",)


@pytest.mark.parametrize("rounds", [2, 3, 5])
def test_it_stops_after_the_last_round_and_is_uncertain(rounds: int) -> None:
    look_up = LookUps({f"q{i}": recalled(hit(f"h{i}")) for i in range(1, 9)})
    steps, state = run(Scripted([go_on(f"q{i}") for i in range(2, 9)]), look_up, replace(LIMITS, rounds=rounds))
    assert len(look_up.asked) == len(steps) == rounds
    assert (state.stop_reason, state.uncertain) == ("max_rounds", True)
    assert "last round" in state.uncertain_reason


def test_enough_after_the_last_round_is_certain() -> None:
    _, state = run(Scripted([go_on("q2"), ENOUGH]), LookUps(FOUND), replace(LIMITS, rounds=2))
    assert (state.stop_reason, state.uncertain) == ("sufficient", False)


@pytest.mark.parametrize("again", ["q1", "Q1 ?", "", "Ｑ2"])
def test_it_stops_at_a_repeated_question(again: str) -> None:
    look_up = LookUps(FOUND)
    _, state = run(Scripted([go_on("q2"), go_on(again)]), look_up)
    assert look_up.asked == ["q1", "q2"]
    assert (state.stop_reason, state.uncertain) == ("repeated_question", True)


def test_it_stops_when_a_round_finds_nothing_new_and_the_planner_is_not_asked_again() -> None:
    look_up = LookUps({"q1": recalled(hit("a")), "q2": recalled(hit("a", 0.9))})
    planner = Scripted([go_on("q2")])
    steps, state = run(planner, look_up)
    assert (state.stop_reason, state.uncertain) == ("no_new_chunks", True)
    assert steps[1].new_chunks == 0
    assert len(planner.seen) == 1


def test_a_first_round_that_finds_nothing_is_planned_all_the_same() -> None:
    look_up = LookUps({"q2": recalled(hit("c"))})
    _, state = run(Scripted([go_on("q2"), ENOUGH]), look_up)
    assert [c.chunk_id for c in state.pool] == ["c"]


def test_it_stops_when_the_evidence_fills_the_context() -> None:
    _, state = run(Scripted([go_on("q2")]), LookUps(FOUND), replace(LIMITS, budget_tokens=200))
    assert (state.stop_reason, state.uncertain) == ("token_budget", True)


def test_after_a_failure_nothing_more_is_asked_and_the_evidence_is_kept() -> None:
    look_up = LookUps(FOUND)
    planner = Scripted([go_on("q2"), ServiceUnavailableError("The model did not answer within 15 s.")])
    steps, state = run(planner, look_up)
    assert look_up.asked == ["q1", "q2"]
    assert (state.stop_reason, state.uncertain) == ("planner_failed", True)
    assert "did not answer" in state.uncertain_reason
    assert "did not answer" in steps[1].why
    assert {c.chunk_id for c in state.pool} == {"a", "b", "c"}


def test_hits_are_merged_with_best_score_all_representations_and_first_round() -> None:
    look_up = LookUps({
        "q1": recalled(hit("a", 0.5), hit("b", 0.4, route="l2")),
        "q2": recalled(hit("b", 0.9, route="bm25"), hit("a", 0.1, route="l2"), hit("c", 0.2)),
    })  # fmt: skip
    _, state = run(Scripted([go_on("q2"), ENOUGH]), look_up)
    by_id = {c.chunk_id: c for c in state.pool}
    assert [c.chunk_id for c in state.pool] == ["b", "a", "c"]
    assert (by_id["b"].score, by_id["b"].round, by_id["b"].representations) == (0.9, 1, ("l2", "bm25"))
    assert (by_id["a"].score, by_id["a"].representations) == (0.5, ("bm25", "l2"))
    assert by_id["a"].scores == {"bm25": 0.5, "l2": 0.1}


def test_a_round_adds_eight_new_candidates_and_two_of_one_parent() -> None:
    first = [hit(f"a{i}", 1 - i / 100, parent="same") for i in range(4)] + [
        hit(f"b{i}", 0.5 - i / 100) for i in range(12)
    ]
    look_up = LookUps({"q1": recalled(*first), "q2": recalled(*first, *(hit(f"c{i}", 0.2) for i in range(10)))})
    steps, state = run(Scripted([go_on("q2"), ENOUGH]), look_up)
    assert [step.new_chunks for step in steps] == [8, 8]
    assert [c.chunk_id for c in state.pool if c.round == 1] == ["a0", "a1", "b0", "b1", "b2", "b3", "b4", "b5"]
    dropped = {d["chunk_id"]: d["reason"] for d in steps[0].stages[-1].dropped}
    assert "one parent" in dropped["a2"]
    assert "new candidates" in dropped["b6"]
    assert set(state.chunks) == {c.chunk_id for c in state.pool}


def test_a_round_may_look_up_several_variants_and_unites_what_they_find() -> None:
    plan = replace(go_on("q2 and q3", "x", "y"), variants=(Variant("q2"), Variant("q3")))
    look_up = LookUps({
        "q1": recalled(hit("a")),
        "q2": recalled(hit("c", 0.3), hit("d", 0.2)),
        "q3": recalled(hit("d", 0.6, route="l2"), hit("a", 0.1)),
    })  # fmt: skip
    planner = Scripted([plan, ENOUGH])
    steps, state = run(planner, look_up)
    assert look_up.asked == ["q1", "q2", "q3"]
    assert (steps[1].sub_question, steps[1].query, steps[1].new_chunks) == ("q2 and q3", "q2 | q3", 2)
    assert [(c.chunk_id, c.score) for c in state.pool] == [("d", 0.6), ("a", 0.5), ("c", 0.3)]
    assert len(planner.seen[1].history) == 3
