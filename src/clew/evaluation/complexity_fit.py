"""Fits the weights of the complexity rules (``retrieval.complexity.rules``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.evaluation.complexity_data import LabelledQuestion
from clew.retrieval.complexity.features import FEATURES_VERSION, SIGNALS, ComplexityFeatures
from clew.retrieval.complexity.rules import RuleWeights

Floats = NDArray[np.float64]

SIGNAL_NAMES = tuple(SIGNALS)
_PRIOR = np.array([5.0 * signal.share for signal in SIGNALS.values()])
# Length alone proves nothing; every other signal keeps a little weight, so that "no signal at all" stays recognisable.
_FLOOR = np.array([0.0 if signal.feature == "length" else 0.1 for signal in SIGNALS.values()])
PRIOR_STRENGTH = {"zh": 1e-4, "en": 1.5e-2}
"""How strongly weights are drawn to the prior: English sources of one label each need more of it."""
_SOURCE_WEIGHTS = {"CKBQA-2018": 0.4, "RGB": 0.7, "Docugami-10Q": 0.5, "MultiHop-RAG": 0.3, "StrategyQA": 0.6}
"""Noisy or one-sided sources count less; every other source counts 1, however many questions it has."""

MISSED_SHARE = {"zh": 0.03, "en": 0.01}
"""Share of multi questions (mean over sources) that may end up surely single."""
FALSE_SHARE = {"zh": 0.01, "en": 0.01}
"""Share of single questions (mean over sources) that may end up surely multi."""
LIKELY_FALSE_SHARE = 0.05
"""Share of single questions (mean over sources) whose score may reach ``middle``, where the fallback says multi."""
LOW_LIMIT = {"zh": 0.5, "en": 1.2}
"""Upper limit of ``low``: in Chinese one good signal makes a question unsure."""


@dataclass(frozen=True)
class SignalTable:
    """Questions as numbers: ``signals`` is (questions, signals)."""

    signals: Floats
    multi: NDArray[np.bool_]
    entities: NDArray[np.int64]
    families: NDArray[np.str_]

    def select(self, mask: NDArray[np.bool_]) -> SignalTable:
        """The rows where ``mask`` is true."""
        return SignalTable(self.signals[mask], self.multi[mask], self.entities[mask], self.families[mask])


def signal_table(questions: Sequence[LabelledQuestion], features: Sequence[ComplexityFeatures]) -> SignalTable:
    """The table of ``questions`` with their ``features``."""
    return SignalTable(
        np.array([[item.signals.get(name, 0.0) for name in SIGNAL_NAMES] for item in features]),
        np.array([item.multi for item in questions]),
        np.array([item.entity_count for item in features]),
        np.array([item.family for item in questions]),
    )


def source_balance(multi: NDArray[np.bool_], families: NDArray[np.str_]) -> Floats:
    """Weights that give both labels the same mass and, within a label, each source its share."""
    weights = np.zeros(len(multi))
    for label in (False, True):
        of_label = multi == label
        for family in np.unique(families[of_label]):
            rows = of_label & (families == family)
            weights[rows] = _SOURCE_WEIGHTS.get(str(family), 1.0) / rows.sum()
        if of_label.any():
            weights[of_label] /= weights[of_label].sum()
    return weights / 2


def fit_rules(table: SignalTable, language: str) -> RuleWeights:
    """Non-negative logistic weights, drawn towards a prior so that unseen signals keep a meaning, and the points."""
    balance = source_balance(table.multi, table.families)
    weights = np.round(_fit_weights(table.signals, table.multi, balance, PRIOR_STRENGTH[language]), 3)
    evidence = np.round(table.signals @ weights, 6)
    low, high = _points(evidence, table, balance, language)
    middle = _middle(evidence, table.multi, balance, low, high)
    return RuleWeights(dict(zip(SIGNAL_NAMES, weights.tolist(), strict=True)), low, middle, high)


def _fit_weights(signals: Floats, multi: NDArray[np.bool_], balance: Floats, pull: float, steps: int = 40) -> Floats:
    """Projected Newton steps: weights at their floor that would fall below it are held there."""
    design = np.hstack([signals, np.ones((len(signals), 1))])
    floor = np.append(_FLOOR, -np.inf)
    prior = np.append(_PRIOR, 0.0)
    strength = np.append(np.full(len(_PRIOR), pull), 1e-9)
    weights = np.append(_PRIOR, -2.0)
    for _ in range(steps):
        probability = 1 / (1 + np.exp(-np.clip(design @ weights, -40, 40)))
        gradient = design.T @ (balance * (probability - multi)) + strength * (weights - prior)
        free = (weights > floor) | (gradient < 0)
        part = design[:, free]
        curvature = (part * (balance * probability * (1 - probability))[:, None]).T @ part + np.diag(strength[free])
        change = np.zeros(len(weights))
        change[free] = np.clip(np.linalg.solve(curvature, gradient[free]), -1.0, 1.0)
        weights = np.maximum(floor, weights - change)
        if np.abs(change).max() < 1e-5:
            break
    return weights[:-1]


def _points(evidence: Floats, table: SignalTable, balance: Floats, language: str) -> tuple[float, float]:
    """The largest ``low`` and the smallest ``high`` that keep to the allowed shares of wrong sure decisions."""
    rounded = np.round(evidence, 2)
    levels = np.unique(rounded)
    missed = balance * table.multi * (table.entities <= 1)
    missed /= max(float((balance * table.multi).sum()), 1e-9)
    false = balance * ~table.multi / max(float((balance * ~table.multi).sum()), 1e-9)
    low = 0.01
    for level in levels:
        if missed[rounded <= level].sum() > MISSED_SHARE[language]:
            break
        low = max(low, float(level))
    high = float(levels[-1]) + 0.5
    for level in levels[::-1]:
        if false[rounded >= level].sum() > FALSE_SHARE[language]:
            break
        high = float(level)
    low = round(min(low, LOW_LIMIT[language]), 2)
    return low, round(max(high, low + 0.02), 2)


def _middle(evidence: Floats, multi: NDArray[np.bool_], balance: Floats, low: float, high: float) -> float:
    """The least evidence between the points that at most :data:`LIKELY_FALSE_SHARE` of the single questions reach."""
    false = balance * ~multi / max(float((balance * ~multi).sum()), 1e-9)
    for value in np.arange(low + 0.01, high - 0.01, 0.05):
        if false[evidence >= value].sum() <= LIKELY_FALSE_SHARE:
            return round(float(value), 3)
    return round((low + high) / 2, 3)


def rule_scores(table: SignalTable, rule: RuleWeights) -> Floats:
    """Scores of a table, as ``score_rules`` gives them."""
    weights = np.array([rule.weights[name] for name in SIGNAL_NAMES])
    return np.array([round(rule.score(round(float(value), 6)), 6) for value in table.signals @ weights])


def capped(table: SignalTable, most: int = 1500) -> SignalTable:
    """At most ``most`` questions of each source and label, chosen by a fixed seed."""
    keep = np.zeros(len(table.multi), dtype=bool)
    random = np.random.default_rng(7)
    for family in np.unique(table.families):
        for label in (False, True):
            rows = np.flatnonzero((table.families == family) & (table.multi == label))
            keep[random.permutation(rows)[:most]] = True
    return table.select(keep)


def weights_as_json(rules: dict[str, RuleWeights], sources: Sequence[str], reached: dict[str, Any]) -> dict[str, Any]:
    """What ``rule_weights.json`` holds: weights and points by language, what they were fitted on, what they reached."""
    return {
        "features_version": FEATURES_VERSION,
        "languages": {
            language: {"weights": dict(rule.weights), "low": rule.low, "middle": rule.middle, "high": rule.high}
            for language, rule in rules.items()
        },
        "fitted_on": sorted(sources),
        "leave_one_source_out": reached,
    }
