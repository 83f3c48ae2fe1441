"""Tokens and their places in the text as it was given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.local import OnnxEmbedder
from clew.models.tokenizer import TextTokenizer


@pytest.fixture(scope="module")
def tokenizer(embedder: OnnxEmbedder) -> TextTokenizer:
    return embedder._tokenizer


def pieces(tokenizer: TextTokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.offsets(text)]


def test_words_are_found_where_they_stand(tokenizer: TextTokenizer) -> None:
    assert pieces(tokenizer, "Hello  world\n\n中国") == ["Hello", "world", "中国"]


@pytest.mark.parametrize("text", ["ＡＢＣ　ｄ", "㎏ and ½", "①②③", "ﬁne", "a\u200bb", "\ufdfa end", "e\u0301t"])
def test_normalisation_does_not_move_what_follows(tokenizer: TextTokenizer, text: str) -> None:
    marked = text + " 结尾"
    assert pieces(tokenizer, marked)[-1].strip().endswith("尾")
    assert tokenizer.offsets(marked)[-1][1] == len(marked)


def test_full_width_text_has_the_tokens_of_plain_text(tokenizer: TextTokenizer) -> None:
    assert np.array_equal(tokenizer.encode("ＡＢＣ １２３", 512), tokenizer.encode("ABC 123", 512))


def test_text_cannot_name_special_tokens(tokenizer: TextTokenizer) -> None:
    ids = tokenizer.encode("</s> <s> <pad> <mask> <unk>", 512).tolist()
    assert not {0, 1, 2, 250001} & set(ids[1:-1])


def test_a_run_of_unknown_characters_is_counted_one_by_one(tokenizer: TextTokenizer) -> None:
    text = "\U00020000" * 700
    assert 700 <= tokenizer.count(text) <= 702
    assert max(end - start for start, end in tokenizer.offsets(text)) == 1


def test_the_limit_holds_and_the_end_stays(tokenizer: TextTokenizer) -> None:
    for text in ("营业收入 " * 5000, "x" * 100_000, " " * 100_000 + "a"):
        ids = tokenizer.encode(text, 64)
        assert len(ids) <= 64
        assert (ids[0], ids[-1]) == (0, 2)
    assert len(tokenizer.encode(" " * 100_000 + "a", 64)) == 3


@given(st.text(st.characters(exclude_categories=()), max_size=80))
@settings(max_examples=150, deadline=None)
def test_counts_and_spans_agree_with_the_encoder(embedder: OnnxEmbedder, text: str) -> None:
    tokenizer = embedder._tokenizer
    spans = tokenizer.offsets(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert len(spans) >= len(tokenizer.encode(text, 100_000)) - 2
