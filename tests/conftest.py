"""Fixtures that several suites share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.models.local import OnnxEmbedder, embedded_embedder


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """Where the embedded model is built once for all runs: ``CLEW_TEST_MODELS``, else a folder in the user's cache."""
    return Path(os.environ.get("CLEW_TEST_MODELS") or Path.home() / ".cache" / "clew-tests" / "models")


@pytest.fixture(scope="session")
def embedder(models_folder: Path) -> OnnxEmbedder:
    """The embedded embedder, loaded once for all tests."""
    return embedded_embedder(models_folder)
