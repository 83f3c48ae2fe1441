"""The API over a real Clew: what a program that uses it sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.app import Clew

RIVERS = """# Rivers

## The Danube

The Danube rises in the Black Forest and is 2,850 kilometres long.

## The Rhine

The Rhine rises in the Swiss Alps and flows into the North Sea at Rotterdam.
"""
QUESTION = "How long is the Danube?"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Iterator[TestClient]:
    """One Clew for all tests here, because it starts slowly; each test has a knowledge base of its own."""
    folder = tmp_path_factory.mktemp("api") / "data"
    with Clew.open(folder, overrides={"models": {"folder": str(models_folder)}}) as clew:
        yield TestClient(create_app(clew), base_url="http://localhost")


@pytest.fixture
def kb_id(client: TestClient, request: pytest.FixtureRequest) -> str:
    return str(client.post("/api/v1/kbs", json={"name": request.node.name}).json()["kb_id"])


def events_of(text: str) -> list[tuple[int, str, Any]]:
    found = []
    for frame in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        if fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def upload(client: TestClient, kb_id: str, name: str, content: bytes) -> Any:
    """Upload, follow the events to their end, give the file."""
    response = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": (name, content)})
    assert response.status_code == 201, response.text
    events = events_of(client.get(f"/api/v1/files/{response.json()['file_id']}/events").text)
    assert events[-1][1] == "done"
    return events[-1][2]


def test_upload_follow_search_and_read_back(client: TestClient, kb_id: str) -> None:
    file = upload(client, kb_id, "rivers.md", RIVERS.encode())

    assert (file["status"], file["title"], file["version"]) == ("completed", "Rivers", 1)
    assert client.get(f"/api/v1/kbs/{kb_id}").json()["files"] == {"completed": 1, "processing": 0, "failed": 0}
    path = f"/api/v1/files/{file['file_id']}"
    titles = [section["titles"][-1] for section in client.get(f"{path}/sections").json()["items"] if section["titles"]]
    assert titles[-2:] == ["The Danube", "The Rhine"]
    passages = client.get(f"{path}/chunks").json()
    assert passages["total"] == len(passages["items"]) == file["counts"]["parents"]
    assert client.get(f"{path}/original", headers={"Range": "bytes=2-7"}).content == b"Rivers"
    found = client.post("/api/v1/search", json={"question": QUESTION, "kbs": [kb_id]}).json()
    assert "2,850" in found["hits"][0]["text"]
    assert found["trace"]["complexity"]["mode"] in {"single", "multi"}


def test_many_uploads_are_followed_in_one_stream(client: TestClient, kb_id: str) -> None:
    created = client.get(f"/api/v1/kbs/{kb_id}").json()["created_at"]
    names = {"broken.pdf": b"%PDF-1.7 nothing"} | {
        f"{n}.md": f"# River {n}\n\nIt is {n} km long.".encode() for n in range(5)
    }
    ids = {}
    for name, content in names.items():
        response = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": (name, content)})
        ids[response.json()["file_id"]] = name

    events = events_of(client.get(f"/api/v1/kbs/{kb_id}/events", params={"since": created}).text)

    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert [name for _, name, _ in events if name == "done"] == ["done"] == [events[-1][1]]
    last = {data["file_id"]: data for _, name, data in events if name == "file"}
    assert {ids[file_id]: file["status"] for file_id, file in last.items()} == {
        name: "failed" if name == "broken.pdf" else "completed" for name in names
    }
    assert all(file["summary_status"] in {"completed", "off"} for file in last.values())
    later = events_of(client.get(f"/api/v1/kbs/{kb_id}/events").text)
    assert [name for _, name, _ in later] == ["done"]
    assert client.get("/api/v1/kbs/nothing/events").status_code == 404
    assert client.get(f"/api/v1/kbs/{kb_id}/events", params={"since": "soon"}).status_code == 422


def test_only_the_sections_asked_for_are_read(client: TestClient, kb_id: str) -> None:
    file = upload(client, kb_id, "rivers.md", RIVERS.encode())
    sections = client.get(f"/api/v1/files/{file['file_id']}/sections").json()["items"]
    rhine = next(section["path"] for section in sections if section["titles"][-1:] == ["The Rhine"])

    question = {"question": QUESTION, "kbs": [kb_id], "sections": [{"file_id": file["file_id"], "section_path": rhine}]}
    hits = client.post("/api/v1/search", json=question).json()["hits"]

    assert hits
    assert all(hit["section_path"].startswith(rhine) for hit in hits)


@pytest.mark.parametrize(
    ("name", "content"), [("broken.pdf", b"%PDF-1.7 nothing"), ("a.bin", bytes(range(256)) * 8)], ids=["pdf", "binary"]
)
def test_a_file_that_cannot_be_read_says_why_and_the_rest_goes_on(
    client: TestClient, kb_id: str, name: str, content: bytes
) -> None:
    failed = upload(client, kb_id, name, content)
    good = upload(client, kb_id, "rivers.md", RIVERS.encode())

    assert failed["status"] == "failed"
    assert name in failed["reason"]
    assert good["status"] == "completed"


def test_an_empty_upload_leaves_nothing(client: TestClient, kb_id: str) -> None:
    response = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": ("empty.txt", b"")})

    if response.status_code == 201:  # stored, and failed with its reason
        file_id = response.json()["file_id"]
        file = events_of(client.get(f"/api/v1/files/{file_id}/events").text)[-1][2]
        assert file["status"] == "failed"
        assert file["reason"]
    else:
        assert response.status_code == 422
        assert "empty" in response.json()["detail"]
        assert client.get(f"/api/v1/kbs/{kb_id}/files").json()["total"] == 0


def test_a_new_version_keeps_the_id_and_replaces_the_text(client: TestClient, kb_id: str) -> None:
    file = upload(client, kb_id, "rivers.md", RIVERS.encode())
    changed = RIVERS.replace("2,850", "2,857").encode()

    response = client.put(f"/api/v1/files/{file['file_id']}/content", files={"file": ("rivers.md", changed)})
    assert response.status_code == 200
    client.get(f"/api/v1/files/{file['file_id']}/events")

    assert client.get(f"/api/v1/files/{file['file_id']}").json()["version"] == 2
    hits = client.post("/api/v1/search", json={"question": QUESTION, "kbs": [kb_id]}).json()["hits"]
    assert any("2,857" in hit["text"] for hit in hits)
    assert not any("2,850" in hit["text"] for hit in hits)


def test_an_answer_without_a_model_quotes_and_is_kept(client: TestClient, kb_id: str) -> None:
    upload(client, kb_id, "rivers.md", RIVERS.encode())

    response = client.post("/api/v1/chat", json={"question": QUESTION, "kbs": [kb_id]})

    events = events_of(response.text)
    order = list(dict.fromkeys(name for _, name, _ in events))
    assert [name for name in order if name != "notice"] == [
        "retrieval_plan", "retrieval_step", "retrieval_done", "sources", "delta", "usage", "done",
    ]  # fmt: skip
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    text = "".join(data["text"] for _, name, data in events if name == "delta")
    assert "2,850 kilometres" in text
    assert "[1]" in text
    path = f"/api/v1/chat/{response.headers['clew-message-id']}/events"
    assert events_of(client.get(path, headers={"Last-Event-ID": "4"}).text) == events[4:]

    conversation_id = events[0][2]["conversation_id"]
    question, answer = client.get(f"/api/v1/conversations/{conversation_id}/messages").json()
    assert (question["content"], answer["content"], answer["status"]) == (QUESTION, text, "done")
    assert answer["usage"]["retrieval_trace"]["rounds"][0]["round"] == 1
    citation = answer["usage"]["citations"][0]
    assert (citation["file_name"], citation["section_titles"][-1]) == ("rivers.md", "The Danube")


def test_whole_answers_go_on_with_a_conversation(client: TestClient, kb_id: str) -> None:
    upload(client, kb_id, "rivers.md", RIVERS.encode())
    first = client.post("/api/v1/chat", json={"question": QUESTION, "kbs": [kb_id], "stream": False}).json()
    more = {"question": "Where does the Rhine rise?", "conversation_id": first["conversation_id"], "stream": False}

    second = client.post("/api/v1/chat", json=more).json()

    assert second["conversation_id"] == first["conversation_id"]
    assert "Swiss Alps" in second["answer"]
    assert second["retrieval_trace"]["question"] == "Where does the Rhine rise?"
    assert client.get(f"/api/v1/conversations/{first['conversation_id']}").json()["kb_ids"] == [kb_id]


def test_unknown_things_are_problems(client: TestClient, kb_id: str) -> None:
    answers = [
        client.post("/api/v1/search", json={"question": QUESTION, "kbs": ["nowhere"]}),
        client.post("/api/v1/chat", json={"question": QUESTION, "kbs": ["nowhere"]}),
        client.post("/api/v1/kbs/nowhere/files", files={"file": ("a.txt", b"a")}),
        client.get("/api/v1/files/nothing"),
        client.get("/api/v1/files/nothing/events"),
        client.get("/api/v1/chat/nothing/events"),
        client.post("/api/v1/chat/nothing/stop"),
        client.get("/api/v1/conversations/nothing/messages"),
    ]

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    taken = client.get(f"/api/v1/kbs/{kb_id}").json()["name"]
    assert client.post("/api/v1/kbs", json={"name": taken}).status_code == 409
    wrong = client.patch(f"/api/v1/kbs/{kb_id}", json={"settings": {"retrieval": {"no_such": 1}}})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "urn:clew:settings")
    assert "retrieval.no_such" in wrong.json()["detail"]


def test_deleting_a_knowledge_base_leaves_nothing_to_find(client: TestClient, kb_id: str) -> None:
    file = upload(client, kb_id, "rivers.md", RIVERS.encode())

    assert client.delete(f"/api/v1/kbs/{kb_id}").status_code == 204
    assert client.get(f"/api/v1/files/{file['file_id']}").status_code == 404
    assert kb_id not in [kb["kb_id"] for kb in client.get("/api/v1/kbs").json()]


def test_doctor_names_every_part(client: TestClient) -> None:
    checks = {check["name"]: check["ok"] for check in client.get("/api/v1/doctor").json()}

    assert {"records", "search index", "originals", "embedder"} <= checks.keys()
    assert all(checks.values())
