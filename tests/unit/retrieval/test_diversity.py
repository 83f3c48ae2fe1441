import numpy as np
import pytest

from clew.retrieval.diversity import DiversityLimits, diversify
from clew.types import Candidate, FloatArray


def unit(*values: float) -> FloatArray:
    vector = np.array(values, np.float32)
    return vector / np.linalg.norm(vector)


def found(name: str, score: float, round: int = 1) -> Candidate:
    return Candidate(name, f"p-{name}", "f", "kb", score, ("l2",), round=round)


def ids(candidates: list[Candidate]) -> list[str]:
    return [candidate.chunk_id for candidate in candidates]


def test_a_near_duplicate_of_a_better_passage_is_dropped_and_the_reason_says_of_which() -> None:
    candidates = [found("a", 0.9), found("b", 0.8), found("c", 0.7)]
    vectors = {"a": unit(1, 0), "b": unit(1, 0.1), "c": unit(0, 1)}
    kept, trace = diversify(candidates, vectors, dict.fromkeys("abc", "text"), DiversityLimits(20, 0.92, 0.7))
    assert ids(kept) == ["a", "c"]
    assert trace.dropped == [{"chunk_id": "b", "reason": "says the same as a"}]
    assert (trace.candidates_in, trace.candidates_out) == (3, 2)
    assert trace.ranking[1]["similarity"] == pytest.approx(0.0)


def test_close_vectors_alone_are_no_duplicates() -> None:
    candidates = [found("a", 0.9), found("b", 0.8)]
    vectors = dict.fromkeys("ab", unit(1, 0))
    limits = DiversityLimits(20, 0.92, 0.7)
    texts = {"a": "The board met and approved the accounts.", "b": "Sales in the north fell behind those in the south."}
    assert ids(diversify(candidates, vectors, texts, limits)[0]) == ["a", "b"]
    texts["b"] = "The board met, and approved the accounts."
    assert ids(diversify(candidates, vectors, texts, limits)[0]) == ["a"]


def test_another_years_figures_are_no_duplicate() -> None:
    candidates = [found("a", 0.9), found("b", 0.8), found("c", 0.7)]
    texts = {"a": "Revenue of 2019 was 1,200.", "b": "Revenue of 2020 was 1,350.", "c": "Revenue of 2019"}
    vectors = dict.fromkeys("abc", unit(1, 0))
    kept, _ = diversify(candidates, vectors, texts, DiversityLimits(20, 0.92, 0.7))
    assert ids(kept) == ["a", "b"]


def test_among_too_many_novelty_decides_who_goes_on_and_relevance_where_it_stands() -> None:
    candidates = [found("a", 1.0), found("b", 0.9), found("c", 0.6), found("d", 0.0)]
    vectors = {"a": unit(1, 0), "b": unit(1, 0.5), "c": unit(0, 1), "d": unit(1, 0)}
    kept, trace = diversify(candidates, vectors, {}, DiversityLimits(2, 1.0, 0.5))
    assert ids(kept) == ["a", "c"]
    assert {entry["chunk_id"] for entry in trace.dropped} == {"b", "d"}
    by_relevance, _ = diversify(candidates, vectors, {}, DiversityLimits(2, 1.0, 1.0))
    assert ids(by_relevance) == ["a", "b"]
    order_kept, _ = diversify(candidates, vectors, {}, DiversityLimits(3, 1.0, 0.5))
    assert ids(order_kept) == ["a", "b", "c"]


def test_the_best_of_every_round_goes_on_whatever_it_is_like() -> None:
    candidates = [*(found(f"a{i}", 1.0 - i / 100) for i in range(5)), found("b", 0.1, round=2)]
    vectors = {c.chunk_id: unit(1, 0) for c in candidates}
    kept, _ = diversify(candidates, vectors, {}, DiversityLimits(1, 0.92, 0.7))
    assert ids(kept) == ["a0"]
    kept, _ = diversify(candidates, vectors, {}, DiversityLimits(2, 0.92, 0.7))
    assert ids(kept) == ["a0", "b"]


def test_without_vectors_nothing_is_a_duplicate_and_the_best_go_on() -> None:
    candidates = [found(str(i), 1.0 - i / 10) for i in range(5)]
    kept, trace = diversify(candidates, {}, {}, DiversityLimits(3, 0.0, 0.7))
    assert ids(kept) == ["0", "1", "2"]
    assert len(trace.dropped) == 2
    assert diversify([], {}, {}, DiversityLimits(3, 0.9, 0.7))[0] == []
