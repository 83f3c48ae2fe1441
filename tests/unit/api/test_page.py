from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from clew.api.server import create_app
from fakes.clew import FakeClew


@pytest.mark.parametrize("path", ["/", "/chat/conversation_1", "/kbs/kb_1/files/file_2"])
def test_paths_of_the_page_get_the_page_uncached_with_a_content_security_policy(client: TestClient, path: str) -> None:
    response = client.get(path)

    assert response.text == "<title>Clew</title>"
    assert response.headers["cache-control"] == "no-cache"
    assert "default-src 'self'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"


def test_hashed_assets_are_cached_for_good(client: TestClient) -> None:
    response = client.get("/assets/main-abc123.js")

    assert "immutable" in response.headers["cache-control"]
    assert response.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "path", ["/assets/gone-000000.js", "/assets/../../secret.txt", "/assets/%2e%2e/%2e%2e/secret.txt"]
)
def test_paths_that_climb_out_of_the_page_find_nothing(client: TestClient, page_folder: Path, path: str) -> None:
    (page_folder.parent / "secret.txt").write_text("CONTENT")

    response = client.get(path)

    assert "CONTENT" not in response.text


def test_without_a_built_page_the_server_says_how_to_build_it(clew: FakeClew, tmp_path: Path) -> None:
    client = TestClient(create_app(clew, page_folder=tmp_path / "none"), base_url="http://localhost")

    response = client.get("/")

    assert response.status_code == 503
    assert "npm run build" in response.text
    assert client.get("/health").json()["status"] == "ok"
