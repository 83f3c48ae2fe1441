"""Results for agents: bounded, cited, honest about what is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.tools.browsing import paged
from clew.tools.result import cut_to, passages_result
from clew.types import Candidate, Evidence


def words(text: str) -> int:
    return len(text.split())


def evidence(number: int, text: str) -> Evidence:
    candidate = Candidate(f"c{number}", f"p{number}", "f", "kb", 1.0, ("bm25",))
    return Evidence(number, candidate, "report.pdf", "Report", "0001/", ("Chapter",), text, text, words(text), 3)


def test_passages_stand_under_their_numbers_with_their_place() -> None:
    result = passages_result(
        [evidence(1, "Revenue was 5."), evidence(2, "Costs were 3.")],
        "", ["2 files failed."], max_tokens=100, count_tokens=words, data={},
    )  # fmt: skip

    assert result.text == (
        "[1] report.pdf > Chapter, p. 3\nRevenue was 5.\n\n[2] report.pdf > Chapter, p. 3\nCosts were 3.\n\n"
        "Not read: 2 files failed."
    )
    assert [c["number"] for c in result.citations] == [1, 2]
    assert result.structured()["not_read"] == ["2 files failed."]


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    passages = [evidence(n, "word " * 40) for n in range(1, 6)]
    result = passages_result(passages, "", [], max_tokens=110, count_tokens=words, data={})

    assert result.tokens <= 110
    assert len(result.citations) == 2
    assert result.not_read == ["3 of the passages found did not fit into max_tokens."]


@given(st.lists(st.text(max_size=300), max_size=6), st.integers(60, 300), st.text(max_size=80))
def test_a_result_is_never_longer_than_asked_for(texts: list[str], limit: int, note: str) -> None:
    passages = [evidence(n, text) for n, text in enumerate(texts, start=1)]
    result = passages_result(passages, "", [note] if note else [], max_tokens=limit, count_tokens=words, data={})

    assert result.tokens <= limit
    assert all(f"[{c['number']}]" in result.text for c in result.citations)


@given(st.text(max_size=200), st.integers(0, 50))
def test_cut_text_fits_and_is_a_beginning(text: str, limit: int) -> None:
    cut = cut_to(text, limit, words)

    assert words(cut) <= limit
    assert text.startswith(cut.removesuffix(" …")) or not cut


def test_pages_hold_every_entry_once_and_in_order() -> None:
    entries = [f"{n} {'word ' * (n % 7)}".strip() for n in range(60)]
    seen: list[str] = []
    page = 1
    while True:
        result = paged("Head:", entries, page, max_tokens=120, count_tokens=words, what="entries")
        assert result.tokens <= 120
        lines = result.text.splitlines()
        assert lines[0] == "Head:"
        seen += [line for line in lines[1:] if not line.startswith("Not read:")]
        if page == result.data["pages"]:
            break
        assert f"of 60 entries are on other pages; this is page {page} of" in result.not_read[0]
        page += 1
    assert page > 2
    assert seen == entries
    with pytest.raises(InputError, match=f"there are {page} pages"):
        paged("Head:", entries, page + 1, max_tokens=120, count_tokens=words, what="entries")
