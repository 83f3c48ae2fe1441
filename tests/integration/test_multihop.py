"""Recursive retrieval from end to end: real records and index, models over real HTTP that say what the test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.errors import SettingsError
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import Passage
from clew.retrieval.first_look import FEATURES
from clew.retrieval.pipeline import RetrievalResult
from clew.types import AnswerEvent, SectionFilter
from fakes.openai_server import Hang, Raw, Reply, ScriptedServer, Status

FILMS = [
    Passage(
        "boden", "Boden's Boy", "Boden's Boy is a 1923 romance film directed by Henry Edwards and based on a novel."
    ),
    Passage(
        "edwards", "Henry Edwards (actor)", "Henry Edwards was an English actor. He was born in Weston-super-Mare."
    ),
    Passage("weston", "Weston-super-Mare", "Weston-super-Mare is a seaside town in Somerset with a long pier."),
    *(
        Passage(f"film{i}", f"Film {i}", f"Film {i} is a romance film about a boy and based on a play.")
        for i in range(30)
    ),
    *(
        Passage(f"person{i}", f"Person {i}", f"Person {i} was a director of the theatre and born in town {i}.")
        for i in range(30)
    ),
]
QUESTION = "In which town was the director of the film Boden's Boy born?"
SECOND = "Where was Henry Edwards born?"
THIRD = "What is Weston-super-Mare known for?"


def verdict(question: str = "", **more: Any) -> str:
    fields = {"need_more": bool(question), "next_question": question, "key_entities": [], "confidence": 0.5}
    return json.dumps(fields | {"reason": f"asks: {question}" if question else "complete"} | more)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def clew(server: ScriptedServer, tmp_path: Path) -> Iterator[Clew]:
    """A data folder with the KB *films*, embedder and language model on the scripted server."""
    models = {
        "embedder": {"kind": "openai", "url": server.url, "model": "fake", "dimension": 32},
        "enrichment": {"url": server.url, "model": "planner", "retries": 0},
    }
    with Clew.open(tmp_path / "data", overrides={"models": models}) as opened:
        opened.create_kb("films")
        opened.ingest_parsed("films", "films", parsed_corpus(FILMS))
        yield opened


def search(clew: Clew, question: str = QUESTION, **recursion: Any) -> RetrievalResult:
    overlay = {"recursion": recursion} if recursion else None
    return clew.search(question, kbs=["films"], mode="multi", overlay=overlay)


def titles(result: RetrievalResult) -> list[str]:
    return [hit.section_titles[-1] for hit in result.hits]


def by_round(result: RetrievalResult) -> dict[int, set[str]]:
    rounds: dict[int, set[str]] = {}
    for hit in result.hits:
        rounds.setdefault(hit.round, set()).add(hit.section_titles[-1])
    return rounds


def test_the_model_leads_from_hop_to_hop(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict(SECOND, key_entities=["Henry Edwards"]), verdict())
    result = search(clew)
    trace = result.trace
    assert (trace.stop_reason, trace.uncertain, trace.planner) == ("sufficient", False, "planner")
    assert [step.sub_question for step in trace.rounds] == [QUESTION, SECOND]
    assert "Henry Edwards (actor)" in titles(result)
    assert trace.usage.calls == 2
    assert trace.usage.prompt_tokens == 22
    assert [step.tokens for step in trace.rounds] == [18, 18]
    assert [step.name for step in trace.rounds[1].stages][-2:] == ["fuse", "merge"]
    first = server.chats[0]
    assert first.body["temperature"] == 0
    assert first.body["response_format"]["json_schema"]["schema"]["required"][0] == "need_more"
    assert "Boden's Boy" in first.text
    assert QUESTION in server.chats[1].text
    assert SECOND in server.chats[1].text
    assert "Henry Edwards" in server.chats[1].text


@pytest.mark.parametrize("rounds", [2, 5])
def test_the_knowledge_base_says_how_many_rounds(clew: Clew, server: ScriptedServer, rounds: int) -> None:
    questions = [
        SECOND,
        THIRD,
        "Which person was a director of the theatre?",
        "Which films are about a boy?",
        "What else?",
    ]
    server.add(*map(verdict, questions))
    clew.update_kb("films", settings={"recursion": {"max_rounds": rounds, "new_candidates_per_round": 4}})
    trace = search(clew).trace
    assert (len(trace.rounds), trace.stop_reason, trace.uncertain) == (rounds, "max_rounds", True)
    assert trace.rounds[-1].goes_on is False


@pytest.mark.parametrize("rounds", [1, 6])
def test_other_numbers_of_rounds_are_refused(clew: Clew, rounds: int) -> None:
    with pytest.raises(SettingsError, match=r"recursion\.max_rounds"):
        clew.update_kb("films", settings={"recursion": {"max_rounds": rounds}})


def test_a_repeated_question_ends_the_rounds(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict("in which town was the DIRECTOR of the film Boden's Boy born"))
    trace = search(clew).trace
    assert (len(trace.rounds), trace.stop_reason, trace.uncertain) == (1, "repeated_question", True)


def test_a_round_without_news_ends_them(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict("Boden's Boy?"), verdict("never asked"))
    overlay = {"recursion": {"new_candidates_per_round": 100}, "retrieval": {"fused_top_k": 63}}
    trace = clew.search(QUESTION, kbs=["films"], mode="multi", overlay=overlay).trace
    assert (len(trace.rounds), trace.stop_reason) == (2, "no_new_chunks")
    assert len(server.chats) == 1


def test_a_full_context_ends_them(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict(SECOND))
    overlay = {"retrieval": {"context_budget_tokens": 100}}
    result = clew.search(QUESTION, kbs=["films"], mode="multi", overlay=overlay)
    assert (result.trace.stop_reason, result.trace.uncertain) == ("token_budget", True)
    assert sum(e.tokens for e in result.evidence) <= 100


@pytest.mark.parametrize(
    "failure",
    [
        Status(500),
        Status(401),
        Reply(""),
        Reply("Let me think about that."),
        Reply('{"need_more": true, "next_question": "'),
        Reply(verdict(need_more=True)),
        Raw("<html>busy</html>", "text/html"),
        Hang(1.5),
    ],
    ids=["error", "refused", "empty", "prose", "truncated", "no question", "html", "silent"],
)
def test_a_failing_planner_is_said_and_its_evidence_kept(clew: Clew, server: ScriptedServer, failure: Any) -> None:
    server.add(verdict(SECOND), failure, verdict())
    result = search(clew, planner_timeout=0.5)
    trace = result.trace
    assert (len(trace.rounds), trace.stop_reason, trace.uncertain) == (2, "planner_failed", True)
    assert trace.planner == "planner", "it must not turn into the other planner"
    assert trace.uncertain_reason
    assert {"Boden's Boy", "Henry Edwards (actor)"} <= set(titles(result))
    assert len(server.chats) == 2


def events(clew: Clew) -> list[AnswerEvent]:
    return list(clew.ask(QUESTION, kbs=["films"], mode="multi"))


def test_the_stream_tells_every_round_and_ends_with_the_notice(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict(SECOND), Reply("nonsense"), Reply("He was born in Weston-super-Mare [1]."))
    found = events(clew)
    kinds = [event.type for event in found]
    assert kinds[:4] == ["retrieval_plan", "retrieval_step", "retrieval_step", "retrieval_done"]
    assert kinds[-3:] == ["notice", "usage", "done"]
    steps = [event.data for event in found if event.type == "retrieval_step"]
    assert [(step["round"], step["goes_on"]) for step in steps] == [(1, True), (2, False)]
    assert found[0].data["mode"] == "multi"
    done = found[3].data
    assert (done["rounds"], done["stop_reason"], done["uncertain"]) == (2, "planner_failed", True)
    notice = next(event.data["text"] for event in found if event.type == "notice")
    text = "".join(event.data["text"] for event in found if event.type == "delta")
    assert text.rstrip().endswith(notice)


def test_without_doubt_there_is_no_notice(clew: Clew, server: ScriptedServer) -> None:
    server.add(verdict(SECOND), verdict(), Reply("He was born in Weston-super-Mare [1]."))
    assert "notice" not in [event.type for event in events(clew)]


# --- scope -----------------------------------------------------------------------------------------------------


def add_secrets(clew: Clew) -> None:
    """A second KB whose passages fit every question better."""
    clew.create_kb("secrets")
    better = [
        Passage("s1", "Henry Edwards", f"{SECOND} Henry Edwards, director of Boden's Boy, was born in a secret town."),
        Passage("s2", "Weston-super-Mare", f"{THIRD} {QUESTION} Weston-super-Mare is secretly known."),
    ]
    clew.ingest_parsed("secrets", "secrets", parsed_corpus(better))


def chunk_ids(trace: Any) -> set[str]:
    stages = [stage for step in trace.rounds for stage in step.stages] + trace.stages
    return {entry["chunk_id"] for stage in stages for entry in [*stage.ranking, *stage.dropped]}


@pytest.mark.parametrize("planner", ["model", "bridge"])
def test_another_knowledge_base_is_never_touched(clew: Clew, server: ScriptedServer, planner: str) -> None:
    add_secrets(clew)
    server.add(verdict(SECOND), verdict(THIRD), verdict())
    result = search(clew, planner=planner)
    assert len(result.trace.rounds) > 1
    secret = {c.chunk_id for c in clew.file_children(clew.list_files("secrets")[0].file_id)}
    assert secret.isdisjoint(chunk_ids(result.trace))
    assert {hit.file for hit in result.hits} == {"films"}


@pytest.mark.parametrize("planner", ["model", "bridge"])
def test_file_and_section_filters_hold_in_every_round(clew: Clew, server: ScriptedServer, planner: str) -> None:
    file = clew.list_files("films")[0]
    clew.ingest_parsed("films", "more", parsed_corpus([*FILMS[1:3], Passage("x", "Henry Edwards", SECOND)]))
    server.add(verdict(SECOND), verdict(THIRD), verdict())
    overlay = {"recursion": {"planner": planner}}
    result = clew.search(QUESTION, kbs=["films"], files=[file.file_id], mode="multi", overlay=overlay)
    assert {hit.file_id for hit in result.hits} == {file.file_id}
    assert "Henry Edwards (actor)" in titles(result)
    sections = [s for s in clew.sections(file.file_id) if s.title in ("Boden's Boy", "Person 1", "Person 2")]
    server.add(verdict(SECOND), verdict(THIRD), verdict())
    filters = [SectionFilter(file.file_id, section.path) for section in sections]
    result = clew.search(QUESTION, kbs=["films"], sections=filters, mode="multi", overlay=overlay)
    assert set(titles(result)) <= {"Boden's Boy", "Person 1", "Person 2"}
    allowed = {c.chunk_id for c in clew.file_children(file.file_id) if c.section_titles[-1] in titles(result)}
    assert chunk_ids(result.trace) <= allowed


# --- context ---------------------------------------------------------------------------------------------------


def test_every_round_keeps_a_place_in_the_context(clew: Clew, server: ScriptedServer) -> None:
    server.add(
        verdict("Which films are about a boy?"), verdict("Which person was a director of the theatre?"), verdict()
    )
    for budget in (6000, 100):
        result = clew.search(
            QUESTION, kbs=["films"], mode="multi", overlay={"retrieval": {"context_budget_tokens": budget}}
        )
        if budget == 6000:
            assert {e.candidate.round for e in result.evidence} == {1, 2, 3}
            assert len(result.evidence) == 6
        assert sum(e.tokens for e in result.evidence) <= budget


# --- without a language model ----------------------------------------------------------------------------------


def test_the_bridge_planner_follows_what_the_evidence_names(clew: Clew, server: ScriptedServer) -> None:
    result = search(clew, planner="bridge")
    trace = result.trace
    assert trace.planner == "bridge"
    assert len(trace.rounds) >= 2
    assert "Henry Edwards" in trace.rounds[1].entities
    assert trace.rounds[1].sub_question != QUESTION
    assert any(hit["new"] and hit["section_titles"] == ["Henry Edwards (actor)"] for hit in trace.rounds[1].hits)
    assert {"Boden's Boy", "Henry Edwards (actor)"} <= set(titles(result)[:3])
    assert server.chats == []


def test_a_model_that_is_asked_for_and_not_there_is_an_error(server: ScriptedServer, tmp_path: Path) -> None:
    embedder = {"kind": "openai", "url": server.url, "model": "fake", "dimension": 32}
    overrides: Mapping[str, Any] = {"models": {"embedder": embedder}, "recursion": {"planner": "model"}}
    with Clew.open(tmp_path / "data", overrides=overrides) as clew:
        clew.create_kb("films")
        clew.ingest_parsed("films", "films", parsed_corpus(FILMS[:3]))
        with pytest.raises(SettingsError, match=r"recursion\.planner"):
            search(clew)


# --- a weak first round ----------------------------------------------------------------------------------------

SIMPLE = "Who directed Boden's Boy?"


def auto(
    clew: Clew, question: str, mode: Any = "auto", complexity: Mapping[str, Any] | None = None, **recursion: Any
) -> RetrievalResult:
    # Thresholds that no score reaches leave the decision to the scripted model.
    unsure = {"rules_single_threshold": 0, "rules_multi_threshold": 1, "classifier": "none", **(complexity or {})}
    # What the weights say of the test's embedder is no matter here: QUESTION is below no threshold, SIMPLE above none.
    threshold = 0.001 if question == QUESTION else 0.999
    overlay = {"complexity": unsure, "recursion": {"weak_first_round": threshold, **recursion}}
    return clew.search(question, kbs=["films"], mode=mode, overlay=overlay)


def test_a_single_question_whose_first_round_is_weak_goes_on(clew: Clew, server: ScriptedServer) -> None:
    server.add("no", verdict(SECOND), verdict())
    trace = auto(clew, QUESTION).trace
    assert trace.complexity is not None
    assert (trace.complexity.mode, trace.complexity.source) == ("multi", "weak_first_round")
    assert trace.complexity.llm_verdict is False, "what was decided at first stays to be seen"
    assert len(trace.rounds) == 2
    assert trace.complexity.confidence == trace.complexity.first_look_probability
    assert trace.complexity.reason.startswith("the first look-up is weak, rounds find more with probability 0.")
    assert set(trace.complexity.first_look) == set(FEATURES), "what the look saw is there as features"


def test_a_first_round_that_holds_what_was_asked_for_is_enough(clew: Clew, server: ScriptedServer) -> None:
    server.add("no")
    trace = auto(clew, SIMPLE).trace
    assert trace.complexity is not None
    assert (trace.complexity.mode, trace.complexity.source, len(trace.rounds)) == ("single", "model", 1)
    assert trace.complexity.first_look["named_first"] == 1.0
    assert trace.complexity.first_look_probability is not None


def test_the_first_round_decides_what_nothing_else_did(clew: Clew, server: ScriptedServer) -> None:
    undecided = {"fallback_rules_threshold": 0}
    server.add("perhaps")
    trace = auto(clew, SIMPLE, complexity=undecided).trace
    assert trace.complexity is not None
    assert (trace.complexity.mode, trace.complexity.source) == ("single", "strong_first_round")
    assert trace.complexity.reason.startswith("the first look-up suffices, rounds find more with probability 0.")
    assert (trace.stop_reason, len(trace.rounds)) == ("single", 1)
    server.add("perhaps", verdict(SECOND), verdict())
    trace = auto(clew, QUESTION, complexity=undecided).trace
    assert trace.complexity is not None
    assert (trace.complexity.mode, trace.complexity.source, len(trace.rounds)) == ("multi", "fallback", 2)
    assert trace.complexity.first_look_probability is not None


def test_the_rounds_begin_with_the_look_up_that_was_looked_at(clew: Clew, server: ScriptedServer) -> None:
    server.add("no")
    trace = auto(clew, QUESTION, planner="bridge").trace
    assert trace.complexity is not None
    assert trace.complexity.source == "weak_first_round"
    server.add("no")
    asked = search(clew, planner="bridge").trace
    assert [hit["chunk_id"] for hit in trace.rounds[0].hits] == [hit["chunk_id"] for hit in asked.rounds[0].hits]
    assert [step.sub_question for step in trace.rounds] == [step.sub_question for step in asked.rounds]


@pytest.mark.parametrize(
    "asked",
    [{"mode": "single"}, {"escalate_weak_single": False}, {"weak_first_round": 1.0}],
    ids=["request", "setting", "threshold"],
)
def test_a_weak_first_round_can_be_left_as_it_is(clew: Clew, server: ScriptedServer, asked: dict[str, Any]) -> None:
    server.add("no")
    trace = auto(clew, QUESTION, **asked).trace
    assert trace.complexity is not None
    assert trace.complexity.mode == "single"
    assert len(trace.rounds) == 1
