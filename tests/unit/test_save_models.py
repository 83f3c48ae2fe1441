from __future__ import annotations

import stat
from pathlib import Path

import pytest

from clew.config import Settings, load_settings, save_models, with_models
from clew.errors import SettingsError

BEFORE = """# Ours.
[retrieval]
bm25_b = 0.6  # measured

[models.chat]
url = "http://127.0.0.1:1/v1"
api_key = "old secret"
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CLEW_CONFIG", raising=False)
    (tmp_path / "clew.toml").write_text(BEFORE)
    return tmp_path


def test_models_are_written_and_the_rest_of_the_file_stays(data: Path) -> None:
    save_models(data, load_settings(data), {"chat": {"model": "qwen"}, "reranker": {"kind": "http", "url": "http://r"}})

    text = (data / "clew.toml").read_text()
    assert "# Ours." in text
    assert "bm25_b = 0.6  # measured" in text
    saved = load_settings(data).models
    assert (saved.chat.model, saved.chat.api_key.get_secret_value()) == ("qwen", "old secret")
    assert (saved.reranker.kind, saved.reranker.url) == ("http", "http://r")
    assert stat.S_IMODE((data / "clew.toml").stat().st_mode) == 0o600


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    save_models(tmp_path, Settings(), {"chat": {"url": "http://c", "api_key": "k"}})

    assert load_settings(tmp_path).models.chat.api_key.get_secret_value() == "k"


def test_a_key_stays_only_with_its_address(data: Path) -> None:
    settings = load_settings(data)

    assert with_models(settings, {"chat": {"timeout": 5}}).models.chat.api_key.get_secret_value() == "old secret"
    moved = with_models(settings, {"chat": {"url": "http://elsewhere"}}).models.chat
    assert moved.api_key.get_secret_value() == ""
    given = with_models(settings, {"chat": {"url": "http://elsewhere", "api_key": "new"}}).models.chat
    assert given.api_key.get_secret_value() == "new"
    save_models(data, settings, {"chat": {"url": "http://elsewhere"}})
    assert "old secret" not in (data / "clew.toml").read_text()


@pytest.mark.parametrize(
    "changes", [{"chat": {"nonsense": 1}}, {"chat": {"retries": -1}}, {"chat": 3}, {"storage": {}}]
)
def test_impossible_changes_leave_the_file_alone(data: Path, changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"models\."):
        save_models(data, load_settings(data), changes)
    assert (data / "clew.toml").read_text() == BEFORE


def test_a_file_that_cannot_be_written_is_named(data: Path) -> None:
    (data / "clew.tmp").mkdir()
    with pytest.raises(SettingsError, match=r"clew\.toml: cannot be written"):
        save_models(data, load_settings(data), {"chat": {"model": "m"}})
