"""``clew serve`` as people run it: a process of its own on a data folder, reached over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class ServedClew:
    """A running server: its address, its data folder, and the environment that its commands need."""

    url: str
    data: Path
    environment: Mapping[str, str]

    def api(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api/v1", timeout=30, trust_env=False)

    def add(self, kb: str, name: str, content: str) -> dict[str, Any]:
        """Upload a file into the knowledge base (made where there is none) and wait until it can be searched."""
        with self.api() as client:
            kbs = {k["name"]: k["kb_id"] for k in client.get("/kbs").json()}
            kb_id = kbs.get(kb) or client.post("/kbs", json={"name": kb}).json()["kb_id"]
            file = client.post(f"/kbs/{kb_id}/files", files={"file": (name, content.encode())}).json()
            deadline = time.monotonic() + WAIT_SECONDS
            while file["status"] == "processing" and time.monotonic() < deadline:
                time.sleep(0.05)
                file = client.get(f"/files/{file['file_id']}").json()
        assert file["status"] == "completed", file
        return dict(file)


@contextmanager
def served(data: Path, settings: Mapping[str, str]) -> Iterator[ServedClew]:
    """Start a server on ``data`` with these environment variables; it is stopped, and has to end well, at the end."""
    environment = {**os.environ, "CLEW_DATA": str(data), **settings}
    process = subprocess.Popen([sys.executable, "-m", "clew", "serve", "--port", "0"], env=environment)
    try:
        yield ServedClew(_address(data, process), data, environment)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def _address(data: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            url = str(json.loads((data / "server.json").read_text())["url"])
            httpx.get(f"{url}/health", trust_env=False).raise_for_status()
        except (OSError, ValueError, httpx.HTTPError):
            time.sleep(0.1)
        else:
            return url
    raise AssertionError(f"clew serve did not start within {WAIT_SECONDS} s")
