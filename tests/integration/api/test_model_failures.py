"""What the API tells where the language model does not do its part. (A process ingests into one data folder at a time,
so these tests cannot share a module with those that keep one open.)"""

from __future__ import annotations

import json
from pathlib import Path

from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.app import Clew

TEXT = b"The Danube rises in the Black Forest and is 2,850 kilometres long."
QUESTION = "How long is the Danube?"


def test_a_model_that_cannot_be_reached_is_told_in_the_stream(tmp_path: Path, models_folder: Path) -> None:
    chat = {"url": "http://127.0.0.1:9/v1", "model": "m", "retries": 0}
    overrides = {"models": {"folder": str(models_folder), "chat": chat}}
    with Clew.open(tmp_path / "data", overrides=overrides) as clew:
        client = TestClient(create_app(clew), base_url="http://localhost")
        kb_id = client.post("/api/v1/kbs", json={"name": "notes"}).json()["kb_id"]
        file = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": ("rivers.txt", TEXT)}).json()
        clew.wait([file["file_id"]], timeout=120)

        streamed = client.post("/api/v1/chat", json={"question": QUESTION, "kbs": [kb_id]}).text
        whole = client.post("/api/v1/chat", json={"question": QUESTION, "kbs": [kb_id], "stream": False})

    last = streamed.strip().split("\n\n")[-1]
    assert "event: error" in last
    assert "127.0.0.1:9" in json.loads(last.split("data: ")[1])["detail"]
    assert "Traceback" not in streamed
    assert (whole.status_code, whole.json()["type"]) == (503, "urn:clew:service-unavailable")
