"""The web server: one Clew behind HTTP, with the page beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema
from starlette.datastructures import MutableHeaders
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew import __version__
from clew.api import openai_compat, page, problems, schemas
from clew.api.access import MULTIPART_ROOM, BodyLimit, LocalOnly, check_bind_address
from clew.api.routes import attachments, chat, conversations, evaluations, files, kbs, search, settings, system
from clew.app import Clew
from clew.trace import RetrievalTrace

__all__ = ["Mounted", "check_bind_address", "create_app", "serve"]

_REF = "#/components/schemas/{model}"
_PROBLEM: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "What went wrong, as problem details.",
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}},
    }
}


@dataclass(frozen=True, slots=True)
class Mounted:
    """Another ASGI application at ``path``; it works while the context that ``running`` gives lasts."""

    path: str
    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[None]]


def create_app(
    clew: Clew | None,
    *,
    max_file_bytes: int = 200_000_000,
    page_folder: Path = page.FOLDER,
    mounted: Mounted | None = None,
) -> FastAPI:
    """The ASGI application. ``clew`` stays the caller's to close; without one the routes can only be described."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with nullcontext() if mounted is None else mounted.running():
            yield

    app = FastAPI(
        lifespan=lifespan,
        title="Clew",
        version=__version__,
        summary="Questions over your own documents, answered with citations.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # both would load script from another host
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.clew = clew
    app.add_middleware(BodyLimit, limit=max_file_bytes + MULTIPART_ROOM)
    app.add_middleware(LocalOnly)
    app.add_middleware(_CommonHeaders)
    problems.install(app)
    app.include_router(system.health)
    api = APIRouter(prefix="/api/v1", responses=_PROBLEM)
    for module in (kbs, files, search, chat, conversations, attachments, evaluations, settings, system):
        api.include_router(module.router)
    app.include_router(api)
    app.include_router(openai_compat.router)
    if mounted is not None:
        app.router.routes.append(Route(mounted.path, mounted.app))
    page.install(app, page_folder)
    _document(app)
    return app


def serve(
    clew: Clew,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    max_file_bytes: int = 200_000_000,
    on_listening: Callable[[], None] = lambda: None,
    mounted: Mounted | None = None,
) -> None:
    """Serve until interrupted; ``on_listening`` is called once requests are accepted. Raises SettingsError for an
    address that other machines can reach."""
    check_bind_address(host)
    config = uvicorn.Config(
        create_app(clew, max_file_bytes=max_file_bytes, mounted=mounted),
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        # An open event stream must not keep the server from ending.
        timeout_graceful_shutdown=3,
    )
    with suppress(KeyboardInterrupt):  # raised again by uvicorn once it has ended in good order
        _Server(config, on_listening).run()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening()


class _CommonHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


def _document(app: FastAPI) -> None:
    """Complete the OpenAPI document with what no route returns as JSON: stream events, problems, the trace."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            components = document["components"]["schemas"]
            models: list[type[BaseModel]] = [
                schemas.Problem,
                schemas.OneOfManyProgress,
                *dict.fromkeys(schemas.STREAM_EVENTS.values()),
            ]
            _, extra = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
            trace = TypeAdapter(RetrievalTrace).json_schema(mode="serialization", ref_template=_REF)
            components.update({**extra["$defs"], **trace.pop("$defs"), **components, "RetrievalTrace": trace})
            app.openapi_schema = _with_trace_refs(document)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _with_trace_refs(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(schemas.TRACE_MARK):
            return {"$ref": _REF.format(model="RetrievalTrace")}
        return {key: _with_trace_refs(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_trace_refs(item) for item in value]
    return value
