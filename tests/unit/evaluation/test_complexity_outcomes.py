"""Outcome labels, and thresholds chosen by what they find for the time."""

from __future__ import annotations

import pytest

from clew.config import ComplexitySettings
from clew.evaluation.complexity_outcomes import (
    GRID,
    Outcome,
    Reached,
    best_thresholds,
    exchange_rate,
    read_outcome,
    set_mean,
)
from clew.evaluation.decisions import replay_all
from clew.trace import ComplexityDecision

USUAL = ComplexitySettings()


def outcome(probability: float, single: float, multi: float, *, set_: str = "a", ms: float = 110.0) -> Outcome:
    """A question that the rules leave open."""
    decision = ComplexityDecision(
        question="q",
        mode="single",
        source="head",
        rule_score=0.2,
        features={"entity_count": 2},
        classifier_probability=probability,
    )
    return Outcome(
        set_, Reached(single, float(single == 1), 10.0, 1), Reached(multi, float(multi == 1), ms, 3), decision
    )


def test_label_is_the_cheapest_path_with_the_best_recall() -> None:
    assert outcome(0.5, 0.5, 1.0).label == "multi"
    assert outcome(0.5, 1.0, 1.0).label == "single"
    assert outcome(0.5, 1.0, 0.5).label == "single"
    assert outcome(0.5, 0.5, 1.0).reached("single").cpu_ms == 10.0


def test_outcome_survives_json() -> None:
    given = outcome(0.5, 0.5, 1.0)
    assert read_outcome(given.to_json()) == given


def test_exchange_rate_is_recall_for_a_millisecond_on_the_whole_way() -> None:
    assert exchange_rate([outcome(0.5, 0.5, 1.0), outcome(0.5, 1.0, 1.0)]) == pytest.approx(0.25 / 100)
    assert exchange_rate([outcome(0.5, 1.0, 0.5)]) == 0.0
    assert exchange_rate([outcome(0.5, 0.5, 1.0, ms=10.0)]) == 0.0


def test_sets_weigh_the_same_whatever_their_size() -> None:
    rows = [outcome(0.5, 0, 1), outcome(0.5, 0, 1), outcome(0.5, 0, 1), outcome(0.5, 0, 1, set_="b")]
    assert set_mean(rows, [1.0, 1.0, 1.0, 0.0]) == 0.5


def test_thresholds_send_into_rounds_what_gains_from_them() -> None:
    """Rounds help above a probability of 0.4 and only cost below it; the defaults let 0.45 stay single."""
    rows = [outcome(probability, 0.5, 1.0) for probability in (0.45, 0.6, 0.95)]
    rows += [outcome(probability, 1.0, 1.0) for probability in (0.02, 0.1, 0.25, 0.35)]
    assert replay_all([row.decision for row in rows], USUAL).modes.count("multi") == 2
    chosen = best_thresholds(rows, USUAL)
    assert list(replay_all([row.decision for row in rows], chosen).modes) == [row.label for row in rows]


def test_dear_time_keeps_questions_single_and_equal_settings_stay_as_they_are() -> None:
    rows = [outcome(0.5, 0.5, 1.0), outcome(0.95, 0.5, 1.0)]
    assert replay_all([rows[0].decision], USUAL).modes == ("multi",)
    assert replay_all([rows[0].decision], best_thresholds(rows, USUAL, price=1.0)).modes == ("single",)
    assert best_thresholds(rows, USUAL, price=0.0) == USUAL


def test_chosen_thresholds_never_cross() -> None:
    rows = [outcome(probability, 0.5, 1.0) for probability in (0.02, 0.1, 0.25)]
    chosen = best_thresholds(rows, USUAL)
    assert chosen.classifier_single_threshold <= chosen.fallback_classifier_threshold
    assert chosen.fallback_classifier_threshold <= chosen.classifier_multi_threshold
    assert {getattr(chosen, name) in (*values, getattr(USUAL, name)) for name, values in GRID.items()} == {True}
