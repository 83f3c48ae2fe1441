"""Updates under one id: what is reused, what is reported, and what is left when they fail or are cancelled."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from clew.app import Clew
from clew.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ServiceRefusedError,
    ServiceUnavailableError,
    StorageError,
    StorageFullError,
)
from clew.indexing.pipeline import IndexingPipeline
from clew.models.base import Embedder
from clew.storage.records import tables
from clew.types import ChangeReport, File, FileStatus, FloatArray

RIVERS = """# Rivers

## The Danube

The Danube rises in the Black Forest and is 2,850 kilometres long.

## The Rhine

The Rhine rises in the Swiss Alps and flows into the North Sea at Rotterdam.

## The Elbe

The Elbe flows through Dresden and Hamburg.
"""
# Summaries follow a publish by themselves and encode, too: they would disturb the counts.
QUIET = {"summaries": {"enabled": False}}
BROKEN = b"%PDF-1.7\nnothing else"


class SlowEmbedder:
    """The real one, counting passages; it can be held up."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.passages = 0
        self.go_on = threading.Event()
        self.go_on.set()
        self.waiting = threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        self.waiting.set()
        assert self.go_on.wait(30)
        self.passages += len(texts)
        return np.asarray(self.inner.embed_passages(texts))


@pytest.fixture
def slow(clew: Clew, embedder: Embedder) -> SlowEmbedder:
    slow = SlowEmbedder(embedder)
    clew.__dict__["embedder"] = slow
    clew.create_kb("notes", settings=QUIET)
    return slow


def add(clew: Clew, text: str | bytes, name: str = "rivers.md") -> File:
    data = text if isinstance(text, bytes) else text.encode()
    return clew.wait([clew.add_file("notes", name, io.BytesIO(data))[0].file_id], timeout=60)[0]


def begin(clew: Clew, file_id: str, text: str | bytes, name: str = "rivers.md") -> File:
    return clew.update_file(file_id, name, io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def update(clew: Clew, file_id: str, text: str | bytes, name: str = "rivers.md") -> File:
    begin(clew, file_id, text, name)
    return clew.wait([file_id], timeout=60)[0]


def found(clew: Clew, question: str) -> str:
    return "\n".join(hit.text for hit in clew.search(question, kbs=["notes"]).hits)


def agree(clew: Clew, file: File) -> None:
    """Records, index and originals hold one version of the file and nothing else, soon after the publish."""
    deadline = time.monotonic() + 20
    while clew.examine() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert clew.examine() == []
    assert set(clew.originals.keys()) == {file.file_key}
    assert {pair for pair in clew.index.files(file.kb_id) if pair[0] == file.file_id} == {(file.file_id, file.version)}


def test_an_update_embeds_what_is_new_and_says_what_changed(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    assert file.changes is None
    slow.passages = 0
    text = RIVERS.replace("2,850", "2,857").replace("## The Elbe\n\nThe Elbe flows through Dresden and Hamburg.\n", "")
    new = update(clew, file.file_id, text + "The Rhine is 1,233 kilometres long.\n")
    assert new.changes == ChangeReport(
        blocks_reused=4, blocks_changed=1, blocks_removed=2, blocks_added=1, embeddings_made=2, embeddings_saved=0
    )
    assert slow.passages == new.changes.embeddings_made
    again = update(clew, file.file_id, text)
    assert again.changes is not None
    # The vector of the old text about the Rhine went with the version that had it.
    assert (again.changes.embeddings_made, again.changes.embeddings_saved) == (1, 1)
    agree(clew, again)


def test_the_file_is_hidden_while_it_is_updated(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    slow.waiting.clear()
    slow.go_on.clear()
    begin(clew, file.file_id, RIVERS.replace("2,850", "2,857"))
    assert slow.waiting.wait(30)
    assert found(clew, "How long is the Danube?") == ""
    with pytest.raises(ConflictError, match="being processed"):
        begin(clew, file.file_id, "Another text.")
    slow.go_on.set()
    clew.wait([file.file_id], timeout=60)
    assert "2,857" in found(clew, "How long is the Danube?")


def test_a_failed_update_is_restored_without_embedding(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    failed = update(clew, file.file_id, BROKEN, "rivers.pdf")
    assert (failed.status, failed.version, failed.name) == (FileStatus.FAILED, 1, "rivers.pdf")
    assert found(clew, "How long is the Danube?") == ""
    assert set(clew.originals.keys()) == {file.file_key, failed.file_key}
    slow.passages = 0
    restored = clew.restore_file(file.file_id)
    assert (restored.status, restored.name, restored.content_hash) == (
        FileStatus.COMPLETED, "rivers.md", file.content_hash,
    )  # fmt: skip
    assert "2,850" in found(clew, "How long is the Danube?")
    assert slow.passages == 0
    agree(clew, restored)
    with pytest.raises(ConflictError, match="only a failed file"):
        clew.restore_file(file.file_id)


def test_a_success_after_a_failure_leaves_one_original(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    update(clew, file.file_id, BROKEN, "rivers.pdf")
    new = update(clew, file.file_id, RIVERS.replace("2,850", "2,857"))
    assert (new.status, new.version) == (FileStatus.COMPLETED, 3)
    agree(clew, new)


def test_a_cancelled_update_leaves_the_previous_version(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    slow.waiting.clear()
    slow.go_on.clear()
    begin(clew, file.file_id, RIVERS.replace("2,850", "2,857"))
    assert slow.waiting.wait(30)
    cancelled = clew.cancel_file(file.file_id)
    assert (cancelled.status, cancelled.version) == (FileStatus.COMPLETED, 1)
    assert "2,850" in found(clew, "How long is the Danube?")
    # The next one begins while the cancelled one still works.
    begin(clew, file.file_id, RIVERS.replace("2,850", "2,888"))
    slow.go_on.set()
    new = clew.wait([file.file_id], timeout=60)[0]
    assert (new.status, new.version) == (FileStatus.COMPLETED, 3)
    assert "2,888" in found(clew, "How long is the Danube?")
    agree(clew, new)
    with pytest.raises(ConflictError, match="nothing to cancel"):
        clew.cancel_file(file.file_id)


def test_a_cancelled_first_ingestion_is_a_failed_file(clew: Clew, slow: SlowEmbedder) -> None:
    slow.go_on.clear()
    file = clew.add_file("notes", "rivers.md", io.BytesIO(RIVERS.encode()))[0]
    assert slow.waiting.wait(30)
    cancelled = clew.cancel_file(file.file_id)
    slow.go_on.set()
    assert (cancelled.status, "cancelled" in cancelled.reason) == (FileStatus.FAILED, True)
    assert update(clew, file.file_id, RIVERS).status is FileStatus.COMPLETED


def test_a_file_that_is_deleted_while_it_is_read_leaves_nothing(clew: Clew, slow: SlowEmbedder) -> None:
    slow.go_on.clear()
    file = clew.add_file("notes", "rivers.md", io.BytesIO(RIVERS.encode()))[0]
    assert slow.waiting.wait(30)
    clew.remove_file(file.file_id)
    slow.go_on.set()
    other = add(clew, "# Lakes\n\nLake Constance.\n", "lakes.md")  # queued behind it
    agree(clew, other)


def test_a_knowledge_base_that_is_deleted_while_a_file_is_read_leaves_nothing(clew: Clew, slow: SlowEmbedder) -> None:
    add(clew, "# Lakes\n\nLake Constance.\n", "lakes.md")
    slow.waiting.clear()
    slow.go_on.clear()
    clew.add_file("notes", "rivers.md", io.BytesIO(RIVERS.encode()))
    assert slow.waiting.wait(30)
    clew.delete_kb("notes")
    slow.go_on.set()
    clew.create_kb("notes", settings=QUIET)
    other = add(clew, "# Seas\n\nThe North Sea.\n", "seas.md")  # queued behind it
    agree(clew, other)
    assert [path.name for path in (clew.data / "index").iterdir() if path.is_dir()] == [other.kb_id]


def test_a_disabled_file_is_not_found_until_it_is_enabled(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    add(clew, "# Lakes\n\nLake Constance lies on the Rhine.\n", "lakes.md")
    clew.change_file(file.file_id, enabled=False)
    assert "Rotterdam" not in found(clew, "Where does the Rhine end?")
    assert "Constance" in found(clew, "Where does the Rhine end?")
    clew.change_file(file.file_id, enabled=True, name="long rivers.md")
    assert "Rotterdam" in found(clew, "Where does the Rhine end?")
    assert clew.file(file.file_id).name == "long rivers.md"
    with pytest.raises(InputError, match="name"):
        clew.change_file(file.file_id, name="a/b")


def test_the_same_bytes_at_the_same_time_are_one_file(clew: Clew, slow: SlowEmbedder) -> None:
    clew.create_kb("more", settings=QUIET)

    def upload(i: int) -> str:
        kb = ("notes", "more")[i % 2]
        return clew.add_file(kb, f"{i}.md", io.BytesIO(RIVERS.encode()))[0].file_id

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(upload, range(16)))
    assert len(ids) == 2
    files = clew.wait(ids, timeout=60)
    assert {file.status for file in files} == {FileStatus.COMPLETED}
    assert len({file.kb_id for file in files}) == 2
    assert set(clew.originals.keys()) == {file.file_key for file in files}
    assert clew.examine() == []


def test_a_damaged_original_is_named(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    clew.originals.put(file.file_key, io.BytesIO(b"bit rot"))
    assert [(found.kind, found.file_id, found.repaired) for found in clew.examine(repair=True)] == [
        ("damaged original", file.file_id, False)
    ]


def test_no_more_files_are_read_at_once_than_there_are_workers(clew: Clew, slow: SlowEmbedder) -> None:
    slow.go_on.clear()
    ids = [clew.add_file("notes", f"{i}.md", io.BytesIO(f"# {i}\n\nText {i}.\n".encode()))[0].file_id for i in range(3)]
    assert slow.waiting.wait(30)
    time.sleep(1.0)
    assert [bool(clew.file(file_id).stage) for file_id in ids] == [True, False, False]
    slow.go_on.set()
    assert {file.status for file in clew.wait(ids, timeout=60)} == {FileStatus.COMPLETED}


def test_an_index_of_another_tokenizer_is_told_and_made_anew(
    clew: Clew, slow: SlowEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("clew.indexing.embedding.tokenize", lambda text: [f"old-{word}" for word in text.split()])
        older.setattr("clew.indexing.pipeline.MADE_AS", "terms 0, entries 1")
        file = add(clew, RIVERS)
        failed = add(clew, "# Lakes\n\nLake Constance is deep.\n", "lakes.md")
        clew.update_file(failed.file_id, "lakes.pdf", io.BytesIO(b"%PDF-1.7 nothing"))
        assert clew.wait([failed.file_id], timeout=60)[0].status is FileStatus.FAILED

    def by_words(question: str) -> str:
        overlay = {"representations": {"l2": False}}
        hits = clew.search(question, kbs=["notes"], mode="single", kind="fact", overlay=overlay).hits
        return " ".join(hit.text for hit in hits)

    assert by_words("How long is the Danube?") == ""
    check = next(check for check in clew.check() if check.name == "index entries")
    assert not check.ok
    assert "notes was made by another version of Clew (terms 0, entries 1, now terms" in check.detail
    assert "clew doctor --deep --repair" in check.detail
    assert [(finding.kind, finding.repaired) for finding in clew.examine()] == [("outdated entries", False)]
    slow.passages = 0

    repaired = clew.examine(repair=True)

    assert [(finding.kind, finding.repaired) for finding in repaired] == [("outdated entries", True)]
    assert "2,850" in by_words("How long is the Danube?")
    assert slow.passages == 0, "vectors come from the cache"
    clew.restore_file(failed.file_id)
    assert "Constance" in by_words("How deep is Lake Constance?")
    assert next(check for check in clew.check() if check.name == "index entries").ok
    assert clew.examine() == []
    assert clew.file(file.file_id).status is FileStatus.COMPLETED


def test_what_does_not_agree_is_found_and_repaired(clew: Clew, slow: SlowEmbedder) -> None:
    file, lost = add(clew, RIVERS), add(clew, "# Lakes\n\nLake Constance.\n", "lakes.md")
    clew.originals.delete(lost.file_key)
    clew.originals.put("nobodys", io.BytesIO(b"x"))
    clew.index.delete(file.kb_id, file.file_id)
    clew.records.delete_file(add(clew, "# Seas\n\nThe North Sea.\n", "seas.md").file_id)
    clew.records.put_outputs("a task", "a model", {"nobody's key": "what a model said of a file that is gone"})
    slow.passages = 0
    expected = ["missing entries", "missing original", "stale entries", "unknown original", "unknown original"]
    expected += ["unneeded cache"]
    assert sorted(finding.kind for finding in clew.examine()) == expected
    assert "2,850" not in found(clew, "How long is the Danube?")
    repaired = clew.examine(repair=True)
    assert [finding.kind for finding in repaired if not finding.repaired] == ["missing original"]
    assert [finding.file_id for finding in clew.examine()] == [lost.file_id]
    assert "2,850" in found(clew, "How long is the Danube?")
    assert slow.passages == 0, "what a file needs is kept"
    assert clew.records.get_outputs("a task", "a model", ["nobody's key"]) == {}


def passage(clew: Clew, file: File, text: str) -> str:
    """The id of the parent chunk that holds ``text``."""
    return next(parent.chunk_id for parent in clew.file_parents(file.file_id) if text in parent.text)


def test_an_edited_passage_is_found_under_its_new_text_only(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    danube = passage(clew, file, "2,850")
    slow.passages = 0
    slow.go_on.clear()
    clew.edit_chunk(file.file_id, danube, text="The Danube is 2,857 kilometres long.\n\nIt ends in the Black Sea.")
    assert "2,850" not in found(clew, "How long is the Danube? Black Forest, 2,850")
    slow.go_on.set()
    edited = clew.wait([file.file_id], timeout=60)[0]
    assert slow.passages == 1
    assert "2,857" in found(clew, "How long is the Danube?")
    assert "Black Sea" in found(clew, "Where does the Danube end?")
    assert "2,850" not in found(clew, "How long is the Danube? Black Forest, 2,850")
    everything = [*clew.file_parents(file.file_id), *clew.file_children(file.file_id)]
    assert not any("2,850" in chunk.text for chunk in everything)
    agree(clew, edited)
    clew.reset_chunk(file.file_id, danube)
    clew.wait([file.file_id], timeout=60)
    assert "2,850" in found(clew, "How long is the Danube?")
    assert "Black Sea" not in found(clew, "Where does the Danube end?")


def test_a_disabled_passage_is_not_found_and_not_read_beside_another(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    clew.edit_chunk(file.file_id, passage(clew, file, "Rotterdam"), enabled=False)
    clew.wait([file.file_id], timeout=60)
    assert "Rotterdam" not in found(clew, "Where does the Rhine end, at Rotterdam?")
    evidence = clew.search("Where does the Rhine end, at Rotterdam?", kbs=["notes"]).evidence
    assert not any("Rotterdam" in passage.text for passage in evidence)
    hidden = [parent for parent in clew.file_parents(file.file_id) if not parent.enabled]
    assert ["Rotterdam" in parent.text for parent in hidden] == [True]
    clew.edit_chunk(file.file_id, hidden[0].chunk_id, enabled=True)
    clew.wait([file.file_id], timeout=60)
    assert "Rotterdam" in found(clew, "Where does the Rhine end?")


def test_edits_survive_an_update_or_are_reported(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    for old, new in (("2,850", "The Danube is 2,857 kilometres long."), ("Dresden", "The Elbe passes Magdeburg.")):
        clew.edit_chunk(file.file_id, passage(clew, clew.file(file.file_id), old), text=new)
        clew.wait([file.file_id], timeout=60)
    updated = update(clew, file.file_id, RIVERS.replace("Dresden", "Wittenberg"))
    assert updated.changes is not None
    assert updated.changes.edits_kept == 1
    assert [(e.section_titles, e.text) for e in updated.changes.edits_lost] == [
        (("Rivers", "The Elbe"), "The Elbe passes Magdeburg.")
    ]
    assert [edit.text for edit in updated.edits.values()] == ["The Danube is 2,857 kilometres long."]
    assert "2,857" in found(clew, "How long is the Danube?")
    assert "Wittenberg" in found(clew, "Where does the Elbe flow?")
    assert "Magdeburg" not in found(clew, "Where does the Elbe flow?")


def test_impossible_edits_are_refused(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    danube = passage(clew, file, "2,850")
    for text in ("  ", "word " * 2000):
        with pytest.raises(InputError, match="tokens"):
            clew.edit_chunk(file.file_id, danube, text=text)
    with pytest.raises(NotFoundError, match="no passage"):
        clew.edit_chunk(file.file_id, "none", text="x")


def test_nothing_of_a_deleted_text_stays_in_a_cache(clew: Clew, slow: SlowEmbedder) -> None:
    file = add(clew, RIVERS)
    other = add(clew, RIVERS.replace("The Elbe flows", "The Weser flows").replace("The Elbe", "The Weser"), "more.md")

    def cached() -> int:
        with clew.records._db.read() as connection:
            return connection.execute(select(func.count()).select_from(tables.vectors)).scalar_one()

    assert cached() == 4, "two of the three passages are the same"
    update(clew, file.file_id, RIVERS.replace("2,850", "2,857"))
    assert cached() == 5
    clew.remove_file(file.file_id)
    assert cached() == 3
    slow.passages = 0
    clew.index.delete(other.kb_id, other.file_id)
    clew.examine(repair=True)
    assert slow.passages == 0, "what another file needs is kept"
    clew.delete_kb("notes")
    assert cached() == 0


def test_only_transient_errors_are_tried_again(clew: Clew, slow: SlowEmbedder) -> None:
    errors: list[Exception] = [ServiceUnavailableError("The embedder is overloaded.")]
    calls = 0
    embed = slow.embed_passages

    def failing(texts: Sequence[str]) -> FloatArray:
        nonlocal calls
        calls += 1
        if errors:
            raise errors.pop()
        return embed(texts)

    slow.embed_passages = failing  # type: ignore[method-assign]
    assert add(clew, RIVERS).status is FileStatus.COMPLETED
    assert calls == 2
    errors.append(ServiceRefusedError("The API key is wrong."))
    failed = add(clew, "# Lakes\n\nLake Constance.\n", "lakes.md")
    assert (failed.status, failed.reason) == (FileStatus.FAILED, "The API key is wrong.")
    assert calls == 3


def test_what_cannot_be_queued_or_fail_now_is_begun_again_later(
    clew: Clew, slow: SlowEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, while it is full."""
    from clew.indexing import jobs  # noqa: PLC0415 - it needs DBOS

    monkeypatch.setattr(jobs, "_TRY_AGAIN_SECONDS", 0.5)
    enqueue, abandon = jobs.DBOS.enqueue_workflow, clew.pipeline.abandon
    full = [OperationalError("INSERT", {}, Exception("database or disk is full"))]

    def refusing(*arguments: object) -> object:
        if full:
            raise full.pop()
        return enqueue(*arguments)

    monkeypatch.setattr(jobs.DBOS, "enqueue_workflow", refusing)
    queued = add(clew, RIVERS)
    assert (queued.status, queued.version, full) == (FileStatus.COMPLETED, 2, [])

    broken = [ServiceRefusedError("The API key is wrong.")]
    embed = slow.embed_passages

    def failing(texts: Sequence[str]) -> FloatArray:
        if broken:
            raise broken.pop()
        return embed(texts)

    silent = [StorageError("It cannot be written.")]

    def abandoning(*arguments: Any) -> File:
        if silent:
            raise silent.pop()
        return abandon(*arguments)

    slow.embed_passages = failing  # type: ignore[method-assign]
    monkeypatch.setattr(IndexingPipeline, "abandon", lambda self, *arguments: abandoning(*arguments))
    again = add(clew, "# Lakes\n\nLake Constance.\n", "lakes.md")
    assert (again.status, again.version, silent) == (FileStatus.COMPLETED, 2, [])
    assert clew.examine() == []


def test_a_full_disk_does_not_keep_anybody_from_searching(
    clew: Clew, slow: SlowEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(clew, RIVERS)

    def full(*arguments: object) -> None:
        raise StorageFullError("The disk is full.")

    monkeypatch.setattr(clew.records, "add_decision", full)
    assert "2,850" in found(clew, "How long is the Danube?")


def test_the_summary_of_an_edited_passage_has_the_new_text(clew: Clew, slow: SlowEmbedder) -> None:
    clew.update_kb("notes", settings={})
    file = add(clew, RIVERS)
    clew.wait([file.file_id], summaries=True, timeout=60)
    assert "2,850" in "".join(section.summary or "" for section in clew.sections(file.file_id))
    clew.edit_chunk(file.file_id, passage(clew, file, "2,850"), text="The Danube is 2,857 kilometres long.")
    clew.wait([file.file_id], summaries=True, timeout=60)
    summaries = "".join(section.summary or "" for section in clew.sections(file.file_id))
    assert ("2,850" in summaries, "2,857" in summaries) == (False, True)


def test_an_ingestion_that_ended_without_a_word_is_begun_again(
    tmp_path: Path, models_folder: Path, embedder: Embedder
) -> None:
    overrides = {"models": {"folder": str(models_folder)}}
    with Clew.open(tmp_path / "other", overrides=overrides) as clew:
        clew.__dict__["embedder"] = embedder
        clew.create_kb("notes", settings=QUIET)
        file = add(clew, RIVERS)
    with Clew.open(tmp_path / "other", overrides=overrides) as clew:
        clew.__dict__["embedder"] = embedder
        with clew.records._db.write() as connection:
            connection.execute(tables.files.update().values(status="processing"))
        clew.jobs.start()
        again = clew.wait([file.file_id], timeout=60)[0]
        assert (again.status, again.version) == (FileStatus.COMPLETED, 2)
        assert "2,850" in found(clew, "How long is the Danube?")
