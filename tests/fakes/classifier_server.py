"""A scripted complexity classifier on a loopback port, over real HTTP.

::

    with ClassifierServer(0.93) as server:
        HttpComplexityClassifier(server.url, features_version="1").predict("…", [0, 0, 0, 0, 0])
        assert server.bodies[0]["questions"][0]["question"] == "…"

The reply is a probability, a status with a body (:class:`Answer`), or :class:`Slow`: seconds before the answer or, with
``trickle``, between its bytes.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Any status with any body; a text is sent as it is."""

    status: int = 200
    body: Any = None


@dataclass(frozen=True)
class Slow:
    """A good answer that comes late, or in drops."""

    seconds: float
    trickle: bool = False
    probability: float = 0.99


class ClassifierServer:
    """See the module's text. ``bodies`` are the requests so far."""

    def __init__(self, reply: float | Answer | Slow) -> None:
        self.reply = reply
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.closing = threading.Event()

    def __enter__(self) -> ClassifierServer:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                script.paths.append(self.path)
                script.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                # A client that does not wait is what some tests want to see.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    script.answer(self)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Base URL, without a slash at the end."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Sends the scripted reply."""
        if isinstance(self.reply, Answer):
            body = self.reply.body if isinstance(self.reply.body, str) else json.dumps(self.reply.body)
            self._send(handler, self.reply.status, body.encode())
        elif isinstance(self.reply, Slow):
            body = json.dumps(prediction(self.reply.probability)).encode()
            if not self.reply.trickle:
                self.closing.wait(self.reply.seconds)
            self._send(handler, 200, body, pause=self.reply.seconds if self.reply.trickle else 0.0)
        else:
            self._send(handler, 200, json.dumps(prediction(self.reply)).encode())

    def _send(self, handler: BaseHTTPRequestHandler, status: int, body: bytes, pause: float = 0.0) -> None:
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        if not pause:
            handler.wfile.write(body)
            return
        for byte in body:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            if self.closing.wait(pause):
                return


def prediction(probability: float, model_version: str = "fake-1") -> dict[str, Any]:
    """The body of a good answer to one question."""
    label = "multi" if probability >= 0.5 else "single"
    return {
        "predictions": [{"label": label, "multi_hop_probability": probability, "truncated": False}],
        "model_version": model_version,
    }
