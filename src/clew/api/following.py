"""What becomes of the files of a knowledge base, as events for one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clew.errors import NotFoundError
from clew.types import SUMMARIES_GO_ON, File, FileStatus

Event = tuple[str, Mapping[str, Any]]


class FilesFollower:
    """Compares what is with what was told last. ``moving(since)`` gives the files that go on or changed after a time,
    ``read`` one file by its id."""

    def __init__(
        self,
        moving: Callable[[str], Sequence[File]],
        read: Callable[[str], File],
        to_json: Callable[[File], Mapping[str, Any]],
        since: str,
    ) -> None:
        self._moving = moving
        self._read = read
        self._to_json = to_json
        self._since = since
        self._going_on: dict[str, File] = {}
        self._numbers = 0

    def look(self) -> list[tuple[int, Event]]:
        """The numbered events since the last look; ``done`` is the last there is. Raises NotFoundError where the
        knowledge base is gone."""
        events = list(self._changes())
        if not self._going_on:
            events.append(("done", {}))
        first, self._numbers = self._numbers + 1, self._numbers + len(events)
        return list(enumerate(events, start=first))

    def _changes(self) -> Iterator[Event]:
        before = self._going_on
        found = {file.file_id: file for file in self._moving(self._since)}
        for file_id in before.keys() - found.keys():
            try:
                found[file_id] = self._read(file_id)
            except NotFoundError:
                yield "gone", {"file_id": file_id}
        self._since = max([self._since, *(file.updated_at for file in found.values())])
        self._going_on = {file_id: file for file_id, file in found.items() if _goes_on(file)}
        for file_id, file in found.items():
            old = before.get(file_id)
            changed = old is None or old.updated_at != file.updated_at
            if file_id not in self._going_on or (changed and file.status is not FileStatus.PROCESSING):
                yield "file", self._to_json(file)
            elif old is None or _progress(old) != _progress(file):
                yield "progress", _progress(file)


def _goes_on(file: File) -> bool:
    return file.status is FileStatus.PROCESSING or file.summary_status in SUMMARIES_GO_ON


def _progress(file: File) -> dict[str, Any]:
    return {
        "file_id": file.file_id,
        "name": file.name,
        "status": file.status,
        "stage": file.stage,
        "progress": file.progress,
        "summary_status": file.summary_status,
        "summary_done": file.summary_done,
        "summary_total": file.summary_total,
    }
