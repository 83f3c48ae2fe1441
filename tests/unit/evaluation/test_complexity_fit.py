"""Fitting on made-up questions: signs, floors, points, calibration."""

from __future__ import annotations

import numpy as np
import pytest

from clew.evaluation.complexity_data import LabelledQuestion
from clew.evaluation.complexity_fit import SignalTable, capped, fit_rules, rule_scores, signal_table, source_balance
from clew.evaluation.complexity_head_fit import fit_head, head_as_json, head_probabilities, head_table
from clew.models.complexity_head import ComplexityHead
from clew.retrieval.complexity.features import SIGNALS, extract_features

NAMES = (
    "Alice Munro",
    "Bob Dylan",
    "Toni Morrison",
    "Jorge Borges",
    "Kenzo Tange",
    "Zaha Hadid",
    "Oscar Niemeyer",
    "Jane Jacobs",
)


def questions() -> list[LabelledQuestion]:
    result = []
    for index, name in enumerate(NAMES):
        other = NAMES[index - 1]
        for family in ("one", "two"):
            opening = "When was" if family == "one" else "Where was"
            result += [
                LabelledQuestion(f"{opening} {name} born?", False, family, family, "en"),
                LabelledQuestion(f"What is the population of {name} {family}?", False, family, family, "en"),
                LabelledQuestion(f"{opening} the wife of the director of {name} born?", True, family, family, "en"),
                LabelledQuestion(f"Who is older {family}, {name} or {other}?", True, family, family, "en"),
            ]
    return result


@pytest.fixture(scope="module")
def table() -> SignalTable:
    asked = questions()
    return signal_table(asked, [extract_features(item.question) for item in asked])


def test_rules_part_the_labels_with_weights_that_are_never_negative(table: SignalTable) -> None:
    rule = fit_rules(table, "en")
    assert set(rule.weights) == set(SIGNALS)
    assert min(rule.weights.values()) >= 0
    assert rule.low < rule.middle < rule.high
    scores = rule_scores(table, rule)
    assert scores[table.multi].min() >= 0.4 > scores[~table.multi].max()


def test_sources_weigh_the_same_however_many_questions_they_have() -> None:
    multi = np.array([True] * 10 + [False] * 30)
    families = np.array(["a"] * 9 + ["b"] + ["c"] * 30)
    weights = source_balance(multi, families)
    assert weights[multi].sum() == pytest.approx(0.5)
    assert weights[families == "a"].sum() == pytest.approx(weights[families == "b"].sum())


def test_capping_keeps_every_source_and_label(table: SignalTable) -> None:
    small = capped(table, 2)
    assert len(small.multi) == 8
    assert set(small.families) == {"one", "two"}


def test_the_head_learns_and_goes_through_json(table: SignalTable) -> None:
    asked = questions()
    features = [extract_features(item.question) for item in asked]
    random = np.random.default_rng(1)
    vectors = random.normal(size=(len(asked), 64))
    vectors[:, 0] += np.where(table.multi, 2.0, -2.0)
    heads = head_table(asked, features, vectors)
    weights, alone = fit_head(heads), fit_head(heads.without_vectors())
    for fitted, rows in ((weights, heads), (alone, heads.without_vectors())):
        probabilities = head_probabilities(fitted, rows)
        # The calibration puts 0.5 on a single question, to the last digits or so.
        assert probabilities[rows.multi].min() > 0.5 + 1e-6 > probabilities[~rows.multi].max()
    stored = ComplexityHead.from_json(head_as_json(weights, alone, embedder="e", version="v", sources=["one"]))
    said = stored.predict(asked[2].question, features[2].vector, vector=vectors[2].astype(np.float32))
    assert said.multi_hop_probability == pytest.approx(head_probabilities(weights, heads)[2], abs=0.01)
    assert stored.predict(asked[2].question, features[2].vector).multi_hop_probability > 0.5
