from pathlib import Path

import pytest

from clew.config import Settings, load_settings, nested
from clew.errors import SettingsError


def test_defaults_are_those_of_the_contract(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.retrieval.route_top_k == 100
    assert settings.retrieval.bm25_b == 0.5
    assert settings.complexity.rules_multi_threshold == 0.75
    assert settings.recursion.max_rounds == 3


def test_file_then_environment_then_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clew.toml").write_text("[retrieval]\nfused_top_k = 10\nmmr_top_k = 11\nrrf_k = 12\n")
    monkeypatch.setenv("CLEW_RETRIEVAL__MMR_TOP_K", "21")
    monkeypatch.setenv("CLEW_RETRIEVAL__RRF_K", "22")
    settings = load_settings(tmp_path, {"retrieval": {"rrf_k": 32}})
    assert (settings.retrieval.fused_top_k, settings.retrieval.mmr_top_k, settings.retrieval.rrf_k) == (10, 21, 32)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[retrieval]\nbm25 = 1\n", "retrieval.bm25"),
        ("[nonsense]\nx = 1\n", "nonsense"),
        ("[recursion]\nmax_rounds = 6\n", "recursion.max_rounds"),
        ("[recursion]\nmax_rounds = 1\n", "recursion.max_rounds"),
        ("[models.embedder]\nkind = 'magic'\n", "models.embedder.kind"),
    ],
)
def test_unknown_and_impossible_settings_are_refused_with_their_path(tmp_path: Path, text: str, path: str) -> None:
    (tmp_path / "clew.toml").write_text(text)
    with pytest.raises(SettingsError, match=path.replace(".", r"\.")):
        load_settings(tmp_path)


def test_environment_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_RETRIEVAL__NONSENSE", "1")
    with pytest.raises(SettingsError, match=r"retrieval\.nonsense"):
        load_settings(tmp_path)


def test_bad_toml_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text("[retrieval\n")
    with pytest.raises(SettingsError, match=r"clew\.toml"):
        load_settings(tmp_path)


def test_named_file_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CONFIG", str(tmp_path / "gone.toml"))
    with pytest.raises(SettingsError, match=r"gone\.toml"):
        load_settings(tmp_path)


def test_kb_overlay_changes_only_what_it_names() -> None:
    settings = Settings().for_kb(nested("retrieval.bm25_b", 0.7))
    assert settings.retrieval.bm25_b == 0.7
    assert settings.retrieval.bm25_k1 == 1.2


def test_kb_overlay_cannot_reach_global_sections() -> None:
    with pytest.raises(SettingsError, match="server"):
        Settings().for_kb(nested("server.port", 1))


def test_keys_are_not_shown(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, nested("models.chat.api_key", "secret-key"))
    assert "secret-key" not in repr(settings)
    assert settings.for_kb({}).models.chat.api_key.get_secret_value() == "secret-key"
