"""Decides whether a question asks for a fact or a summary: patterns → titles → language model → fallback (spec 3.3).

``r1`` weighs what the question shows (``kind_signals``): evidence for a summary counts up, evidence for a fact down,
and a logistic function makes a score of it. ``r2`` asks, where ``r1`` is unsure, whether the question names nothing but
titles of its scope (``kind_titles``). ``r3`` asks the language model. What fails is recorded and the next step takes
over; the question is always answered. Weights come from ``benchmarks/fit_kind.py``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from clew.config import KindSettings
from clew.errors import ClewError, ServiceRefusedError
from clew.models.base import ChatMessage, ChatModel
from clew.models.deadline import within
from clew.retrieval.complexity.verdict import MAX_REPLY_TOKENS, read_verdict
from clew.retrieval.kind_signals import SIGNALS, SIGNALS_VERSION, kind_signals
from clew.retrieval.kind_titles import EmbedTexts, TitleMatch, is_one_term, match_titles
from clew.text.language import detect_language
from clew.trace import KindDecision
from clew.types import QuestionKind

KindChoice = Literal["auto", "fact", "summary"]

Titles = Sequence[str] | Callable[[], Sequence[str]]
"""Titles of files and sections, upper levels first; a function is called only where they are needed."""

_WEIGHTS_FILE = "kind_weights.json"

_PROMPT_ZH = (
    "判断：要回答下面关于资料的问题，是否需要概括整份资料、整个章节或许多处内容？如果在一两处找到一个数值、名称、日期、"
    "定义、条件或原因就能回答，答“否”。只回答一个字：是 或 否。\n\n问题：{question}"
)
_PROMPT_EN = (
    "To answer the question below about documents, does one have to summarise a whole document, a whole section, or "
    "many places? If a number, name, date, definition, condition or reason that stands in one or two places answers "
    "it, say no. Answer with one word only: yes or no.\n\nQuestion: {question}"
)


@dataclass(frozen=True, slots=True)
class KindScore:
    """What the patterns say: ``score`` in [0, 1], 1 is surely a summary; ``evidence`` by signal, strongest first."""

    score: float
    evidence: Mapping[str, float]

    @property
    def reason(self) -> str:
        """The strongest observations for the side that the score is on, in words."""
        sign = 1.0 if self.score >= 0.5 else -1.0
        told = [SIGNALS[name].says for name, amount in self.evidence.items() if amount * sign >= 0.3][:3]
        return "; ".join(told) if told else "no clear sign"


@dataclass(frozen=True, slots=True)
class KindWeights:
    """Weights ≥ 0; each counts in the direction of its signal. ``bias`` is the evidence of a question without signs."""

    weights: Mapping[str, float]
    bias: float


def decide_kind(
    question: str,
    *,
    kind: KindChoice = "auto",
    settings: KindSettings,
    titles: Titles | None = None,
    chat_model: ChatModel | None = None,
    embed: EmbedTexts | None = None,
) -> KindDecision:
    """The decision for a standalone question. Never raises for a failing embedder or model.

    ``kind``: the request's; anything but ``auto`` is obeyed. ``titles``: of the files and sections in the scope, and of
    no others, because the record names those that matched. ``embed``: texts to normalised vectors; without it titles
    are compared by their words alone.
    """
    case = _Case(question, settings)
    with case.timed("total"):
        with case.timed("r1"):
            case.scored = score_kind(question)
        if kind != "auto":
            return case.decision(kind, "request", f"kind is {kind}")
        return (
            _by_patterns(case)
            or _by_titles(case, titles, embed)
            or _by_model(case, chat_model)
            or case.decision(*_fallback(case))
        )


def replay_kind(decision: KindDecision, settings: KindSettings) -> QuestionKind:
    """What the recorded numbers of a decision would have meant under other thresholds, without asking anybody."""
    if decision.source == "request":
        return decision.kind
    by_score = _sure(decision.score, settings)
    if by_score:
        return by_score
    if _titles_say_summary(decision.title_similarity, decision.title_vector_similarity, settings):
        return "fact" if is_one_term(decision.question) else "summary"
    if decision.llm_verdict is not None:
        return "summary" if decision.llm_verdict else "fact"
    return "summary" if decision.score >= settings.fallback_threshold else "fact"


def score_kind(question: str, weights: KindWeights | None = None) -> KindScore:
    """Scores a question by its signals, with the committed weights unless others are given."""
    used = weights or load_weights()
    amounts = {
        name: value * used.weights.get(name, 0.0) * (1.0 if SIGNALS[name].points_to == "summary" else -1.0)
        for name, value in kind_signals(question).items()
    }
    evidence = used.bias + sum(amounts.values())
    ordered = dict(sorted(amounts.items(), key=lambda item: -abs(item[1])))
    return KindScore(round(1.0 / (1.0 + math.exp(-evidence)), 6), {name: round(a, 4) for name, a in ordered.items()})


@cache
def load_weights() -> KindWeights:
    """The committed weights. Raises ValueError where they were fitted for other signals."""
    return parse_weights(json.loads(resources.files(__package__).joinpath(_WEIGHTS_FILE).read_text(encoding="utf-8")))


def parse_weights(data: Mapping[str, Any]) -> KindWeights:
    """Weights from the JSON that the fitting script writes."""
    if data["signals_version"] != SIGNALS_VERSION:
        raise ValueError(
            f"{_WEIGHTS_FILE} was fitted for signals {data['signals_version']}, the code has {SIGNALS_VERSION}; "
            "run benchmarks/fit_kind.py."
        )
    return KindWeights(dict(data["weights"]), data["bias"])


def kind_messages(question: str) -> list[ChatMessage]:
    """The zero-shot question to the language model, in the question's language."""
    prompt = _PROMPT_ZH if detect_language(question) == "zh" else _PROMPT_EN
    return [ChatMessage("user", prompt.replace("{question}", question))]


@dataclass
class _Case:
    """What is known about one question so far."""

    question: str
    settings: KindSettings
    scored: KindScore = field(init=False)
    match: TitleMatch | None = None
    llm_verdict: bool | None = None
    failures: dict[str, str] = field(default_factory=dict)
    ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.ms[step] = (time.perf_counter() - start) * 1000

    def decision(self, kind: QuestionKind, source: str, reason: str) -> KindDecision:
        return KindDecision(
            question=self.question,
            kind=kind,
            source=source,
            score=self.scored.score,
            reason=reason,
            signals=self.scored.evidence,
            title_similarity=self.match.similarity if self.match else None,
            title_vector_similarity=self.match.vector if self.match else None,
            titles=self.match.titles if self.match else (),
            llm_verdict=self.llm_verdict,
            failures=self.failures,
            thresholds={name: value for name, value in self.settings if name.endswith("threshold")},
            ms=self.ms,
        )


def _sure(score: float, settings: KindSettings) -> QuestionKind | None:
    if score >= settings.summary_threshold:
        return "summary"
    return "fact" if score <= settings.fact_threshold else None


def _titles_say_summary(similarity: float | None, vector: float | None, settings: KindSettings) -> bool:
    by_words = similarity is not None and similarity >= settings.title_threshold
    return by_words or (vector is not None and vector >= settings.title_vector_threshold)


def _by_patterns(case: _Case) -> KindDecision | None:
    kind = _sure(case.scored.score, case.settings)
    return case.decision(kind, "r1", case.scored.reason) if kind else None


def _by_titles(case: _Case, given: Titles | None, embed: EmbedTexts | None) -> KindDecision | None:
    if not given:
        return None
    with case.timed("r2"):
        titles = given() if callable(given) else given
        case.match = match_titles(case.question, titles)
        sure = _titles_say_summary(case.match.similarity, None, case.settings)
        if embed is not None and not sure:
            try:
                case.match = match_titles(case.question, titles, embed=embed)
            except ClewError as error:
                case.failures["embedding"] = str(error)
    match = case.match
    if not _titles_say_summary(match.similarity, match.vector, case.settings):
        return None
    if is_one_term(case.question):
        return case.decision("fact", "r2", "is one term, and asks for no summary of " + " / ".join(match.titles))
    return case.decision("summary", "r2", "names what stands under " + " / ".join(match.titles))


def _by_model(case: _Case, chat_model: ChatModel | None) -> KindDecision | None:
    if chat_model is None:
        return None
    seconds, messages = case.settings.model_timeout, kind_messages(case.question)
    with case.timed("model"):
        try:
            completion = within(
                seconds,
                f"The language model {chat_model.name}",
                lambda: chat_model.complete(messages, temperature=0.0, max_tokens=MAX_REPLY_TOKENS, timeout=seconds),
            )
            case.llm_verdict = read_verdict(completion.text)
            if case.llm_verdict is None:
                shown = " ".join(completion.text.split())[:80]
                raise ServiceRefusedError(f"The language model answered neither yes nor no: “{shown}”.")
        except ClewError as error:
            case.failures["model"] = str(error)
            return None
    said: QuestionKind = "summary" if case.llm_verdict else "fact"
    return case.decision(said, "model", f"{chat_model.name} says {said}: {case.scored.reason}")


def _fallback(case: _Case) -> tuple[QuestionKind, str, str]:
    kind: QuestionKind = "summary" if case.scored.score >= case.settings.fallback_threshold else "fact"
    return kind, "fallback", f"score {case.scored.score:.2f}: {case.scored.reason}"
