"""Server-sent events: encoding, heartbeats, and the bridge from Clew's blocking iterators to the event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from clew.api.following import FilesFollower
from clew.api.problems import title_and_detail
from clew.errors import ClewError
from clew.types import AnswerEvent, File, FileStatus

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": still here\n\n"
POLL_SECONDS = 0.25
FILES_POLL_SECONDS = 0.5
# How long the first event may take before the response's head is sent; errors until then become an HTTP status.
FIRST_EVENT_SECONDS = 0.25

STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
END = object()
_EVENT_NUMBER = re.compile(r"[0-9]{1,18}")


def encode(event: str, data: Mapping[str, Any], number: int | None = None) -> bytes:
    """One event as bytes: ``id`` (where numbered), ``event``, one line of JSON ``data``, an empty line."""
    head = f"id: {number}\n" if number is not None else ""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{head}event: {event}\ndata: {text}\n\n".encode()


def last_event_id(request: Request) -> int:
    """The number after which the client wants to go on; 0 where it has seen nothing (or sends nonsense)."""
    value = request.headers.get("last-event-id", "").strip()
    return int(value) if _EVENT_NUMBER.fullmatch(value) else 0


async def answer_stream(
    events: Iterator[tuple[int, AnswerEvent]], headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """A response that streams an answer's numbered events with heartbeats between them.

    Errors that come at once (an unknown message) are raised; later ones end the stream with an ``error`` event.
    A client that goes away ends only its own stream: the answer itself goes on.
    """
    reader = Reader(events)
    await reader.ready(FIRST_EVENT_SECONDS)
    return StreamingResponse(
        _answer_bytes(reader), media_type="text/event-stream", headers={**STREAM_HEADERS, **(headers or {})}
    )


def file_stream(read: Callable[[], File], to_json: Callable[[File], Mapping[str, Any]]) -> StreamingResponse:
    """A response that streams a file's ``progress`` until it is completed or failed, then ``done`` with the file."""
    return StreamingResponse(_file_bytes(read, to_json), media_type="text/event-stream", headers=STREAM_HEADERS)


def files_stream(follower: FilesFollower) -> StreamingResponse:
    """A response that streams what becomes of many files: ``progress`` of each, ``file`` with each that comes to an end
    or changes, ``gone`` of each that is deleted, and ``done`` once nothing is processed or summarised any more."""
    return StreamingResponse(_files_bytes(follower), media_type="text/event-stream", headers=STREAM_HEADERS)


class Reader:
    """Reads a blocking iterator in a thread of its own; ``next`` can be awaited with a time-out and asked again."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clew-sse")
        self._pending: asyncio.Future[Any] | None = None

    def _ask(self) -> asyncio.Future[Any]:
        if self._pending is None:
            loop = asyncio.get_running_loop()
            self._pending = loop.run_in_executor(self._thread, next, self._items, END)
        return self._pending

    async def ready(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the next item; raises what the iterator raised meanwhile."""
        pending = self._ask()
        done, _ = await asyncio.wait({pending}, timeout=seconds)
        if done and (error := pending.exception()) is not None:
            self.close()
            raise error

    async def next(self, seconds: float) -> Any:
        """The next item, ``END`` after the last, or None where ``seconds`` pass without one."""
        pending = self._ask()
        done, _ = await asyncio.wait({pending}, timeout=seconds)
        if not done:
            return None
        self._pending = None
        return pending.result()

    def close(self) -> None:
        """Let go of the iterator as soon as its thread is free; never waits."""
        close = getattr(self._items, "close", None)
        if close is not None:
            self._thread.submit(close)
        self._thread.shutdown(wait=False)


async def _answer_bytes(reader: Reader) -> AsyncIterator[bytes]:
    try:
        while (item := await reader.next(HEARTBEAT_SECONDS)) is not END:
            if item is None:
                yield HEARTBEAT
                continue
            number, event = item
            yield encode(event.type, event.data, number)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - the head is sent: only an event can still say what happened
        yield _error_event(error)
    finally:
        reader.close()


async def _file_bytes(read: Callable[[], File], to_json: Callable[[File], Mapping[str, Any]]) -> AsyncIterator[bytes]:
    seen: tuple[str, float] | None = None
    number = 0
    silent = 0.0
    try:
        while (file := await run_in_threadpool(read)).status is FileStatus.PROCESSING:
            number += 1
            if (file.stage, file.progress) != seen:
                seen, silent = (file.stage, file.progress), 0.0
                yield encode(
                    "progress", {"status": file.status, "stage": file.stage, "progress": file.progress}, number
                )
            elif silent >= HEARTBEAT_SECONDS:
                silent = 0.0
                yield HEARTBEAT
            await asyncio.sleep(POLL_SECONDS)
            silent += POLL_SECONDS
        yield encode("done", to_json(file), number + 1)
    except ClewError as error:
        yield _error_event(error)


async def _files_bytes(follower: FilesFollower) -> AsyncIterator[bytes]:
    silent = 0.0
    try:
        while True:
            events = await run_in_threadpool(follower.look)
            for number, (name, data) in events:
                yield encode(name, data, number)
            if events and events[-1][1][0] == "done":
                return
            silent = 0.0 if events else silent + FILES_POLL_SECONDS
            if silent >= HEARTBEAT_SECONDS:
                silent = 0.0
                yield HEARTBEAT
            await asyncio.sleep(FILES_POLL_SECONDS)
    except ClewError as error:
        yield _error_event(error)


def _error_event(error: Exception) -> bytes:
    if not isinstance(error, ClewError):
        logging.getLogger(__name__).error("an event stream broke", exc_info=error)
    title, detail = title_and_detail(error)
    return encode("error", {"title": title, "detail": detail})
