"""Whether the first look-up of a question suffices, or rounds are likely to find more.

What came back says more than the question alone: which of its names stand in the best passages, how likely these are
evidence, and how likely a passage is that they lead to (as the bridge planner sees it). A small linear model weighs
that. It is fitted by ``benchmarks/fit_first_look.py`` on questions that were looked up both ways; docs/complexity.md
has the numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

from clew.retrieval.recall import Recalled
from clew.text.names import fold_name
from clew.trace import ComplexityDecision

Mode = Literal["single", "multi"]

_WEIGHTS_FILE = "first_look_weights.json"
_BEST = 5
_REASONS = 3

_LABELS = {
    "probability": "probability by the question alone {}",
    "names": "root of the number of names in the question {}",
    "named_first": "share of the names in the first passage {}",
    "named": "share of the names in the best passages {}",
    "first_1": "likeliest evidence found {}",
    "first_2": "second likeliest evidence found {}",
    "linked": "likeliest evidence that a passage leads to {}",
}
FEATURES = tuple(_LABELS)
"""What is looked at."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Log-odds = ``bias`` + Σ weight · (value - mean); ``means`` are those of the questions that were fitted on."""

    bias: float
    weights: Mapping[str, float]
    means: Mapping[str, float]

    def says(self, values: Mapping[str, float]) -> dict[str, float]:
        """How much each feature says for rounds, in log-odds."""
        return {name: weight * (values[name] - self.means[name]) for name, weight in self.weights.items()}

    def probability(self, says: Mapping[str, float]) -> float:
        """Of rounds that find more."""
        logit = max(-30.0, min(30.0, self.bias + sum(says.values())))
        return 1 / (1 + math.exp(-logit))


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a first look-up shows: its features, how much each says for rounds, and the probability that these find
    more."""

    values: Mapping[str, float]
    says: Mapping[str, float]
    probability: float

    def decided(self, decision: ComplexityDecision, threshold: float) -> ComplexityDecision:
        """The decision after the look: several look-ups from the threshold on, else a single one. The source changes
        where the mode does."""
        mode: Mode = "multi" if self.probability >= threshold else "single"
        seen = replace(decision, first_look=self.values, first_look_probability=self.probability)
        if mode == decision.mode:
            return seen
        source = "weak_first_round" if mode == "multi" else "strong_first_round"
        return replace(seen, mode=mode, source=source, reason=self.reason(mode))

    def reason(self, mode: Mode) -> str:
        """The mode's reason: the probability, and what speaks for the mode most."""
        sign = 1 if mode == "multi" else -1
        strongest = sorted(self.says, key=lambda name: -sign * self.says[name])[:_REASONS]
        seen = "; ".join(_LABELS[name].format(f"{self.values[name]:.2f}") for name in strongest)
        if mode == "multi":
            return f"the first look-up is weak, rounds find more with probability {self.probability:.2f}: {seen}"
        return f"the first look-up suffices, rounds find more with probability {self.probability:.2f}: {seen}"


def first_look(
    decision: ComplexityDecision, first: Recalled, outlook: Mapping[str, float], weights: Weights | None = None
) -> FirstLook:
    """``outlook`` is what the bridge planner sees after the same look-up; without ``weights`` the committed ones."""
    chosen = weights or load_weights()
    seen = {**seen_in(decision, first), **outlook}
    values = {name: round(seen[name], 4) for name in chosen.weights}
    says = chosen.says(values)
    return FirstLook(values, says, round(chosen.probability(says), 4))


@cache
def load_weights() -> Weights:
    """The committed weights."""
    data = json.loads(resources.files(__package__).joinpath(_WEIGHTS_FILE).read_text(encoding="utf-8"))
    return Weights(data["bias"], data["weights"], data["means"])


def seen_in(decision: ComplexityDecision, first: Recalled) -> dict[str, float]:
    """What the decision knew of the question, and which of the question's names the best passages hold."""
    asked, head = decision.classifier_probability, decision.head_probability
    probability = head if asked is None else asked
    names = {name for text in decision.features.get("entity_texts", ()) if (name := fold_name(text))}
    chunks = [first.chunks[c.chunk_id] for c in first.candidates[:_BEST]] if names else []
    texts = [fold_name(" ".join([*chunk.section_titles, chunk.text])) for chunk in chunks]
    held = [{name for name in names if name in text} for text in texts] or [set[str]()]
    return {
        "probability": 0.5 if probability is None else probability,
        "names": math.sqrt(len(names)),
        "named_first": len(held[0]) / len(names) if names else 1.0,
        "named": len(set[str]().union(*held)) / len(names) if names else 1.0,
    }
