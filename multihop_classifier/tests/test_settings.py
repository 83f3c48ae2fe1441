"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from multihop_classifier.settings import Settings, SettingsError, read_settings


def test_defaults_and_values() -> None:
    assert read_settings({}) == Settings()
    given = {"MULTIHOP_WEIGHTS": "/models/a", "MULTIHOP_PORT": "9000", "MULTIHOP_THREADS": "", "HOME": "/root"}
    assert read_settings(given) == Settings(weights=Path("/models/a"), port=9000)


@pytest.mark.parametrize("given", [{"MULTIHOP_WEIGHT": "x"}, {"MULTIHOP_PORT": "http"}, {"MULTIHOP_THREADS": "0"}])
def test_impossible_settings_are_named(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(given))):
        read_settings(given)
