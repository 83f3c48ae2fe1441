"""The five numbers that describe how complex a question is, and the signals behind them (spec 3.1).

Each signal is one observation in [0, 1] ("two things are compared", "a known relation hangs on another") and belongs
to one of the five features. The features go to the classifiers; the rules weigh the signals, so that each decision can
be explained by what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clew.retrieval.complexity.chinese import chinese_signals
from clew.retrieval.complexity.english import english_comparison, english_signals
from clew.text.entities import Entity, entities_of_tags, tag

FEATURES_VERSION = "2"
FEATURE_NAMES = ("comparison", "logic", "entities", "bridge", "length")

FeatureName = Literal["comparison", "logic", "entities", "bridge", "length"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One observation: the feature it belongs to, its share in that feature, and what it says in words."""

    feature: FeatureName
    share: float
    says: str


SIGNALS: Mapping[str, Signal] = {
    "compare_marker": Signal("comparison", 0.4, "a comparison word"),
    "compare_degree": Signal("comparison", 0.35, "a degree (more, older, 更) or a limit"),
    "compare_pair": Signal("comparison", 0.6, "two things set against each other"),
    "compare_choice": Signal("comparison", 0.2, "a choice between alternatives"),
    "same": Signal("comparison", 0.2, "both, same, 分别, 共同"),
    "trend": Signal("comparison", 0.7, "a change over several periods"),
    "coordination": Signal("comparison", 0.45, "several names, times or relations joined"),
    "asks_pair": Signal("comparison", 0.5, "the same asked of several things"),
    "logic_pair": Signal("logic", 0.35, "a pair of connectives (if … then, 因为 … 所以)"),
    "order": Signal("logic", 0.1, "an order in time"),
    "event_order": Signal("logic", 0.7, "two events ordered in time"),
    "reason": Signal("logic", 0.05, "a reason, effect or explanation"),
    "polar": Signal("logic", 0.45, "a yes-or-no question"),
    "two_questions": Signal("logic", 0.35, "more than one question"),
    "clauses": Signal("logic", 0.15, "several clauses"),
    "list": Signal("logic", 0.15, "a list is wanted"),
    "second_entity": Signal("entities", 0.4, "a second entity"),
    "third_entity": Signal("entities", 0.3, "a third entity"),
    "more_entities": Signal("entities", 0.3, "more than three entities"),
    "possession": Signal("bridge", 0.15, "a property of something"),
    "chain": Signal("bridge", 0.4, "a property of a property"),
    "chain_sure": Signal("bridge", 0.4, "a relation that hangs on another"),
    "deeper": Signal("bridge", 0.3, "a chain of three or more"),
    "relative": Signal("bridge", 0.2, "a relative clause"),
    "participle": Signal("bridge", 0.25, "something described by what was done to it"),
    "described": Signal("bridge", 0.6, "something known only by its relation to an entity"),
    "described_weak": Signal("bridge", 0.15, "something known only by a property"),
    "kinship": Signal("bridge", 0.6, "kinship over another person"),
    "typed_answer": Signal("bridge", 0.6, "a further property of a related thing"),
    "typed_question": Signal("bridge", 0.1, "an answer of a certain class"),
    "late_question": Signal("bridge", 0.1, "a description before the question word"),
    "anaphora": Signal("bridge", 0.1, "a reference back (its, 该)"),
    "over_8_tokens": Signal("length", 0.25, "over 8 tokens"),
    "over_14_tokens": Signal("length", 0.35, "over 14 tokens"),
    "over_22_tokens": Signal("length", 0.4, "over 22 tokens"),
}
"""A feature is the sum of the shares of its signals, at most 1."""

_LENGTH_STEPS = (("over_8_tokens", 4, 8), ("over_14_tokens", 8, 14), ("over_22_tokens", 14, 22))
_TOKEN = re.compile(r"\w+(?:['’.\-]\w+)*")
_MAX_CHARACTERS = 2000
"""Of a longer question only the beginning is read; its length alone says enough."""


@dataclass(frozen=True, slots=True)
class ComplexityFeatures:
    """What was seen in a question: the five features, each in [0, 1], and the signals and entities behind them."""

    comparison: float
    logic: float
    entities: float
    bridge: float
    length: float
    signals: Mapping[str, float]
    """Those above 0."""
    found: tuple[Entity, ...]
    tokens: int
    chinese: bool
    """Whether the question has Chinese characters, and was read as Chinese."""

    @property
    def vector(self) -> tuple[float, float, float, float, float]:
        """The five features in the order of :data:`FEATURE_NAMES`."""
        return (self.comparison, self.logic, self.entities, self.bridge, self.length)

    def to_json(self) -> dict[str, Any]:
        """For the decision record: the five numbers, their version, and what they rest on."""
        numbers = {name: round(value, 4) for name, value in zip(FEATURE_NAMES, self.vector, strict=True)}
        return {
            **numbers,
            "version": FEATURES_VERSION,
            "entity_count": self.entity_count,
            "entity_texts": [entity.text for entity in self.found],
            "tokens": self.tokens,
            "signals": {name: round(value, 4) for name, value in self.signals.items()},
        }

    @property
    def entity_count(self) -> int:
        """Different entities, whatever their case."""
        return len({entity.text.lower() for entity in self.found})


def extract_features(question: str, *, domain_terms: Sequence[str] = ()) -> ComplexityFeatures:
    """Features of a standalone question in Chinese, English or both; well under a millisecond."""
    text = question[:_MAX_CHARACTERS].strip()
    tags = tag(text)
    found = tuple(entities_of_tags(text, tags, domain_terms=domain_terms))
    if tags:
        signals = chinese_signals(text, tags, found)
        signals["compare_marker"] = max(signals["compare_marker"], english_comparison(text))
        tokens = sum(1 for token, part_of_speech in tags if part_of_speech != "x")
    else:
        signals = english_signals(text, found)
        tokens = len(_TOKEN.findall(text))
    count = len({entity.text.lower() for entity in found})
    signals |= {"second_entity": float(count > 1), "third_entity": float(count > 2), "more_entities": float(count > 3)}
    for name, low, high in _LENGTH_STEPS:
        signals[name] = min(max((tokens - low) / (high - low), 0.0), 1.0)
    values = dict.fromkeys(FEATURE_NAMES, 0.0)
    for name, value in signals.items():
        values[SIGNALS[name].feature] += SIGNALS[name].share * value
    return ComplexityFeatures(
        **{name: min(value, 1.0) for name, value in values.items()},
        signals={name: value for name, value in signals.items() if value > 0},
        found=found,
        tokens=tokens,
        chinese=bool(tags),
    )
