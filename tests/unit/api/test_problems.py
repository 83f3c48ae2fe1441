from __future__ import annotations

import errno

import pytest
from fastapi.testclient import TestClient

from clew import errors
from fakes.clew import FakeClew


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFoundError("no such thing"), 404),
        (errors.ConflictError("taken"), 409),
        (errors.SettingsError("a.b: wrong"), 422),
        (errors.InputError("impossible"), 422),
        (errors.EncryptedFileError("needs a password"), 422),
        (errors.ServiceUnavailableError("no answer"), 503),
        (errors.ServiceRefusedError("refused"), 502),
        (errors.StorageFullError("full"), 507),
        (errors.StorageBusyError("busy"), 503),
        (errors.StorageError("broken"), 500),
    ],
)
def test_every_error_of_clew_is_a_problem(
    client: TestClient, clew: FakeClew, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(clew, "list_kbs", fail)

    response = client.get("/api/v1/kbs")

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json().keys() == {"type", "title", "status", "detail"}
    assert response.json()["detail"] == str(error)


@pytest.mark.parametrize(
    ("error", "status"), [(RuntimeError("secret of the inside"), 500), (OSError(errno.ENOSPC, "secret"), 507)]
)
def test_what_nobody_foresaw_tells_nothing_internal(
    client: TestClient, clew: FakeClew, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(clew, "list_kbs", fail)

    response = client.get("/api/v1/kbs")

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert "secret" not in response.text
    assert "Traceback" not in response.text


def test_a_request_that_is_not_valid_names_the_field(client: TestClient) -> None:
    response = client.post("/api/v1/search", json={"question": " ", "kbs": ["x"], "mode": "single"})

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert {error["path"] for error in response.json()["errors"]} == {"question", "mode"}


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", "/api/v1/kbs/none", "/v1/x"])
def test_unknown_paths_of_the_api_are_problems_and_not_the_page(client: TestClient, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_no_json_is_a_problem(client: TestClient) -> None:
    response = client.post("/api/v1/kbs", content=b"{", headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
