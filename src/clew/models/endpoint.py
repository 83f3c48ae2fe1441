"""JSON over HTTP with model servers: time-outs, bounded retries, and errors that say what to do.

Only what may pass by itself is tried again: no connection, one that breaks, 408, 425, 429 and 5xx. A deadline covers
all attempts. API keys never reach an error: what a server says is quoted with the key taken out.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from clew.errors import ServiceError, ServiceRefusedError, ServiceUnavailableError, SettingsError

T = TypeVar("T")

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
_QUOTED = 300
_LONGEST_PAUSE = 20.0
_MAX_BODY = 64 * 1024 * 1024


class RequestRefusedError(ServiceRefusedError):
    """The server refused this request (4xx); a changed one may pass."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said


class OverloadedError(ServiceUnavailableError):
    """The server asks to come back, perhaps after ``pause`` seconds."""

    def __init__(self, message: str, pause: float | None) -> None:
        super().__init__(message)
        self.pause = pause


@dataclass(frozen=True, slots=True)
class Attempts:
    """How long and how often: seconds for the whole call, further attempts after the first."""

    timeout: float
    retries: int = 2


class Endpoint:
    """One server. ``setting`` is the path of its settings section, named in errors. Safe across threads."""

    def __init__(self, url: str, api_key: str, *, setting: str, suffixes: tuple[str, ...] = ()) -> None:
        self.setting = setting
        self._url = _checked(url, setting, suffixes)
        self._key = api_key
        headers = {"authorization": f"Bearer {_header_safe(api_key, setting)}"} if api_key else {}
        # Without TLS there is nothing to verify, and loading the certificates takes longer than a request.
        self._client = httpx.Client(
            verify=self._url.scheme == "https", headers={"content-type": "application/json", **headers}
        )

    @property
    def shown(self) -> str:
        """The URL without user, password and query, for messages."""
        return str(self._url.copy_with(username=None, password=None, query=None, fragment=None))

    def close(self) -> None:
        self._client.close()

    def post(self, path: str, payload: Mapping[str, Any], attempts: Attempts) -> Any:
        """The JSON that the server answers. Raises ServiceError; RequestRefusedError for a request it refuses."""

        def ask(deadline: float) -> Any:
            with closing(self._send(path, payload, deadline)) as response:
                return self.parse(self.body(response, deadline), response)

        return self._tried(attempts, ask)

    def open(self, path: str, payload: Mapping[str, Any], attempts: Attempts) -> httpx.Response:
        """A response whose body is not yet read; the caller closes it. ``timeout``: also between two pieces."""
        return self._tried(attempts, lambda deadline: self._send(path, payload, deadline))

    def body(self, response: httpx.Response, deadline: float) -> bytes:
        """The whole body, until ``deadline``."""
        parts, size = [], 0
        with self.translated(max(0.0, deadline - time.monotonic())):
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the body came too slowly")
                if size > _MAX_BODY:
                    raise ServiceRefusedError(f"{self.shown} answered with more than {_MAX_BODY} bytes.")
        return b"".join(parts)

    def parse(self, body: bytes, response: httpx.Response) -> Any:
        """``body`` as JSON. Raises ServiceRefusedError."""
        try:
            return json.loads(body)
        except ValueError as error:
            raise self.not_understood(body.decode("utf-8", "replace"), response) from error

    def not_understood(self, said: str, response: httpx.Response | None = None) -> ServiceRefusedError:
        """For an answer of status 200 that is not what was asked for."""
        kind = response.headers.get("content-type", "") if response is not None else ""
        if "html" in kind or said.lstrip()[:1] == "<":
            return ServiceRefusedError(
                f"{self.shown} answered with a web page instead of JSON; check {self.setting}.url "
                "(the address of an OpenAI-compatible API usually ends in /v1)."
            )
        return ServiceRefusedError(
            f"{self.shown} gave an answer that cannot be understood: {self.quoted(said)}. "
            f"Check that {self.setting}.url is an OpenAI-compatible API."
        )

    def quoted(self, said: str) -> str:
        """What a server said, shortened and without the key."""
        text = said.replace(self._key, "***") if self._key else said
        text = " ".join(_message(text).split())
        return f"“{text}”" if len(text) <= _QUOTED else f"“{text[:_QUOTED]} …”"

    def error(self, status: int, said: str, headers: Mapping[str, str]) -> ServiceError:
        """The error for a status that is no success."""
        where, quoted = self.shown, self.quoted(said)
        if status in _TRANSIENT and not (status == 429 and "insufficient_quota" in said):
            message = f"{where} is overloaded or failing (status {status}: {quoted}); try again later."
            return OverloadedError(message, _asked_pause(headers))
        if status in (401, 403):
            message = f"{where} refused the API key (status {status}); set {self.setting}.api_key."
        elif status == 404:
            message = (
                f"{where} does not know this address or model (status 404: {quoted}); check {self.setting}.url, which "
                f"usually ends in /v1, and {self.setting}.model."
            )
        elif 300 <= status < 400:
            target = self.quoted(headers.get("location", "elsewhere"))
            message = f"{where} redirects to {target}; set {self.setting}.url to the final address."
        else:
            message = f"{where} refused the request (status {status}: {quoted}); check {self.setting}."
        return RequestRefusedError(message, status, said)

    def _address(self, path: str) -> httpx.URL:
        return self._url.copy_with(path=self._url.path.rstrip("/") + path)

    def _tried(self, attempts: Attempts, action: Callable[[float], T]) -> T:
        """``action(deadline)``, again where its error may pass by itself."""
        deadline = time.monotonic() + attempts.timeout
        for attempt in range(attempts.retries):
            try:
                return action(deadline)
            except ServiceUnavailableError as error:
                asked = error.pause if isinstance(error, OverloadedError) else None
                pause = _pause(attempt) if asked is None else asked
                if pause > _LONGEST_PAUSE or time.monotonic() + pause >= deadline:
                    raise
                time.sleep(pause)
        return action(deadline)

    def _send(self, path: str, payload: Mapping[str, Any], deadline: float) -> httpx.Response:
        # json= would write lone surrogates as they are and fail on them.
        content = json.dumps(payload).encode()
        remaining = max(0.05, deadline - time.monotonic())
        with self.translated(remaining):
            request = self._client.build_request("POST", self._address(path), content=content, timeout=remaining)
            response = self._client.send(request, stream=True)
        if response.is_success:
            return response
        with closing(response):
            said = self.body(response, deadline).decode("utf-8", "replace")
        raise self.error(response.status_code, said, response.headers)

    @contextmanager
    def translated(self, timeout: float) -> Iterator[None]:
        """Errors of httpx as errors of Clew."""
        try:
            yield
        except httpx.TimeoutException as error:
            raise ServiceUnavailableError(
                f"{self.shown} did not answer within {timeout:g} s; try again, or raise {self.setting}.timeout."
            ) from error
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.ProxyError) as error:
            raise ServiceUnavailableError(
                f"{self.shown} cannot be reached ({self.quoted(str(error))}); check that it runs and that "
                f"{self.setting}.url is right."
            ) from error
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise ServiceUnavailableError(
                f"The connection to {self.shown} broke ({self.quoted(str(error))}); try again."
            ) from error


def server_sent_events(response: httpx.Response, timeout: float) -> Iterator[str]:
    """The data of each event. Comments do not count as signs of life: ``timeout`` seconds from one event to the next.

    Lines are cut at LF alone: ``iter_lines`` would also cut at U+2028 and U+0085, which JSON may hold unescaped.
    """
    pending, data = b"", []
    heard = time.monotonic()
    for part in response.iter_bytes():
        *lines, pending = (pending + part).split(b"\n")
        for raw in lines:
            line = raw.rstrip(b"\r").decode("utf-8", "replace")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                yield "\n".join(data)
                data = []
                heard = time.monotonic()
        if time.monotonic() - heard > timeout:
            raise httpx.ReadTimeout("only comments came")
    rest = pending.rstrip(b"\r").decode("utf-8", "replace")
    if rest.startswith("data:"):
        data.append(rest[5:].removeprefix(" "))
    if data:
        yield "\n".join(data)


def clean(text: str) -> str:
    """Without lone surrogates, which have no UTF-8 form and which servers refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _checked(url: str, setting: str, suffixes: tuple[str, ...]) -> httpx.URL:
    example = "for example http://127.0.0.1:8000/v1"
    address = url.strip().rstrip("/")
    for suffix in suffixes:
        address = address.removesuffix(suffix)
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise SettingsError(f"{setting}.url: not an address ({error}); {example}.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise SettingsError(f"{setting}.url: must start with http:// or https://, {example}.")
    return parsed


def _header_safe(key: str, setting: str) -> str:
    if not re.fullmatch(r"[!-~]+", key):
        raise SettingsError(f"{setting}.api_key: holds a space, a line break or a character that no key has.")
    return key


def _message(said: str) -> str:
    """The message inside the error bodies that servers send, else all of it."""
    try:
        body = json.loads(said)
    except ValueError:
        return said
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and body.get(key):
            body = body[key]
    return body if isinstance(body, str) else said


def _asked_pause(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``Retry-After`` asks for."""
    value = headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _pause(attempt: int) -> float:
    """0.25 s, 0.5 s, 1 s …, each between half and the whole of it, so that clients do not return together."""
    return min(8.0, 0.25 * 2.0**attempt) * random.uniform(0.5, 1.0)
