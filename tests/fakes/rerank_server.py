"""A reranking server on a loopback port that scores passages by the words they share with the question."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def overlap(question: str, passage: str) -> float:
    words = set(question.lower().split())
    return len(words & set(passage.lower().split())) / max(1, len(words))


def cohere(body: dict[str, Any]) -> tuple[int, Any]:
    """Scores as Cohere, Jina and vLLM give them, best first."""
    scored = [(i, overlap(body["query"], text)) for i, text in enumerate(body["documents"])]
    best = sorted(scored, key=lambda pair: -pair[1])[: body["top_n"]]
    return 200, {"results": [{"index": i, "relevance_score": score} for i, score in best]}


def tei(body: dict[str, Any]) -> tuple[int, Any]:
    """Scores as Text Embeddings Inference gives them."""
    scored = [{"index": i, "score": overlap(body["query"], text)} for i, text in enumerate(body["texts"])]
    return 200, sorted(scored, key=lambda row: -row["score"])


class RerankServer:
    """``with RerankServer(cohere) as server: server.url``; ``bodies`` are the requests so far."""

    def __init__(self, answer: Answer) -> None:
        self.bodies: list[dict[str, Any]] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                bodies.append(body)
                status, said = answer(body)
                data = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> RerankServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
