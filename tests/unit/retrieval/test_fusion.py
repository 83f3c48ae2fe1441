import pytest

from clew.retrieval.fusion import Route, fuse_knowledge_bases, reciprocal_rank_fusion
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
