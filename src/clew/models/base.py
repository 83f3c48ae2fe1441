"""Protocols of the models that Clew uses; each has one contract suite under ``tests/contract``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from clew.types import FloatArray, Picture, TokenUsage


@runtime_checkable
class Embedder(Protocol):
    """Turns text into L2-normalised vectors. Implementations are safe to call from several threads."""

    @property
    def name(self) -> str:
        """Identifies model, pooling and quantisation; vectors of different names are never compared."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens that the encoder reads of one text; the caller splits what is longer."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of passages, shape ``(len(texts), dimension)``. Raises ServiceError."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of questions, shape ``(len(texts), dimension)``. Raises ServiceError."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` without special tokens; exact where the tokenizer is at hand, else an upper estimate."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Code point span of each token, in order; lets the chunker cut exactly at the limit."""
        ...


@runtime_checkable
class SpanEmbedder(Embedder, Protocol):
    """An embedder that gives the vectors of several spans of a text from one pass over it (late chunking)."""

    @property
    def pools_spans(self) -> bool:
        """Whether the model can: its output has to be one vector a token, pooled by their mean."""
        ...

    def embed_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[FloatArray]:
        """For each text the vectors of its spans (code points), each read in the light of the whole text; of shape
        ``(len(spans[i]), dimension)``. A text beyond ``max_tokens`` goes through in overlapping windows. Raises
        ServiceError."""
        ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message for a chat model."""

    role: Literal["system", "user", "assistant"]
    content: str
    pictures: tuple[Picture, ...] = ()
    """Shown with the text; only models that see can be sent any."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer; ``finish_reason`` is ``length`` where it was cut off."""

    text: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class CompletionDelta:
    """A piece of a streamed answer; the last one carries usage and finish reason."""

    text: str = ""
    usage: TokenUsage | None = None
    finish_reason: str | None = None


@runtime_checkable
class ChatModel(Protocol):
    """A chat model. Time-outs are seconds for the call (``stream``: to the first token, then between tokens)."""

    @property
    def name(self) -> str:
        """The model's name, for traces."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The whole answer. ``schema`` is a JSON schema for endpoints that can enforce one. Raises ServiceError."""
        ...

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[CompletionDelta]:
        """The answer in pieces; closing the iterator closes the connection. Raises ServiceError, also midway."""
        ...


@runtime_checkable
class VisionModel(Protocol):
    """Says what a picture shows. Implementations are safe to call from several threads."""

    @property
    def name(self) -> str:
        """The model's name: what it made is kept under it."""
        ...

    def describe(
        self, prompt: str, picture: Picture, *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The answer to ``prompt``; ``schema`` as in :meth:`ChatModel.complete`. Raises ServiceError."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores passages against a question."""

    @property
    def name(self) -> str:
        """The model's name, for traces."""
        ...

    def rerank(self, question: str, passages: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """One score in [0, 1] per passage, in the order given. Raises ServiceError."""
        ...


@dataclass(frozen=True, slots=True)
class ComplexityPrediction:
    """What a classifier says: the probability that the question needs several hops."""

    multi_hop_probability: float
    model_version: str


@runtime_checkable
class ComplexityClassifier(Protocol):
    """Step 2 of the complexity cascade."""

    @property
    def name(self) -> str:
        """``classifier`` for the external service, ``head`` for the in-process one."""
        ...

    def predict(
        self,
        question: str,
        features: Sequence[float],
        *,
        vector: FloatArray | None = None,
        timeout: float | None = None,
    ) -> ComplexityPrediction:
        """``features``: the five numbers of ``retrieval.complexity.features``. Raises ServiceError."""
        ...
