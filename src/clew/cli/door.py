"""The two ways in which a command reaches a data folder: opening it, or through the server that has it open.

Both speak the JSON of the HTTP API, so that a command prints the same whichever it uses.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from clew.app import Clew
from clew.errors import InputError
from clew.trace import to_json
from clew.types import FileFilter, RetrievalMode, SectionFilter

Json = dict[str, Any]

SERVER_FILE = "server.json"


class Door(Protocol):
    """What commands need of a data folder."""

    def create_kb(self, name: str, settings: Mapping[str, Any], description: str) -> Json: ...
    def list_kbs(self) -> list[Json]: ...
    def update_kb(self, name: str, settings: Mapping[str, Any]) -> Json: ...
    def delete_kb(self, name: str) -> None: ...
    def list_files(self, kb: str) -> list[Json]: ...
    def file(self, file_id: str) -> Json: ...
    def add_file(self, kb: str, path: Path, source_path: str) -> Json: ...
    def update_file(self, file_id: str, path: Path) -> Json: ...
    def restore_file(self, file_id: str) -> Json: ...
    def enable_file(self, file_id: str, *, enabled: bool) -> Json: ...
    def correct_facts(self, file_id: str, changes: Json) -> Json: ...
    def remove_file(self, file_id: str) -> None: ...
    def summarise(self, kb: str, *, again: bool) -> list[Json]: ...
    def describe(self, kb: str) -> list[Json]: ...
    def search(self, request: Json) -> Json:
        """Hits and trace for a request as ``POST /search`` takes it."""
        ...

    def route(self, question: str, kb: str | None, *, record: bool = True) -> Json:
        """Both decisions: ``complexity`` and ``kind``."""
        ...

    def decisions(self) -> list[Json]:
        """The recorded complexity decisions, oldest first."""
        ...

    def complexity_settings(self) -> Json:
        """Those in force, without any knowledge base's own."""
        ...

    def ask(self, request: Json) -> Iterator[tuple[str, Json]]:
        """The answer's events for a request as ``POST /chat`` takes it."""
        ...

    def attach(self, paths: Sequence[Path]) -> str:
        """Attach files to a new conversation, whose id is returned; its first question waits until they are read."""
        ...

    def check(self) -> list[Json]: ...
    def examine(self, *, repair: bool) -> list[Json]: ...
    def close(self) -> None: ...


def open_door(data: Path, overrides: Mapping[str, Any] | None = None) -> Door:
    """The server's door where one has the folder open, else the folder's own. Raises ClewError."""
    url = announced_server(data)
    if url is not None:
        # The HTTP client takes a tenth of a command's start, and most commands ask no server.
        from clew.cli.http_door import HttpDoor, answers  # noqa: PLC0415

        if answers(url):
            return HttpDoor(url)
    return LocalDoor(Clew.open(data, overrides=overrides))


def announced_server(data: Path) -> str | None:
    """The URL of the server that said it has the folder open; it may be gone."""
    try:
        return str(json.loads((data / SERVER_FILE).read_text("utf-8"))["url"])
    except (OSError, ValueError, KeyError):
        return None


def announce_server(data: Path, url: str) -> Path:
    """Write where the folder's server listens; returns the file, which the server removes at its end."""
    path = data / SERVER_FILE
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}), "utf-8")
    temporary.replace(path)
    return path


class LocalDoor:
    """Opens the folder in this process."""

    def __init__(self, clew: Clew) -> None:
        self.clew = clew

    def create_kb(self, name: str, settings: Mapping[str, Any], description: str) -> Json:
        return _json(self.clew.create_kb(name, settings=settings, description=description))

    def list_kbs(self) -> list[Json]:
        return [
            _json(kb) | {"files": {str(k): v for k, v in self.clew.count_files(kb.kb_id).items()}}
            for kb in self.clew.list_kbs()
        ]

    def update_kb(self, name: str, settings: Mapping[str, Any]) -> Json:
        return _json(self.clew.update_kb(name, settings=settings))

    def delete_kb(self, name: str) -> None:
        self.clew.delete_kb(name)

    def list_files(self, kb: str) -> list[Json]:
        return [_json(file) for file in self.clew.list_files(kb)]

    def file(self, file_id: str) -> Json:
        return _json(self.clew.file(file_id))

    def add_file(self, kb: str, path: Path, source_path: str) -> Json:
        with path.open("rb") as source:
            file, is_new = self.clew.add_file(kb, path.name, source, source_path=source_path)
        return _json(file) | {"is_new": is_new}

    def update_file(self, file_id: str, path: Path) -> Json:
        with path.open("rb") as source:
            return _json(self.clew.update_file(file_id, path.name, source))

    def restore_file(self, file_id: str) -> Json:
        return _json(self.clew.restore_file(file_id))

    def enable_file(self, file_id: str, *, enabled: bool) -> Json:
        return _json(self.clew.change_file(file_id, enabled=enabled))

    def correct_facts(self, file_id: str, changes: Json) -> Json:
        return _json(self.clew.correct_facts(file_id, changes))

    def remove_file(self, file_id: str) -> None:
        self.clew.remove_file(file_id)

    def summarise(self, kb: str, *, again: bool) -> list[Json]:
        return [_json(file) for file in self.clew.backfill(kb, again=again)]

    def describe(self, kb: str) -> list[Json]:
        return [_json(file) for file in self.clew.describe(kb)]

    def search(self, request: Json) -> Json:
        sections = request.get("sections")
        result = self.clew.search(
            request["question"],
            kbs=request["kbs"],
            files=self._files(request),
            sections=None if sections is None else [SectionFilter(s["file_id"], s["section_path"]) for s in sections],
            mode=request.get("retrieval_mode", "auto"),
            kind=request.get("kind", "auto"),
            overlay=request.get("settings"),
        )
        return {"hits": to_json(result.hits), "trace": to_json(result.trace)}

    def route(self, question: str, kb: str | None, *, record: bool = True) -> Json:
        return {
            "complexity": to_json(self.clew.route(question, kb=kb, record=record)),
            "kind": to_json(self.clew.route_kind(question, kb=kb, record=record)),
        }

    def decisions(self) -> list[Json]:
        return [dict(record) for record in self.clew.decisions()]

    def complexity_settings(self) -> Json:
        return self.clew.settings.complexity.model_dump(mode="json")

    def ask(self, request: Json) -> Iterator[tuple[str, Json]]:
        for event in self.clew.ask(
            request["question"],
            kbs=request["kbs"],
            files=self._files(request),
            mode=request["retrieval_mode"],
            kind=request.get("kind", "auto"),
            conversation_id=request.get("conversation_id"),
        ):
            yield event.type, dict(event.data)

    def attach(self, paths: Sequence[Path]) -> str:
        conversation_id = self.clew.create_conversation("").conversation_id
        for path in paths:
            with path.open("rb") as source:
                self.clew.attach(conversation_id, path.name, source)
        return conversation_id

    def _files(self, request: Json) -> Sequence[str] | None:
        files, where = request.get("files"), request.get("where")
        return files if where is None else self.clew.files_where(request["kbs"], FileFilter(**where), files)

    def check(self) -> list[Json]:
        return [_json(check) for check in self.clew.check()]

    def examine(self, *, repair: bool) -> list[Json]:
        return [_json(finding) for finding in self.clew.examine(repair=repair)]

    def close(self) -> None:
        self.clew.close()


def search_request(
    question: str, kbs: Sequence[str], files: Sequence[str], mode: RetrievalMode, where: Sequence[str] = ()
) -> Json:
    """A request as ``POST /search`` and ``POST /chat`` take it; ``where`` are filters as ``name=value``. Raises
    InputError for another one."""
    request: Json = {"question": question, "kbs": list(kbs), "files": list(files) or None, "retrieval_mode": mode}
    return request | ({"where": _file_filter(where)} if where else {})


def _file_filter(assignments: Sequence[str]) -> Json:
    wanted: Json = {}
    names = [each.name for each in dataclasses.fields(FileFilter)]
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        if not sign or name.strip() not in names:
            raise InputError(f"--where {assignment}: write name=value with one of {', '.join(names)}.")
        wanted[name.strip()] = value.strip()
    return wanted


def _json(value: Any) -> Json:
    return cast(Json, to_json(value))
