"""Models that are saved while Clew runs are used by the next question."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.app import Clew
from fakes.openai_server import ScriptedServer


def test_a_saved_model_answers_at_once_and_its_key_is_never_shown(tmp_path: Path, models_folder: Path) -> None:
    overrides = {"models": {"folder": str(models_folder)}}
    with ScriptedServer(replies=["yes"]) as server, Clew.open(tmp_path, overrides=overrides) as clew:
        client = TestClient(create_app(clew), base_url="http://127.0.0.1:8765")
        chat = {"url": server.url, "model": "m", "api_key": "sk-hidden"}
        assert clew.chat is None
        tried = client.post("/api/v1/settings/models/test", json={"part": "chat", "settings": chat}).json()
        assert (tried["ok"], clew.chat) == (True, None)

        view = client.put("/api/v1/settings/models", json={"models": {"chat": chat}})

        assert clew.chat is not None
        assert clew.summariser.chat is clew.chat
        assert view.json()["values"]["models"]["chat"]["url"] == server.url
        assert "sk-hidden" not in view.text + client.get("/api/v1/settings").text
        assert server.chats[-1].headers["authorization"] == "Bearer sk-hidden"
        assert not view.json()["restart_needed"]
        assert client.put("/api/v1/settings/models", json={"models": {"chat": {"retries": 99}}}).status_code == 422

        embedder = {"kind": "openai", "url": server.url, "model": "e"}
        later = client.put("/api/v1/settings/models", json={"models": {"embedder": embedder}}).json()
        assert (later["restart_needed"], clew.settings.models.embedder.kind) == (True, "embedded")
        failed = client.post("/api/v1/settings/models/test", json={"part": "reranker"}).json()
        assert (failed["ok"], "none" in failed["detail"]) == (False, True)
