"""Both kinds of summaries of a section tree."""

from __future__ import annotations

import threading

import pytest

from clew.config import ChatSettings, SummarySettings
from clew.errors import ServiceError
from clew.indexing.parsers.base import BlockBuilder
from clew.indexing.sections import build_sections
from clew.indexing.summaries import ModelWriter, extractive_summaries, parent_path, prose_sentences
from clew.models.openai import OpenAIChatModel
from clew.types import ParentChunk, ParsedFile, Section
from fakes.openai_server import Reply, Request, ScriptedServer, Status

SHORT = SummarySettings(section_words=20, root_words=30)
REGIONS = ("Europe", "Asia", "Africa", "America", "Australia", "the Arctic")


def report() -> ParsedFile:
    builder = BlockBuilder()
    builder.heading("Annual report", 1)
    for chapter in ("Ships", "Trains"):
        builder.heading(chapter, 2)
        for i in range(6):
            builder.paragraph(f"The company builds {chapter.lower()} in yard {i}. {chapter} sold well in {REGIONS[i]}.")
    builder.heading("Figures", 2)
    return build_sections(builder.finish("report.md", "text/markdown"))


def parents(file: ParsedFile) -> list[ParentChunk]:
    by_path: dict[str, list[str]] = {}
    for block in file.blocks:
        by_path.setdefault(block.section_path, []).append(block.text)
    titles = {section.path: section.titles for section in file.sections}
    return [
        ParentChunk(f"p{i}", "f", i, path, titles[path], "\n".join(texts), 50)
        for i, (path, texts) in enumerate(by_path.items())
    ]


class Cache:
    """``BlockCache`` in memory."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], str] = {}

    def get_outputs(self, task: str, model: str, keys: list[str]) -> dict[str, str]:
        return {key: self.known[task, model, key] for key in keys if (task, model, key) in self.known}

    def put_outputs(self, task: str, model: str, outputs: dict[str, str]) -> None:
        self.known |= {(task, model, key): output for key, output in outputs.items()}


def writer(server: ScriptedServer, cache: Cache, settings: SummarySettings = SHORT) -> ModelWriter:
    chat = OpenAIChatModel(ChatSettings(url=server.url, model="small", retries=0), setting="models.enrichment")
    return ModelWriter(chat, cache, settings, lambda text: len(text.split()), lambda part, usage: None)


def test_every_section_with_text_has_sentences_of_its_own_text_up_to_the_root() -> None:
    file = report()
    summaries = extractive_summaries(file.sections, file.blocks, SHORT)
    titles = {section.path: section.title for section in file.sections}
    assert {titles[path] for path in summaries if path} == {"Annual report", "Ships", "Trains"}
    text = " ".join(block.text for block in file.blocks)
    assert all(sentence in text for summary in summaries.values() for sentence in summary.split("\n"))
    assert "ships" in summaries["0001/0001/"]
    assert "trains" not in summaries["0001/0001/"]
    assert "ships" in summaries[""]


def test_tables_and_code_are_no_sentences() -> None:
    builder = BlockBuilder()
    builder.code("print('the company builds ships')")
    builder.paragraph("Text that says something.")
    file = build_sections(builder.finish("x.md", "text/markdown"))
    assert extractive_summaries(file.sections, file.blocks, SHORT) == {"": "Text that says something."}


def test_a_file_without_running_text_has_no_summaries() -> None:
    builder = BlockBuilder()
    builder.code("a = 1")
    file = build_sections(builder.finish("x.py", "text/x-python"))
    assert extractive_summaries(file.sections, file.blocks, SHORT) == {}


@pytest.mark.parametrize(("path", "above"), [("0003/0002/", "0003/"), ("0003/", ""), ("000001/000012/", "000001/")])
def test_the_section_above(path: str, above: str) -> None:
    assert parent_path(path) == above


def test_sentences_of_a_block_stand_on_one_line_each() -> None:
    assert prose_sentences("One thing  is said. Then another one.\n□适用") == [
        "One thing is said.", "Then another one.",
    ]  # fmt: skip


def test_the_model_writes_bottom_up_and_each_piece_once() -> None:
    file = report()
    with ScriptedServer(lambda request: f"About {section_of(request)}, at some length. " + "More. " * 30) as server:
        cache = Cache()
        done: list[int] = []
        written = writer(server, cache).summaries("Report", "en", file.sections, parents(file), done.append)
        assert written["0001/0001/"].startswith("About Annual report > Ships, at some length.")
        assert set(written) == {"", "0001/", "0001/0001/", "0001/0002/"}  # nothing is asked about the empty section
        assert sum(done) == len(file.sections)
        above = next(request.text for request in server.chats if "About Annual report > Trains" in request.text)
        assert "The company builds" not in above
        asked = len(server.chats)
        again = writer(server, cache).summaries("Report", "en", file.sections, parents(file), done.append)
        assert again == written
        assert len(server.chats) == asked


def section_of(request: Request) -> str:
    return request.text.split("Section: ")[1].split("\n")[0]


def test_a_text_that_does_not_fit_is_summarised_in_groups() -> None:
    parts = [ParentChunk(f"p{i}", "f", i, "", ("T",), f"{i} " + "word " * 150, 150) for i in range(5)]
    settings = SummarySettings(section_words=20, root_words=20, input_tokens=200)
    with ScriptedServer(lambda request: "short") as server:
        written = writer(server, Cache(), settings).summaries(
            "T", "en", [Section("", ("T",), 0)], parts, lambda _: None
        )
        assert written == {"": "short"}
        # Two parts at least go together: 2 + 2 + 1, and then the three summaries at once.
        assert len(server.chats) == 3 + 1


@pytest.mark.parametrize("reply", ["", "I'm sorry, I cannot do that.", "<think>hm"])
def test_a_model_that_says_nothing_leaves_the_central_sentences(reply: str) -> None:
    file = report()
    with ScriptedServer(lambda _: reply) as server:
        written = writer(server, Cache()).summaries("Report", "en", file.sections, parents(file), lambda _: None)
    assert "The company builds" in written["0001/0001/"]


def test_after_a_failure_nothing_more_is_asked() -> None:
    file = report()
    with ScriptedServer([Status(400)] * 20) as server:
        with pytest.raises(ServiceError):
            writer(server, Cache(), SummarySettings(section_words=20, root_words=30, parallel_calls=1)).summaries(
                "Report", "en", file.sections * 10, parents(file), lambda _: None
            )
        assert len(server.chats) < 5


def test_questions_are_kept_as_far_as_they_are_questions() -> None:
    lock = threading.Lock()
    count = 0

    def reply(request: Request) -> Reply:
        nonlocal count
        with lock:
            count += 1
        return Reply("Here they are:\n1. What is built in yard 1?\n2. Who?\n3. Who?\n4. 何时？\n5. Five?\n6. Six?")

    with ScriptedServer(reply) as server:
        asked = writer(server, Cache()).questions("Report", "en", parents(report())[1:3], lambda _: None)
    assert asked == dict.fromkeys(("p1", "p2"), ("What is built in yard 1?", "Who?", "何时？"))
    assert count == 2
