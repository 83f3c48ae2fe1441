"""What every implementation of ``Records`` does; here ``SqlRecords`` on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
import pytest

from clew.errors import ConflictError, NotFoundError
from clew.storage.base import Attachment, Conversation, Message
from clew.storage.records import SqlRecords
from clew.storage.records.tables import HEAD
from clew.types import ChangeReport, FileStatus, SummarySource, SummaryStatus, TokenUsage
from fakes import samples

T = TypeVar("T")


@pytest.fixture
def records(url: str) -> Iterator[SqlRecords]:
    opened = SqlRecords.open(url)
    yield opened
    opened.close()


@pytest.fixture
def kb(records: SqlRecords) -> SqlRecords:
    """Records with the knowledge base kb1."""
    records.create_kb(samples.kb())
    return records


def at_once(number: int, call: Callable[[int], T]) -> list[T | Exception]:
    """Results, or errors, of ``call(i)`` in ``number`` threads that start together."""
    barrier = threading.Barrier(number)

    def run(i: int) -> T | Exception:
        barrier.wait()
        try:
            return call(i)
        except Exception as error:  # noqa: BLE001  the test looks at it
            return error

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, range(number)))


def publish(records: SqlRecords, file_id: str = "f1", version: int = 1, text: str = "Child", number: int = 3) -> None:
    """Stage and publish a version of a file, taking its lock where it is not being processed."""
    if records.get_file(file_id).status is not FileStatus.PROCESSING:
        records.begin_update(samples.new_file(file_id, f"version {version} of {file_id}"))
    parents, children = samples.parents(file_id, number), samples.children(file_id, number, text)
    records.stage(file_id, version, samples.parsed(text), parents, children)
    records.publish(file_id, version)


def completed(records: SqlRecords, file_id: str = "f1", content: str = "v1") -> None:
    """Add a file and publish its version 1."""
    records.add_file(samples.new_file(file_id, content))
    publish(records, file_id)


class TestKbs:
    def test_what_was_created_is_found_by_id_and_by_name(self, records: SqlRecords) -> None:
        kb = replace(
            samples.kb(),
            name="财报 2024",
            settings={"retrieval": {"bm25_b": 0.75, "on": True, "x": None}},
            embedder="e5",
        )
        records.create_kb(kb)
        assert records.get_kb("kb1") == kb
        assert records.get_kb("财报 2024") == kb

    def test_an_id_goes_before_a_name(self, records: SqlRecords) -> None:
        records.create_kb(samples.kb("a", "b"))
        records.create_kb(samples.kb("b", "c"))
        assert records.get_kb("b").kb_id == "b"

    def test_a_taken_name_is_refused(self, kb: SqlRecords) -> None:
        with pytest.raises(ConflictError, match="reports"):
            kb.create_kb(samples.kb("kb2"))
        kb.create_kb(samples.kb("kb2", "other"))
        with pytest.raises(ConflictError, match="reports"):
            kb.update_kb("kb2", name="reports")
        assert [found.name for found in kb.list_kbs()] == ["other", "reports"]

    def test_only_what_is_given_changes(self, kb: SqlRecords) -> None:
        kb.update_kb("kb1", settings={"a": {"b": 1}, "c": 2})
        changed = kb.update_kb("kb1", settings={"a": {}}, embedder="e5")
        assert changed == replace(samples.kb(), settings={"a": {}}, embedder="e5")
        assert kb.update_kb("kb1", description="Annual") == replace(changed, description="Annual")
        assert kb.update_kb("kb1") == kb.get_kb("kb1")

    def test_unknown_ones_are_not_found(self, kb: SqlRecords) -> None:
        with pytest.raises(NotFoundError):
            kb.get_kb("nothing")
        with pytest.raises(NotFoundError):
            kb.update_kb("nothing", name="x")

    def test_deleting_takes_everything_along(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.delete_kb("kb1")
        kb.delete_kb("kb1")
        assert kb.list_kbs() == []
        with pytest.raises(NotFoundError):
            kb.get_file("f1")
        assert kb.file_children("f1", version=1) == []
        assert kb.blocks("f1", 1) == []
        assert kb.file_keys() == set()


class TestAddingFiles:
    def test_a_new_file_is_locked_and_unpublished(self, kb: SqlRecords) -> None:
        file, added = kb.add_file(samples.new_file())
        assert added
        assert file == kb.get_file("f1")
        assert (file.status, file.version, file.enabled) == (FileStatus.PROCESSING, 0, True)
        assert (file.name, file.size, file.file_key, file.source_path) == ("f1.pdf", 2, "f1/v1", "/in/f1.pdf")
        assert file.created_at.endswith("+00:00")

    def test_the_same_bytes_are_one_file_of_a_kb(self, kb: SqlRecords) -> None:
        first, _ = kb.add_file(samples.new_file("f1"))
        assert kb.add_file(samples.new_file("f2")) == (first, False)
        kb.create_kb(samples.kb("kb2", "other"))
        assert kb.add_file(samples.new_file("f2", kb_id="kb2"))[1]

    def test_a_repeated_call_is_answered_like_the_first(self, kb: SqlRecords) -> None:
        first, _ = kb.add_file(samples.new_file())
        assert kb.add_file(samples.new_file()) == (first, True)

    def test_an_id_with_other_bytes_is_refused(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        with pytest.raises(ConflictError):
            kb.add_file(samples.new_file(content="other"))

    def test_an_unknown_kb_is_not_found(self, records: SqlRecords) -> None:
        with pytest.raises(NotFoundError, match="kb1"):
            records.add_file(samples.new_file())

    def test_racing_callers_end_with_one_file(self, kb: SqlRecords) -> None:
        results = at_once(8, lambda i: kb.add_file(samples.new_file(f"f{i}")))
        assert not [r for r in results if isinstance(r, Exception)]
        assert sorted(r[1] for r in results if isinstance(r, tuple)) == [False] * 7 + [True]
        assert len({r[0].file_id for r in results if isinstance(r, tuple)}) == 1
        assert len(kb.list_files("kb1")) == 1

    def test_listing_filters_and_pages(self, kb: SqlRecords) -> None:
        for i, name in enumerate(["b 100%.pdf", "a_100.pdf", "C.PDF", "年报.pdf"]):
            kb.add_file(samples.new_file(f"f{i}", f"v{i}", name=name))
        kb.fail("f2", 1, "empty")
        assert [f.name for f in kb.list_files("kb1")] == ["b 100%.pdf", "a_100.pdf", "C.PDF", "年报.pdf"]
        assert [f.file_id for f in kb.list_files("kb1", offset=1, limit=2)] == ["f1", "f2"]
        assert [f.file_id for f in kb.list_files("kb1", offset=3)] == ["f3"]
        assert [f.file_id for f in kb.list_files("kb1", text="0%")] == ["f0"]
        assert [f.file_id for f in kb.list_files("kb1", text="a_1")] == ["f1"]
        assert [f.file_id for f in kb.list_files("kb1", text="c.pdf")] == ["f2"]
        assert [f.file_id for f in kb.list_files("kb1", text="年")] == ["f3"]
        kb.update_file("f0", facts={"company": "长江电力", "period": "2023", "aliases": ["Yangtze Power"]})
        assert [f.file_id for f in kb.list_files("kb1", text="长江")] == ["f0"]
        assert [f.file_id for f in kb.list_files("kb1", text="2023", limit=1)] == ["f0"]
        assert kb.list_files("kb1", text="aliases") == []
        assert [f.file_id for f in kb.list_files("kb1", status=FileStatus.FAILED)] == ["f2"]
        assert kb.count_files("kb1") == {FileStatus.PROCESSING: 3, FileStatus.FAILED: 1, FileStatus.COMPLETED: 0}


class TestTheLock:
    def test_an_update_takes_it_and_keeps_the_version(self, kb: SqlRecords) -> None:
        completed(kb)
        locked = kb.begin_update(samples.new_file(content="v2 longer", name="new.pdf"))
        assert (locked.status, locked.version, locked.progress) == (FileStatus.PROCESSING, 1, 0.0)
        assert (locked.name, locked.size, locked.file_key) == ("new.pdf", 9, "f1/v2 longer")

    def test_a_second_update_is_refused(self, kb: SqlRecords) -> None:
        completed(kb)
        locked = kb.begin_update(samples.new_file(content="v2"))
        with pytest.raises(ConflictError, match="being processed"):
            kb.begin_update(samples.new_file(content="v3"))
        assert kb.get_file("f1") == locked

    def test_of_racing_updates_one_gets_it(self, kb: SqlRecords) -> None:
        completed(kb)
        results = at_once(6, lambda i: kb.begin_update(samples.new_file(content=f"v{i + 2}")))
        won = [r for r in results if not isinstance(r, Exception)]
        assert len(won) == 1
        assert all(isinstance(r, ConflictError) for r in results if isinstance(r, Exception))
        assert kb.get_file("f1") == won[0]

    def test_the_same_bytes_may_be_processed_anew(self, kb: SqlRecords) -> None:
        completed(kb)
        assert kb.begin_update(samples.new_file()).status is FileStatus.PROCESSING

    def test_bytes_of_another_file_are_refused(self, kb: SqlRecords) -> None:
        completed(kb, "f1", "v1")
        completed(kb, "f2", "v2")
        with pytest.raises(ConflictError, match="same content"):
            kb.begin_update(samples.new_file("f1", "v2"))
        assert kb.get_file("f1").status is FileStatus.COMPLETED

    def test_unknown_files_and_those_of_another_kb_are_not_found(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.create_kb(samples.kb("kb2", "other"))
        for new in (samples.new_file("f9", "v2"), samples.new_file("f1", "v2", kb_id="kb2")):
            with pytest.raises(NotFoundError):
                kb.begin_update(new)

    def test_progress_is_kept_only_while_processing(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        assert kb.set_progress("f1", 1, "embed", 0.5)
        assert (kb.get_file("f1").stage, kb.get_file("f1").progress) == ("embed", 0.5)
        publish(kb)
        assert not kb.set_progress("f1", 1, "late", 0.1)
        assert not kb.set_progress("nothing", 1, "late", 0.1)
        assert (kb.get_file("f1").stage, kb.get_file("f1").progress) == ("", 1.0)


class TestPublishing:
    def test_everything_comes_back_as_it_was_staged(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        parsed, parents, children = samples.parsed(), samples.parents(), samples.children()
        kb.stage("f1", 1, parsed, parents, children)
        kb.publish("f1", 1)
        assert kb.blocks("f1") == list(parsed.blocks)
        assert kb.sections("f1") == list(parsed.sections)
        assert kb.file_parents("f1") == parents
        assert kb.file_children("f1") == children
        assert kb.parents(p.chunk_id for p in parents) == {p.chunk_id: p for p in parents}
        assert kb.children(c.chunk_id for c in children) == {c.chunk_id: c for c in children}

    def test_what_was_read_becomes_the_files(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed(), samples.parents(), samples.children(number=2))
        before = kb.get_file("f1")
        assert (before.title, before.counts, before.pages) == ("", {}, None)
        file = kb.publish("f1", 1)
        assert file == kb.get_file("f1")
        assert (file.status, file.version, file.title, file.language, file.pages) == (
            FileStatus.COMPLETED, 1, "Annual report", "zh", 3,
        )  # fmt: skip
        assert file.counts == {"blocks": 4, "sections": 4, "parents": 3, "children": 2}
        assert file.warnings == ("page 3 is empty",)

    def test_staged_rows_are_seen_only_by_their_version(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
        assert kb.children(["f1-c0"]) == {}
        assert kb.parents(["f1-p0"]) == {}
        assert kb.blocks("f1") == []
        assert len(kb.blocks("f1", 1)) == 4
        assert len(kb.sections("f1", version=1)) == 4
        assert len(kb.file_parents("f1", version=1)) == 3
        assert len(kb.file_children("f1", version=1)) == 3

    def test_a_new_version_replaces_the_old_one_at_once(self, kb: SqlRecords, url: str) -> None:
        completed(kb)
        other = SqlRecords.open(url)
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed("New."), samples.parents(number=1), samples.children(number=1, text="New"))
        assert kb.children(["f1-c0", "f1-c1"]) == {}  # hidden while processing
        assert [c.text for c in other.file_children("f1")] == ["Child 0", "Child 1", "Child 2"]
        kb.publish("f1", 2)
        for records in (kb, other):
            assert {i: c.text for i, c in records.children(["f1-c0", "f1-c1"]).items()} == {"f1-c0": "New 0"}
            assert [c.text for c in records.file_children("f1")] == ["New 0"]
            assert records.blocks("f1")[1].text == "New."
            assert records.blocks("f1", 1) == []
            assert records.sections("f1", version=1) == []
            assert records.file_parents("f1", version=1) == []
            assert records.file_children("f1", version=1) == []
        other.close()

    def test_readers_see_the_old_version_or_the_new_one_never_a_mixture(self, kb: SqlRecords) -> None:
        completed(kb)
        stop, mixtures = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                seen = {c.text.split()[0] for c in kb.children([f"f1-c{i}" for i in range(40)]).values()}
                if len(seen) > 1:
                    mixtures.append(seen)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for version in range(2, 12):
                publish(kb, version=version, text=f"v{version}", number=40)
        finally:
            stop.set()
            reader.join()
        assert mixtures == []

    def test_staging_again_replaces_an_interrupted_attempt(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed("Old."), samples.parents(), samples.children(number=9))
        publish(kb, text="New", number=1)
        assert [c.text for c in kb.file_children("f1")] == ["New 0"]
        assert len(kb.blocks("f1")) == 4

    def test_a_published_version_cannot_be_staged(self, kb: SqlRecords) -> None:
        completed(kb)
        with pytest.raises(ConflictError):
            kb.stage("f1", 1, samples.parsed(), [], [])
        assert len(kb.file_children("f1")) == 3

    def test_publishing_twice_changes_nothing_more(self, kb: SqlRecords) -> None:
        completed(kb)
        assert replace(kb.publish("f1", 1), updated_at="") == replace(kb.get_file("f1"), updated_at="")
        assert len(kb.file_children("f1")) == 3

    def test_what_the_update_changed_is_the_files(self, kb: SqlRecords) -> None:
        completed(kb)
        assert kb.get_file("f1").changes is None
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        changes = ChangeReport(blocks_reused=3, blocks_changed=1, embeddings_made=2, embeddings_saved=40)
        assert kb.publish("f1", 2, changes=changes).changes == changes
        kb.begin_update(samples.new_file(content="v3"))
        kb.fail("f1", 3, "damaged")
        assert kb.update_file("f1", status=FileStatus.COMPLETED).changes == changes

    def test_an_attempt_that_was_ended_can_write_nothing_more(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        kb.fail("f1", 2, "cancelled")
        assert kb.begin_update(samples.new_file(content="v3")).writing == 3
        kb.stage("f1", 3, samples.parsed("Third."), samples.parents(), samples.children(text="Third"))
        with pytest.raises(ConflictError):
            kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        with pytest.raises(NotFoundError):
            kb.publish("f1", 2)
        with pytest.raises(ConflictError):
            kb.fail("f1", 2, "damaged")
        assert not kb.set_progress("f1", 2, "embed", 0.5)
        kb.publish("f1", 3)
        assert [c.text for c in kb.file_children("f1")] == ["Third 0", "Third 1", "Third 2"]

    def test_an_attempt_that_ended_silently_is_begun_again(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        assert kb.begin_again("f1", 2).writing == 3
        with pytest.raises(ConflictError):
            kb.begin_again("f1", 2)
        with pytest.raises(ConflictError):
            kb.publish("f1", 2)
        publish(kb, version=3, text="Again")
        assert [c.text for c in kb.file_children("f1")] == ["Again 0", "Again 1", "Again 2"]
        for file_id, error in (("f1", ConflictError), ("nothing", NotFoundError)):
            with pytest.raises(error):
                kb.begin_again(file_id, 3)

    def test_a_cancelled_attempt_cannot_publish(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
        kb.fail("f1", 1, "cancelled")
        with pytest.raises(NotFoundError):
            kb.publish("f1", 1)
        assert kb.get_file("f1").status is FileStatus.FAILED

    def test_what_is_not_staged_cannot_be_published(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        for file_id in ("f1", "nothing"):
            with pytest.raises(NotFoundError):
                kb.publish(file_id, 1)
        with pytest.raises(NotFoundError):
            kb.stage("nothing", 1, samples.parsed(), [], [])

    def test_a_staging_that_fails_leaves_nothing(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        twice = samples.children(number=1) * 2
        with pytest.raises(Exception, match="database"):
            kb.stage("f1", 1, samples.parsed(), samples.parents(), twice)
        assert kb.blocks("f1", 1) == []
        with pytest.raises(NotFoundError):
            kb.publish("f1", 1)

    def test_characters_that_no_database_holds_are_replaced(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed("a\0b\ud800c"), samples.parents(), samples.children(text="x\0"))
        kb.publish("f1", 1)
        assert kb.blocks("f1")[1].text == "a\ufffdb\ufffdc"
        assert kb.file_children("f1")[0].text == "x\ufffd 0"


class TestFailing:
    def test_the_first_version(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        kb.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
        failed = kb.fail("f1", 1, "The file needs a password")
        assert (failed.status, failed.version, failed.reason) == (FileStatus.FAILED, 0, "The file needs a password")
        assert kb.file_children("f1", version=1) == []
        assert kb.begin_update(samples.new_file()).reason == ""

    def test_an_update_keeps_the_published_version_stored_but_hidden(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed("New."), samples.parents(), samples.children(text="New"))
        failed = kb.fail("f1", 2, "damaged")
        assert (failed.version, failed.file_key) == (1, "f1/v2")
        assert kb.children(["f1-c0"]) == {}
        assert [c.text for c in kb.file_children("f1")] == ["Child 0", "Child 1", "Child 2"]
        assert kb.blocks("f1", 2) == []
        assert kb.file_keys() == kb.file_keys("f1") == {"f1/v1", "f1/v2"}
        assert kb.file_keys("f2") == set()

    def test_a_failed_file_is_restored_to_its_published_version(self, kb: SqlRecords) -> None:
        completed(kb)
        before = kb.get_file("f1")
        kb.begin_update(samples.new_file(content="v2 longer", name="new.docx"))
        kb.fail("f1", 2, "damaged")
        restored = kb.update_file("f1", status=FileStatus.COMPLETED)
        assert replace(restored, updated_at=before.updated_at, writing=before.writing) == before
        assert set(kb.children(["f1-c0"])) == {"f1-c0"}
        assert kb.file_keys() == {"f1/v1"}

    def test_what_cannot_be_restored_is_refused(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file("f1", "v1"))
        with pytest.raises(ConflictError):  # processing
            kb.update_file("f1", status=FileStatus.COMPLETED)
        kb.fail("f1", 1, "damaged")
        with pytest.raises(ConflictError):  # nothing to restore
            kb.update_file("f1", status=FileStatus.COMPLETED)
        with pytest.raises(ConflictError):  # the lock has its own door
            kb.update_file("f1", status=FileStatus.PROCESSING)
        completed(kb, "f2", "v2")
        kb.begin_update(samples.new_file("f2", "v3"))
        with pytest.raises(ConflictError):  # would break the lock
            kb.update_file("f2", status=FileStatus.COMPLETED)
        kb.fail("f2", 2, "damaged")
        kb.add_file(samples.new_file("f3", "v2"))
        with pytest.raises(ConflictError, match="same content"):
            kb.update_file("f2", status=FileStatus.COMPLETED)
        assert kb.get_file("f2").status is FileStatus.FAILED

    def test_an_unknown_file_is_not_found(self, kb: SqlRecords) -> None:
        with pytest.raises(NotFoundError):
            kb.fail("nothing", 1, "gone")


class TestHiding:
    def test_a_disabled_file_gives_no_chunks(self, kb: SqlRecords) -> None:
        completed(kb)
        assert not kb.update_file("f1", enabled=False).enabled
        assert kb.children(["f1-c0"]) == {}
        assert kb.parents(["f1-p0"]) == {}
        kb.update_file("f1", enabled=True)
        assert set(kb.children(["f1-c0"])) == {"f1-c0"}
        assert set(kb.parents(["f1-p0"])) == {"f1-p0"}

    def test_hidden_versions_are_those_of_files_that_no_search_sees(self, kb: SqlRecords) -> None:
        for i in range(5):
            completed(kb, f"f{i}", f"v{i}")
        kb.begin_update(samples.new_file("f1", "new"))
        kb.begin_update(samples.new_file("f2", "broken"))
        kb.fail("f2", 2, "broken")
        kb.update_file("f3", enabled=False)
        kb.add_file(samples.new_file("f5", "v5"))
        expected = {("f1", 1), ("f1", 2), ("f2", 1), ("f2", 2), ("f3", 1), ("f5", 0), ("f5", 1)}
        assert kb.hidden_versions("kb1") == expected
        assert kb.hidden_versions("kb2") == frozenset()

    def test_other_changes_of_a_file(self, kb: SqlRecords) -> None:
        completed(kb)
        facts = {"company": "招商银行", "period": {"year": 2024}, "dates": ["2024-12-31"]}
        changed = kb.update_file("f1", name="report.pdf", facts=facts)
        assert changed == kb.get_file("f1")
        assert (changed.name, changed.facts, changed.status) == ("report.pdf", facts, FileStatus.COMPLETED)
        with pytest.raises(NotFoundError):
            kb.update_file("nothing", enabled=False)

    def test_files_that_move(self, kb: SqlRecords) -> None:
        completed(kb, "f1", "v1")
        kb.add_file(samples.new_file("f2", "v2"))
        done = kb.get_file("f1").updated_at
        assert [f.file_id for f in kb.moving_files("kb1", "")] == ["f1", "f2"]
        assert [f.file_id for f in kb.moving_files("kb1", done)] == ["f2"]
        kb.fail("f2", 1, "broken")
        failed = kb.get_file("f2").updated_at
        assert [f.file_id for f in kb.moving_files("kb1", done)] == ["f2"]
        assert kb.moving_files("kb1", failed) == []
        run = kb.begin_summaries("f1")
        assert [f.file_id for f in kb.moving_files("kb1", failed)] == ["f1"]
        kb.end_summaries("f1", run)
        assert kb.moving_files("kb1", failed) == kb.moving_files("kb2", "") == []

    def test_what_models_cost_adds_up_by_part(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        assert kb.get_file("f1").usage == {}
        done = at_once(8, lambda i: kb.add_usage("f1", "vision" if i % 2 else "summary", TokenUsage(10, i, calls=1)))
        assert done == [None] * 8
        assert kb.get_file("f1").usage == {
            "summary": TokenUsage(40, 0 + 2 + 4 + 6, calls=4),
            "vision": TokenUsage(40, 1 + 3 + 5 + 7, calls=4),
        }
        publish(kb)
        assert kb.get_file("f1").usage["vision"].calls == 4, "a new version costs more, not anew"
        kb.add_usage("gone", "vision", TokenUsage(1))

    def test_a_deleted_file_is_gone_with_all_versions(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.begin_update(samples.new_file("f1", "v1b"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        completed(kb, "f2", "v2")
        kb.delete_file("f1")
        kb.delete_file("f1")
        with pytest.raises(NotFoundError):
            kb.get_file("f1")
        assert kb.children(["f1-c0"]) == {}
        assert kb.blocks("f1", 1) == kb.blocks("f1", 2) == []
        assert set(kb.children(["f1-c0", "f2-c0"])) == {"f2-c0"}
        assert kb.file_keys() == {"f2/v2"}


class TestReading:
    def test_a_prefix_matches_its_section_and_what_is_below(self, kb: SqlRecords) -> None:
        completed(kb)
        assert [s.path for s in kb.sections("f1")] == ["", "0001/", "0001/0001/", "0010/"]
        assert [s.path for s in kb.sections("f1", prefix="0001/")] == ["0001/", "0001/0001/"]
        assert [s.path for s in kb.sections("f1", prefix="0010/")] == ["0010/"]
        assert kb.sections("f1", prefix="%") == kb.sections("f1", prefix="____/") == []
        assert [p.ordinal for p in kb.file_parents("f1", prefix="0001/")] == [0, 1]
        assert [p.ordinal for p in kb.file_parents("f1", prefix="0010/")] == [2]

    def test_blocks_and_sections_page_by_page(self, kb: SqlRecords) -> None:
        completed(kb)
        whole, tree = kb.blocks("f1"), kb.sections("f1")
        assert [kb.blocks("f1", offset=i, limit=1) for i in range(5)] == [*([block] for block in whole), []]
        assert kb.blocks("f1", offset=2) == whole[2:]
        assert kb.sections("f1", offset=1, limit=2) == tree[1:3]
        assert kb.sections("f1", prefix="0001/", offset=1, limit=9) == tree[2:3]

    def test_children_of_some_parents(self, kb: SqlRecords) -> None:
        completed(kb)
        parents = kb.file_parents("f1")
        second = [child for child in kb.file_children("f1") if child.parent_id == parents[1].chunk_id]
        assert second
        assert kb.file_children("f1", parent_ids=[parents[1].chunk_id]) == second
        assert kb.file_children("f1", parent_ids=[]) == []

    def test_parents_by_ordinal_range(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        publish(kb, number=12)
        assert [p.ordinal for p in kb.file_parents("f1", first=3, last=5)] == [3, 4, 5]
        assert [p.ordinal for p in kb.file_parents("f1", first=10)] == [10, 11]
        assert [p.ordinal for p in kb.file_parents("f1", last=0)] == [0]
        assert [p.ordinal for p in kb.file_parents("f1", prefix="0010/", first=3, last=8)] == [5, 8]
        assert [p.ordinal for p in kb.file_parents("f1")] == list(range(12))

    def test_more_ids_than_a_statement_takes(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        publish(kb, number=1200)
        ids = [f"f1-c{i}" for i in range(1200)]
        assert set(kb.children([*ids, *ids, "unknown"])) == set(ids)
        assert kb.children([]) == {}

    def test_unknown_files_have_no_rows(self, kb: SqlRecords) -> None:
        assert kb.blocks("nothing") == []
        assert kb.sections("nothing") == []
        assert kb.file_parents("nothing") == []
        assert kb.file_children("nothing") == []


@dataclass(frozen=True)
class _Talk:
    first = Conversation(
        "c1", "Revenue", "2025-01-01T00:00:00.000000+00:00", "2025-01-01T00:00:00.000000+00:00", ("a",)
    )
    second = Conversation("c2", "", "2025-01-02T00:00:00.000000+00:00", "2025-01-02T00:00:00.000000+00:00")


class TestConversations:
    def test_latest_first_and_a_message_makes_latest(self, records: SqlRecords) -> None:
        records.create_conversation(_Talk.first)
        records.create_conversation(_Talk.second)
        assert records.get_conversation("c1") == _Talk.first
        assert records.list_conversations() == [_Talk.second, _Talk.first]
        records.add_message(Message("m1", "c1", "user", "收入?", "2025-01-03T00:00:00.000000+00:00"))
        assert [c.conversation_id for c in records.list_conversations()] == ["c1", "c2"]
        assert [c.conversation_id for c in records.list_conversations(offset=1, limit=1)] == ["c2"]

    def test_a_title_is_given_only_instead_of_the_one_that_is_meant(self, records: SqlRecords) -> None:
        records.create_conversation(Conversation("c1", "first", "2025-01-01", "2025-01-01"))
        records.rename_conversation("c1", "second", instead_of="first")
        records.rename_conversation("c1", "third", instead_of="first")
        assert records.get_conversation("c1").title == "second"
        with pytest.raises(NotFoundError):
            records.rename_conversation("c2", "x", instead_of="first")

    def test_messages_keep_their_order_and_usage(self, records: SqlRecords) -> None:
        records.create_conversation(_Talk.first)
        usage = {"trace": {"rounds": [{"question": "谁？", "hits": 3, "ms": 1.25}], "uncertain": False}, "notice": None}
        same_time = "2025-01-03T00:00:00.000000+00:00"
        asked = Message("m9", "c1", "user", "收入?", same_time)
        answer = Message("m1", "c1", "assistant", "", same_time, "streaming")
        records.add_message(asked)
        records.add_message(answer)
        records.update_message("m1", content="12 亿元 [1]", status="done", usage=usage)
        records.update_message("m1")
        assert records.messages("c1") == [asked, replace(answer, content="12 亿元 [1]", status="done", usage=usage)]
        assert list(records.get_message("m1").usage) == ["trace", "notice"]
        assert [m.message_id for m in records.messages("c1", latest_first=True)] == ["m1", asked.message_id]
        assert records.messages("c1", limit=1) == [asked]
        assert records.messages("c1", offset=1, limit=5) == records.messages("c1")[1:]
        assert records.messages("nothing") == []

    def test_usage_that_json_does_not_hold(self, records: SqlRecords) -> None:
        records.create_conversation(_Talk.first)
        usage = {"score": float("nan"), "best": float("-inf"), "text": "a\0b\udc00", "escaped": "\\u0000", "t": (1, 2)}
        records.add_message(Message("m1", "c1", "assistant", "x\0", "2025-01-03", usage=usage))
        kept = records.get_message("m1")
        assert kept.content == "x\ufffd"
        assert kept.usage == {
            "score": None, "best": None, "text": "a\ufffdb\ufffd", "escaped": "\\u0000", "t": [1, 2],
        }  # fmt: skip

    def test_renaming_and_deleting(self, records: SqlRecords) -> None:
        records.create_conversation(_Talk.first)
        records.add_message(Message("m1", "c1", "user", "hi", "2025-01-03"))
        records.rename_conversation("c1", "收入")
        assert records.get_conversation("c1").title == "收入"
        records.delete_conversation("c1")
        records.delete_conversation("c1")
        assert records.messages("c1") == []
        with pytest.raises(NotFoundError):
            records.get_conversation("c1")
        with pytest.raises(NotFoundError):
            records.get_message("m1")

    def test_what_is_missing_or_taken(self, records: SqlRecords) -> None:
        message = Message("m1", "c1", "user", "hi", "2025-01-03")
        with pytest.raises(NotFoundError):
            records.add_message(message)
        with pytest.raises(NotFoundError):
            records.rename_conversation("c1", "x")
        with pytest.raises(NotFoundError):
            records.update_message("m1", status="done")
        records.create_conversation(_Talk.first)
        records.add_message(message)
        with pytest.raises(ConflictError):
            records.create_conversation(_Talk.first)
        with pytest.raises(ConflictError):
            records.add_message(message)


class TestVectors:
    def test_known_vectors_come_back(self, records: SqlRecords) -> None:
        rng = np.random.default_rng(1)
        unit = rng.normal(size=(1200, 384)).astype(np.float32)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        records.put_vectors("e5", {f"k{i}": v for i, v in enumerate(unit)})
        found = records.get_vectors("e5", [f"k{i}" for i in range(1201)])
        assert set(found) == {f"k{i}" for i in range(1200)}
        assert found["k7"].dtype == np.float32
        assert np.abs(np.stack([found[f"k{i}"] for i in range(1200)]) - unit).max() < 5e-4
        assert max(abs(1 - float(found[f"k{i}"] @ unit[i])) for i in range(1200)) < 1e-4

    def test_models_are_kept_apart_and_known_keys_keep_their_vector(self, records: SqlRecords) -> None:
        records.put_vectors("a", {"k": np.array([1, 0], np.float32)})
        records.put_vectors("a", {"k": np.array([0, 1], np.float32)})
        records.put_vectors("b", {"k": np.array([0, 0, 1], np.float32)})
        records.put_vectors("b", {})
        assert records.get_vectors("a", ["k"])["k"].tolist() == [1, 0]
        assert records.get_vectors("b", ["k"])["k"].tolist() == [0, 0, 1]
        assert records.get_vectors("c", ["k"]) == {}

    def test_writers_of_the_same_keys_do_not_lock_each_other_out(self, records: SqlRecords) -> None:
        vectors = {f"k{i}": np.array([1, 0], np.float32) for i in range(200)}
        orders = [vectors, dict(reversed(vectors.items()))]
        results = at_once(6, lambda i: records.put_vectors("e5", orders[i % 2]))
        assert results == [None] * 6


NAMES = {"henry edwards": ("f1-c0", "f1-c2"), "威廉琼斯": ("f1-c1",)}


class TestNames:
    """Names of what chunks are about."""

    def stage(self, records: SqlRecords, version: int) -> None:
        records.stage("f1", version, samples.parsed(), samples.parents("f1"), samples.children("f1"))

    def test_they_are_seen_with_the_publish_of_their_version(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        self.stage(kb, 1)
        kb.stage_names("f1", 1, NAMES)
        assert kb.named_versions("kb1") == frozenset()
        kb.publish("f1", 1)
        assert kb.named_versions("kb1") == {("f1", 1)}
        assert kb.names("f1", 1) == NAMES

    def test_a_new_version_replaces_them_and_staging_again_drops_them(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        self.stage(kb, 1)
        kb.stage_names("f1", 1, NAMES)
        kb.publish("f1", 1)
        kb.begin_update(samples.new_file(content="v2"))
        self.stage(kb, 2)
        kb.stage_names("f1", 2, {"old": ("f1-c0",)})
        self.stage(kb, 2)
        assert kb.names("f1", 2) == {}
        kb.stage_names("f1", 2, {"old": ("f1-c0",)})
        kb.stage_names("f1", 2, {"new": ("f1-c1",)})
        assert kb.named_versions("kb1") == frozenset(), "the file is being updated"
        kb.publish("f1", 2)
        assert kb.named_versions("kb1") == {("f1", 2)}
        assert kb.names("f1", 2) == {"new": ("f1-c1",)}
        assert kb.names("f1", 1) == {}

    def test_hidden_and_deleted_files_have_none(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        self.stage(kb, 1)
        kb.stage_names("f1", 1, NAMES)
        kb.publish("f1", 1)
        kb.update_file("f1", enabled=False)
        assert kb.named_versions("kb1") == frozenset()
        kb.delete_file("f1")
        assert kb.names("f1", 1) == {}

    def test_a_version_that_is_not_staged_takes_none(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        with pytest.raises(NotFoundError, match="not staged"):
            kb.stage_names("f1", 1, NAMES)


class TestSummaries:
    WRITTEN: ClassVar[dict[str, tuple[str, SummarySource]]] = {
        "": ("A root.", "extractive"),
        "0001/": ("One.\nTwo.", "model"),
    }

    def test_they_follow_the_publish_in_one_of_their_own(self, kb: SqlRecords) -> None:
        completed(kb)
        assert kb.get_file("f1").summary_status is SummaryStatus.OFF
        run = kb.begin_summaries("f1")
        assert kb.get_file("f1").summary_status is SummaryStatus.PENDING
        assert kb.set_summary_progress("f1", run, 2, 5)
        file = kb.get_file("f1")
        assert (file.summary_status, file.summary_done, file.summary_total) == (SummaryStatus.RUNNING, 2, 5)
        assert kb.put_summaries("f1", run, self.WRITTEN, {"f1-p0": ["Why?", "How 100%_?"]})
        assert kb.end_summaries("f1", run, model="small")
        file = kb.get_file("f1")
        assert (file.summary_status, file.summary_done, file.summary_model) == (SummaryStatus.COMPLETED, 5, "small")
        found = {s.path: (s.summary, s.summary_source) for s in kb.sections("f1")}
        assert found == {**self.WRITTEN, "0001/0001/": (None, None), "0010/": (None, None)}
        assert kb.questions("f1") == {"f1-p0": ("Why?", "How 100%_?")}

    def test_a_later_run_replaces_everything_and_an_earlier_one_writes_nothing_more(self, kb: SqlRecords) -> None:
        completed(kb)
        first = kb.begin_summaries("f1")
        kb.put_summaries("f1", first, self.WRITTEN, {"f1-p0": ["Why?"]})
        second = kb.begin_summaries("f1")
        assert not kb.put_summaries("f1", first, {"": ("Late.", "model")}, {})
        assert not kb.set_summary_progress("f1", first, 1, 1)
        assert not kb.end_summaries("f1", first)
        assert kb.sections("f1")[0].summary == "A root."
        assert kb.put_summaries("f1", second, {"0010/": ("Annex.", "model")}, {})
        assert [s.summary for s in kb.sections("f1")] == [None, None, None, "Annex."]
        assert kb.questions("f1") == {}

    def test_what_is_over_is_over(self, kb: SqlRecords) -> None:
        completed(kb)
        run = kb.begin_summaries("f1")
        assert kb.end_summaries("f1", run, failure="The model is down.")
        file = kb.get_file("f1")
        assert (file.summary_status, file.summary_reason) == (SummaryStatus.FAILED, "The model is down.")
        assert not kb.put_summaries("f1", run, self.WRITTEN, {})

    def test_a_new_version_ends_the_old_ones_run_and_drops_what_it_wrote(self, kb: SqlRecords) -> None:
        completed(kb)
        run = kb.begin_summaries("f1")
        kb.put_summaries("f1", run, self.WRITTEN, {"f1-p0": ["Why?"]})
        kb.end_summaries("f1", run, model="small")
        kb.begin_update(samples.new_file("f1", "v2"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        assert kb.questions("f1") == {"f1-p0": ("Why?",)}
        kb.publish("f1", 2, summaries=True)
        file = kb.get_file("f1")
        assert (file.summary_status, file.summary_model) == (SummaryStatus.PENDING, "")
        assert not kb.put_summaries("f1", run, self.WRITTEN, {})
        assert kb.questions("f1") == {}
        kb.set_summary_progress("f1", file.summary_run, 1, 2)
        kb.publish("f1", 2, summaries=True)
        assert kb.get_file("f1").summary_status is SummaryStatus.RUNNING

    def test_nothing_to_summarise(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        with pytest.raises(ConflictError, match=r"f1\.pdf"):
            kb.begin_summaries("f1")
        with pytest.raises(NotFoundError):
            kb.begin_summaries("nothing")
        assert not kb.end_summaries("nothing", 1)

    def test_the_outline_has_upper_levels_first_and_hides_what_search_hides(self, kb: SqlRecords) -> None:
        for number in range(1, 4):
            completed(kb, f"f{number}", f"v{number}")
        kb.update_file("f3", enabled=False)
        found = [(file_id, section.path) for file_id, section in kb.outline("kb1")]
        assert found == [
            ("f1", ""), ("f2", ""), ("f1", "0001/"), ("f1", "0010/"), ("f2", "0001/"), ("f2", "0010/"),
            ("f1", "0001/0001/"), ("f2", "0001/0001/"),
        ]  # fmt: skip
        assert [file_id for file_id, _ in kb.outline("kb1", file_ids=["f2", "f3"])] == ["f2"] * 4
        assert len(kb.outline("kb1", limit=3)) == 3
        assert kb.outline("kb1", file_ids=[]) == []
        assert kb.outline("kb1", limit=1)[0][1].summary == "All in all."


class TestCacheUses:
    def cached(self, records: SqlRecords) -> str:
        keys = ["a", "b", "c", "free"]
        return "".join(sorted(records.get_vectors("e5", keys))) + "".join(sorted(records.get_outputs("t", "m", keys)))

    def fill(self, records: SqlRecords) -> None:
        records.put_vectors("e5", {key: np.array([1, 0], np.float32) for key in ("a", "b", "c", "free")})
        records.put_outputs("t", "m", {"a": "A", "b": "B"})

    def test_what_no_version_needs_goes_with_the_last_that_did(self, kb: SqlRecords) -> None:
        completed(kb)
        completed(kb, "f2", "v2")
        kb.use_cached("f1", 1, ["a", "b", "a"])
        kb.use_cached("f2", 1, ["b", "c"])
        self.fill(kb)
        kb.begin_update(samples.new_file(content="v3"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        kb.use_cached("f1", 2, ["b"])
        assert self.cached(kb) == "abcfreeab"
        kb.publish("f1", 2)
        assert self.cached(kb) == "bcfreeb"
        kb.delete_file("f2")
        assert self.cached(kb) == "bfreeb"
        kb.delete_kb("kb1")
        assert self.cached(kb) == "free"

    def test_what_was_paid_for_stays_until_a_later_version_has_what_it_needs(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.use_cached("f1", 1, ["a", "b"], "reading")
        kb.use_cached("f1", 1, ["b", "c"], "summaries")
        self.fill(kb)
        publish(kb, version=2)
        assert self.cached(kb) == "abcfreeab"
        kb.use_cached("f1", 2, ["b"], "reading")
        kb.use_cached("f1", 3, ["free"], "reading")  # a failed attempt
        kb.forget_cached("f1", 1, "reading")
        assert self.cached(kb) == "abcfreeab", "what it needs itself"
        kb.forget_cached("f1", 2, "reading")
        assert self.cached(kb) == "bcfreeb"
        kb.forget_cached("f1", 2, "summaries")
        assert self.cached(kb) == "bfreeb"
        kb.delete_file("f1")
        assert self.cached(kb) == ""
        with pytest.raises(ConflictError, match="no longer there"):
            kb.use_cached("f1", 2, ["a"], "reading")

    def test_a_failed_attempt_takes_along_what_it_alone_needed(self, kb: SqlRecords) -> None:
        completed(kb)
        kb.use_cached("f1", 1, ["a"])
        kb.begin_update(samples.new_file(content="v2"))
        kb.stage("f1", 2, samples.parsed(), samples.parents(), samples.children())
        kb.use_cached("f1", 2, ["a", "b", "c"])
        self.fill(kb)
        kb.fail("f1", 2, "damaged")
        assert self.cached(kb) == "afreea"

    def test_nothing_is_cached_for_a_version_that_is_gone(self, kb: SqlRecords) -> None:
        kb.add_file(samples.new_file())
        for file_id in ("f1", "nothing"):
            with pytest.raises(ConflictError, match="no longer there"):
                kb.use_cached(file_id, 1, ["a"])


class TestBlockCache:
    def test_outputs_come_back_by_task_and_model(self, records: SqlRecords) -> None:
        records.put_outputs("summary", "m", {"a": "A 𝄞", "b": ""})
        records.put_outputs("summary", "m", {"a": "other"})
        records.put_outputs("questions", "m", {"a": "Q"})
        assert records.get_outputs("summary", "m", ["a", "b", "c"]) == {"a": "A 𝄞", "b": ""}
        assert records.get_outputs("summary", "n", ["a"]) == {}


def test_decisions_are_listed_by_kind_oldest_first(records: SqlRecords) -> None:
    for i in range(3):
        records.add_decision("complexity", {"question": f"谁{i}？", "score": 0.25 * i, "features": [0.0, 1.0]})
    records.add_decision("kind", {"question": "总结"})
    assert [d["question"] for d in records.decisions("complexity")] == ["谁0？", "谁1？", "谁2？"]
    assert [d["question"] for d in records.decisions("complexity", limit=2, latest_first=True)] == ["谁2？", "谁1？"]
    assert records.decisions("complexity", offset=1, limit=1) == [
        {"question": "谁1？", "score": 0.25, "features": [0.0, 1.0]}
    ]
    assert records.decisions("kind") == [{"question": "总结"}]


def test_check_names_database_and_revision(records: SqlRecords) -> None:
    line = records.check()
    assert f"revision {HEAD}" in line
    assert "\n" not in line


# --- attachments -----------------------------------------------------------------------------------------------


def conversation(records: SqlRecords, conversation_id: str, updated: str = "2025-01-01T00:00:00.000000+00:00") -> None:
    records.create_conversation(Conversation(conversation_id, "", updated, updated))


def attached(attachment_id: str, conversation_id: str = "c1", skipped: str = "") -> Attachment:
    time = "2025-01-01T00:00:00.000000+00:00"
    return Attachment(
        attachment_id, conversation_id, f"{attachment_id}.pdf", "application/pdf", 7, time, 0, False, skipped
    )


def test_attachments_are_those_of_their_conversation_the_newest_last(records: SqlRecords) -> None:
    conversation(records, "c1")
    conversation(records, "c2")
    for attachment in (attached("b"), attached("a", skipped="too large"), attached("x", "c2")):
        records.add_attachment(attachment)

    assert records.attachments("c1") == [attached("b"), attached("a", skipped="too large")]
    assert records.attachments("c2") == [attached("x", "c2")]
    assert records.attachments("nothing") == []
    assert records.get_conversation("c1").updated_at > "2025-01-02"
    records.update_attachment("b", tokens=12, embedded=True)
    assert records.get_attachment("b") == replace(attached("b"), tokens=12, embedded=True)
    records.update_attachment("b", skipped="kept long enough")
    assert records.get_attachment("b").skipped == "kept long enough"
    records.delete_attachment("b")
    records.delete_attachment("b")
    assert [found.attachment_id for found in records.attachments("c1")] == ["a"]
    with pytest.raises(NotFoundError):
        records.get_attachment("b")
    with pytest.raises(NotFoundError):
        records.add_attachment(attached("y", "nothing"))
    with pytest.raises(ConflictError):
        records.add_attachment(attached("x", "c1"))


def test_a_conversation_takes_its_attachments_and_their_kb_along(records: SqlRecords) -> None:
    conversation(records, "c1")
    records.create_kb(replace(samples.kb("kb9", "attached"), conversation_id="c1"))
    records.add_file(samples.new_file(kb_id="kb9"))
    records.add_attachment(attached("f1"))
    assert records.get_kb("kb9").conversation_id == "c1"

    records.delete_conversation("c1")

    assert records.attachments("c1") == []
    for look in (lambda: records.get_kb("kb9"), lambda: records.get_file("f1")):
        with pytest.raises(NotFoundError):
            look()


def test_attachments_of_conversations_that_rest(records: SqlRecords) -> None:
    for name in ("c1", "c2"):
        conversation(records, name)
    records.add_attachment(attached("old"))
    records.add_attachment(attached("none", skipped="too large"))
    time = records.get_conversation("c1").updated_at
    records.add_attachment(attached("new", "c2"))

    assert records.attachments_unused_since(time) == []
    later = records.get_conversation("c2").updated_at
    assert [a.attachment_id for a in records.attachments_unused_since(later)] == ["old"]


class TestFacts:
    def test_only_searchable_files_that_have_some(self, kb: SqlRecords) -> None:
        completed(kb)
        completed(kb, "f2", "v2")
        completed(kb, "f3", "v3")
        kb.add_file(samples.new_file("f4", "v4"))
        kb.update_file("f1", facts={"period": "2019", "aliases": ["甲"]})
        kb.update_file("f3", facts={"period": "2020"}, enabled=False)
        assert kb.file_facts("kb1") == {"f1": {"period": "2019", "aliases": ["甲"]}}
        assert kb.file_facts("nowhere") == {}

    def test_the_stamp_changes_with_every_change(self, kb: SqlRecords) -> None:
        stamps = [kb.facts_stamp("kb1")]
        completed(kb)
        stamps.append(kb.facts_stamp("kb1"))
        kb.update_file("f1", facts={"period": "2019"})
        stamps.append(kb.facts_stamp("kb1"))
        kb.update_file("f1", enabled=False)
        stamps.append(kb.facts_stamp("kb1"))
        kb.delete_file("f1")
        stamps.append(kb.facts_stamp("kb1"))
        assert len(set(stamps[:-1])) == 4
        assert stamps[-1] != stamps[-2]
        assert kb.facts_stamp("kb1") == stamps[-1]
