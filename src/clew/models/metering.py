"""What model calls cost, counted where they are made: a model is wrapped for one question, or one file, and tells of
each of its calls, whatever becomes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.models.base import ChatMessage, ChatModel, Completion, CompletionDelta, Embedder, Reranker, VisionModel
from clew.text.estimating import estimated_tokens
from clew.types import FloatArray, Picture, TokenUsage

Spend = Callable[[str, TokenUsage], None]
"""Is told what a call was for and what it cost; several threads may call it."""


def metered(chat: ChatModel | None, part: str, spend: Spend) -> ChatModel | None:
    """The model with its calls counted under ``part``; None where there is none."""
    return None if chat is None else MeteredChat(chat, part, spend)


@dataclass(frozen=True, slots=True)
class MeteredChat:
    """Implements ``ChatModel``."""

    chat: ChatModel
    part: str
    spend: Spend

    @property
    def name(self) -> str:
        return self.chat.name

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        reply = self.chat.complete(
            messages, temperature=temperature, max_tokens=max_tokens, timeout=timeout, schema=schema
        )
        self.spend(self.part, reply.usage)
        return reply

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Generator[CompletionDelta, None, None]:
        usage, written = None, 0
        deltas = self.chat.stream(messages, temperature=temperature, max_tokens=max_tokens, timeout=timeout)
        try:
            for delta in deltas:
                usage = delta.usage or usage
                written += estimated_tokens(delta.text)
                yield delta
        finally:
            close = getattr(deltas, "close", None)
            if close is not None:
                close()
            # The count comes with the last piece; of a stream that was stopped or broke off it is estimated.
            if usage is None and written:
                read = sum(estimated_tokens(message.content) for message in messages)
                usage = TokenUsage(prompt_tokens=read, completion_tokens=written, calls=1)
            if usage is not None:
                self.spend(self.part, usage)


@dataclass(frozen=True, slots=True)
class MeteredReranker:
    """Implements ``Reranker``. Services bill in units of their own, so its tokens are estimated."""

    reranker: Reranker
    spend: Spend

    @property
    def name(self) -> str:
        return self.reranker.name

    def rerank(self, question: str, passages: Sequence[str], *, timeout: float | None = None) -> list[float]:
        scores = self.reranker.rerank(question, passages, timeout=timeout)
        tokens = len(passages) * estimated_tokens(question) + sum(map(estimated_tokens, passages))
        self.spend("rerank", TokenUsage(rerank_tokens=tokens, calls=1))
        return scores


@dataclass(frozen=True, slots=True)
class MeteredVision:
    """Implements ``VisionModel``."""

    vision: VisionModel
    spend: Spend

    @property
    def name(self) -> str:
        return self.vision.name

    def describe(
        self, prompt: str, picture: Picture, *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        reply = self.vision.describe(prompt, picture, max_tokens=max_tokens, schema=schema)
        self.spend("vision", reply.usage)
        return reply


@dataclass(frozen=True, slots=True)
class MeteredEmbedder:
    """Implements ``Embedder``. Its tokens are estimated: an answer may encode hundreds of sentences, and counting them
    exactly would cost a tenth of that."""

    embedder: Embedder
    spend: Spend

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self.embedder.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        return self._counted(texts, self.embedder.embed_passages(texts))

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        return self._counted(texts, self.embedder.embed_queries(texts))

    def count_tokens(self, text: str) -> int:
        return self.embedder.count_tokens(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return self.embedder.token_offsets(text)

    def _counted(self, texts: Sequence[str], vectors: FloatArray) -> FloatArray:
        self.spend("embed", TokenUsage(embedding_tokens=sum(map(estimated_tokens, texts))))
        return vectors
