"""Measures against values counted by hand."""

from __future__ import annotations

import random

import pytest

from multihop_classifier.training.measures import auc, best_threshold, measure

TRUTH = [True, True, True, False, False, False, False, True]
SAID = [0.9, 0.8, 0.3, 0.7, 0.2, 0.1, 0.5, 0.5]


def test_decisions_are_scored() -> None:
    scores = measure(TRUTH, SAID)
    assert scores.confusion == ((2, 2), (1, 3))
    assert (scores.accuracy, scores.precision, scores.recall) == (0.625, 0.6, 0.75)
    assert scores.f1 == pytest.approx(2 / 3)
    assert scores.auc == pytest.approx(12.5 / 16)
    assert measure(TRUTH, SAID, 0.75).confusion == ((4, 0), (2, 2))
    assert scores.to_json()["confusion"] == ((2, 2), (1, 3))


def test_probability_on_the_threshold_is_multi() -> None:
    assert measure([True], [0.5]).recall == 1.0


def test_what_needs_the_other_label_is_left_open() -> None:
    only_single = measure([False, False], [0.2, 0.9])
    assert (only_single.accuracy, only_single.recall, only_single.f1, only_single.auc) == (0.5, None, None, None)
    assert measure([], []).total == 0


def test_auc_is_the_share_of_pairs_in_order() -> None:
    chance = random.Random(3)
    truth = [chance.random() < 0.4 for _ in range(200)]
    ranking = [round(chance.random(), 1) for _ in truth]
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for high, multi in zip(ranking, truth, strict=True)
        if multi
        for low, other in zip(ranking, truth, strict=True)
        if not other
    ]
    assert auc(truth, ranking) == pytest.approx(sum(pairs) / len(pairs))


def test_threshold_of_best_f1_that_keeps_the_recall() -> None:
    truth = [True, True, False, True, False, False]
    said = [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]
    assert best_threshold(truth, said, recall=0.0) == pytest.approx(0.55)
    assert best_threshold(truth, said, recall=0.5, weights=[1, 1, 9, 1, 1, 1]) == pytest.approx(0.75)
    assert best_threshold(truth, said, recall=0.9, weights=[1, 1, 9, 1, 1, 1]) == pytest.approx(0.55)
    assert best_threshold([True, True], [0.1, 0.2], recall=0.85) == 0.5
    assert best_threshold([False], [0.1], recall=0.85) == 0.5


def test_threshold_never_divides_equal_probabilities() -> None:
    truth, said = [True, False, True, False], [0.6, 0.6, 0.6, 0.2]
    assert best_threshold(truth, said, recall=0.3) == pytest.approx(0.4)
