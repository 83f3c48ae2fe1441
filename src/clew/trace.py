"""The record of decisions, look-ups, scores, timings, tokens and stop reasons of one question.

A :class:`RetrievalTrace` is built while a question is worked on and turned into JSON with :func:`to_json`; the same
JSON is streamed, stored in the message's ``usage`` and replayed.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clew.types import QuestionKind, TokenUsage

_spending = threading.Lock()

StopReason = Literal[
    "single",
    "sufficient",
    "max_rounds",
    "repeated_question",
    "no_new_chunks",
    "token_budget",
    "planner_failed",
    "not_needed",
]


FIRST_LOOK_SOURCES = frozenset({"weak_first_round", "strong_first_round"})
"""Sources of decisions that what the first look-up showed turned over."""


@dataclass(frozen=True, slots=True)
class ComplexityDecision:
    """Whether a question needs one look-up or several, and how that was decided (spec 3.1)."""

    question: str
    mode: Literal["single", "multi"]
    source: str
    """``rules``, ``classifier``, ``head``, ``model``, ``fallback``, ``request``, ``weak_first_round`` (single, but the
    first look-up showed that rounds find more), ``strong_first_round`` (undecided, and it showed that they do not), or
    ``attachments`` (where all that is asked is read whole)."""
    rule_score: float
    features: Mapping[str, Any]
    classifier_probability: float | None = None
    classifier_name: str | None = None
    """Which classifier gave the probability: ``classifier`` or ``head``."""
    model_version: str | None = None
    head_probability: float | None = None
    """What the in-process head says, whoever decided."""
    llm_verdict: bool | None = None
    reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """What each signal adds to the rules' evidence (signal × weight), largest first."""
    first_look: Mapping[str, float] = field(default_factory=dict)
    """What the first look-up showed, where it was asked: feature → value."""
    first_look_probability: float | None = None
    """Of rounds that find more, by what the first look-up showed."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Steps that were asked and failed: step name → what happened."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    ms: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds of each step, and ``total``."""

    @property
    def confidence(self) -> float:
        """How sure the deciding step was, in [0, 1]."""
        if self.source in {"request", "model"}:
            return 1.0
        value = self.rule_score
        if self.source in FIRST_LOOK_SOURCES and self.first_look_probability is not None:
            value = self.first_look_probability
        elif self.classifier_probability is not None and self.source != "rules":
            value = self.classifier_probability
        return value if self.mode == "multi" else 1.0 - value


@dataclass(frozen=True, slots=True)
class KindDecision:
    """Whether a question asks for a fact or a summary, and how that was decided (spec 3.3)."""

    question: str
    kind: QuestionKind
    source: str
    """``r1`` (patterns and length), ``r2`` (titles), ``model``, ``fallback`` or ``request``."""
    score: float
    """Of the patterns, in [0, 1]; 1 is surely a summary."""
    reason: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)
    """What was seen: signal → evidence, above 0 for a summary, below for a fact."""
    title_similarity: float | None = None
    """Share of the question that titles cover, in [0, 1]; None where no titles were compared."""
    title_vector_similarity: float | None = None
    """Highest cosine of question and titles; None where no vectors were compared."""
    titles: tuple[str, ...] = ()
    """The titles behind the similarity."""
    llm_verdict: bool | None = None
    """True where the language model says summary."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Steps that were asked and failed: step name → what happened."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class StageTrace:
    """One stage of one look-up: what went in, what came out, what was dropped and why."""

    name: str
    candidates_in: int = 0
    candidates_out: int = 0
    ms: float = 0.0
    tokens: int = 0
    ranking: list[dict[str, Any]] = field(default_factory=list)
    """Per candidate kept: ``chunk_id``, ``score`` and what else the stage knows."""
    dropped: list[dict[str, Any]] = field(default_factory=list)
    """Per candidate dropped: ``chunk_id`` and ``reason``."""
    note: str = ""
    """What degraded or was left out, in words."""
    text: str = ""
    """What the stage wrote, where it writes: the hypothetical answer."""


@dataclass(slots=True)
class MultiHopStep:
    """One round of retrieval."""

    round: int
    sub_question: str
    query: str
    """The text that was really looked up."""
    entities: list[str] = field(default_factory=list)
    hits: list[dict[str, Any]] = field(default_factory=list)
    """``chunk_id``, ``file``, ``section_titles``, ``page``, ``score``, ``new`` of the round's hits."""
    new_chunks: int = 0
    goes_on: bool = False
    why: str = ""
    """The short reason for going on or stopping; never hidden reasoning."""
    confidence: float | None = None
    stages: list[StageTrace] = field(default_factory=list)
    ms: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """What was asked for: all that a replay needs beside the documents themselves."""

    kbs: tuple[str, ...]
    files: tuple[str, ...] | None = None
    sections: tuple[Mapping[str, str], ...] | None = None
    """``file_id`` and ``section_path`` of each section asked in."""
    mode: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The first KB's settings that shape retrieval, nested as in ``clew.toml``."""
    kind: str = "auto"


@dataclass(frozen=True, slots=True)
class SectionReading:
    """What of the section tree a summary question means, and what of it was read (spec 3.3)."""

    scope: Literal["document", "sections", "topic"]
    source: str
    """``model``, ``titles`` (and numbers), or ``look-up``: where the topic was found."""
    reason: str = ""
    sections: tuple[Mapping[str, Any], ...] = ()
    """Per section chosen: ``file_id``, ``file``, ``section_path``, ``titles``, ``summary_source``."""
    matched: int = 0
    """Sections that belong to the answer …"""
    read: int = 0
    """… and those of them that were read, as far as the context holds them."""
    text: bool = False
    """Whether the sections' own text was read instead of their summaries."""
    fallback: str = ""
    """Why passages inside the sections were searched instead; empty where they were not."""


@dataclass(slots=True)
class RetrievalTrace:
    """Everything that was decided and looked up for one question."""

    question: str
    rewritten: str
    request: RequestTrace | None = None
    complexity: ComplexityDecision | None = None
    kind: KindDecision | None = None
    sections: SectionReading | None = None
    """Of a summary question; None for a fact."""
    planner: str = ""
    rounds: list[MultiHopStep] = field(default_factory=list)
    stages: list[StageTrace] = field(default_factory=list)
    """Stages after the last round: rerank, diversity, context."""
    stop_reason: StopReason = "single"
    uncertain: bool = False
    uncertain_reason: str = ""
    unmentioned: list[str] = field(default_factory=list)
    """Words of the question that no document in scope uses, where they are at least half of those that say what it is
    about: the answer then says so."""
    chunks: int = 0
    """Candidates over all rounds."""
    degraded: list[str] = field(default_factory=list)
    ms: dict[str, float] = field(default_factory=dict)
    usage: TokenUsage = field(default_factory=TokenUsage)
    """What all model calls for the question cost …"""
    usage_by_part: Mapping[str, TokenUsage] = field(default_factory=dict)
    """… and what for: ``rewrite``, ``complexity``, ``kind``, ``sections``, ``hyde``, ``planner``, ``rerank``,
    ``embed``, ``answer``, ``title``."""
    attachments: list[dict[str, Any]] = field(default_factory=list)
    """Per attachment that was asked: ``file_id``, ``name``, ``tier``, ``status``, ``reason``, ``tokens``, and how it
    was ``read``: whole, by words and vectors, by words, or not at all."""
    attachments_asked: str = ""
    """Which of the conversation's attachments these are, in words; empty: all."""

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Adds the milliseconds spent inside to ``ms[name]``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.ms[name] = self.ms.get(name, 0.0) + (time.perf_counter() - start) * 1000

    def spend(self, part: str, usage: TokenUsage) -> None:
        """Add the cost of a model call; several threads may."""
        with _spending:
            # A new mapping each time: the trace may be written out while a call that was given up comes to its end.
            spent = self.usage_by_part.get(part, TokenUsage()) + usage
            self.usage_by_part = {**self.usage_by_part, part: spent}
            self.usage = self.usage + usage

    def tokens(self, part: str) -> int:
        """What a part of the work cost until now in tokens of language models."""
        usage = self.usage_by_part.get(part, TokenUsage())
        return usage.prompt_tokens + usage.completion_tokens


def to_json(value: Any) -> Any:
    """Any value of this module or of ``clew.types`` as JSON-ready data; arrays are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_json(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if not isinstance(getattr(value, f.name), np.ndarray)
        }
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float):
        return round(value, 6)
    return value
