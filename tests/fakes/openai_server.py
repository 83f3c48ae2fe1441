"""A scripted OpenAI-compatible server on a loopback port, over real HTTP.

::

    with ScriptedServer(replies=["Paris.", Status(500), Reply("Rome.", reasoning="Italy?")]) as server:
        model = OpenAIChatModel(ChatSettings(url=server.url, model="fake", api_key="key"))
        ...
        assert server.chats[0].messages[-1]["content"] == "Capital of France?"

``replies`` is a list that is used up in order (then every request is answered with status 400), or one function of the
request that returns a reply each time. A reply is a text, or one of :class:`Reply`, :class:`Status`, :class:`Raw`,
:class:`Hang`; a function inside the list is called for its turn. Streamed and whole requests are answered alike.
``failures`` are such replies for ``/embeddings``, used up before embeddings are given.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Request:
    """What the server was asked. ``headers`` have lower-case names."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Messages of a chat request."""
        return list(self.body["messages"])

    @property
    def text(self) -> str:
        """All messages as one text, for functions that decide by what they find in it."""
        return "\n".join(str(message["content"]) for message in self.messages)

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))


@dataclass(frozen=True)
class Reply:
    """An answer. ``delay``: seconds before it and, streamed, before each further piece."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = "stop"
    usage: tuple[int, int] | None = (11, 7)
    """Prompt and completion tokens; None: the server does not say."""
    delay: float = 0.0
    pieces: Sequence[str] | None = None
    """How a streamed text is cut; otherwise every four characters."""
    break_after: int | None = None
    """Streamed: cut the connection after so many pieces. Whole: cut it in the middle of the body."""
    done: bool = True
    """Streamed: end with ``[DONE]``."""


@dataclass(frozen=True)
class Status:
    """An error status; ``body`` is sent as JSON unless it is a text."""

    code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Status 200 with any body: malformed JSON, an HTML page, a stream of your own."""

    body: str
    content_type: str = "application/json"


@dataclass(frozen=True)
class Hang:
    """Says nothing for so many seconds (or until the server closes), then drops the connection."""

    seconds: float = 60.0


Answer = str | Reply | Status | Raw | Hang
Script = Callable[[Request], Answer]
EXHAUSTED = Status(400, {"error": {"message": "The script of this server has no reply left."}})


class ScriptedServer:
    """See the module's text. ``api_key``: refuse other keys with 401; ``dimension``: of its embeddings."""

    def __init__(
        self,
        replies: Sequence[Answer | Script] | Script = (),
        *,
        failures: Sequence[Answer] = (),
        embed: Callable[[str], Sequence[float]] | None = None,
        dimension: int = 32,
        api_key: str | None = None,
        port: int = 0,
    ) -> None:
        self._function = replies if callable(replies) else None
        self._replies = [] if callable(replies) else list(replies)
        self._failures = list(failures)
        self.embed = embed or (lambda text: character_vector(text, dimension))
        self.api_key = api_key
        self.requests: list[Request] = []
        self.disconnects = 0
        """Answers that the client did not wait for."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._port = port

    def __enter__(self) -> ScriptedServer:
        server = self

        class Handler(_Handler):
            script = server

        self._http = _Http(("127.0.0.1", self._port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def chats(self) -> list[Request]:
        """Chat requests so far."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    @property
    def embeddings(self) -> list[Request]:
        """Embedding requests so far."""
        return [request for request in self.requests if request.path.endswith("/embeddings")]

    def add(self, *replies: Answer | Script) -> None:
        """Append to the script."""
        with self._lock:
            self._replies.extend(replies)

    def next_reply(self, request: Request) -> Answer:
        """The answer to a chat request."""
        if self._function is not None:
            return self._function(request)
        with self._lock:
            reply = self._replies.pop(0) if self._replies else EXHAUSTED
        return reply(request) if callable(reply) else reply

    def next_failure(self) -> Answer | None:
        """What an embedding request meets instead of vectors."""
        with self._lock:
            return self._failures.pop(0) if self._failures else None


def character_vector(text: str, dimension: int) -> list[float]:
    """A vector in which texts that share characters and pairs of them are near; the same in every run."""
    vector = np.full(dimension, 1e-3)
    for gram in [*text, *(text[i : i + 2] for i in range(len(text) - 1))]:
        digest = hashlib.blake2b(gram.encode("utf-8", "replace"), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "big") % dimension] += 1.0 if digest[4] & 1 else -1.0
    return [float(value) for value in vector]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ScriptedServer

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.script.requests.append(request)
        try:
            self._answer(request)
        except OSError:
            self.script.disconnects += 1
            self.close_connection = True

    def _answer(self, request: Request) -> None:
        if self.script.api_key and request.headers.get("authorization") != f"Bearer {self.script.api_key}":
            given = request.headers.get("authorization", "")
            self._json(401, {"error": {"message": f"Incorrect API key provided: {given}"}})
        elif request.path.endswith("/chat/completions"):
            self._give(request, self.script.next_reply(request))
        elif request.path.endswith("/embeddings"):
            failure = self.script.next_failure()
            if failure is None:
                self._embed(request)
            else:
                self._give(request, failure)
        else:
            self._json(404, {"error": {"message": f"There is no {request.path} here."}})

    def _give(self, request: Request, answer: Answer) -> None:
        if isinstance(answer, str):
            answer = Reply(answer)
        if isinstance(answer, Status):
            self._json(answer.code, answer.body or {"error": {"message": f"status {answer.code}"}}, answer.headers)
        elif isinstance(answer, Raw):
            self._send(200, answer.body.encode(), answer.content_type)
        elif isinstance(answer, Hang):
            self.script.closing.wait(answer.seconds)
            self._drop()
        elif request.streamed:
            self._stream(request, answer)
        else:
            self._whole(request, answer)

    def _whole(self, request: Request, reply: Reply) -> None:
        self.script.closing.wait(reply.delay) if reply.delay else None
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        body: dict[str, Any] = {
            "id": "chat-1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        }
        if reply.usage:
            body["usage"] = _usage(reply.usage)
        if reply.break_after is None:
            self._json(200, body)
            return
        data = json.dumps(body).encode()
        self._head(200, "application/json", {"content-length": str(len(data))})
        self.wfile.write(data[: len(data) // 2])
        self._drop()

    def _stream(self, request: Request, reply: Reply) -> None:
        self._head(200, "text/event-stream; charset=utf-8", {"transfer-encoding": "chunked"})
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in _pieces(reply.reasoning, None)]
        first = len(deltas)
        deltas += [{"content": piece} for piece in _pieces(reply.text, reply.pieces)]
        for number, delta in enumerate(deltas):
            if reply.break_after is not None and number - first >= reply.break_after:
                self._drop()
                return
            if reply.delay and number:
                self.script.closing.wait(reply.delay)
            self._event(request, [{"index": 0, "delta": delta, "finish_reason": None}])
        if reply.finish_reason:
            self._event(request, [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
        if reply.usage and (request.body.get("stream_options") or {}).get("include_usage"):
            self._event(request, [], usage=_usage(reply.usage))
        if reply.done:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _embed(self, request: Request) -> None:
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        if any(not text for text in texts):
            self._json(400, {"error": {"message": "input cannot be an empty string"}})
            return
        rows = [
            {"object": "embedding", "index": i, "embedding": list(self.script.embed(t))} for i, t in enumerate(texts)
        ]
        tokens = sum(len(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        # Last first: a client has to go by the index.
        self._json(200, {"object": "list", "data": rows[::-1], "model": request.body.get("model"), "usage": usage})

    def _event(self, request: Request, choices: list[dict[str, Any]], **more: Any) -> None:
        event = {"id": "chat-1", "object": "chat.completion.chunk", "model": request.body.get("model")}
        whole = {**event, "choices": choices, **more}
        try:
            data = json.dumps(whole, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # lone surrogates can only be sent as escapes
            data = json.dumps(whole).encode()
        self._chunk(b"data: " + data + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self._send(status, text.encode(), "text/plain" if isinstance(body, str) else "application/json", headers)

    def _send(self, status: int, data: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        self._head(status, content_type, {"content-length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def _head(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": content_type, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _drop(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _pieces(text: str, given: Sequence[str] | None) -> list[str]:
    return list(given) if given is not None else [text[i : i + 4] for i in range(0, len(text), 4)]


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
