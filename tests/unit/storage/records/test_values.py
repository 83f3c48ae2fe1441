from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.storage.records.values import dump_json, now, storable_text

_ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("\0\ud800\udfff\\u0"))
_ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(_ANY_TEXT, inner),
)


@given(_ANY_TEXT)
def test_stored_text_has_the_same_length_and_can_be_encoded(text: str) -> None:
    stored = storable_text(text)
    assert len(stored) == len(text)
    assert "\0" not in stored.encode().decode()
    assert all(
        a == b or (b == "\ufffd" and (a == "\0" or "\ud800" <= a <= "\udfff"))
        for a, b in zip(text, stored, strict=True)
    )


@given(_ANY_JSON)
def test_stored_json_is_what_every_database_takes(value: Any) -> None:
    text = dump_json(value)
    text.encode()
    assert "\0" not in json.dumps(json.loads(text), ensure_ascii=False).replace("\\u0000", "\0")


def test_ordinary_values_stay_as_they_are() -> None:
    value = {"b": 1, "a": [0.1, 1e20, -0.0, None, True], "字": "\\u0000 𝄞\n"}
    assert json.loads(dump_json(value)) == value
    assert list(json.loads(dump_json(value))) == ["b", "a", "字"]


def test_what_json_does_not_know_is_an_error() -> None:
    with pytest.raises(TypeError):
        dump_json({"x": object()})


def test_times_sort_as_text() -> None:
    times = [now() for _ in range(100)]
    assert times == sorted(times)
    assert {len(time) for time in times} == {len("2025-01-01T00:00:00.000000+00:00")}
