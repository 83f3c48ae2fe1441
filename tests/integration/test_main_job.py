"""The main job end to end through the library: put real documents in, ask, get a cited answer."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from clew.app import Clew
from clew.errors import ConflictError, InputError, NotFoundError
from clew.types import File, FileStatus, SectionFilter
from fakes.openai_server import ScriptedServer


def add(clew: Clew, kb: str, name: str, text: str | bytes) -> File:
    data = text if isinstance(text, bytes) else text.encode()
    file, _ = clew.add_file(kb, name, io.BytesIO(data))
    return clew.wait([file.file_id], timeout=60)[0]


RIVERS = """# Rivers

## The Danube

The Danube rises in the Black Forest and is 2,850 kilometres long.

## The Rhine

The Rhine rises in the Swiss Alps and flows into the North Sea at Rotterdam.
"""
CITIES = "# 城市\n\n## 武汉\n\n武汉市的面积为8569.15平方千米。\n\n## 成都\n\n成都市是四川省的省会。\n"


@pytest.fixture
def kb(clew: Clew) -> str:
    clew.create_kb("notes")
    add(clew, "notes", "rivers.md", RIVERS)
    add(clew, "notes", "城市.md", CITIES)
    return "notes"


def test_demo_documents_answer_the_demo_questions(clew: Clew, demo_documents: list[Path]) -> None:
    clew.create_kb("demo")
    ids = []
    for path in demo_documents:
        with path.open("rb") as source:
            ids.append(clew.add_file("demo", path.name, source)[0].file_id)
    files = clew.wait(ids, timeout=240)
    assert [file.status for file in files] == [FileStatus.COMPLETED] * 3
    text = answer(clew, "demo", "有限责任公司的股东认缴的出资，最晚要在公司成立后几年内缴足？")
    assert "五年" in text
    text = answer(clew, "demo", "What were the total operating expenses of the Reserve Banks in 2023?")
    assert "5,648.3" in text


def answer(clew: Clew, kb: str, question: str) -> str:
    return "".join(e.data["text"] for e in clew.ask(question, kbs=[kb]) if e.type == "delta")


def test_events_come_in_order_and_end_once(clew: Clew, kb: str) -> None:
    types = [event.type for event in clew.ask("How long is the Danube?", kbs=[kb], mode="single")]
    deltas = types.count("delta")
    assert deltas > 0
    assert types == [
        "retrieval_plan", "retrieval_step", "retrieval_done", "sources", *["delta"] * deltas, "usage", "done",
    ]  # fmt: skip


def test_the_answer_quotes_and_cites_its_source(clew: Clew, kb: str) -> None:
    events = list(clew.ask("武汉市的面积是多少？", kbs=[kb]))
    text = "".join(e.data["text"] for e in events if e.type == "delta")
    assert "8569.15平方千米" in text
    sources = next(e.data["sources"] for e in events if e.type == "sources")
    cited = next(s for s in sources if f"[{s['number']}]" in text)
    assert cited["file_name"] == "城市.md"
    assert cited["section_titles"] == ["城市", "武汉"]


def test_the_whole_answer_is_stored_in_its_message(clew: Clew, kb: str) -> None:
    events = list(clew.ask("How long is the Danube?", kbs=[kb]))
    plan = events[0].data
    user, assistant = clew.messages(plan["conversation_id"])
    assert user.content == "How long is the Danube?"
    assert assistant.message_id == plan["message_id"]
    assert "2,850" in assistant.content
    assert assistant.usage["citations"]
    trace = assistant.usage["retrieval_trace"]
    assert trace["rounds"][0]["hits"]
    assert trace == next(e.data["retrieval_trace"] for e in events if e.type == "usage")


def test_a_model_writes_the_answer_and_unknown_citations_are_dropped(tmp_path: Path, models_folder: Path) -> None:
    with ScriptedServer(lambda _: "It is 2,850 km long [1][77].") as server:
        chat = {"url": server.url, "model": "scripted"}
        overrides = {"models": {"folder": str(models_folder), "chat": chat}}
        with Clew.open(tmp_path / "data", overrides=overrides) as clew:
            clew.create_kb("notes")
            add(clew, "notes", "rivers.md", RIVERS)
            assert answer(clew, "notes", "How long is the Danube?") == "It is 2,850 km long [1]."
        prompt = next(request.text for request in server.chats if "<source number=" in request.text)
    assert "2,850 kilometres" in prompt


def test_a_follow_up_question_is_understood_from_the_conversation(clew: Clew, kb: str) -> None:
    first = next(iter(clew.ask("How long is the Danube?", kbs=[kb])))
    events = list(clew.ask("What about the Rhine?", kbs=[kb], conversation_id=first.data["conversation_id"]))
    assert events[0].data["rewritten"] == "How long is the Rhine?"
    assert len(clew.messages(first.data["conversation_id"])) == 4
    assert clew.search("What about the Rhine?", kbs=[kb]).trace.rewritten == "What about the Rhine?"


def test_search_restricts_to_files_and_sections(clew: Clew, kb: str) -> None:
    files = {file.name: file.file_id for file in clew.list_files(kb)}
    only = clew.search("成都", kbs=[kb], files=[files["rivers.md"]])
    assert {hit.file for hit in only.hits} <= {"rivers.md"}
    assert clew.search("成都", kbs=[kb], files=[]).hits == []
    section = next(s for s in clew.sections(files["城市.md"]) if s.title == "成都")
    scoped = clew.search("面积", kbs=[kb], sections=[SectionFilter(files["城市.md"], section.path)])
    assert {hit.section_titles for hit in scoped.hits} == {("城市", "成都")}


def test_two_knowledge_bases_in_one_question(clew: Clew, kb: str) -> None:
    clew.create_kb("more")
    add(clew, "more", "lakes.md", "# Lakes\n\nLake Constance lies between Germany, Austria and Switzerland.\n")
    hits = clew.search("Lake Constance and the Danube", kbs=[kb, "more"]).hits
    assert {hit.file for hit in hits} >= {"rivers.md", "lakes.md"}
    assert {hit.file for hit in clew.search("Lake Constance", kbs=[kb]).hits} <= {"rivers.md", "城市.md"}


def test_the_same_bytes_are_one_file(clew: Clew, kb: str) -> None:
    file, is_new = clew.add_file(kb, "copy.md", io.BytesIO(RIVERS.encode()))
    assert not is_new
    assert file.name == "rivers.md"
    assert len(clew.list_files(kb)) == 2


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.md", b"", "empty.md"),
        ("blank.txt", b" \n\t\n", "blank.txt"),
        ("broken.pdf", b"%PDF-1.7\nnothing else", "broken.pdf"),
        ("program.exe", b"MZ\x90\x00\x03" + bytes(range(256)) * 20, "program.exe"),
        ("broken.docx", b"PK\x03\x04 cut off", "broken.docx"),
    ],
)
def test_a_bad_file_fails_with_a_reason_and_the_rest_goes_on(
    clew: Clew, kb: str, name: str, data: bytes, words: str
) -> None:
    failed = add(clew, kb, name, data)
    assert failed.status is FileStatus.FAILED
    assert words in failed.reason
    good = add(clew, kb, "more.md", "# More\n\nThe Elbe flows through Hamburg.\n")
    assert good.status is FileStatus.COMPLETED
    assert clew.search("Hamburg", kbs=[kb]).hits[0].file == "more.md"


def test_an_update_replaces_every_trace_of_the_old_text(clew: Clew, kb: str) -> None:
    old = next(file for file in clew.list_files(kb) if file.name == "rivers.md")
    clew.update_file(old.file_id, "rivers.md", io.BytesIO(RIVERS.replace("2,850", "2,857").encode()))
    new = clew.wait([old.file_id], timeout=60)[0]
    assert (new.file_id, new.version, new.status) == (old.file_id, old.version + 1, FileStatus.COMPLETED)
    texts = [hit.text for hit in clew.search("How long is the Danube? 2,850", kbs=[kb]).hits]
    assert any("2,857" in text for text in texts)
    assert not any("2,850" in text for text in texts)
    assert {version for file_id, version in clew.index.files(new.kb_id) if file_id == new.file_id} == {2}


def test_a_removed_file_is_gone_everywhere(clew: Clew, kb: str) -> None:
    file = next(file for file in clew.list_files(kb) if file.name == "rivers.md")
    clew.remove_file(file.file_id)
    assert all(hit.file != "rivers.md" for hit in clew.search("Danube", kbs=[kb]).hits)
    assert file.file_id not in {file_id for file_id, _ in clew.index.files(file.kb_id)}
    assert file.file_key not in set(clew.originals.keys())
    with pytest.raises(NotFoundError):
        clew.file(file.file_id)


def test_bad_requests_say_what_to_do(clew: Clew, kb: str) -> None:
    with pytest.raises(InputError, match="empty"):
        clew.search("  ", kbs=[kb])
    with pytest.raises(NotFoundError, match="nowhere"):
        clew.search("x", kbs=["nowhere"])
    with pytest.raises(InputError, match="at least one"):
        clew.search("x", kbs=[])
    with pytest.raises(ConflictError, match="notes"):
        clew.create_kb("notes")
    with pytest.raises(NotFoundError):
        clew.stop_answer("m_unknown")


@pytest.mark.parametrize("question", ["?", "🧵", "\ud800 Danube", "SELECT * FROM x; --", "的", "a" * 7999, "%_\\"])
def test_odd_questions_get_an_answer(clew: Clew, kb: str, question: str) -> None:
    assert list(clew.ask(question, kbs=[kb]))[-1].type == "done"


def test_a_changed_embedder_is_refused_with_what_to_do(tmp_path: Path, clew: Clew, kb: str) -> None:
    clew.records.update_kb(clew.kb(kb).kb_id, embedder="another-embedder")
    with pytest.raises(ConflictError, match=r"models\.embedder"):
        clew.search("Danube", kbs=[kb])


def test_what_is_stored_is_there_after_reopening(tmp_path: Path, models_folder: Path) -> None:
    overrides = {"models": {"folder": str(models_folder)}}
    with Clew.open(tmp_path / "data", overrides=overrides) as clew:
        clew.create_kb("notes")
        add(clew, "notes", "rivers.md", RIVERS)
    with Clew.open(tmp_path / "data", overrides=overrides) as clew:
        assert clew.search("Danube", kbs=["notes"]).hits[0].file == "rivers.md"
        assert all(check.ok for check in clew.check())
