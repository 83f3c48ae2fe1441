"""The rule score: monotone, bounded, explained, and exact at its points."""

from __future__ import annotations

import pytest

from clew.retrieval.complexity.features import FEATURES_VERSION, SIGNALS, extract_features
from clew.retrieval.complexity.rules import RuleWeights, load_weights, parse_weights, score_rules

RULES = RuleWeights({}, low=0.3, middle=2.0, high=5.0)


def test_the_three_points_are_exact() -> None:
    assert (RULES.score(0.0), RULES.score(0.3), RULES.score(2.0), RULES.score(5.0)) == (0.0, 0.15, 0.4, 0.75)


def test_the_score_rises_and_saturates() -> None:
    scores = [RULES.score(step / 10) for step in range(400)]
    assert scores == sorted(scores)
    assert len(set(scores)) == len(scores)
    assert scores[-1] < 1.0


def test_committed_weights_are_whole_and_never_negative() -> None:
    for language in ("zh", "en"):
        rules = load_weights()[language]
        assert set(rules.weights) == set(SIGNALS)
        assert min(rules.weights.values()) >= 0
        assert 0 < rules.low < rules.middle < rules.high


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match="fit_complexity"):
        parse_weights({"features_version": FEATURES_VERSION + "x", "languages": {}})


@pytest.mark.parametrize(
    ("question", "feature"),
    [
        ("《野草》的作者的代表作品有哪些？", "bridge"),
        ("2022年美国和中国的增速分别是多少？", "comparison"),
        ("Which film was released first, Dekha Pyar Tumhara or Lucky Journey?", "comparison"),
    ],
)
def test_contributions_add_up_and_name_the_cause(question: str, feature: str) -> None:
    features = extract_features(question)
    said = score_rules(features)
    rules = load_weights()["zh" if features.chinese else "en"]
    assert said.score == pytest.approx(rules.score(sum(said.contributions.values())), abs=1e-5)
    strongest = next(iter(said.contributions))
    assert SIGNALS[strongest].feature == feature
    assert SIGNALS[strongest].says in said.reason


def test_sure_cases_of_both_languages() -> None:
    for question in (
        "《野草》的作者的代表作品有哪些？",
        "Where was the wife of the director of film Bitter Rice born?",
    ):
        assert score_rules(extract_features(question)).score >= 0.75
    for question in ("新加坡的国土面积是多少？", "who wrote hamlet"):
        assert score_rules(extract_features(question)).score <= 0.15
