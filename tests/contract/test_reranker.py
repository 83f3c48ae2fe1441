"""What every reranker promises: one score in [0, 1] per passage, in the order given; a failure is an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from clew.config import RerankerSettings
from clew.errors import ServiceError, ServiceRefusedError, SettingsError
from clew.models.base import Reranker
from clew.models.reranker import HttpReranker, OnnxReranker, normalised
from fakes.onnx_folder import write_onnx_folder
from fakes.rerank_server import RerankServer, cohere, tei

PASSAGES = ["the dog sat", "the cat sat", "nothing of it", "the cat"]


def http(url: str, dialect: Any = "cohere", **more: Any) -> HttpReranker:
    return HttpReranker(RerankerSettings(kind="http", url=url, model="m", dialect=dialect, **more), retries=0)


def onnx_folder(folder: Path) -> Path:
    """A cross-encoder whose logit is how often the word ``cat`` occurs, minus 2."""
    write_onnx_folder(folder)
    table = np.zeros((13, 1), np.float32)
    table[7] = 1.0
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["each"]),
            helper.make_node("ReduceSum", ["each", "axes"], ["sum"], keepdims=0),
            helper.make_node("Add", ["sum", "shift"], ["logits"]),
        ],
        "cats",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch"])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([1, 2], np.int64), "axes"),
            numpy_helper.from_array(np.array([-2.0], np.float32), "shift"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save_model(model, str(folder / "model.onnx"))
    return folder


@pytest.fixture(params=["cohere", "tei", "onnx"])
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reranker]:
    if request.param == "onnx":
        yield OnnxReranker(onnx_folder(tmp_path / "model"), batch_size=3)
        return
    with RerankServer(cohere if request.param == "cohere" else tei) as server:
        yield http(server.url, request.param, batch_size=3)


def test_one_score_per_passage_in_the_order_given(reranker: Reranker) -> None:
    scores = reranker.rerank("the cat", PASSAGES)
    assert len(scores) == 4
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores[1] > scores[0]
    assert scores[3] > scores[2]
    assert reranker.rerank("the cat", []) == []
    assert isinstance(reranker, Reranker)


def test_batches_keep_to_the_limit() -> None:
    with RerankServer(cohere) as server:
        http(server.url, batch_size=3).rerank("the cat", PASSAGES)
        assert [len(body["documents"]) for body in server.bodies] == [3, 1]
        assert [body["top_n"] for body in server.bodies] == [3, 1]


def test_long_passages_are_cut(tmp_path: Path) -> None:
    with RerankServer(cohere) as server:
        http(server.url, max_tokens=64).rerank("the cat", ["word " * 5000, "字" * 5000])
        assert [len(text) < 300 for text in server.bodies[0]["documents"]] == [True, True]
    folder = onnx_folder(tmp_path / "model")
    short, long = OnnxReranker(folder, max_tokens=16), OnnxReranker(folder, max_tokens=512)
    passage = ["the dog sat " * 20 + "cat"]
    assert short.rerank("dog", passage) < long.rerank("dog", passage)


def test_passages_are_cut_exactly_where_the_tokenizer_is_at_hand(tmp_path: Path) -> None:
    folder = str(write_onnx_folder(tmp_path / "model"))
    with RerankServer(cohere) as server:
        http(server.url, path=folder, max_tokens=16).rerank("the cat", ["the dog sat " * 20, "dog sat"])
        # 16, without the question (2 tokens and its special ones) and those of a pair.
        assert server.bodies[0]["documents"] == ["the dog sat the dog sat the dog", "dog sat"]
        with pytest.raises(ServiceRefusedError, match="max_tokens"):
            http(server.url, path=folder, max_tokens=16).rerank("the cat " * 20, PASSAGES)
    with pytest.raises(SettingsError, match=r"tokenizer\.json"):
        http("http://127.0.0.1:1", path=str(tmp_path))


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"results": [{"index": 0, "relevance_score": 0.5}]}),
        (200, {"results": [{"index": 9, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.5}]}),
        (200, {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.5}]}),
        (200, {"results": [{"index": 0, "relevance_score": "NaN"}, {"index": 1, "relevance_score": 0.5}]}),
        (200, {"results": None}),
        (200, []),
        (400, {"error": "no"}),
        (500, {"error": "down"}),
    ],
)
def test_a_failure_is_an_error_and_never_no_hits(answer: tuple[int, Any]) -> None:
    with RerankServer(lambda _: answer) as server, pytest.raises(ServiceError):
        http(server.url).rerank("the cat", PASSAGES[:2])


def test_logits_become_probabilities_and_probabilities_stay() -> None:
    assert normalised([0.25, 0.5]) == [0.25, 0.5]
    assert normalised([0.0, 2.0, -1000.0]) == pytest.approx([0.5, 0.8807970779778823, 0.0])


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"models\.reranker\.path"):
        OnnxReranker(tmp_path)
    with pytest.raises(SettingsError, match=r"models\.reranker\.model"):
        HttpReranker(RerankerSettings(kind="http", url="http://127.0.0.1:1"))
    long = "the cat " * 50
    with pytest.raises(ServiceRefusedError):
        OnnxReranker(onnx_folder(tmp_path / "model"), max_tokens=16).rerank(long, PASSAGES)
