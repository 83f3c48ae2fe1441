"""Summary questions from end to end: which sections are meant, what is read of them, and what the answer says."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.types import File, SectionFilter
from fakes.openai_server import Reply, Request, ScriptedServer, Status

SHIPS = (
    "The yard builds ships of steel for the northern trade. Orders for ships rose by a tenth in the spring. "
    "Two new docks were opened, and the older one was closed for repairs. The workers went on strike in May. "
    "Steel became dearer, so that the margin of the ships fell a little below the margin of the year before. "
    "The board expects that orders for ships go on rising, and plans a third dock beside the river. "
)
TRAINS = (
    "The works build trains for the mountain lines. The first train with electric brakes was delivered in June. "
    "Orders for trains fell by a fifth, because two lines were closed. A new workshop for wheels was bought. "
    "The railway ministry asked for forty coaches, which will be built over the next three years. "
    "The board expects that orders for trains recover when the tunnel is finished. "
)
FILLER = " ".join(f"Clause {i} of the lease names the rent of hall {i} and who repairs its roof." for i in range(60))


def report(year: int, extra: str = "") -> bytes:
    return f"""# Harbour Company report {year}

## Chapter 1 Ships

{SHIPS * 2}

### 1.1 Steel

Steel was bought from three mills in {year}. The mills raised their price twice, and the yard signed a longer contract.

### 1.10 Paint

Paint was bought from one shop only in {year}. The shop delivered late, and two ships had to wait for their colour.

## Chapter 2 Trains

{TRAINS * 2}

## Chapter 3 Leases 100%_of_halls

{FILLER}

## Figures

| item | {year} |
| --- | --- |
| ships | 12 |
| trains | 30 |
{extra}""".encode()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def clew(tmp_path: Path, server: ScriptedServer) -> Iterator[Clew]:
    with opened(tmp_path, server) as clew:
        clew.create_kb("kb")
        yield clew


def opened(folder: Path, server: ScriptedServer, **chosen: Any) -> Clew:
    models = {"embedder": {"kind": "openai", "url": server.url, "model": "letters"}, **chosen}
    return Clew.open(folder / "data", overrides={"models": models})


def add(clew: Clew, content: bytes, name: str, kb: str = "kb") -> File:
    file, _ = clew.add_file(kb, name, io.BytesIO(content))
    return clew.wait([file.file_id], timeout=120, summaries=True)[0]


def asked(clew: Clew, question: str, **more: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """The answer's text, its trace and its sources."""
    events = list(clew.ask(question, kbs=["kb"], **more))
    assert events[-1].type == "done", events[-1].data
    text = "".join(event.data["text"] for event in events if event.type == "delta")
    trace = next(event.data["retrieval_trace"] for event in events if event.type == "usage")
    return text, trace, next(list(event.data["sources"]) for event in events if event.type == "sources")


def test_a_chapter_is_summed_up_by_its_own_sentences_with_their_places(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    text, trace, sources = asked(clew, "Summarise chapter 2")
    assert trace["kind"]["kind"] == "summary"
    assert trace["sections"]["scope"] == "sections"
    assert [s["titles"][-1] for s in trace["sections"]["sections"]] == ["Chapter 2 Trains"]
    assert "orders for trains recover" in text or "build trains for the mountain lines" in text
    assert "ships" not in text
    assert "No language model" in text
    quoted = [line[2:].rsplit(" [", 1) for line in text.splitlines() if line.startswith("> ")]
    assert quoted
    by_number = {source["number"]: source for source in sources}
    for sentence, number in quoted:
        source = by_number[int(number.rstrip("]"))]
        assert sentence in source["text"]
        assert source["section_titles"][-1] == "Chapter 2 Trains"


def test_events_and_decisions_tell_of_the_summary(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    events = list(clew.ask("Summarise chapter 1", kbs=["kb"]))
    types = [event.type for event in events]
    assert types[:4] == ["retrieval_plan", "retrieval_step", "retrieval_done", "sources"]
    assert (events[0].data["mode"], events[0].data["kind"]) == ("single", "summary")
    assert "names by number: Chapter 1 Ships" in events[1].data["why"]
    assert clew.records.decisions("kind")[-1]["kind"] == "summary"


def test_1_1_is_not_1_10_and_a_title_may_hold_percent_and_underscore(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    text, _, _ = asked(clew, "summarise section 1.1")
    assert "mills" in text
    assert "Paint" not in text
    text, _, _ = asked(clew, "summarise section 1.10")
    assert "Paint" in text
    assert "mills" not in text
    text, trace, _ = asked(clew, "summarise Leases 100%_of_halls")
    assert [s["titles"][-1] for s in trace["sections"]["sections"]] == ["Chapter 3 Leases 100%_of_halls"]
    assert "lease" in text
    assert "ships" not in text


def test_a_whole_document_is_told_part_by_part(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    text, trace, _ = asked(clew, "Summarise this document")
    assert trace["sections"]["scope"] == "document"
    for part in ("Chapter 1 Ships", "Chapter 2 Trains", "Chapter 3 Leases"):
        assert f"**{part}" in text
    assert f"({trace['sections']['matched']} sections match" in text


def test_of_several_documents_the_named_one_is_meant_and_else_all(clew: Clew) -> None:
    add(clew, report(2022), "harbour 2022.md")
    other = add(clew, report(2023), "harbour 2023.md")
    _, trace, sources = asked(clew, "Summarise the Harbour Company report 2023")
    assert {s["file_id"] for s in trace["sections"]["sections"]} == {other.file_id}
    assert {source["file_id"] for source in sources} == {other.file_id}
    _, trace, _ = asked(clew, "Summarise these documents", kind="summary")
    assert len({s["file_id"] for s in trace["sections"]["sections"]}) == 2


def test_nothing_outside_the_scope_is_read_or_named(clew: Clew) -> None:
    first = add(clew, report(2022), "harbour 2022.md")
    second = add(clew, report(2023), "harbour 2023.md")
    _, trace, sources = asked(clew, "Summarise chapter 2", files=[first.file_id])
    assert {source["file_id"] for source in sources} == {first.file_id}
    assert second.file_id not in json.dumps(trace)
    ships = next(s for s in clew.sections(second.file_id) if s.title == "Chapter 1 Ships")
    scope = [SectionFilter(second.file_id, ships.path)]
    _, trace, sources = asked(clew, "Summarise chapter 2", sections=scope, kind="summary")
    assert all(source["section_path"].startswith(ships.path) for source in sources)
    assert "Trains" not in json.dumps(trace["sections"])


def test_details_and_sections_without_text_are_searched_inside_the_section(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    _, trace, sources = asked(clew, "Explain chapter 2 in detail", kind="summary")
    assert trace["sections"]["fallback"] == "details are asked for"
    assert sources
    assert {source["section_titles"][-1] for source in sources} == {"Chapter 2 Trains"}
    text, trace, sources = asked(clew, "Summarise the figures", kind="summary")
    assert trace["sections"]["text"]
    assert {source["section_titles"][-1] for source in sources} == {"Figures"}
    assert "30" in text
    rows = "".join(f"| wheel {i} | {i} |\n" for i in range(100))
    add(clew, report(2024, f"\n## Wheels\n\n| part | number |\n| --- | --- |\n{rows}"), "wheels.md")
    clew.update_kb("kb", settings={"retrieval": {"context_budget_tokens": 300}})
    text, trace, sources = asked(clew, "Summarise the wheels", kind="summary")
    assert trace["sections"]["fallback"] == "the summaries say too little"
    assert {source["section_titles"][-1] for source in sources} == {"Wheels"}


def test_a_topic_counts_the_sections_that_match(clew: Clew) -> None:
    many = "".join(
        f"\n## Site {i}\n\nThe crane of site {i} was inspected, and the crane of hall {i} too.\n" for i in range(60)
    )
    add(clew, report(2023, many), "harbour.md")
    settings = {"retrieval": {"context_budget_tokens": 400}}
    clew.update_kb("kb", settings=settings)
    text, trace, _ = asked(clew, "List everything that is said about cranes", kind="summary")
    sections = trace["sections"]
    assert sections["scope"] == "topic"
    assert sections["matched"] >= 60
    assert 0 < sections["read"] < sections["matched"]
    assert "not a complete list" in text
    assert (
        f"({sections['matched']} sections match the question; {sections['read']} of them were read for this.)" in text
    )


def test_what_is_asked_for_is_obeyed_and_facts_stay_facts(clew: Clew) -> None:
    add(clew, report(2023), "harbour.md")
    _, trace, _ = asked(clew, "Summarise chapter 2", kind="fact")
    assert (trace["kind"]["source"], trace["sections"]) == ("request", None)
    _, trace, _ = asked(clew, "When was the first train with electric brakes delivered?")
    assert (trace["kind"]["kind"], trace["sections"]) == ("fact", None)
    _, trace, _ = asked(clew, "Summarise chapter 2", mode="multi")
    assert trace["complexity"]["mode"] == "multi"
    result = clew.search("Summarise chapter 2", kbs=["kb"])
    assert {hit.section_titles[-1] for hit in result.hits} == {"Chapter 2 Trains"}
    assert clew.search("Summarise chapter 2", kbs=["kb"]).trace.request.kind == "auto"  # type: ignore[union-attr]


def test_an_empty_kb_has_nothing_to_summarise(clew: Clew) -> None:
    text, trace, sources = asked(clew, "Summarise this document")
    assert (sources, trace["sections"]) == ([], None)
    assert "Nothing" in text


def test_summaries_that_are_not_written_yet_are_taken_from_the_text(clew: Clew) -> None:
    clew.update_kb("kb", settings={"summaries": {"enabled": False}})
    file = add(clew, report(2023), "harbour.md")
    assert all(section.summary is None for section in clew.sections(file.file_id))
    text, _, _ = asked(clew, "Summarise chapter 2")
    assert "trains" in text
    assert "ships" not in text


# --- with a language model ---------------------------------------------------------------------------------------


def scripted(choice: str | Status, answer: str = "Trains did well [1][2].") -> ScriptedServer:
    def reply(request: Request) -> Reply | Status:
        if "Outline:" in request.text:
            return choice if isinstance(choice, Status) else Reply(choice)
        return Reply(answer if "<source" in request.text else "no")

    return ScriptedServer(reply)


def test_the_model_chooses_from_the_outline_and_writes_from_what_is_read(tmp_path: Path) -> None:
    choice = '{"scope": "sections", "sections": [4], "detail": false, "reason": "trains run on rails"}'
    with scripted(choice) as server, opened(tmp_path, server, chat={"url": server.url, "model": "m"}) as clew:
        clew.create_kb("kb")
        add(clew, report(2023), "harbour.md")
        outline = "Outline:"
        text, trace, _ = asked(clew, "Give me an overview of everything that runs on rails", kind="summary")
        shown = next(request.text for request in server.chats if outline in request.text)
        title = next(line for line in shown.splitlines() if line.startswith("[4]"))
        chosen = trace["sections"]["sections"][0]["titles"][-1]
        assert (trace["sections"]["source"], trace["sections"]["reason"]) == ("model", "trains run on rails")
        assert chosen in title
        prompt = next(request.text for request in server.chats if "<source" in request.text)
        assert "The user wants a summary" in prompt
        assert all(chosen in line for line in prompt.splitlines() if line.startswith("<source"))
        assert text.startswith("Trains did well [1]")


@pytest.mark.parametrize(
    "choice", [Status(500), "I think the second chapter.", '{"scope": "sections", "sections": []}']
)
def test_where_the_model_fails_titles_decide_and_the_trace_says_so(tmp_path: Path, choice: str | Status) -> None:
    chat = {"retries": 0, "model": "m"}
    with scripted(choice) as server, opened(tmp_path, server, chat={"url": server.url, **chat}) as clew:
        clew.create_kb("kb")
        add(clew, report(2023), "harbour.md")
        _, trace, sources = asked(clew, "Summarise chapter 2")
        assert trace["sections"]["source"] == "titles"
        assert {source["section_titles"][-1] for source in sources} == {"Chapter 2 Trains"}
        assert any("choice of sections" in line for line in trace["degraded"])
