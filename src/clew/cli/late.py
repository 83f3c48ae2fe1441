"""An ASGI application that is loaded with its first request, so that a server's start need not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send


class Running(Protocol):
    """An application that works while its context lasts."""

    app: ASGIApp

    def running(self) -> AbstractAsyncContextManager[None]: ...


class Late:
    """Calls ``load`` in a thread once the first request comes, and passes it and all others on."""

    def __init__(self, load: Callable[[], Running]) -> None:
        self._load = load
        self._wanted = asyncio.Event()
        self._loaded: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._loaded is not None, "the context of running() has to be open"
        self._wanted.set()
        app = await asyncio.shield(self._loaded)
        await app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for as long as the context lasts."""
        self._loaded = asyncio.get_running_loop().create_future()
        # One task opens and closes the application's context, because such contexts must not change tasks.
        task = asyncio.create_task(self._run(self._loaded))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _run(self, loaded: asyncio.Future[ASGIApp]) -> None:
        await self._wanted.wait()
        try:
            application = await asyncio.to_thread(self._load)
        except Exception as error:
            loaded.set_exception(error)
            raise
        async with application.running():
            loaded.set_result(application.app)
            await asyncio.Event().wait()
