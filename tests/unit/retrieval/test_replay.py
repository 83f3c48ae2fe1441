from __future__ import annotations

import pytest

from clew.errors import InputError
from clew.retrieval.replay import Difference, differences, find_trace, request_of
from clew.trace import ComplexityDecision, MultiHopStep, RequestTrace, RetrievalTrace, StageTrace, to_json

REQUEST = RequestTrace(("kb_1",), ("f1",), None, "multi", {"retrieval": {"bm25_b": 0.4}})


def trace(*context: str, mode: str = "multi", sub_question: str = "who?") -> dict[str, object]:
    decision = ComplexityDecision("q", "multi" if mode == "multi" else "single", "rules", 0.8, {})
    ranking = [{"chunk_id": chunk_id, "number": n} for n, chunk_id in enumerate(context, 1)]
    stage = StageTrace("context", len(context), len(context), ranking=ranking)
    rounds = [MultiHopStep(1, sub_question, sub_question, hits=[{"chunk_id": "c1"}])]
    found = RetrievalTrace("q", "q, standing alone", REQUEST, decision, rounds=rounds, stages=[stage])
    value: dict[str, object] = to_json(found)
    return value


def test_a_trace_is_found_wherever_it_was_kept() -> None:
    kept = trace("c1")
    assert find_trace(kept) is kept
    assert find_trace({"hits": [], "trace": kept}) is kept
    assert find_trace({"retrieval_trace": kept, "citations": []}) is kept
    assert find_trace({"role": "assistant", "usage": {"retrieval_trace": kept}}) is kept
    with pytest.raises(InputError, match="no trace"):
        find_trace({"hits": []})


def test_the_request_is_that_of_then_with_the_rewritten_question() -> None:
    assert request_of(trace("c1")) == {
        "question": "q, standing alone",
        "kbs": ["kb_1"],
        "files": ["f1"],
        "sections": None,
        "retrieval_mode": "multi",
        "kind": "auto",
        "settings": {"retrieval": {"bm25_b": 0.4}},
    }
    with pytest.raises(InputError, match="older version"):
        request_of({"request": None, "rounds": [], "rewritten": "q"})


def test_differences_name_what_changed_and_nothing_else() -> None:
    before = trace("c1", "c2")
    assert differences(before, trace("c1", "c2") | {"ms": {"total": 5.0}}) == []
    assert differences(before, trace("c2", "c1", mode="single", sub_question="when?")) == [
        Difference("complexity.mode", "multi", "single"),
        Difference("round 1: sub-question", "who?", "when?"),
        Difference("context", ["c1", "c2"], ["c2", "c1"]),
    ]
