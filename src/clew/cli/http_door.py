"""The door through the server that has a data folder open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import httpx

from clew.errors import ClewError, ConflictError, InputError, NotFoundError, ServiceUnavailableError

Json = dict[str, Any]

_TIMEOUT = httpx.Timeout(10.0, read=600.0)


def answers(url: str) -> bool:
    """Whether a server at ``url`` is up."""
    try:
        return httpx.get(f"{url}/health", timeout=3.0, trust_env=False).is_success
    except httpx.HTTPError:
        return False


_PAGE = 1000


class HttpDoor:
    """Goes through the server at ``url``."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=f"{url}/api/v1", timeout=_TIMEOUT, trust_env=False)

    def create_kb(self, name: str, settings: Mapping[str, Any], description: str) -> Json:
        body = {"name": name, "settings": dict(settings), "description": description}
        return cast(Json, self._call("POST", "/kbs", json=body))

    def list_kbs(self) -> list[Json]:
        return cast(list[Json], self._call("GET", "/kbs"))

    def update_kb(self, name: str, settings: Mapping[str, Any]) -> Json:
        return cast(Json, self._call("PATCH", f"/kbs/{self.kb_id(name)}", json={"settings": dict(settings)}))

    def delete_kb(self, name: str) -> None:
        self._call("DELETE", f"/kbs/{self.kb_id(name)}")

    def list_files(self, kb: str) -> list[Json]:
        files: list[Json] = []
        kb_id = self.kb_id(kb)
        while True:
            page = cast(Json, self._call("GET", f"/kbs/{kb_id}/files", params={"offset": len(files), "limit": 200}))
            files += page["items"]
            if not page["items"] or len(files) >= page["total"]:
                return files

    def file(self, file_id: str) -> Json:
        return cast(Json, self._call("GET", f"/files/{file_id}"))

    def correct_facts(self, file_id: str, changes: Json) -> Json:
        return cast(Json, self._call("PATCH", f"/files/{file_id}", json={"facts": changes}))

    def add_file(self, kb: str, path: Path, source_path: str) -> Json:
        with path.open("rb") as source:
            response = self._send(
                "POST",
                f"/kbs/{self.kb_id(kb)}/files",
                files={"file": (path.name, source)},
                data={"source_path": source_path},
            )
        return cast(Json, response.json()) | {"is_new": response.status_code == httpx.codes.CREATED}

    def update_file(self, file_id: str, path: Path) -> Json:
        with path.open("rb") as source:
            return cast(Json, self._call("PUT", f"/files/{file_id}/content", files={"file": (path.name, source)}))

    def restore_file(self, file_id: str) -> Json:
        return cast(Json, self._call("POST", f"/files/{file_id}/restore"))

    def enable_file(self, file_id: str, *, enabled: bool) -> Json:
        return cast(Json, self._call("PATCH", f"/files/{file_id}", json={"enabled": enabled}))

    def remove_file(self, file_id: str) -> None:
        self._call("DELETE", f"/files/{file_id}")

    def summarise(self, kb: str, *, again: bool) -> list[Json]:
        return cast(list[Json], self._call("POST", f"/kbs/{self.kb_id(kb)}/summaries", json={"again": again}))

    def describe(self, kb: str) -> list[Json]:
        return cast(list[Json], self._call("POST", f"/kbs/{self.kb_id(kb)}/descriptions"))

    def search(self, request: Json) -> Json:
        return cast(Json, self._call("POST", "/search", json=request))

    def route(self, question: str, kb: str | None, *, record: bool = True) -> Json:
        return cast(Json, self._call("POST", "/route", json={"question": question, "kb": kb, "record": record}))

    def decisions(self) -> list[Json]:
        latest_first: list[Json] = []
        while True:
            wanted = {"offset": len(latest_first), "limit": _PAGE}
            page = cast(list[Json], self._call("GET", "/decisions", params=wanted))
            latest_first += page
            if len(page) < _PAGE:
                return latest_first[::-1]

    def complexity_settings(self) -> Json:
        return cast(Json, self._call("GET", "/settings")["values"]["complexity"])

    def ask(self, request: Json) -> Iterator[tuple[str, Json]]:
        body = request | {"stream": True}
        try:
            with self._client.stream("POST", "/chat", json=body) as response:
                if response.is_error:
                    response.read()
                    raise _error_of(response)
                yield from _events(response.iter_lines())
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def attach(self, paths: Sequence[Path]) -> str:
        conversation_id = str(self._call("POST", "/conversations", json={})["conversation_id"])
        for path in paths:
            with path.open("rb") as source:
                self._call("POST", f"/conversations/{conversation_id}/attachments", files={"file": (path.name, source)})
        return conversation_id

    def check(self) -> list[Json]:
        return cast(list[Json], self._call("GET", "/doctor"))

    def examine(self, *, repair: bool) -> list[Json]:
        method, path = ("POST", "/doctor/repair") if repair else ("GET", "/doctor/deep")
        return cast(list[Json], self._call(method, path))

    def close(self) -> None:
        self._client.close()

    def kb_id(self, name_or_id: str) -> str:
        for kb in self.list_kbs():
            if name_or_id in (kb["kb_id"], kb["name"]):
                return str(kb["kb_id"])
        raise NotFoundError(f"There is no knowledge base {name_or_id!r}; `clew kb list` shows all of them.")

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        response = self._send(method, path, **arguments)
        return response.json() if response.content else None

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            response = self._request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if response.is_error:
            raise _error_of(response)
        return response

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            return self._client.request(method, path, **arguments)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            # The server closed a connection that was idle just as it was used again; asking again is harmless.
            if method != "GET":
                raise
            return self._client.request(method, path, **arguments)

    def _unreachable(self, error: httpx.HTTPError) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"{self._client.base_url}: the Clew server that has this data folder open did not answer ({error}); "
            "see its log, or stop it and try again."
        )


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    name, data = "", ""
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and data:
            yield name, json.loads(data)
            name, data = "", ""


def _error_of(response: httpx.Response) -> ClewError:
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the server answered {response.status_code}"
    kinds = {404: NotFoundError, 409: ConflictError, 422: InputError, 400: InputError}
    return kinds.get(response.status_code, ServiceUnavailableError)(detail)
