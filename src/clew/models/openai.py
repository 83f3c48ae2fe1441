"""Chat and embeddings of any OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import binascii
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, TypeVar

import httpx
import numpy as np

from clew.config import ChatSettings, EmbedderSettings
from clew.errors import ServiceRefusedError, ServiceUnavailableError, SettingsError
from clew.models.base import ChatMessage, Completion, CompletionDelta
from clew.models.endpoint import Attempts, Endpoint, RequestRefusedError, clean, server_sent_events
from clew.text.estimating import estimated_spans, estimated_tokens
from clew.types import FloatArray, TokenUsage

Payload = dict[str, Any]
T = TypeVar("T")


class OpenAIChatModel:
    """A chat model behind ``<url>/chat/completions``.

    An endpoint that answers 400 about a parameter is asked once more without it (``response_format``,
    ``stream_options``, ``temperature``) or with its newer name (``max_completion_tokens``); what was learned is kept.
    Reasoning in a field of its own is not returned. Where the endpoint counts no tokens they are estimated.
    """

    def __init__(self, settings: ChatSettings, *, setting: str = "models.chat") -> None:
        if not settings.model:
            raise SettingsError(f"{setting}.model: must name the model that {setting}.url serves.")
        self._settings = settings
        self._endpoint = Endpoint(
            settings.url, settings.api_key.get_secret_value(), setting=setting, suffixes=("/chat/completions",)
        )
        self._learned: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self._settings.model

    def close(self) -> None:
        self._endpoint.close()

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The whole answer. Raises ServiceUnavailableError (transient) or ServiceRefusedError."""
        payload = self._payload(messages, temperature, max_tokens)
        if schema is not None:
            payload["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)},
            }
        deadline = time.monotonic() + self._timeout(timeout)

        def ask(adapted: Payload) -> Any:
            remaining = max(0.05, deadline - time.monotonic())
            return self._endpoint.post("/chat/completions", adapted, Attempts(remaining, self._settings.retries))

        return self._completion(self._adapted(payload, ask), messages)

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[CompletionDelta]:
        """The answer in pieces. A connection that breaks before the end raises ServiceUnavailableError."""
        payload = self._payload(messages, temperature, max_tokens)
        payload |= {"stream": True, "stream_options": {"include_usage": True}}
        seconds = self._timeout(timeout)
        attempts = Attempts(seconds, self._settings.retries)

        response = self._adapted(payload, lambda adapted: self._endpoint.open("/chat/completions", adapted, attempts))
        with closing(response), self._endpoint.translated(seconds):
            if "event-stream" in response.headers.get("content-type", ""):
                yield from self._deltas(response, messages, seconds)
            else:
                body = self._endpoint.body(response, time.monotonic() + seconds)
                whole = self._completion(self._endpoint.parse(body, response), messages)
                yield CompletionDelta(whole.text)
                yield CompletionDelta(usage=whole.usage, finish_reason=whole.finish_reason)

    def _deltas(
        self, response: httpx.Response, messages: Sequence[ChatMessage], seconds: float
    ) -> Iterator[CompletionDelta]:
        usage, finish_reason, length = None, None, 0
        for event in server_sent_events(response, seconds):
            if event.strip() == "[DONE]":
                break
            chunk = self._endpoint.parse(event.encode(), response)
            if not isinstance(chunk, dict):
                raise self._endpoint.not_understood(event)
            if chunk.get("error"):
                raise self._midway(chunk["error"])
            usage = _usage(chunk) or usage
            for choice in (chunk.get("choices") or [])[:1]:
                finish_reason = choice.get("finish_reason") or finish_reason
                text = _text((choice.get("delta") or choice.get("message") or {}).get("content"))
                if text:
                    length += estimated_tokens(text)
                    yield CompletionDelta(text)
        else:
            if finish_reason is None:
                raise ServiceUnavailableError(
                    f"{self._endpoint.shown} ended the answer before it was complete; ask again."
                )
        yield CompletionDelta(usage=usage or _estimated(messages, length), finish_reason=finish_reason or "stop")

    def _completion(self, body: Any, messages: Sequence[ChatMessage]) -> Completion:
        try:
            choice = body["choices"][0]
            text = _text(choice["message"].get("content"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._endpoint.not_understood(str(body)) from error
        usage = _usage(body) or _estimated(messages, estimated_tokens(text))
        return Completion(text, usage, choice.get("finish_reason") or "stop")

    def _midway(self, error: Any) -> Exception:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        return self._endpoint.error(status, str(error), {})

    def _payload(self, messages: Sequence[ChatMessage], temperature: float, max_tokens: int | None) -> Payload:
        payload: Payload = {
            "model": self._settings.model,
            "messages": [{"role": message.role, "content": _content(message)} for message in messages],
            "temperature": temperature,
        }
        if max_tokens is not None:
            payload["max_tokens"] = max_tokens
        return payload

    def _timeout(self, timeout: float | None) -> float:
        return self._settings.timeout if timeout is None else timeout

    def _adapted(self, payload: Payload, send: Callable[[Payload], T]) -> T:
        """``send(payload)``, changed where the endpoint refuses a parameter."""
        changes = self._learned
        while True:
            adapted = dict(payload)
            for change in changes:
                _CHANGES[change](adapted)
            try:
                result = send(adapted)
            except RequestRefusedError as error:
                refused = _change_for(error, adapted)
                if refused is None:
                    raise
                changes |= {refused}
                continue
            self._learned |= changes
            return result


class OpenAIEmbedder:
    """An embedder behind ``<url>/embeddings``; vectors are normalised here. Tokens are estimated from above."""

    def __init__(
        self,
        settings: EmbedderSettings,
        *,
        setting: str = "models.embedder",
        batch_size: int = 32,
        retries: int = 2,
    ) -> None:
        if not settings.model:
            raise SettingsError(f"{setting}.model: must name the model that {setting}.url serves.")
        self._settings = settings
        self._endpoint = Endpoint(
            settings.url, settings.api_key.get_secret_value(), setting=setting, suffixes=("/embeddings",)
        )
        self._batch_size = batch_size
        self._attempts = Attempts(settings.timeout, retries)
        self._dimension = settings.dimension
        self._asking = threading.Lock()

    @cached_property
    def name(self) -> str:
        prefixes = self._settings.query_prefix + "\x00" + self._settings.passage_prefix
        suffix = "" if prefixes == "\x00" else "/" + hashlib.sha256(prefixes.encode()).hexdigest()[:8]
        return f"openai/{self._settings.model}{suffix}"

    @property
    def dimension(self) -> int:
        """From the settings, else the endpoint is asked once. Raises ServiceError."""
        with self._asking:
            if not self._dimension:
                self._dimension = self._request(["dimension"]).shape[1]
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._settings.max_tokens

    def close(self) -> None:
        self._endpoint.close()

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of passages, shape ``(len(texts), dimension)``, L2-normalised. Raises ServiceError."""
        return self._embed(texts, self._settings.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of questions, shape ``(len(texts), dimension)``, L2-normalised. Raises ServiceError."""
        return self._embed(texts, self._settings.query_prefix)

    def count_tokens(self, text: str) -> int:
        return estimated_tokens(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return estimated_spans(text)

    def _embed(self, texts: Sequence[str], prefix: str) -> FloatArray:
        result = np.empty((len(texts), self.dimension), np.float32)
        inputs = [self._cut(clean(prefix + text)) for text in texts]
        place = 0
        while place < len(inputs):
            batch = inputs[place : place + self._batch_size]
            try:
                vectors = self._request(batch)
            except RequestRefusedError as error:
                if error.status not in (400, 413, 422) or len(batch) == 1:
                    raise
                # Endpoints limit batches between 10 and 2,048 texts and say so in many ways.
                self._batch_size = max(1, len(batch) // 2)
                continue
            if vectors.shape[1] != result.shape[1]:
                raise ServiceRefusedError(
                    f"{self._endpoint.shown} gives vectors of {vectors.shape[1]} numbers for {self._settings.model}, "
                    f"not {result.shape[1]}; correct {self._endpoint.setting}.dimension or the model."
                )
            result[place : place + len(batch)] = vectors
            place += len(batch)
        return result

    def _cut(self, text: str) -> str:
        """What the endpoint can read: many refuse longer texts, and all refuse empty ones."""
        limit = self._settings.max_tokens
        if len(text) > limit:
            spans = self.token_offsets(text)
            text = text[: spans[limit - 1][1]] if len(spans) > limit else text
        return text if text.strip() else "."

    def _request(self, texts: Sequence[str]) -> FloatArray:
        body = self._endpoint.post("/embeddings", {"model": self._settings.model, "input": list(texts)}, self._attempts)
        try:
            rows = sorted(enumerate(body["data"]), key=lambda each: each[1].get("index", each[0]))
            vectors = np.array([_vector(row["embedding"]) for _, row in rows], np.float32)
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
            raise self._endpoint.not_understood(str(body)) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ServiceRefusedError(
                f"{self._endpoint.shown} was asked for {len(texts)} vectors and gave an array of shape "
                f"{vectors.shape}, or numbers that are not finite; check {self._endpoint.setting}.model."
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)


def _vector(value: Any) -> Any:
    """A list of numbers, or base64 of little-endian float32."""
    return np.frombuffer(base64.b64decode(value), "<f4") if isinstance(value, str) else value


def _content(message: ChatMessage) -> str | list[Payload]:
    """A text, or where there are pictures a list of parts, which models that only read refuse."""
    text = clean(message.content)
    if not message.pictures:
        return text
    parts: list[Payload] = [{"type": "text", "text": text}]
    for picture in message.pictures:
        data = base64.b64encode(picture.data).decode("ascii")
        parts.append({"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{data}"}})
    return parts


def _text(content: Any) -> str:
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return clean(content) if isinstance(content, str) else ""


def _usage(body: Mapping[str, Any]) -> TokenUsage | None:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int):
        return None
    return TokenUsage(prompt_tokens=prompt, completion_tokens=completion if isinstance(completion, int) else 0, calls=1)


def _estimated(messages: Sequence[ChatMessage], completion: int) -> TokenUsage:
    prompt = sum(estimated_tokens(message.content) for message in messages)
    return TokenUsage(prompt_tokens=prompt, completion_tokens=completion, calls=1)


def _without(key: str) -> Callable[[Payload], None]:
    def change(payload: Payload) -> None:
        payload.pop(key, None)

    return change


def _rename_max_tokens(payload: Payload) -> None:
    if "max_tokens" in payload:
        payload["max_completion_tokens"] = payload.pop("max_tokens")


_CHANGES: dict[str, Callable[[Payload], None]] = {
    "max_tokens": _rename_max_tokens,
    "temperature": _without("temperature"),
    "stream_options": _without("stream_options"),
    "response_format": _without("response_format"),
}


def _change_for(error: RequestRefusedError, payload: Payload) -> str | None:
    """Which parameter the endpoint refuses: the one it names, else the schema, which is refused in many words."""
    if error.status not in (400, 422):
        return None
    for key in _CHANGES:
        if key in payload and key in error.said:
            return key
    return "response_format" if "response_format" in payload else None
