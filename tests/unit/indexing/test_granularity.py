"""Vectors of parents and sentence windows, from one pass over the parent or from a pass for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from clew.indexing.embedding import EmbeddingReport
from clew.indexing.granularity import Granularities, embed_granularities, sentence_windows
from clew.models.local import OnnxEmbedder, onnx_embedder
from clew.types import ChildChunk, FloatArray, ParentChunk, Representation
from fakes.onnx_folder import write_onnx_folder

SENTENCES = ["the cat sat.", "the dog sat.", "中国猫。", "the cat sat the cat.", "dog dog."]


class Cache:
    """Vectors in memory; counts what was put."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], FloatArray] = {}

    def get_vectors(self, model: str, keys: Sequence[str]) -> dict[str, FloatArray]:
        return {key: self.kept[model, key] for key in keys if (model, key) in self.kept}

    def put_vectors(self, model: str, vectors: Mapping[str, FloatArray]) -> None:
        self.kept |= {(model, key): vector for key, vector in vectors.items()}


class Counted(OnnxEmbedder):
    """Counts its encoder passes."""

    passes = 0

    def _run(self, ids: np.ndarray) -> FloatArray:  # type: ignore[type-arg]
        type(self).passes += 1
        return super()._run(ids)


def passage(number: int, sentences: Sequence[str]) -> tuple[ParentChunk, list[ChildChunk]]:
    """A parent of the sentences with two children."""
    halves = [" ".join(sentences[: len(sentences) // 2]), " ".join(sentences[len(sentences) // 2 :])]
    text = "\n".join(halves)
    starts = [0, len(halves[0]) + 1]
    children = [
        ChildChunk(f"c{number}{i}", f"p{number}", "f", i, "0001/", ("T",), half, 9, start, start + len(half))
        for i, (half, start) in enumerate(zip(halves, starts, strict=True))
    ]
    return ParentChunk(f"p{number}", "f", number, "0001/", ("T",), text, 18), children


PARENTS, CHILDREN = zip(passage(0, SENTENCES), passage(1, SENTENCES[::-1]), strict=True)
ALL = [child for children in CHILDREN for child in children]


@pytest.fixture
def embedder(tmp_path: Path) -> OnnxEmbedder:
    return onnx_embedder(write_onnx_folder(tmp_path / "tiny"))


@pytest.fixture(params=[False, True], ids=["separate", "late"])
def late(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def embedded(
    embedder: OnnxEmbedder, cache: Cache, *, late: bool, title: str = "Title", l1: bool = True, l3: bool = True
) -> tuple[Granularities, EmbeddingReport]:
    return embed_granularities(PARENTS, ALL, title, embedder, cache, l1=l1, l3=l3, late_chunking=late)


def test_parents_stand_at_their_first_child_and_windows_at_theirs(embedder: OnnxEmbedder, late: bool) -> None:
    found, _ = embedded(embedder, Cache(), late=late)
    assert set(found.l1) == {"c00", "c10"}
    assert {chunk: len(vectors) for chunk, vectors in found.l3.items()} == {"c00": 1, "c01": 1, "c10": 1, "c11": 1}
    entries = list(found.entries(ALL, 7))
    assert [entry.representation for entry in entries].count(Representation.L1) == 2
    assert {(entry.version, entry.terms) for entry in entries} == {(7, ())}
    for entry in entries:
        assert entry.vector is not None
        assert np.linalg.norm(entry.vector) == pytest.approx(1.0, abs=1e-5)


def test_what_is_known_is_not_encoded_again(embedder: OnnxEmbedder, late: bool) -> None:
    cache = Cache()
    first, _ = embedded(embedder, cache, late=late)
    again, report = embedded(embedder, cache, late=late)
    assert report.encoded == 0
    assert report.reused > 0
    assert np.array_equal(first.l1["c00"][0], again.l1["c00"][0])
    _, other = embedded(embedder, cache, late=late, title="Another title")
    assert other.reused == 0


def test_late_vectors_are_never_taken_for_separate_ones(embedder: OnnxEmbedder) -> None:
    cache = Cache()
    embedded(embedder, cache, late=True)
    _, report = embedded(embedder, cache, late=False)
    assert report.reused == 0


def test_late_chunking_takes_one_pass_a_parent(tmp_path: Path) -> None:
    plain = onnx_embedder(write_onnx_folder(tmp_path / "tiny"))
    counted = Counted("tiny", tmp_path / "tiny" / "model.onnx", plain._load_tokenizer)
    Counted.passes = 0
    _, report = embedded(counted, Cache(), late=True)
    assert Counted.passes == len(PARENTS) == report.encoded
    _, report = embedded(counted, Cache(), late=False)
    assert Counted.passes == len(PARENTS) + len(PARENTS) + len(ALL)
    assert report.encoded == len(PARENTS) + len(ALL)


def test_an_embedder_that_cannot_pool_spans_makes_them_one_by_one(tmp_path: Path) -> None:
    first = onnx_embedder(write_onnx_folder(tmp_path / "tiny"), pooling="cls")
    found, report = embedded(first, Cache(), late=True)
    assert report.encoded == len(PARENTS) + len(ALL)
    assert set(found.l1) == {"c00", "c10"}


def test_each_can_be_switched_by_itself(embedder: OnnxEmbedder, late: bool) -> None:
    only_l1, _ = embedded(embedder, Cache(), late=late, l3=False)
    only_l3, _ = embedded(embedder, Cache(), late=late, l1=False)
    assert (bool(only_l1.l1), bool(only_l1.l3)) == (True, False)
    assert (bool(only_l3.l1), bool(only_l3.l3)) == (False, True)


def test_a_parent_beyond_the_encoder_has_overlapping_parts(tmp_path: Path, late: bool) -> None:
    words = " ".join(["the cat sat the dog"] * 40)
    parent = ParentChunk("p", "f", 0, "", (), words, 200)
    child = ChildChunk("c", "p", "f", 0, "", (), words, 200, 0, len(words))
    embedder = onnx_embedder(write_onnx_folder(tmp_path / "tiny"), max_tokens=64)
    found, _ = embed_granularities([parent], [child], "", embedder, Cache(), l1=True, l3=False, late_chunking=late)
    assert len(found.l1["c"]) == (1 if late else 6)


def test_windows_share_a_sentence_and_leave_none_out() -> None:
    text = "One is here. Two is here. Three is here. Four is here. Five is here. Six is here."
    windows = [text[start:end] for start, end in sentence_windows(text)]
    assert windows == [
        "One is here. Two is here. Three is here.",
        "Three is here. Four is here. Five is here.",
        "Five is here. Six is here.",
    ]
    assert sentence_windows("Alone.") == [(0, 6)]
    assert sentence_windows(" ") == []
