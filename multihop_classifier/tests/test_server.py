"""The service over its ASGI interface, with a tiny model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from multihop_classifier.server import Refused, Workers, create_app
from multihop_classifier.settings import Settings
from tiny_model import write_tiny_model


def question(text: str = "who wrote it", first: float = 0.25, version: str = "1") -> dict[str, Any]:
    return {"question": text, "features": [first, 0.0, 0.4, 0.5, 0.25], "features_version": version}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    write_tiny_model(tmp_path)
    with TestClient(create_app(Settings(weights=tmp_path, max_batch=4, max_body_bytes=20_000))) as client:
        yield client


def test_health_names_the_model(client: TestClient) -> None:
    body = client.get("/health").json()
    assert body["status"] == "ok"
    assert (body["model_version"], body["features_version"]) == ("tiny-1", "1")
    assert body["metrics"] == {"validation": {"f1": 0.9}}
    assert body["thresholds"] == {"multi": 0.5}


def test_batch_is_answered_in_order(client: TestClient) -> None:
    asked = {"questions": [question(), question("who wrote both"), question(first=0.5)]}
    response = client.post("/predict", json=asked)
    assert response.status_code == 200
    body = response.json()
    assert body["model_version"] == "tiny-1"
    assert [each["label"] for each in body["predictions"]] == ["single", "multi", "multi"]
    assert [each["multi_hop_probability"] for each in body["predictions"]] == [0.25, 1.0, 0.5]
    assert body["predictions"][0]["features"] == [0.25, 0.0, 0.4, 0.5, 0.25]
    assert not any(each["truncated"] for each in body["predictions"])


def test_question_alone_is_answered_alone(client: TestClient) -> None:
    body = client.post("/predict", json=question("both")).json()
    assert (body["label"], body["multi_hop_probability"], body["model_version"]) == ("multi", 1.0, "tiny-1")


def test_label_turns_at_the_threshold_of_the_model(tmp_path: Path) -> None:
    write_tiny_model(tmp_path, thresholds={"multi": 0.7})
    with TestClient(create_app(Settings(weights=tmp_path))) as client:
        asked = {"questions": [question(first=0.69), question(first=0.71)]}
        labels = [each["label"] for each in client.post("/predict", json=asked).json()["predictions"]]
    assert labels == ["single", "multi"]


@pytest.mark.parametrize(("words", "truncated"), [(126, False), (127, True), (2000, True)])
def test_beyond_128_tokens_is_cut_and_said(client: TestClient, words: int, truncated: bool) -> None:
    body = client.post("/predict", json=question(" ".join(["it"] * words))).json()
    assert body["truncated"] is truncated


def test_what_lies_beyond_the_limit_is_not_read(client: TestClient) -> None:
    assert client.post("/predict", json=question("it " * 125 + "both")).json()["label"] == "multi"
    assert client.post("/predict", json=question("it " * 126 + "both")).json()["label"] == "single"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (question(""), "question"),
        (question("  \n"), "question"),
        (question("\ud800"), "question"),
        (question(first=1.2), "features.0"),
        (question(first=-0.1), "features.0"),
        ({**question(), "features": [0.1] * 4}, "features"),
        ({**question(), "features": [0.1] * 6}, "features"),
        ({**question(), "features": None}, "features"),
        ({"question": "who", "features": [0] * 5}, "features_version"),
        ({**question(), "colour": 1}, "colour"),
        ({"questions": []}, "questions"),
        ({"questions": "who"}, "questions"),
        ({"questions": [question(), question(first=2)]}, "questions.1.features.0"),
        ({"questions": [question()] * 5}, "at most 4"),
        ([question()], "no object"),
        ("who", "no object"),
    ],
)
def test_bad_input_is_422_and_says_where(client: TestClient, body: Any, says: str) -> None:
    response = client.post("/predict", content=json.dumps(body))
    assert response.status_code == 422
    assert says in response.json()["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 9000])
def test_no_json_is_422(client: TestClient, body: bytes) -> None:
    response = client.post("/predict", content=body)
    assert response.status_code == 422
    assert "not JSON" in response.json()["message"]


def test_not_a_number_is_422(client: TestClient) -> None:
    body = json.dumps(question(first=float("nan")))
    assert client.post("/predict", content=body).status_code == 422


def test_features_of_another_version_are_refused(client: TestClient) -> None:
    response = client.post("/predict", json={"questions": [question(), question(version="2")]})
    assert response.status_code == 422
    assert "version 2" in response.json()["message"]
    assert "version 1" in response.json()["message"]


def test_over_long_body_is_413(client: TestClient) -> None:
    assert client.post("/predict", json=question("it " * 9000)).status_code == 413


@pytest.mark.parametrize("text", ["[SEP] [CLS] both", "ﷺ" * 500 + " both", "both\x00"])
def test_any_text_is_answered(client: TestClient, text: str) -> None:
    response = client.post("/predict", content=json.dumps(question(text)))
    assert response.status_code == 200


class TestWithoutWeights:
    def test_health_says_so_and_predict_is_503(self, tmp_path: Path) -> None:
        with TestClient(create_app(Settings(weights=tmp_path / "nowhere"))) as client:
            health = client.get("/health")
            assert health.status_code == 200
            assert health.json()["status"] == "no_weights"
            assert "model.onnx" in health.json()["message"]
            answer = client.post("/predict", json=question())
            assert answer.status_code == 503
            assert "no weights" in answer.json()["message"]
            assert answer.headers["retry-after"]

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.json"])
    def test_damaged_file_is_named(self, tmp_path: Path, name: str) -> None:
        (write_tiny_model(tmp_path) / name).write_text("{")
        with TestClient(create_app(Settings(weights=tmp_path))) as client:
            assert client.post("/predict", json=question()).status_code == 503
            assert name in client.get("/health").json()["message"]

    def test_weights_that_arrive_later_are_used(self, tmp_path: Path) -> None:
        with TestClient(create_app(Settings(weights=tmp_path))) as client:
            assert client.post("/predict", json=question()).status_code == 503
            write_tiny_model(tmp_path)
            assert client.post("/predict", json=question()).status_code == 200
            assert client.get("/health").json()["status"] == "ok"


def test_unreviewed_model_says_so(tmp_path: Path) -> None:
    write_tiny_model(tmp_path, version="2026-11-03-base-unreviewed")
    with TestClient(create_app(Settings(weights=tmp_path))) as client:
        body = client.get("/health").json()
    assert body["model_version"].endswith("-unreviewed")
    assert "-unreviewed" in body["message"]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The service on a real port."""
    write_tiny_model(tmp_path)
    config = uvicorn.Config(create_app(Settings(weights=tmp_path)), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def test_fifty_parallel_requests_get_their_own_answers(url: str) -> None:
    def ask(number: int) -> float:
        with httpx.Client() as client:
            response = client.post(f"{url}/predict", json=question(first=number / 100), timeout=20)
        assert response.status_code == 200
        return float(response.json()["multi_hop_probability"])

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(ask, range(50)))
    assert answers == pytest.approx([number / 100 for number in range(50)])


def test_too_many_waiting_requests_are_told_to_come_back() -> None:
    async def three_at_once() -> list[Any]:
        workers, release = Workers(threads=1, waiting=1), threading.Event()
        try:
            first = [asyncio.create_task(workers.run(lambda: release.wait(20))) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(Refused) as refused:
                await workers.run(lambda: True)
            release.set()
            return [refused.value.status, *await asyncio.gather(*first), await workers.run(lambda: "free again")]
        finally:
            release.set()
            workers.close()

    assert asyncio.run(three_at_once()) == [503, True, True, "free again"]
