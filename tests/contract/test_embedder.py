"""What every embedder promises."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clew.config import EmbedderSettings
from clew.models.base import Embedder
from clew.models.local import onnx_embedder
from clew.models.openai import OpenAIEmbedder
from fakes.onnx_folder import write_onnx_folder
from fakes.openai_server import ScriptedServer

HOSTILE = {
    "empty": "",
    "blank": " \n\t\u3000 ",
    "expanding": "\ufdfa" * 3000,
    "lone surrogates": "a\ud800b\udfff",
    "control": "a\x00b\x07c\x7f",
    "zero width": "\u200b\u200d\ufeff",
    "rare characters": "\U00020000" * 5000,
    "combining": "e" + "\u0301" * 2000,
    "one long word": "x" * 20_000,
    "special tokens": "</s><s><pad><mask><unk>",
    "a megabyte": "营业收入 revenue 12,345.67 " * 40_000,
}


@pytest.fixture(scope="module", params=["embedded", "onnx", "openai"])
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    if request.param == "embedded":
        yield request.getfixturevalue("embedder")
    elif request.param == "onnx":
        folder: Path = write_onnx_folder(tmp_path_factory.mktemp("models") / "tiny")
        yield onnx_embedder(folder, query_prefix="query: ", passage_prefix="passage: ", max_tokens=64)
    else:
        with ScriptedServer() as server:
            prefixes = {"query_prefix": "query: ", "passage_prefix": "passage: "}
            yield OpenAIEmbedder(EmbedderSettings(kind="openai", url=server.url, model="fake", **prefixes))


def test_it_is_an_embedder(subject: Embedder) -> None:
    assert isinstance(subject, Embedder)
    assert subject.name
    assert subject.dimension > 0
    assert subject.max_tokens >= 16


def test_vectors_have_the_promised_shape_type_and_length(subject: Embedder) -> None:
    vectors = subject.embed_passages(["the cat sat", "中国", "dog"])
    assert vectors.shape == (3, subject.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_no_texts_give_no_vectors(subject: Embedder) -> None:
    assert subject.embed_passages([]).shape == (0, subject.dimension)
    assert subject.embed_queries([]).shape == (0, subject.dimension)


def test_order_is_kept_whatever_the_lengths(subject: Embedder) -> None:
    texts = ["the cat " * 15, "dog", "中国 the", "", "cat sat " * 4, "猫"]
    together = subject.embed_passages(texts)
    alone = np.concatenate([subject.embed_passages([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


def test_questions_and_passages_are_told_apart(subject: Embedder) -> None:
    assert not np.allclose(subject.embed_queries(["the cat"]), subject.embed_passages(["the cat"]), atol=1e-3)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_any_text_gives_a_finite_vector_and_spans_inside_it(subject: Embedder, text: str) -> None:
    vector = subject.embed_passages([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    spans = subject.token_offsets(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    assert subject.count_tokens(text) == len(spans)


def test_spans_name_the_text_as_it_was_given(subject: Embedder) -> None:
    text = "the cat\n\n  sat 中国"
    covered = {place for start, end in subject.token_offsets(text) for place in range(start, end)}
    assert covered >= {place for place, character in enumerate(text) if not character.isspace()}


def test_several_threads_may_use_it_at_once(subject: Embedder) -> None:
    texts = ["the cat sat", "中国 dog", "猫"]
    expected = subject.embed_passages(texts)
    results: list[object] = []

    def embed() -> None:
        results.append(np.allclose(subject.embed_passages(texts), expected, atol=1e-5))

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
