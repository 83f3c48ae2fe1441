"""The rules: a weighted, saturating score of the signals, and the reasons for it (spec 3.1, step 1).

Each signal has a weight ≥ 0 per language; their sum is the evidence that a question needs several look-ups. The
evidence is mapped to [0, 1] by three fitted points, so that the thresholds of the cascade keep their meaning whatever
the weights: up to ``low`` (score 0.15) a question with at most one entity is surely single, from ``high`` (0.75) on it
is surely multi, and from ``middle`` (0.4) on multi is the better guess. Weights and points come from
``benchmarks/fit_complexity.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from clew.retrieval.complexity.features import FEATURES_VERSION, SIGNALS, ComplexityFeatures

LOW_SCORE, MIDDLE_SCORE, HIGH_SCORE = 0.15, 0.4, 0.75
_WEIGHTS_FILE = "rule_weights.json"


@dataclass(frozen=True, slots=True)
class RuleWeights:
    """Weights of one language. ``low < middle < high`` are amounts of evidence."""

    weights: Mapping[str, float]
    low: float
    middle: float
    high: float

    def score(self, evidence: float) -> float:
        """The score of an amount of evidence: linear between the three points, saturating above the last."""
        if evidence >= self.high:
            beyond = (evidence - self.high) / self.high
            return HIGH_SCORE + (1.0 - HIGH_SCORE) * (1.0 - math.exp(-beyond))
        if evidence >= self.middle:
            part = (evidence - self.middle) / (self.high - self.middle)
            return MIDDLE_SCORE + (HIGH_SCORE - MIDDLE_SCORE) * part
        if evidence >= self.low:
            part = (evidence - self.low) / (self.middle - self.low)
            return LOW_SCORE + (MIDDLE_SCORE - LOW_SCORE) * part
        return LOW_SCORE * evidence / self.low


@dataclass(frozen=True, slots=True)
class RuleScore:
    """What the rules say of a question."""

    score: float
    contributions: Mapping[str, float]
    """Evidence by signal, largest first; they add up to the whole evidence."""

    @property
    def reason(self) -> str:
        """The strongest observations in words."""
        told = [SIGNALS[name].says for name, amount in self.contributions.items() if amount >= 0.3][:3]
        return "; ".join(told) if told else "no sign of several hops"


def score_rules(features: ComplexityFeatures) -> RuleScore:
    """Scores the signals with the committed weights of the question's language."""
    rules = load_weights()["zh" if features.chinese else "en"]
    amounts = {name: rules.weights.get(name, 0.0) * value for name, value in features.signals.items()}
    ordered = dict(sorted(amounts.items(), key=lambda item: -item[1]))
    evidence = round(sum(ordered.values()), 6)
    return RuleScore(round(rules.score(evidence), 6), {name: amount for name, amount in ordered.items() if amount > 0})


@cache
def load_weights() -> Mapping[str, RuleWeights]:
    """The committed weights by language. Raises ValueError where they were fitted for other features."""
    text = resources.files(__package__).joinpath(_WEIGHTS_FILE).read_text(encoding="utf-8")
    return parse_weights(json.loads(text))


def parse_weights(data: Mapping[str, Any]) -> Mapping[str, RuleWeights]:
    """Weights from the JSON that the fitting script writes."""
    if data["features_version"] != FEATURES_VERSION:
        raise ValueError(
            f"{_WEIGHTS_FILE} was fitted for features {data['features_version']}, the code has {FEATURES_VERSION}; "
            "run benchmarks/fit_complexity.py."
        )
    return {
        language: RuleWeights(dict(entry["weights"]), entry["low"], entry["middle"], entry["high"])
        for language, entry in data["languages"].items()
    }
