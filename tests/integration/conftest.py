"""A real Clew on a new data folder, with the embedded embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.app import Clew

DEMO = Path(__file__).parents[2] / "demo" / "documents"


@pytest.fixture(autouse=True)
def extractive_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted models answer what a test is about: summaries, which are written in the background, ask none of them
    unless a test overrides it."""
    monkeypatch.setenv("CLEW_SUMMARIES__WRITER", "extractive")


@pytest.fixture
def clew(tmp_path: Path, models_folder: Path) -> Iterator[Clew]:
    with Clew.open(tmp_path / "data", overrides={"models": {"folder": str(models_folder)}}) as clew:
        yield clew


@pytest.fixture(scope="session")
def demo_documents() -> list[Path]:
    """The documents that ``make demo`` loads."""
    return [path for path in sorted(DEMO.iterdir()) if path.name != "README.md"]
