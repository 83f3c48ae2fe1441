"""What an answer cost: every call of every model is counted with it, also the title's, which no answer waits for."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.app import Clew
from fakes.openai_server import Answer, Request, ScriptedServer, Status
from fakes.rerank_server import RerankServer, cohere

Json = dict[str, Any]
NOTES = "# Rivers\n\n## The Danube\n\nThe Danube is 2,850 km long.\n\n## The Rhine\n\nThe Rhine is 1,233 km long.\n"
QUESTION = "How long is the Danube?"
PROMPTS = {
    "Write a title": "title",
    "起一个标题": "title",
    "Rewrite the user's last question": "rewrite",
    "need_more": "planner",
    "Write a passage that answers": "hyde",
    "<source number=": "answer",
}


def part_of(request: Request) -> str:
    return next((part for mark, part in PROMPTS.items() if mark in request.text), "verdict")


def helpful(request: Request) -> Answer:
    texts = {
        "title": "Length of the Danube",
        "rewrite": "How long is the Rhine?",
        "planner": json.dumps({"need_more": False, "next_question": "", "key_entities": [], "reason": "complete"}),
        "hyde": "The river is some thousand kilometres long.",
        "answer": "It is 2,850 km long [1].",
        "verdict": "no",
    }
    return texts[part_of(request)]


@contextmanager
def opened(
    folder: Path, models_folder: Path, script: Callable[[Request], Answer]
) -> Iterator[tuple[Clew, ScriptedServer]]:
    with ScriptedServer(script) as server:
        models = {"folder": str(models_folder), "chat": {"url": server.url, "model": "small", "retries": 0}}
        with Clew.open(folder / "data", overrides={"models": models, "summaries": {"enabled": False}}) as clew:
            clew.create_kb("notes")
            file, _ = clew.add_file("notes", "rivers.md", io.BytesIO(NOTES.encode()))
            clew.wait([file.file_id], timeout=60)
            yield clew, server


def client_of(clew: Clew) -> TestClient:
    return TestClient(create_app(clew), base_url="http://localhost/api/v1")


def ask(client: TestClient, question: str = QUESTION, **more: Any) -> Json:
    response = client.post("/chat", json={"question": question, "kbs": ["notes"], "stream": False} | more)
    assert response.status_code == 200, response.text
    return dict(response.json())


def until(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 30
    while not (value := found()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


def title(client: TestClient, answer: Json) -> str:
    return str(client.get(f"/conversations/{answer['conversation_id']}").json()["title"])


def stored_usage(client: TestClient, answer: Json) -> Json:
    messages = client.get(f"/conversations/{answer['conversation_id']}/messages").json()
    return next(dict(m["usage"]) for m in messages if m["message_id"] == answer["message_id"])


def test_every_call_of_every_model_is_counted(tmp_path: Path, models_folder: Path) -> None:
    with opened(tmp_path, models_folder, helpful) as (clew, server), RerankServer(cohere) as ranks:
        clew.save_models({"reranker": {"kind": "http", "url": ranks.url, "model": "ranks"}})
        client = client_of(clew)
        first = ask(client)
        until(lambda: "title" in stored_usage(client, first)["tokens_by_part"])
        before = len(server.chats), len(ranks.bodies)
        # A question that rules leave open, in a conversation: rewriting, verdicts, planner, reranker, answer.
        second = ask(client, "And the Rhine?", conversation_id=first["conversation_id"], retrieval_mode="multi")
        third = ask(client, "Which of the two came up with more water for it?", retrieval_mode="single", kind="fact")
        until(lambda: "title" in stored_usage(client, third)["tokens_by_part"])
        usages = [stored_usage(client, answer) for answer in (second, third)]
        asked = [part_of(request) for request in server.chats[before[0] :]]

    assert {"rewrite", "planner", "rerank", "embed", "answer"} <= set(usages[0]["tokens_by_part"])
    assert {"hyde", "rerank", "embed", "answer", "title"} <= set(usages[1]["tokens_by_part"])
    for usage in usages:
        parts = usage["tokens_by_part"].values()
        assert usage["tokens"] == {name: sum(part[name] for part in parts) for name in usage["tokens"]}
        assert usage["retrieval_trace"]["usage"] == usage["tokens"]
        assert usage["tokens_by_part"]["rerank"]["rerank_tokens"] > 0
        assert usage["tokens_by_part"]["embed"]["embedding_tokens"] > 0
    calls = sum(usage["tokens"]["calls"] for usage in usages)
    assert calls == len(asked) + len(ranks.bodies) - before[1]
    # Each reply of the scripted server is 11 and 7 tokens.
    assert sum(usage["tokens"]["prompt_tokens"] for usage in usages) == 11 * len(asked)
    assert sum(usage["tokens"]["completion_tokens"] for usage in usages) == 7 * len(asked)


def test_a_verdict_that_cannot_be_read_was_paid_for(tmp_path: Path, models_folder: Path) -> None:
    def babbling(request: Request) -> Answer:
        return "Well." if part_of(request) in ("verdict", "planner") else helpful(request)

    with opened(tmp_path, models_folder, babbling) as (clew, server):
        trace = clew.search("Which river is it that the town lies on?", kbs=["notes"], mode="multi").trace
        assert trace.stop_reason == "planner_failed"
        assert trace.usage.calls == len(server.chats) > 0
        assert trace.usage_by_part["planner"].prompt_tokens == 11


def test_the_title_is_written_in_the_language_of_the_question(tmp_path: Path, models_folder: Path) -> None:
    def script(request: Request) -> Answer:
        if part_of(request) == "title":
            return "多瑙河的长度" if "起一个标题" in request.text else "“Length of the Danube.”"
        return helpful(request)

    with opened(tmp_path, models_folder, script) as (clew, _):
        client = client_of(clew)
        english, chinese = ask(client), ask(client, "多瑙河有多长？")
        assert until(lambda: title(client, english) == "Length of the Danube")
        assert until(lambda: title(client, chinese) == "多瑙河的长度")


@pytest.mark.parametrize(
    "said",
    [Status(500), "", "The Danube is 2,850 km long.\nIt rises in the Black Forest.", "word " * 40],
    ids=["error", "nothing", "an answer", "too long"],
)
def test_where_the_model_writes_no_title_the_question_stays(said: Answer, tmp_path: Path, models_folder: Path) -> None:
    def script(request: Request) -> Answer:
        return said if part_of(request) == "title" else helpful(request)

    with opened(tmp_path, models_folder, script) as (clew, server):
        client = client_of(clew)
        answer = ask(client)
        assert until(lambda: any(part_of(request) == "title" for request in server.chats))
        time.sleep(0.3)
        assert title(client, answer) == QUESTION


def test_no_answer_waits_for_a_title_and_a_person_names_first(tmp_path: Path, models_folder: Path) -> None:
    go_on = threading.Event()

    def slow_title(request: Request) -> Answer:
        if part_of(request) == "title":
            go_on.wait(15)
        return helpful(request)

    with opened(tmp_path, models_folder, slow_title) as (clew, _):
        client = client_of(clew)
        renamed, left = ask(client), ask(client)
        assert not go_on.is_set(), "both answers are there before any title is"
        assert "title" not in left["usage"]["tokens_by_part"]
        path = f"/conversations/{renamed['conversation_id']}"
        assert client.patch(path, json={"title": "Mine"}).status_code == 200
        go_on.set()

        assert until(lambda: title(client, left) == "Length of the Danube")
        usage = until(lambda: u if "title" in (u := stored_usage(client, left))["tokens_by_part"] else None)
        assert usage["tokens"]["prompt_tokens"] == left["usage"]["tokens"]["prompt_tokens"] + 11
        assert until(lambda: "title" in stored_usage(client, renamed)["tokens_by_part"])
        assert title(client, renamed) == "Mine"


def test_titles_can_be_switched_off_and_a_given_one_stays(tmp_path: Path, models_folder: Path) -> None:
    with opened(tmp_path, models_folder, helpful) as (clew, server):
        client = client_of(clew)
        given = client.post("/conversations", json={"title": "Mine", "kbs": ["notes"]}).json()["conversation_id"]
        ask(client, conversation_id=given)
        assert client.get(f"/conversations/{given}").json()["title"] == "Mine"
        answers = clew.settings.answer.model_copy(update={"title_timeout": 0})
        clew.settings = clew.settings.model_copy(update={"answer": answers})
        assert title(client, ask(client)) == QUESTION
        time.sleep(0.2)
        assert not any(part_of(request) == "title" for request in server.chats)


def test_an_answer_that_cannot_begin_says_why(tmp_path: Path, models_folder: Path) -> None:
    with Clew.open(tmp_path / "data", overrides={"models": {"folder": str(models_folder)}}) as clew:
        clew.create_kb("notes", settings={"recursion": {"planner": "model"}})
        client = client_of(clew)
        body = {"question": QUESTION, "kbs": ["notes"], "stream": False, "retrieval_mode": "multi"}
        response = client.post("/chat", json=body)
    assert response.status_code == 503
    assert "needs a language model" in response.json()["detail"]
