import pytest

from clew.retrieval.fusion import (
    Route,
    convex_combination,
    fuse_knowledge_bases,
    reciprocal_rank_fusion,
    weight_of,
)
from clew.storage.base import Posting
from clew.types import Candidate


def posting(chunk: str, score: float = 1.0, version: int = 1) -> Posting:
    return Posting(chunk, f"parent-{chunk}", "file", version, score)


def candidate(chunk: str, kb: str, score: float) -> Candidate:
    return Candidate(chunk, f"parent-{chunk}", "file", kb, score, ("bm25",))


def test_a_chunk_that_both_routes_find_comes_first() -> None:
    fused = reciprocal_rank_fusion(
        "kb",
        [Route("bm25", [posting("a", 9.0), posting("b", 8.0)]), Route("l2", [posting("b", 0.9), posting("c", 0.8)])],
    )
    assert [c.chunk_id for c in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert dict(fused[0].ranks) == {"bm25": 2, "l2": 1}
    assert dict(fused[0].scores) == {"bm25": 8.0, "l2": 0.9}
    assert fused[0].representations == ("bm25", "l2")


def test_the_same_chunk_in_two_versions_counts_once() -> None:
    fused = reciprocal_rank_fusion(
        "kb", [Route("bm25", [posting("a", version=2), posting("a", version=1), posting("b")])]
    )
    assert [(c.chunk_id, c.ranks["bm25"]) for c in fused] == [("a", 1), ("b", 2)]


def test_weights_change_the_order() -> None:
    routes = [Route("bm25", [posting("a")]), Route("l2", [posting("b")])]
    assert reciprocal_rank_fusion("kb", routes, weights={"l2": 2.0})[0].chunk_id == "b"
    assert reciprocal_rank_fusion("kb", routes, weights={"bm25": 2.0})[0].chunk_id == "a"


def test_equal_input_gives_equal_order() -> None:
    routes = [Route("bm25", [posting("b")]), Route("l2", [posting("a")])]
    assert [c.chunk_id for c in reciprocal_rank_fusion("kb", routes)] == ["a", "b"]


def test_knowledge_bases_meet_by_rank_not_by_score() -> None:
    loud = [candidate("a", "kb1", 100.0), candidate("b", "kb1", 99.0)]
    quiet = [candidate("c", "kb2", 0.01)]
    assert [c.chunk_id for c in fuse_knowledge_bases([loud, quiet])] == ["a", "c", "b"]


def test_a_combination_goes_by_scores_not_by_ranks() -> None:
    routes = [
        Route("bm25", [posting("a", 20.0), posting("b", 11.0), posting("c", 10.0)]),
        Route("l2", [posting("b", 0.9), posting("d", 0.8)]),
    ]
    fused = convex_combination("kb", routes)
    scores = {c.chunk_id: c.score for c in fused}
    assert scores == pytest.approx({"b": 0.55, "a": 0.5, "c": 0.0, "d": 0.0})
    assert [c.chunk_id for c in fused] == ["b", "a", "c", "d"]
    weighted = convex_combination("kb", routes, weights={"bm25": 3.0})
    assert (weighted[0].chunk_id, weighted[0].score) == ("a", pytest.approx(0.75))


def test_a_combination_of_one_route_keeps_its_order() -> None:
    assert [c.chunk_id for c in convex_combination("kb", [Route("l2", [posting("b", 0.9), posting("a", 0.8)])])] == [
        "b",
        "a",
    ]
    assert convex_combination("kb", [Route("l2", []), Route("bm25", [posting("a")])])[0].score == pytest.approx(1.0)
    assert convex_combination("kb", []) == []


def test_a_hypothetical_answers_route_weighs_as_the_questions_own() -> None:
    assert weight_of("hyde_bm25", {"bm25": 0.3}) == 0.3
    assert weight_of("hyde_bm25", {"bm25": 0.3, "hyde_bm25": 0.1}) == 0.1
    assert weight_of("l3", {"bm25": 0.3}) == 1.0


def test_children_that_were_found_by_their_parent_share_its_rank() -> None:
    route = Route("l1", [posting("a"), posting("b"), posting("c")], ranks=(1, 1, 2))
    fused = reciprocal_rank_fusion("kb", [route])
    assert [(c.chunk_id, c.ranks["l1"]) for c in fused] == [("a", 1), ("b", 1), ("c", 2)]
    assert fused[0].score == fused[1].score
