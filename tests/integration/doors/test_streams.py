"""Streams that break off, are resumed and are stopped, over real connections."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fakes.server_process import ServedClew

QUESTION = "How long is the Danube? Answer slowly."
Event = tuple[int, str, dict[str, Any]]


@pytest.fixture
def api(server: ServedClew) -> Iterator[httpx.Client]:
    with server.api() as client:
        yield client


def events_of(response: httpx.Response) -> Iterator[Event]:
    number, name = 0, ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield number, name, json.loads(line[6:])


def ask(api: httpx.Client) -> Any:
    return api.stream("POST", "/chat", json={"question": QUESTION, "kbs": ["rivers"]})


def text_of(events: list[Event]) -> str:
    return "".join(data["text"] for _, name, data in events if name == "delta")


def test_a_client_that_leaves_after_three_tokens_comes_back_to_the_whole_answer(api: httpx.Client) -> None:
    seen: list[Event] = []
    with ask(api) as response:
        message_id = response.headers["clew-message-id"]
        for event in events_of(response):
            seen.append(event)
            if sum(name == "delta" for _, name, _ in seen) == 3:
                break
    conversation_id = seen[0][2]["conversation_id"]
    unfinished = api.get(f"/conversations/{conversation_id}/messages").json()[-1]
    assert unfinished["status"] == "streaming", "the answer goes on without its reader"

    with api.stream("GET", f"/chat/{message_id}/events", headers={"Last-Event-ID": str(seen[-1][0])}) as response:
        rest = list(events_of(response))

    assert [number for number, _, _ in [*seen, *rest]] == list(range(1, len(seen) + len(rest) + 1))
    assert text_of([*seen, *rest]).split() == [f"word{n}" for n in range(20)]
    assert [name for _, name, _ in rest if name in {"done", "error", "stopped"}] == ["done"]
    stored = api.get(f"/conversations/{conversation_id}/messages").json()[-1]
    assert (stored["status"], stored["content"]) == ("done", text_of([*seen, *rest]))
    assert stored["usage"]["retrieval_trace"]["rounds"]


def test_a_stopped_answer_keeps_what_was_written(api: httpx.Client) -> None:
    seen: list[Event] = []
    with ask(api) as response:
        message_id = response.headers["clew-message-id"]
        for event in events_of(response):
            seen.append(event)
            if sum(name == "delta" for _, name, _ in seen) == 3:
                assert api.post(f"/chat/{message_id}/stop").status_code == 204

    assert [name for _, name, _ in seen if name not in {"delta", "retrieval_step"}][-2:] == ["usage", "stopped"]
    assert sum(name in {"done", "error", "stopped"} for _, name, _ in seen) == 1
    conversation_id = seen[0][2]["conversation_id"]
    stored = api.get(f"/conversations/{conversation_id}/messages").json()[-1]
    assert (stored["status"], stored["content"]) == ("stopped", text_of(seen))
    assert 3 <= len(stored["content"].split()) < 20
    assert stored["usage"]["retrieval_trace"]["rounds"], "how it was found stays, too"
    cost = stored["usage"]["tokens_by_part"]["answer"]
    assert cost["completion_tokens"] >= 3, "estimated: the model had no time to say"
    assert cost["prompt_tokens"] > 50
    assert api.post(f"/chat/{message_id}/stop").status_code == 204, "stopping again changes nothing"


def test_deleting_a_conversation_ends_its_answer(api: httpx.Client) -> None:
    seen: list[Event] = []
    with ask(api) as response:
        message_id = response.headers["clew-message-id"]
        for event in events_of(response):
            seen.append(event)
            if event[1] == "delta" and sum(name == "delta" for _, name, _ in seen) == 2:
                assert api.delete(f"/conversations/{seen[0][2]['conversation_id']}").status_code == 204

    assert seen[-1][1] in {"stopped", "error"}
    assert len(text_of(seen).split()) < 20
    assert api.get(f"/chat/{message_id}/events").status_code == 404


def test_an_answer_that_nobody_follows_is_written_to_its_end(api: httpx.Client) -> None:
    with ask(api) as response:
        _, _, plan = next(events_of(response))
    deadline = time.monotonic() + 20
    path = f"/conversations/{plan['conversation_id']}/messages"
    while (message := api.get(path).json()[-1])["status"] == "streaming" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (message["status"], len(message["content"].split())) == ("done", 20)
