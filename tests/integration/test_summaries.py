"""Section summaries from end to end: after the publish, by a model, later, after a crash, and gone with their file."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.storage.base import IndexFilter
from clew.types import File, Representation, SummaryStatus
from fakes.openai_server import Reply, Request, ScriptedServer, Status

TOPICS = ("coal", "wool", "salt", "iron", "corn")
WORDS = (
    "The harbour of the town exports {0} to the islands in the north. ",
    *(f"Merchant {i} stores {{0}} in house {i}, because the price of {{0}} in month {i} was low. " for i in range(14)),
)


def report(*topics: str) -> bytes:
    """A chapter a topic, each long enough to be worth a summary and more than one chunk."""
    chapters = [f"## The {topic} trade\n\n" + "\n\n".join(w.format(topic) for w in WORDS * 2) for topic in topics]
    return ("# Trade of the town\n\n" + "\n\n".join(chapters)).encode()


def add(clew: Clew, content: bytes, name: str = "trade.md") -> File:
    file, _ = clew.add_file("notes", name, io.BytesIO(content))
    return clew.wait([file.file_id], timeout=120, summaries=True)[0]


def opened(folder: Path, server: ScriptedServer, *, model: bool = True) -> Clew:
    """Clew with the server's embedder, and with its chat model as enrichment model."""
    models: dict[str, Any] = {"embedder": {"kind": "openai", "url": server.url, "model": "letters"}}
    if model:
        models["enrichment"] = {"url": server.url, "model": "small", "retries": 0}
    return Clew.open(folder / "data", overrides={"models": models, "summaries": {"writer": "auto"}})


def helpful(request: Request) -> Reply:
    """Summaries and questions that name the section they are about."""
    section = request.text.split("Section: ")[1].split("\n")[0].split(" > ")[-1]
    if "questions that the passage" in request.text:
        return Reply(f"1. Who paid for {section}?\n2. What did {section} bring to the mayor?")
    return Reply(f"All about {section}: who bought, who sold, and where it was kept over the winter.")


def found_by(clew: Clew, question: str, representation: Representation) -> set[str]:
    kb_id = clew.kb("notes").kb_id
    vector = clew.embedder.embed_queries([question])[0]
    return {p.file_id for p in clew.index.search_vector(kb_id, representation, vector, IndexFilter(), 10)}


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    """Clew without a language model."""
    with ScriptedServer() as server, opened(tmp_path, server, model=False) as clew:
        yield clew


def test_without_a_model_they_are_extractive_and_searched(clew: Clew) -> None:
    clew.create_kb("notes")
    file = add(clew, report("coal", "wool"))
    assert (file.summary_status, file.summary_model, file.summary_reason) == (SummaryStatus.COMPLETED, "", "")
    sections = {section.title: section for section in clew.sections(file.file_id)}
    assert all(section.summary_source == "extractive" for section in sections.values())
    assert "coal" in (sections["The coal trade"].summary or "")
    assert "wool" not in (sections["The coal trade"].summary or "")
    hits = clew.search("the coal trade of the town", kbs=["notes"], mode="single", kind="fact").hits
    assert any("summary" in hit.representations for hit in hits)
    off = clew.search(
        "the coal trade", kbs=["notes"], mode="single", kind="fact", overlay={"representations": {"summary": False}}
    )
    assert not any("summary" in hit.representations for hit in off.hits)


def test_a_model_that_is_configured_later_writes_them_for_the_files_that_are_there(tmp_path: Path) -> None:
    with ScriptedServer(helpful) as server, opened(tmp_path, server, model=False) as clew:
        clew.create_kb("notes")
        file = add(clew, report("coal", "wool"))
        assert clew.backfill("notes") == []
    with (
        ScriptedServer(helpful) as server,
        opened(tmp_path, server) as clew,
    ):
        assert [queued.file_id for queued in clew.backfill("notes")] == [file.file_id]
        file = clew.wait([file.file_id], timeout=60, summaries=True)[0]
        assert (file.summary_status, file.summary_model) == (SummaryStatus.COMPLETED, "small")
        assert file.summary_done == file.summary_total > 4
        by_title = {section.title: section for section in clew.sections(file.file_id)}
        assert (by_title["The wool trade"].summary or "").startswith("All about The wool trade")
        assert by_title["The wool trade"].summary_source == "model"
        parents = {parent.chunk_id for parent in clew.file_parents(file.file_id)}
        questions = clew.records.questions(file.file_id)
        assert set(questions) == parents
        assert clew.backfill("notes") == []
        hits = clew.search(
            "What did The wool trade bring to the mayor?", kbs=["notes"], mode="single", kind="fact"
        ).hits
        assert "question" in hits[0].representations
        assert hits[0].section_titles[-1] == "The wool trade"
        asked = len(server.chats)
        usage = clew.file(file.file_id).usage
        assert {part: cost.calls for part, cost in usage.items()} == {
            "summary": sum("Summarise the section" in request.text for request in server.chats),
            "questions": sum("questions that the passage" in request.text for request in server.chats),
        }
        assert sum(cost.prompt_tokens for cost in usage.values()) == 11 * sum(cost.calls for cost in usage.values())
        again = clew.backfill("notes", again=True)
        clew.wait([again[0].file_id], timeout=60, summaries=True)
        assert len(server.chats) == asked  # what was written once is not paid for again


def test_an_update_pays_for_what_is_new_and_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    with (
        ScriptedServer(helpful) as server,
        opened(tmp_path, server) as clew,
    ):
        clew.create_kb("notes")
        file = add(clew, report("coal", "wool"))
        asked = len(server.chats)
        clew.update_file(file.file_id, "trade.md", io.BytesIO(report("coal", "salt")))
        file = clew.wait([file.file_id], timeout=120, summaries=True)[0]
        assert (file.version, file.summary_status) == (2, SummaryStatus.COMPLETED)
        new = [request.text for request in server.chats[asked:]]
        assert new
        assert not any("Section: Trade of the town > The coal trade" in text for text in new)
        written = [section.summary or "" for section in clew.sections(file.file_id)]
        assert not any("wool" in text for text in written)
        assert not any("wool" in text for asked_ in clew.records.questions(file.file_id).values() for text in asked_)
        assert set(clew.index.files(file.kb_id)) == {(file.file_id, 2)}
        clew.remove_file(file.file_id)
        assert clew.index.files(file.kb_id) == {}
        assert found_by(clew, "coal", Representation.SUMMARY) == set()


def test_a_failing_model_leaves_the_extractive_ones_and_says_why(tmp_path: Path) -> None:
    down = threading.Event()

    def reply(request: Request) -> Reply | Status:
        return helpful(request) if down.is_set() else Status(401, {"error": {"message": "no such key"}})

    with (
        ScriptedServer(reply) as server,
        opened(tmp_path, server) as clew,
    ):
        clew.create_kb("notes")
        file = add(clew, report("coal"))
        assert file.summary_status is SummaryStatus.FAILED
        assert "models.enrichment" in file.summary_reason
        assert {section.summary_source for section in clew.sections(file.file_id)} == {"extractive"}
        assert clew.search("coal", kbs=["notes"], kind="fact", overlay={"retrieval": {"hyde": "never"}}).hits
        down.set()
        clew.backfill("notes")
        file = clew.wait([file.file_id], timeout=60, summaries=True)[0]
        assert (file.summary_status, file.summary_reason) == (SummaryStatus.COMPLETED, "")


def test_they_can_be_switched_off(clew: Clew) -> None:
    clew.create_kb("notes", settings={"summaries": {"enabled": False}})
    file = add(clew, report("coal"))
    assert file.summary_status is SummaryStatus.OFF
    assert clew.sections(file.file_id)[0].summary is None
    assert clew.backfill("notes") == []


CHILD = """
import sys
from clew.app import Clew
data, url, document = sys.argv[1:]
embedder = {"kind": "openai", "url": url, "model": "letters"}
models = {"embedder": embedder, "enrichment": {"url": url, "model": "small", "retries": 0}}
clew = Clew.open(data, overrides={"models": models, "summaries": {"writer": "auto"}})
clew.create_kb("notes")
with open(document, "rb") as source:
    file, _ = clew.add_file("notes", "trade.md", source)
clew.wait([file.file_id], summaries=True)
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    document = tmp_path / "trade.md"
    document.write_bytes(report(*TOPICS))
    killed = threading.Event()
    child: list[subprocess.Popen[bytes]] = []
    first: list[Request] = []

    def reply(request: Request) -> Reply:
        if not killed.is_set():
            first.append(request)
            if len(first) == 4:
                child[0].send_signal(signal.SIGKILL)
                killed.set()
        return helpful(request)

    with ScriptedServer(reply) as server:
        arguments = [str(tmp_path / "data"), server.url, str(document)]
        child.append(subprocess.Popen([sys.executable, "-c", CHILD, *arguments]))
        child[0].wait(timeout=120)
        assert killed.is_set()
        before = len(server.chats)
        with opened(tmp_path, server) as clew:
            assert clew.list_files("notes")[0].summary_status in {SummaryStatus.RUNNING, SummaryStatus.PENDING}
            clew.jobs.start()
            file = clew.wait([clew.list_files("notes")[0].file_id], timeout=120, summaries=True)[0]
            assert file.summary_status is SummaryStatus.COMPLETED
            assert all(section.summary_source == "model" for section in clew.sections(file.file_id))
            # Of what was asked for before, only what was under way at the kill is asked for again.
            repeated = {request.text for request in first} & {request.text for request in server.chats[before:]}
            assert len(repeated) <= 4
            assert set(clew.index.files(file.kb_id)) == {(file.file_id, 1)}
