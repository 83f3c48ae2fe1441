from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from clew.api.server import create_app
from fakes.clew import FakeClew


@pytest.fixture
def clew() -> FakeClew:
    return FakeClew()


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Clew</title>")
    (folder / "assets" / "main-abc123.js").write_text("1")
    return folder


@pytest.fixture(scope="session")
def app(page_folder: Path) -> FastAPI:
    """Building routes takes a while: one application for all tests, each with a Clew of its own."""
    return create_app(FakeClew(), max_file_bytes=1_000_000, page_folder=page_folder)


@pytest.fixture
def client(app: FastAPI, clew: FakeClew) -> TestClient:
    app.state.clew = clew
    return TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False)
