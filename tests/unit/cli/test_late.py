"""An application that is loaded with its first request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from clew.cli.late import Late


class Application:
    """Counts how often its context is opened and closed."""

    def __init__(self) -> None:
        self.app: ASGIApp = PlainTextResponse("here")
        self.opened = self.closed = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.opened += 1
        try:
            yield
        finally:
            self.closed += 1


def served(late: Late) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with late.running():
            yield

    app = FastAPI(lifespan=lifespan)
    app.router.routes.append(Route("/late", late))
    return app


def test_it_is_loaded_once_and_closed_at_the_end() -> None:
    loaded: list[Application] = []

    def load() -> Application:
        loaded.append(Application())
        return loaded[-1]

    with TestClient(served(Late(load))) as client:
        assert loaded == [], "nothing is loaded before it is asked"
        assert [client.get("/late").text for _ in range(3)] == ["here"] * 3
        assert [(a.opened, a.closed) for a in loaded] == [(1, 0)]
    assert loaded[0].closed == 1


def test_what_is_never_asked_is_never_loaded() -> None:
    def load() -> Application:
        raise AssertionError("nobody asked")

    with TestClient(served(Late(load))):
        pass


def test_a_failure_to_load_is_told_to_every_request() -> None:
    def load() -> Application:
        raise RuntimeError("no such library")

    with TestClient(served(Late(load))) as client:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no such library"):
                client.get("/late")
