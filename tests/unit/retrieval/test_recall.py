from clew.retrieval.fusion import Route, reciprocal_rank_fusion
from clew.retrieval.recall import cap_per_parent, spread_over_children
from clew.storage.base import Posting
from clew.trace import StageTrace
from clew.types import Candidate


def posting(chunk: str, parent: str, score: float = 0.5) -> Posting:
    return Posting(chunk, parent, "f", 1, score)


def test_a_parents_hit_counts_for_its_children_that_others_found() -> None:
    routes = [
        Route("bm25", [posting("a2", "A", 9.0), posting("b1", "B", 8.0)]),
        Route("l1", [posting("a1", "A", 0.9), posting("c1", "C", 0.8), posting("b1", "B", 0.7)]),
        Route("l2", [posting("a3", "A", 0.6)]),
    ]
    spread = {route.name: route for route in spread_over_children(routes)}
    assert [(p.chunk_id, p.score) for p in spread["l1"].postings] == [
        ("a2", 0.9),
        ("a3", 0.9),
        ("c1", 0.8),
        ("b1", 0.7),
    ]
    assert spread["l1"].ranks == [1, 1, 2, 3]
    assert spread["bm25"] is routes[0]
    fused = reciprocal_rank_fusion("kb", list(spread.values()))
    assert fused[0].chunk_id == "a2"
    assert fused[0].representations == ("bm25", "l1")
    assert {c.chunk_id: c.ranks["l1"] for c in fused if "l1" in c.ranks} == {"a2": 1, "a3": 1, "c1": 2, "b1": 3}


def test_twenty_children_of_one_parent_leave_room_for_the_others() -> None:
    def candidate(chunk: str, parent: str, score: float) -> Candidate:
        return Candidate(chunk, parent, "f", "kb", score, ("l2",))

    many = [candidate(f"a{i}", "A", 1 - i / 100) for i in range(20)]
    others = [candidate(f"b{i}", f"B{i}", 0.1) for i in range(5)]
    stage = StageTrace("fuse")
    kept = cap_per_parent([*many, *others], 3, 6, stage)
    assert [c.chunk_id for c in kept] == ["a0", "a1", "a2", "b0", "b1", "b2"]
    reasons = [entry["reason"] for entry in stage.dropped]
    assert reasons.count("too many of one parent") == 17
    assert reasons.count("not among the best 6") == 2
