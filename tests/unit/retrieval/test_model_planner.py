"""The tolerant reader of a planner's verdict, and the digest that the model sees."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ServiceRefusedError
from clew.retrieval.model_planner import evidence_digest, read_verdict
from clew.retrieval.planners import Situation
from clew.types import Candidate, ChildChunk, Query

GO_ON = {
    "need_more": True,
    "next_question": "Where was Henry Edwards born?",
    "key_entities": ["Henry Edwards"],
    "confidence": 0.4,
    "reason": "The director is known, his birthplace is not.",
}
PLAIN = json.dumps(GO_ON)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"Here is my verdict:\n{PLAIN}\nI hope that helps {{really}}.",
        f'<think>Perhaps {{"need_more": false}} … no, {{braces}} everywhere</think>\n{PLAIN}',
        f"So the director is known. {{hm}}</think>{PLAIN}",
        f'{{"example": 1}} {PLAIN}',
        json.dumps({"verdict": GO_ON}),
        json.dumps(PLAIN),
        str(GO_ON),
        PLAIN[:-20],
        json.dumps(GO_ON | {"need_more": "yes", "confidence": "40%"}),
        json.dumps(GO_ON | {"key_entities": '["Henry Edwards"]', "confidence": 40}),
        json.dumps(GO_ON | {"key_entities": "Henry Edwards", "next_question": ["Where was Henry Edwards born?", "x?"]}),
        json.dumps(GO_ON | {"next_question": "['Where was Henry Edwards born?']"}),
    ],
)
def test_a_verdict_is_read_whatever_stands_around_it(text: str) -> None:
    verdict = read_verdict(text)
    assert verdict.need_more
    assert verdict.next_question == "Where was Henry Edwards born?"
    assert verdict.key_entities == ("Henry Edwards",)
    assert verdict.confidence == pytest.approx(0.4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "I would look up the director next.",
        "<think>need_more should be true {",
        "{}",
        "[]",
        "{" * 5000,
        '{"next_question": "Who?"}',
        json.dumps(GO_ON | {"need_more": "perhaps"}),
        json.dumps(GO_ON | {"need_more": None}),
        json.dumps(GO_ON | {"next_question": ""}),
        json.dumps(GO_ON | {"next_question": " … ?"}),
        json.dumps(GO_ON | {"next_question": None}),
        json.dumps(GO_ON | {"next_question": {"text": "Who?"}}),
        json.dumps(GO_ON | {"next_question": "none"}),
        '{"need_more": true, "next_question": "Where was Hen',
        '{"need_more": tr',
    ],
)
def test_what_cannot_be_acted_upon_is_refused(text: str) -> None:
    with pytest.raises(ServiceRefusedError, match="evidence found so far is kept"):
        read_verdict(text)


def test_enough_needs_no_question() -> None:
    verdict = read_verdict('{"need_more": false, "next_question": "Who else?", "reason": "done"}')
    assert (verdict.need_more, verdict.next_question, verdict.reason) == (False, "", "done")


def test_wrong_types_of_the_lesser_fields_are_left_out() -> None:
    verdict = read_verdict('{"need_more": 0, "key_entities": 7, "confidence": "high", "reason": ["x"]}')
    assert verdict.key_entities == ()
    assert verdict.confidence is None
    assert verdict.reason == ""


def test_a_long_reason_is_cut() -> None:
    assert len(read_verdict(json.dumps({"need_more": False, "reason": "because " * 200})).reason) <= 200


@given(
    st.fixed_dictionaries({
        "need_more": st.booleans(),
        "next_question": st.text(min_size=1).filter(lambda t: any(ch.isalpha() for ch in t)),
        "key_entities": st.lists(st.text(), max_size=4),
        "confidence": st.floats(0, 1),
        "reason": st.text(),
    }),
    st.text(alphabet=st.characters(exclude_characters="{}\"'<>"), max_size=40),
    st.text(alphabet=st.characters(exclude_characters="{}\"'<>"), max_size=40),
)  # fmt: skip
def test_any_whole_verdict_is_read_between_any_words(value: dict[str, object], before: str, after: str) -> None:
    text = f"{before}{json.dumps(value)}{after}"
    try:
        verdict = read_verdict(text)
    except ServiceRefusedError:
        assert value["need_more"]
        assert str(value["next_question"]).strip().lower() in ("none", "null", "n/a", "无") or str(
            value["next_question"]
        ).lstrip().startswith("[")
        return
    assert verdict.need_more is value["need_more"]
    assert verdict.confidence == pytest.approx(value["confidence"])


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    for wrapped in (text, '{"need_more": true, "next_question": ' + text, f"<think>{text}"):
        try:
            read_verdict(wrapped)
        except ServiceRefusedError:
            continue


# --- digest ----------------------------------------------------------------------------------------------------


def situation(texts: list[tuple[int, str]]) -> Situation:
    pool = [
        Candidate(f"c{i}", f"p{i}", "f", "kb", 1.0 - i / 10, ("bm25",), round=round)
        for i, (round, _) in enumerate(texts)
    ]
    chunks = {
        f"c{i}": ChildChunk(f"c{i}", f"p{i}", "f", i, "0001/", ("Films",), text, 10, 0, len(text))
        for i, (_, text) in enumerate(texts)
    }
    query = Query("Who?", "en")
    return Situation("Who?", query, {"kb": query}, (), ("Who?",), pool, chunks, 2, 1)


def words(text: str) -> int:
    return len(text.split())


def test_the_digest_stays_within_its_tokens_and_shows_every_round() -> None:
    texts = [(1, "alpha " * 30), (1, "beta " * 30), (1, "gamma " * 30), (2, "delta " * 30)]
    digest = evidence_digest(situation(texts), 80, words)
    assert words(digest) <= 80
    assert "alpha" in digest
    assert "delta" in digest
    assert "Films" in digest


def test_everything_is_shown_where_it_fits() -> None:
    digest = evidence_digest(situation([(1, "alpha"), (1, "beta")]), 1000, words)
    assert digest.splitlines() == ["[c1] Films: alpha", "[c2] Films: beta"]
