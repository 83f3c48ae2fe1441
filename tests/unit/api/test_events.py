from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from clew.api import events
from clew.errors import NotFoundError, ServiceUnavailableError
from clew.types import AnswerEvent


async def _body(items: Iterator[tuple[int, AnswerEvent]]) -> str:
    response = await events.answer_stream(items)
    return "".join([bytes(part).decode() async for part in response.body_iterator])


def test_an_event_is_one_line_of_json_with_its_number() -> None:
    encoded = events.encode("delta", {"text": "一\n二"}, 7).decode()

    assert encoded == 'id: 7\nevent: delta\ndata: {"text":"一\\n二"}\n\n'


def test_events_are_streamed_in_order_and_numbered() -> None:
    items = [(1, AnswerEvent("delta", {"text": "a"})), (2, AnswerEvent("done", {"message_id": "m", "status": "done"}))]

    body = asyncio.run(_body(iter(items)))

    assert [frame.split("\n")[:2] for frame in body.strip().split("\n\n")] == [
        ["id: 1", "event: delta"],
        ["id: 2", "event: done"],
    ]


def test_silence_is_filled_with_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(events, "FIRST_EVENT_SECONDS", 0.01)
    silence = threading.Event()

    def slow() -> Iterator[tuple[int, AnswerEvent]]:
        silence.wait(0.3)
        yield 1, AnswerEvent("stopped", {})

    body = asyncio.run(_body(slow()))

    assert body.startswith(": still here\n\n")
    assert body.endswith("event: stopped\ndata: {}\n\n")


def test_an_error_before_the_first_event_is_raised() -> None:
    def unknown() -> Iterator[tuple[int, AnswerEvent]]:
        raise NotFoundError("There is no answer 'x'.")
        yield

    with pytest.raises(NotFoundError):
        asyncio.run(_body(unknown()))


@pytest.mark.parametrize(
    ("error", "detail"),
    [(ServiceUnavailableError("The model timed out."), "The model timed out."), (KeyError("secret"), "server's log")],
)
def test_a_later_error_ends_the_stream_with_an_event_that_tells_nothing_internal(error: Exception, detail: str) -> None:
    def breaking() -> Iterator[tuple[int, AnswerEvent]]:
        yield 1, AnswerEvent("delta", {"text": "a"})
        raise error

    last = asyncio.run(_body(breaking())).strip().split("\n\n")[-1]

    assert last.startswith("event: error\n")
    assert detail in json.loads(last.split("data: ")[1])["detail"]
    assert "secret" not in last


def test_a_client_that_leaves_closes_the_iterator() -> None:
    closed = threading.Event()

    def endless() -> Iterator[tuple[int, AnswerEvent]]:
        try:
            while True:
                yield 1, AnswerEvent("delta", {"text": "a"})
        finally:
            closed.set()

    async def leave() -> None:
        response = await events.answer_stream(endless())
        body = response.body_iterator
        await anext(aiter(body))
        await body.aclose()  # type: ignore[attr-defined]

    asyncio.run(leave())

    assert closed.wait(2)
