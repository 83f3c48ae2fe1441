"""Conversations, their attachments and their export over the API of a real Clew. (A process ingests into one data
folder at a time: the module has one of its own.)"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.app import Clew

Json = dict[str, Any]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("api") / "data"
    with Clew.open(folder, overrides={"models": {"folder": str(models_folder)}}) as clew:
        yield TestClient(create_app(clew), base_url="http://localhost")


@pytest.fixture
def talk(client: TestClient) -> str:
    return new_talk(client)


def new_talk(client: TestClient, **body: object) -> str:
    response = client.post("/api/v1/conversations", json=body)
    assert response.status_code == 201, response.text
    return f"/api/v1/conversations/{response.json()['conversation_id']}"


def attach(client: TestClient, talk: str, name: str, content: bytes) -> Json:
    response = client.post(f"{talk}/attachments", files={"file": (name, content)})
    assert response.status_code == 201, response.text
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        files = {f["file_id"]: f for f in client.get(f"{talk}/attachments").json()["files"]}
        file: Json = files[response.json()["file_id"]]
        if file["status"] != "processing" and (file["embedded"] or file["status"] != "ready"):
            return file
        time.sleep(0.05)
    raise AssertionError("still being read")


def ask(client: TestClient, talk: str, question: str) -> Json:
    body = {"question": question, "conversation_id": talk.rsplit("/", 1)[1], "stream": False}
    response = client.post("/api/v1/chat", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_a_conversation_over_attachments_alone(client: TestClient, talk: str) -> None:
    file = attach(client, talk, "C:\\papers\\depot.txt", b"The code of the depot is 7341.")
    assert (file["name"], file["tier"], file["size"], file["reason"]) == ("depot.txt", "context", 30, "")
    package = client.get(f"{talk}/attachments").json()
    assert package["stuff_texts"] == package["bm25_scope"] == package["semantic_scope"] == [file["file_id"]]

    answer = ask(client, talk, "What is the code of the depot?")

    assert "7341" in answer["answer"]
    (citation,) = answer["citations"]
    assert (citation["file_name"], citation["file_id"]) == ("depot.txt", file["file_id"])
    assert client.get(f"/api/v1/files/{file['file_id']}/original").content == b"The code of the depot is 7341."
    assert client.get(talk).json()["title"] == "What is the code of the depot?", "the first question is the title"
    found = client.post(
        "/api/v1/search", json={"question": "code of the depot", "conversation_id": talk.rsplit("/", 1)[1]}
    ).json()
    assert found["trace"]["attachments"][0]["read"] == "whole"


def test_attachments_are_removed_and_unreadable_ones_say_why(client: TestClient, talk: str) -> None:
    good = attach(client, talk, "a.txt", b"Alpha is the first letter.")
    bad = attach(client, talk, "broken.pdf", b"%PDF-1.7 nothing")
    assert (bad["tier"], bad["status"]) == ("failed", "failed")
    assert bad["reason"]

    assert client.delete(f"{talk}/attachments/{good['file_id']}").status_code == 204
    assert client.delete(f"{talk}/attachments/{good['file_id']}").status_code == 404
    assert [f["name"] for f in client.get(f"{talk}/attachments").json()["files"]] == ["broken.pdf"]
    assert client.get(f"/api/v1/files/{good['file_id']}").status_code == 404


def test_what_belongs_to_another_conversation_is_not_there(client: TestClient, talk: str) -> None:
    file = attach(client, talk, "a.txt", b"Alpha is the first letter.")
    answer = ask(client, talk, "Which letter is the first?")
    other = new_talk(client)
    kb_id = client.get(f"/api/v1/files/{file['file_id']}").json()["kb_id"]

    refused = [
        client.delete(f"{other}/attachments/{file['file_id']}"),
        client.put(f"{other}/messages/{answer['message_id']}/feedback", json={"rating": "up"}),
        client.delete(f"/api/v1/files/{file['file_id']}"),
        client.put(f"/api/v1/files/{file['file_id']}/content", files={"file": ("b.txt", b"b")}),
        client.get(f"/api/v1/kbs/{kb_id}"),
        client.get(f"/api/v1/kbs/{kb_id}/files"),
        client.patch(f"/api/v1/kbs/{kb_id}", json={"name": "mine"}),
        client.delete(f"/api/v1/kbs/{kb_id}"),
        client.post("/api/v1/search", json={"question": "Alpha", "kbs": [kb_id]}),
        client.post("/api/v1/chat", json={"question": "Alpha", "kbs": [kb_id]}),
        client.post("/api/v1/conversations", json={"kbs": [kb_id]}),
        client.get("/v1/models/" + kb_id),
        client.get("/api/v1/conversations/c_nothing/attachments"),
        client.post("/api/v1/conversations/c_nothing/attachments", files={"file": ("b.txt", b"b")}),
        client.get("/api/v1/conversations/c_nothing/export"),
        client.post("/api/v1/search", json={"question": "Alpha", "conversation_id": "c_nothing"}),
    ]

    assert [r.status_code for r in refused] == [404] * len(refused)
    assert not any("alpha" in r.text.lower().replace('"alpha"', "") for r in refused), "nothing is revealed"
    assert kb_id not in client.get("/api/v1/kbs").text


def test_a_conversation_is_exported_with_its_traces(client: TestClient, talk: str) -> None:
    attach(client, talk, "depot.txt", b"The code of the depot is 7341.")
    answer = ask(client, talk, "What is the code of the depot?")
    client.put(f"{talk}/messages/{answer['message_id']}/feedback", json={"rating": "down", "comment": "too short"})

    markdown = client.get(f"{talk}/export")
    document = client.get(f"{talk}/export", params={"format": "json"})

    assert markdown.headers["content-type"].startswith("text/markdown")
    assert "filename*=UTF-8''What%20is%20the%20code" in markdown.headers["content-disposition"]
    assert "## Question\n\nWhat is the code of the depot?" in markdown.text
    assert "- [1] depot.txt" in markdown.text
    exported = document.json()["messages"][1]
    assert exported["content"] == answer["answer"]
    assert exported["usage"]["retrieval_trace"] == answer["retrieval_trace"]
    assert exported["usage"]["feedback"] == {"rating": "down", "comment": "too short"}
    assert client.get(f"{talk}/export", params={"format": "pdf"}).status_code == 422


def test_feedback_is_kept_with_the_answer(client: TestClient, talk: str) -> None:
    attach(client, talk, "depot.txt", b"The code of the depot is 7341.")
    path = f"{talk}/messages/{ask(client, talk, 'What is the code of the depot?')['message_id']}/feedback"

    assert client.put(path, json={"rating": "up"}).status_code == 204
    question, answer = client.get(f"{talk}/messages").json()
    assert answer["usage"]["feedback"] == {"rating": "up", "comment": ""}
    assert answer["usage"]["retrieval_trace"]["rounds"]
    assert client.delete(path).status_code == 204
    assert client.get(f"{talk}/messages").json()[1]["usage"]["feedback"] is None
    assert client.put(path, json={"rating": "great"}).status_code == 422
    user = f"{talk}/messages/{question['message_id']}/feedback"
    assert client.put(user, json={"rating": "up"}).status_code == 404


def test_small_talk_looks_nothing_up(client: TestClient, talk: str) -> None:
    attach(client, talk, "depot.txt", b"The code of the depot is 7341.")
    ask(client, talk, "What is the code of the depot?")
    body = {"question": "What did I ask?", "conversation_id": talk.rsplit("/", 1)[1]}

    stream = client.post("/api/v1/chat", json=body).text
    names = [line.removeprefix("event: ") for line in stream.splitlines() if line.startswith("event: ")]
    answer = client.get(f"{talk}/messages").json()[-1]

    assert names == ["retrieval_plan", "retrieval_done", "sources", "delta", "usage", "done"]
    assert '"mode":null' in stream
    assert answer["content"] == "Your last question was: What is the code of the depot?"
    assert answer["usage"]["citations"] == []
    assert (answer["usage"]["retrieval_trace"]["stop_reason"], answer["usage"]["retrieval_trace"]["rounds"]) == (
        "not_needed",
        [],
    )


def test_deleting_a_conversation_leaves_nothing(client: TestClient, talk: str) -> None:
    file = attach(client, talk, "depot.txt", b"The code of the depot is 7341.")
    events = f"/api/v1/chat/{ask(client, talk, 'What is the code of the depot?')['message_id']}/events"
    assert "7341" in client.get(events).text

    assert client.delete(talk).status_code == 204

    gone = [
        talk,
        f"{talk}/messages",
        f"{talk}/attachments",
        f"{talk}/export",
        f"/api/v1/files/{file['file_id']}",
        events,
    ]
    assert [client.get(path).status_code for path in gone] == [404] * len(gone)
    assert client.delete(talk).status_code == 404
