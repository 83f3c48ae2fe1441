"""The look at a first look-up: what it sees, and what it makes of the decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.retrieval.first_look import FEATURES, FirstLook, Weights, first_look, load_weights, seen_in
from clew.retrieval.recall import Recalled
from clew.trace import ComplexityDecision
from clew.types import Candidate, ChildChunk

NAMES = {"entity_texts": ["Boden's Boy", "Henry Edwards", "boden’s boy"]}
DECISION = ComplexityDecision("Who?", "single", "fallback", 0.3, NAMES, head_probability=0.4)


def chunk(chunk_id: str, title: str, text: str) -> ChildChunk:
    return ChildChunk(chunk_id, f"p-{chunk_id}", "f", 0, "0001/", (title,), text, 5, 0, len(text))


def found(*names: str) -> Recalled:
    """A look-up with these passages, best first."""
    texts = {"a": ("Boden's Boy", "A film."), "b": ("Henry Edwards", "He was an actor."), "c": ("Weston", "A town.")}
    candidates = [Candidate(name, f"p-{name}", "f", "kb", 1 / place, ()) for place, name in enumerate(names, start=1)]
    return Recalled(candidates, {name: chunk(name, *texts[name]) for name in names}, [])


def test_names_of_the_question_in_the_best_passages() -> None:
    seen = seen_in(DECISION, found("a", "b"))
    assert seen["names"] == pytest.approx(2**0.5), "the same name in another case and with another apostrophe is one"
    assert (seen["named_first"], seen["named"]) == (0.5, 1.0)
    nothing = seen_in(DECISION, found("c"))
    assert (nothing["named_first"], nothing["named"]) == (0.0, 0.0)
    unnamed = seen_in(replace(DECISION, features={}), found("c"))
    assert (unnamed["names"], unnamed["named_first"], unnamed["named"]) == (0.0, 1.0, 1.0), "nothing is missing"
    assert seen_in(DECISION, Recalled([], {}, []))["named"] == 0.0


def test_the_classifier_that_was_asked_goes_before_the_head() -> None:
    assert seen_in(DECISION, found("a"))["probability"] == 0.4
    assert seen_in(replace(DECISION, classifier_probability=0.6), found("a"))["probability"] == 0.6
    assert seen_in(replace(DECISION, head_probability=None), found("a"))["probability"] == 0.5


def test_the_probability_is_that_of_the_weighed_features() -> None:
    weights = Weights(0.0, {"probability": 10.0, "linked": 2.0}, {"probability": 0.4, "linked": 0.5})
    look = first_look(DECISION, found("a"), {"linked": 1.0, "first_1": 0.7}, weights)
    assert look.values == {"probability": 0.4, "linked": 1.0}
    assert look.says == pytest.approx({"probability": 0.0, "linked": 1.0})
    assert look.probability == pytest.approx(0.7311, abs=1e-4)


@pytest.mark.parametrize(
    ("mode", "probability", "after", "source"),
    [
        ("single", 0.6, "multi", "weak_first_round"),
        ("single", 0.2, "single", "fallback"),
        ("multi", 0.2, "single", "strong_first_round"),
        ("multi", 0.5, "multi", "fallback"),
    ],
)
def test_the_source_changes_with_the_mode(mode: str, probability: float, after: str, source: str) -> None:
    look = FirstLook({"linked": 0.9, "named": 1.0}, {"linked": 1.2, "named": -0.8}, probability)
    decided = look.decided(replace(DECISION, mode=mode), 0.5)
    assert (decided.mode, decided.source) == (after, source)
    assert decided.first_look == look.values
    assert decided.first_look_probability == probability
    if source != "fallback":
        strongest = "linked" if after == "multi" else "named"
        said = {
            "linked": "likeliest evidence that a passage leads to 0.90",
            "named": "share of the names in the best passages 1.00",
        }
        assert f": {said[strongest]}" in decided.reason
        assert decided.confidence == pytest.approx(probability if after == "multi" else 1 - probability)


def test_the_committed_weights_are_for_the_features_there_are() -> None:
    weights = load_weights()
    assert set(weights.weights) == set(weights.means) <= set(FEATURES)
