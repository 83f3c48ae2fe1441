"""What a decision is worth: both paths of a question side by side, and the thresholds that buy most recall for time.

Accuracy against labels is the wrong target: a question labelled multi may be found by one look-up, and a decision is
only worth what the path it takes finds. The *outcome label* of a question is its cheapest path with the best recall.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clew.config import ComplexitySettings
from clew.evaluation.decisions import Label, read_decision, replay_all
from clew.trace import ComplexityDecision, to_json

GRID: Mapping[str, tuple[float, ...]] = {
    "rules_multi_threshold": (0.5, 0.65, 0.75, 0.85, 0.95),
    "rules_single_threshold": (0.05, 0.15, 0.25),
    "classifier_multi_threshold": (0.3, 0.5, 0.7, 0.8, 0.9),
    "classifier_single_threshold": (0.05, 0.1, 0.2, 0.3, 0.5),
    "fallback_rules_threshold": (0.2, 0.3, 0.4, 0.5, 0.6),
    "fallback_classifier_threshold": (0.2, 0.3, 0.4, 0.5, 0.6),
}


_LEAST_GAIN = 1e-6
"""Settings that reach the same stay as they are."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What one path of a question found, and what it cost."""

    recall: float
    support: float
    """1 where all support is among the first passages."""
    cpu_ms: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: both paths, and the decision with all its numbers."""

    set: str
    single: Reached
    multi: Reached
    decision: ComplexityDecision

    @property
    def label(self) -> Label:
        """The cheapest path with the best recall."""
        return "multi" if self.multi.recall > self.single.recall else "single"

    def reached(self, mode: Label) -> Reached:
        """What the path of ``mode`` reached."""
        return self.multi if mode == "multi" else self.single

    def to_json(self) -> dict[str, Any]:
        """As :func:`read_outcome` reads it."""
        decision = to_json(self.decision)
        return {"set": self.set, "single": asdict(self.single), "multi": asdict(self.multi), "decision": decision}


def read_outcome(row: Mapping[str, Any]) -> Outcome:
    """An outcome from its JSON."""
    return Outcome(row["set"], Reached(**row["single"]), Reached(**row["multi"]), read_decision(row["decision"]))


def exchange_rate(outcomes: Sequence[Outcome]) -> float:
    """Recall that a processor millisecond brings on the whole way from all single to all multi; sets weigh the same."""
    recall = set_mean(outcomes, [outcome.multi.recall - outcome.single.recall for outcome in outcomes])
    spent = set_mean(outcomes, [outcome.multi.cpu_ms - outcome.single.cpu_ms for outcome in outcomes])
    return max(recall, 0.0) / spent if spent > 0 else 0.0


def best_thresholds(
    outcomes: Sequence[Outcome], usual: ComplexitySettings, *, price: float | None = None
) -> ComplexitySettings:
    """The thresholds of the most recall, each processor millisecond charged with ``price`` (the exchange rate).

    Sets weigh the same. From ``usual`` on the two thresholds are moved that gain most together, as long as any do: one
    alone often gains nothing, because a question passes by several.
    """
    price = exchange_rate(outcomes) if price is None else price
    decisions = [outcome.decision for outcome in outcomes]
    gains = [o.multi.recall - o.single.recall - price * (o.multi.cpu_ms - o.single.cpu_ms) for o in outcomes]

    def worth(settings: ComplexitySettings) -> float:
        modes = replay_all(decisions, settings).modes
        return set_mean(outcomes, [gain * (mode == "multi") for gain, mode in zip(gains, modes, strict=True)])

    best, reached = usual, worth(usual)
    while True:
        tried = max((each for each in _moved(best) if _in_order(each)), key=worth)
        if worth(tried) <= reached + _LEAST_GAIN:
            return best
        best, reached = tried, worth(tried)


def _moved(settings: ComplexitySettings) -> Iterator[ComplexitySettings]:
    """``settings`` with one or two thresholds moved."""
    for one, other in itertools.combinations(GRID, 2):
        for values in itertools.product((getattr(settings, one), *GRID[one]), (getattr(settings, other), *GRID[other])):
            yield settings.model_copy(update=dict(zip((one, other), values, strict=True)))


def _in_order(settings: ComplexitySettings) -> bool:
    """Thresholds that cross would decide nothing, or both ways."""
    return (
        settings.rules_single_threshold <= settings.fallback_rules_threshold <= settings.rules_multi_threshold
        and settings.classifier_single_threshold <= settings.fallback_classifier_threshold
        and settings.fallback_classifier_threshold <= settings.classifier_multi_threshold
    )


def set_mean(outcomes: Sequence[Outcome], values: Sequence[float]) -> float:
    """The mean over sets of their means."""
    by_set: dict[str, list[float]] = {}
    for outcome, value in zip(outcomes, values, strict=True):
        by_set.setdefault(outcome.set, []).append(value)
    return statistics.fmean(statistics.fmean(each) for each in by_set.values())
