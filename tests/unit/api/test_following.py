"""One stream for the files of a knowledge base: what is told, and what is told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.api.following import FilesFollower
from clew.errors import NotFoundError
from clew.types import File, FileStatus, SummaryStatus

FIRST = File("f1", "kb", "a.txt", "text/plain", 1, "key", "hash", FileStatus.PROCESSING, 0, "2026-01-01", "2026-01-01")
SECOND = replace(FIRST, file_id="f2", name="b.txt")


class Records:
    """What ``moving_files`` and ``get_file`` give for a handful of files."""

    def __init__(self, *files: File) -> None:
        self.files = {file.file_id: file for file in files}

    def change(self, file_id: str, **changes: object) -> None:
        self.files[file_id] = replace(self.files[file_id], **changes)  # type: ignore[arg-type]

    def moving(self, since: str) -> list[File]:
        going = {SummaryStatus.PENDING, SummaryStatus.RUNNING}
        return [
            file
            for file in self.files.values()
            if file.status is FileStatus.PROCESSING or file.summary_status in going or file.updated_at > since
        ]

    def read(self, file_id: str) -> File:
        if file_id not in self.files:
            raise NotFoundError(file_id)
        return self.files[file_id]

    def follower(self, since: str = "2026-01-02") -> FilesFollower:
        return FilesFollower(self.moving, self.read, lambda file: {"file": file.file_id, "status": file.status}, since)


def told(follower: FilesFollower) -> list[tuple[int, str, str]]:
    return [(number, name, str(data.get("file", data.get("file_id")))) for number, (name, data) in follower.look()]


def test_each_change_is_told_once_and_the_end_when_nothing_goes_on() -> None:
    records = Records(FIRST, SECOND)
    follower = records.follower()
    assert told(follower) == [(1, "progress", "f1"), (2, "progress", "f2")]
    assert told(follower) == []
    records.change("f1", stage="embed", progress=0.5)
    assert told(follower) == [(3, "progress", "f1")]
    records.change("f1", status=FileStatus.COMPLETED, version=1, updated_at="2026-01-03")
    assert told(follower) == [(4, "file", "f1")]
    records.change("f2", status=FileStatus.FAILED, updated_at="2026-01-04")
    assert told(follower) == [(5, "file", "f2"), (6, "done", "None")]


def test_summaries_go_on_behind_a_file_that_can_be_searched() -> None:
    records = Records(FIRST)
    follower = records.follower()
    told(follower)
    done = {"status": FileStatus.COMPLETED, "version": 1, "updated_at": "2026-01-03"}
    records.change("f1", **done, summary_status=SummaryStatus.PENDING)
    assert told(follower) == [(2, "file", "f1")]
    records.change("f1", summary_status=SummaryStatus.RUNNING, summary_done=1, summary_total=3)
    assert told(follower) == [(3, "progress", "f1")]
    records.change("f1", summary_status=SummaryStatus.COMPLETED)
    assert told(follower) == [(4, "file", "f1"), (5, "done", "None")]


def test_a_file_that_is_deleted_is_gone() -> None:
    records = Records(FIRST, SECOND)
    follower = records.follower()
    told(follower)
    del records.files["f1"]
    assert told(follower) == [(3, "gone", "f1")]
    del records.files["f2"]
    assert told(follower) == [(4, "gone", "f2"), (5, "done", "None")]


@pytest.mark.parametrize(("since", "events"), [("2026-01-02", ["file", "done"]), ("2026-01-04", ["done"])])
def test_what_was_over_before_is_told_where_it_is_asked_for(since: str, events: list[str]) -> None:
    records = Records(replace(FIRST, status=FileStatus.COMPLETED, version=1, updated_at="2026-01-03"))
    assert [name for _, name, _ in told(records.follower(since))] == events
