from __future__ import annotations

import json
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fakes.clew import FakeClew

TEXT = "# Report\n\nRevenue in 2023 was 12.5 million yuan.\n\nThe chairman is Li Wei."


@pytest.fixture
def kb_id(client: TestClient) -> str:
    return str(client.post("/api/v1/kbs", json={"name": "reports"}).json()["kb_id"])


def _upload(client: TestClient, kb_id: str, text: str = TEXT, name: str = "report.txt") -> dict[str, Any]:
    response = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": (name, text.encode())})
    assert response.status_code == 201, response.text
    file_id = response.json()["file_id"]
    for _ in range(200):
        file: dict[str, Any] = client.get(f"/api/v1/files/{file_id}").json()
        if file["status"] != "processing":
            return file
        time.sleep(0.01)
    raise AssertionError("still processing")


def _events(text: str) -> list[tuple[int | None, str, Any]]:
    found = []
    for frame in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        if fields:
            number = int(fields["id"]) if "id" in fields else None
            found.append((number, fields["event"], json.loads(fields["data"])))
    return found


def test_health_answers(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok", "version": "0.1.0"}


def test_knowledge_bases_are_created_changed_and_deleted(client: TestClient, kb_id: str) -> None:
    assert client.post("/api/v1/kbs", json={"name": "reports"}).status_code == 409

    changed = client.patch(f"/api/v1/kbs/{kb_id}", json={"description": "annual"})

    assert (changed.json()["name"], changed.json()["description"]) == ("reports", "annual")
    assert client.get(f"/api/v1/kbs/{kb_id}").json()["files"] == {"completed": 0, "processing": 0, "failed": 0}
    assert client.delete(f"/api/v1/kbs/{kb_id}").status_code == 204
    assert client.get("/api/v1/kbs").json() == []


def test_a_file_is_uploaded_listed_read_and_deleted(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id, name="C:\\papers\\年报.txt")

    assert (file["name"], file["status"], file["size"]) == ("年报.txt", "completed", len(TEXT.encode()))
    assert "file_key" not in file
    assert client.get(f"/api/v1/kbs/{kb_id}/files", params={"text": "年"}).json()["total"] == 1
    assert client.get(f"/api/v1/kbs/{kb_id}/files", params={"status": "failed"}).json() == {"items": [], "total": 0}
    chunks = client.get(f"/api/v1/files/{file['file_id']}/chunks", params={"offset": 1, "limit": 1}).json()
    assert chunks["total"] == 3
    assert chunks["items"][0]["children"][0]["text"] == "Revenue in 2023 was 12.5 million yuan."
    sections = client.get(f"/api/v1/files/{file['file_id']}/sections").json()
    assert (sections["items"][1]["path"], sections["total"]) == ("0001/", len(sections["items"]))
    assert client.delete(f"/api/v1/files/{file['file_id']}").status_code == 204
    assert client.get(f"/api/v1/files/{file['file_id']}").status_code == 404


def test_the_same_bytes_again_are_no_new_file(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id)

    again = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": ("copy.txt", TEXT.encode())})

    assert (again.status_code, again.json()["file_id"]) == (200, file["file_id"])


def test_a_file_that_cannot_be_read_says_why(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id, "DAMAGED")

    assert file["status"] == "failed"
    assert "damaged" in file["reason"]


def test_a_second_version_while_one_is_read_is_a_conflict(client: TestClient, clew: FakeClew, kb_id: str) -> None:
    file_id = _upload(client, kb_id)["file_id"]
    clew.stage_seconds = 0.2

    first = client.put(f"/api/v1/files/{file_id}/content", files={"file": ("v2.txt", b"new text")})
    second = client.put(f"/api/v1/files/{file_id}/content", files={"file": ("v3.txt", b"newer text")})

    assert (first.status_code, first.json()["file_id"], second.status_code) == (200, file_id, 409)


def test_processing_is_streamed_until_done(client: TestClient, clew: FakeClew, kb_id: str) -> None:
    clew.stage_seconds = 0.1
    file_id = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": ("a.txt", TEXT.encode())}).json()["file_id"]

    events = _events(client.get(f"/api/v1/files/{file_id}/events").text)

    assert next(name for _, name, _ in events) == "progress"
    assert events[0][2].keys() == {"status", "stage", "progress"}
    assert (events[-1][1], events[-1][2]["status"]) == ("done", "completed")
    assert client.get("/api/v1/files/none/events").status_code == 404


@pytest.mark.parametrize(
    ("range_", "status", "start", "end"),
    [
        ("bytes=0-3", 206, 0, 4),
        ("bytes=10-", 206, 10, None),
        ("bytes=-5", 206, -5, None),
        ("bytes=5-9999", 206, 5, None),
        ("bytes=0-1,4-5", 200, 0, None),
        ("lines=1-2", 200, 0, None),
        ("bytes=7-3", 200, 0, None),
    ],
)
def test_parts_of_the_original(
    client: TestClient, kb_id: str, range_: str, status: int, start: int, end: int | None
) -> None:
    file_id = _upload(client, kb_id)["file_id"]

    response = client.get(f"/api/v1/files/{file_id}/original", headers={"Range": range_})

    assert response.status_code == status
    assert response.content == TEXT.encode()[start:end]
    assert int(response.headers["content-length"]) == len(response.content)


def test_a_range_beyond_the_end_cannot_be_satisfied(client: TestClient, kb_id: str) -> None:
    file_id = _upload(client, kb_id)["file_id"]

    response = client.get(f"/api/v1/files/{file_id}/original", headers={"Range": "bytes=5000-"})

    assert response.status_code == 416
    assert response.headers["content-range"] == f"bytes */{len(TEXT)}"


def test_a_range_of_another_version_gets_the_whole(client: TestClient, kb_id: str) -> None:
    file_id = _upload(client, kb_id)["file_id"]

    response = client.get(f"/api/v1/files/{file_id}/original", headers={"Range": "bytes=0-3", "If-Range": '"old"'})

    assert (response.status_code, response.content) == (200, TEXT.encode())


def test_an_original_can_run_no_script(client: TestClient, kb_id: str) -> None:
    file_id = _upload(client, kb_id, "<script>1</script>", "a.html")["file_id"]

    headers = client.get(f"/api/v1/files/{file_id}/original").headers

    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-security-policy"].startswith("sandbox")


def test_search_gives_hits_and_trace(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)

    found = client.post("/api/v1/search", json={"question": "revenue in 2023", "kbs": ["reports"]}).json()

    assert found["hits"][0]["text"].startswith("Revenue in 2023")
    assert found["trace"]["complexity"]["mode"] == "single"
    assert client.post("/api/v1/search", json={"question": "x", "kbs": ["none"]}).status_code == 404


def test_an_answer_is_streamed_in_the_agreed_order(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)

    question = {"question": "revenue in 2023", "kbs": [kb_id], "retrieval_mode": "multi"}
    response = client.post("/api/v1/chat", json=question)

    assert response.headers["content-type"].startswith("text/event-stream")
    events = _events(response.text)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    names = list(dict.fromkeys(name for _, name, _ in events))
    assert names == [
        "retrieval_plan", "retrieval_step", "retrieval_done", "sources", "delta", "notice", "usage", "done",
    ]  # fmt: skip
    assert events[0][2]["message_id"] == response.headers["clew-message-id"]


def test_a_dropped_stream_goes_on_after_the_last_event_seen(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)
    whole = client.post("/api/v1/chat", json={"question": "revenue in 2023", "kbs": [kb_id]})
    path = f"/api/v1/chat/{whole.headers['clew-message-id']}/events"

    rest = client.get(path, headers={"Last-Event-ID": "3"})

    assert _events(rest.text) == _events(whole.text)[3:]
    assert _events(client.get(path).text) == _events(whole.text)
    assert client.get("/api/v1/chat/none/events").status_code == 404


def test_an_answer_that_is_not_streamed_is_whole(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)

    question = {"question": "revenue in 2023", "kbs": [kb_id], "stream": False, "retrieval_mode": "multi"}
    answer = client.post("/api/v1/chat", json=question).json()

    assert answer["status"] == "done"
    assert answer["answer"].startswith("Revenue in 2023 was 12.5 million yuan. [1]")
    assert answer["citations"][0]["quote"] == "Revenue in 2023 was 12.5 million yuan."
    assert answer["retrieval_trace"]["rounds"][0]["round"] == 1
    assert answer["uncertainty_notice"]


def test_a_stopped_answer_keeps_what_was_written(client: TestClient, clew: FakeClew, kb_id: str) -> None:
    _upload(client, kb_id, "word " * 50)
    clew.word_seconds = 0.02
    message_id = clew.start_answer("word", kbs=[kb_id])

    assert client.post(f"/api/v1/chat/{message_id}/stop").status_code == 204
    events = _events(client.get(f"/api/v1/chat/{message_id}/events").text)

    assert events[-1][1] == "stopped"
    conversation_id = events[0][2]["conversation_id"]
    messages = client.get(f"/api/v1/conversations/{conversation_id}/messages").json()
    assert messages[-1]["status"] == "stopped"


def test_a_conversation_is_kept_with_trace_and_citations(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)
    question = {"question": "revenue in 2023", "kbs": [kb_id], "stream": False}
    conversation_id = client.post("/api/v1/chat", json=question).json()["conversation_id"]
    more = {"question": "and the chairman?", "conversation_id": conversation_id, "stream": False}
    assert client.post("/api/v1/chat", json=more).status_code == 200

    messages = client.get(f"/api/v1/conversations/{conversation_id}/messages").json()

    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[1]["usage"]["retrieval_trace"]["complexity"]["source"] == "rules"
    assert messages[1]["usage"]["citations"][0]["number"] == 1
    renamed = client.patch(f"/api/v1/conversations/{conversation_id}", json={"title": "Revenue"}).json()
    assert renamed["title"] == "Revenue"
    assert client.get("/api/v1/conversations", params={"limit": 1}).json()["more"] is False
    assert client.delete(f"/api/v1/conversations/{conversation_id}").status_code == 204
    assert client.get(f"/api/v1/conversations/{conversation_id}/messages").status_code == 404


def test_a_file_is_renamed_disabled_updated_and_restored(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id)
    path = f"/api/v1/files/{file['file_id']}"
    assert file["changes"] is None

    changed = client.patch(path, json={"name": "b.txt", "enabled": False}).json()
    assert (changed["name"], changed["enabled"]) == ("b.txt", False)
    assert client.patch(path, json={"name": ""}).status_code == 422
    assert client.post(f"{path}/restore").status_code == 409
    assert client.post(f"{path}/cancel").status_code == 409
    client.put(f"{path}/content", files={"file": ("b.txt", b"new text")})
    client.get(f"{path}/events")
    assert client.get(path).json()["changes"]["blocks_changed"] == 1
    client.put(f"{path}/content", files={"file": ("b.txt", b"DAMAGED")})
    client.get(f"{path}/events")
    assert client.post(f"{path}/restore").json()["status"] == "completed"


def test_a_passage_is_edited_disabled_and_reset(client: TestClient, kb_id: str) -> None:
    path = f"/api/v1/files/{_upload(client, kb_id)['file_id']}/chunks"
    first = client.get(path).json()["items"][0]["parent"]
    assert (first["enabled"], first["edited"]) == (True, False)
    assert client.patch(f"{path}/{first['chunk_id']}", json={"text": "New."}).status_code == 200
    assert client.get(path).json()["items"][0]["parent"]["edited"] is True
    assert client.patch(f"{path}/{first['chunk_id']}", json={"enabled": False}).status_code == 200
    assert client.get(path).json()["items"][0]["parent"]["enabled"] is False
    assert client.delete(f"{path}/{first['chunk_id']}/edit").status_code == 200
    assert client.patch(f"{path}/none", json={"text": "x"}).status_code == 404


def test_the_deep_doctor_finds_and_repairs(client: TestClient) -> None:
    assert client.get("/api/v1/doctor/deep").json()[0]["repaired"] is False
    assert client.post("/api/v1/doctor/repair").json()[0]["repaired"] is True


def test_doctor_lists_its_checks(client: TestClient) -> None:
    assert {"name": "records", "ok": True, "detail": "in memory"} in client.get("/api/v1/doctor").json()


def test_the_openapi_document_names_every_event_and_resolves(client: TestClient) -> None:
    document = client.get("/api/v1/openapi.json").json()
    text = json.dumps(document)

    names = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names <= document["components"]["schemas"].keys()
    assert {"RetrievalTrace", "RetrievalPlanEvent", "Problem"} <= document["components"]["schemas"].keys()
    assert "$defs" not in text


def test_a_search_takes_settings_of_its_own(client: TestClient, kb_id: str) -> None:
    _upload(client, kb_id)
    body = {"question": "Revenue chairman", "kbs": ["reports"]}

    assert len(client.post("/api/v1/search", json=body).json()["hits"]) == 2
    narrow = client.post("/api/v1/search", json=body | {"settings": {"retrieval": {"rerank_top_k": 1}}}).json()
    assert len(narrow["hits"]) == 1


def test_a_question_is_routed_and_its_decision_kept(client: TestClient) -> None:
    routed = client.post("/api/v1/route", json={"question": "Summarise the report"}).json()
    client.post("/api/v1/route", json={"question": "unrecorded", "record": False})

    assert (routed["complexity"]["mode"], routed["kind"]["kind"]) == ("single", "summary")
    assert [d["question"] for d in client.get("/api/v1/decisions").json()] == ["Summarise the report"]
    assert client.post("/api/v1/route", json={"question": "x", "kb": "missing"}).status_code == 404


def test_chunks_are_looked_up_by_id(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id)
    (hit, *_) = client.post("/api/v1/search", json={"question": "Revenue", "kbs": [kb_id]}).json()["hits"]

    (found,) = client.get("/api/v1/chunks", params={"id": [hit["chunk_id"], "gone"]}).json()

    assert (found["file"], found["file_id"], found["text"]) == ("report.txt", file["file_id"], hit["text"])


def test_facts_are_corrected_and_filter_a_search(client: TestClient, kb_id: str) -> None:
    first = _upload(client, kb_id, name="a.txt")
    _upload(client, kb_id, text=TEXT + " Also.", name="b.txt")

    changed = client.patch(f"/api/v1/files/{first['file_id']}", json={"facts": {"period": "2023"}})

    assert changed.json()["facts"] == {"period": "2023", "corrected": ["period"]}
    asked = {"question": "What was the revenue?", "kbs": ["reports"], "where": {"period": "2023"}}
    found = client.post("/api/v1/search", json=asked).json()["hits"]
    assert {hit["file_id"] for hit in found} == {first["file_id"]}
    assert client.post("/api/v1/search", json=asked | {"where": {"colour": "red"}}).status_code == 422


@pytest.mark.parametrize("what", ["blocks", "sections", "chunks"])
def test_what_was_read_of_a_file_comes_page_by_page(client: TestClient, kb_id: str, what: str) -> None:
    path = f"/api/v1/files/{_upload(client, kb_id)['file_id']}/{what}"
    whole = client.get(path).json()

    pages = [client.get(path, params={"offset": i, "limit": 1}).json() for i in range(whole["total"] + 1)]

    assert whole["total"] == len(whole["items"]) > 1
    assert [page["total"] for page in pages] == [whole["total"]] * len(pages)
    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert client.get(path, params={"limit": 501}).status_code == 422
    assert client.get(path, params={"offset": 10**30}).status_code == 422
    assert client.get(f"/api/v1/files/none/{what}").status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/search", '{"question": "x", "kbs": [], "files": ["\\ud800"]}'),
        ("/api/v1/search", '{"question": "x", "kbs": [], "settings": {"\\udfff": {}}}'),
        ("/api/v1/kbs", '{"name": "x", "settings": {"retrieval": {"fusion": ["a\\ud800b"]}}}'),
        ("/api/v1/settings/models/test", '{"part": "chat", "settings": {"url": "\\ud800"}}'),
    ],
)
def test_half_a_character_is_refused(client: TestClient, path: str, body: str) -> None:
    response = client.post(path, content=body, headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert "surrogate" in response.json()["detail"]


def test_whole_characters_beyond_the_first_plane_are_text(client: TestClient) -> None:
    body = '{"name": "\\ud83d\\udcda"}'
    response = client.post("/api/v1/kbs", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["name"]) == (201, "📚")


def test_numbers_longer_than_any_are_no_fault(client: TestClient, kb_id: str) -> None:
    file = _upload(client, kb_id)
    answer = client.post("/api/v1/chat", json={"question": "Revenue?", "kbs": [kb_id], "stream": False}).json()
    digits = "9" * 5000

    part = client.get(f"/api/v1/files/{file['file_id']}/original", headers={"Range": f"bytes={digits}-"})
    events = client.get(f"/api/v1/chat/{answer['message_id']}/events", headers={"Last-Event-ID": digits})

    assert part.status_code == 200
    assert "event: done" in events.text
