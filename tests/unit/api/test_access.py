from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from clew.api.server import check_bind_address
from clew.errors import SettingsError


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_loopback_may_be_bound(host: str) -> None:
    check_bind_address(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.org", "localhost.example.org"])
def test_any_other_address_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match=r"^server\.host: "):
        check_bind_address(host)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "10.0.0.1", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    response = client.get("/api/v1/kbs", headers={"Host": host})

    assert response.status_code == 421
    assert response.json()["type"] == "urn:clew:foreign-host"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8765"])
def test_a_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    response = client.post("/api/v1/kbs", json={"name": "x"}, headers={"Origin": origin})

    assert response.status_code == 403
    assert client.get("/api/v1/kbs").json() == []


def test_its_own_origin_is_served(client: TestClient) -> None:
    response = client.post("/api/v1/kbs", json={"name": "x"}, headers={"Origin": "http://127.0.0.1:8765"})

    assert response.status_code == 201


def test_too_large_a_body_is_refused_before_it_is_read(client: TestClient) -> None:
    kb_id = client.post("/api/v1/kbs", json={"name": "x"}).json()["kb_id"]

    response = client.post(f"/api/v1/kbs/{kb_id}/files", files={"file": ("a.txt", b"a" * 1_200_000)})

    assert response.status_code == 413
    assert "1 MB" in response.json()["detail"]


def test_too_large_a_body_without_a_length_is_refused(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(30):
            yield b"a" * 50_000
        yield b"\r\n--b--\r\n"

    kb_id = client.post("/api/v1/kbs", json={"name": "x"}).json()["kb_id"]
    headers = {"Content-Type": "multipart/form-data; boundary=b"}

    response = client.post(f"/api/v1/kbs/{kb_id}/files", content=pieces(), headers=headers)

    assert response.status_code == 413
    assert client.get(f"/api/v1/kbs/{kb_id}/files").json()["total"] == 0


def test_a_request_without_a_file_has_a_limit_of_its_own(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.api.access.JSON_LIMIT", 500_000)
    question = b'{"question": "' + b"x" * 600_000 + b'"}'

    response = client.post("/api/v1/search", content=question, headers={"Content-Type": "application/json"})

    assert response.status_code == 413
    assert response.json()["detail"] == "The request is larger than 0.5 MB; send less."
