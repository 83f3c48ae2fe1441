"""Who may talk to a server that needs no login: programs and pages of this machine, nobody else.

A foreign web page can make a browser send requests to loopback (cross-site requests, DNS rebinding). Both show in
headers that the page cannot forge: ``Host`` then names a foreign host, ``Origin`` a foreign page.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.api.problems import problem
from clew.errors import SettingsError

JSON_LIMIT = 10_000_000
"""Bytes of a request that brings no file."""
MULTIPART_ROOM = 100_000
"""Bytes of a multipart request beside the file itself."""


def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name or an address, without port) can only mean this machine."""
    host = host.strip("[]").lower()
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind_address(host: str) -> None:
    """Raises SettingsError unless ``host`` is loopback: without users and API keys nobody else may connect."""
    if not is_loopback(host):
        raise SettingsError(
            f"server.host: {host or 'every address'} can be reached from other machines, and this version has no "
            "users and API keys yet. Use 127.0.0.1, or a tunnel such as `ssh -L`."
        )


class LocalOnly:
    """Refuses requests whose ``Host`` is not this machine or whose ``Origin`` is not this very server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin = headers.get("origin")
        if not is_loopback(urlsplit(f"//{host}").hostname or ""):
            refusal = problem(421, "foreign-host", "Wrong host", "This server answers only to localhost.")
        elif origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            refusal = problem(403, "foreign-origin", "Refused", "Requests of other web pages are refused.")
        else:
            await self._app(scope, receive, send)
            return
        await refusal(scope, receive, send)


class _TooLargeError(Exception):
    pass


class BodyLimit:
    """Answers 413 once a request's body exceeds ``limit`` bytes (without a file: :data:`JSON_LIMIT`), without reading
    the rest."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        brings_file = headers.get("content-type", "").lower().startswith("multipart/")
        limit = self._limit if brings_file else min(self._limit, JSON_LIMIT)
        refuse = _file_too_large(limit) if brings_file else _request_too_large(limit)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            await refuse(scope, receive, send)
            return
        received = 0
        started = False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _TooLargeError
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            # Whatever the application makes of the interrupted body, the caller is told the true reason.
            if received <= limit:
                started = True
                await send(message)

        with suppress(_TooLargeError):
            await self._app(scope, counted, watched)
        if received > limit and not started:
            await refuse(scope, receive, send)


def _file_too_large(limit: int) -> Response:
    detail = f"The file is larger than {(limit - MULTIPART_ROOM) / 1_000_000:.0f} MB; " + (
        "the setting indexing.max_file_bytes says how large a file may be."
    )
    return problem(413, "too-large", "Too large", detail)


def _request_too_large(limit: int) -> Response:
    return problem(413, "too-large", "Too large", f"The request is larger than {limit / 1_000_000:g} MB; send less.")
