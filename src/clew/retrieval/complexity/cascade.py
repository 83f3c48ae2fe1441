"""Decides whether a question needs one look-up or several: rules → classifier → language model → fallback (spec 3.1).

A step that fails or takes too long is recorded and the next one takes over; the question is always answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from clew.config import ComplexitySettings
from clew.errors import ClewError, ServiceRefusedError
from clew.models.base import ChatModel, ComplexityClassifier
from clew.models.deadline import within
from clew.retrieval.complexity.features import ComplexityFeatures, extract_features
from clew.retrieval.complexity.rules import score_rules
from clew.retrieval.complexity.verdict import MAX_REPLY_TOKENS, read_verdict, verdict_messages
from clew.trace import FIRST_LOOK_SOURCES, ComplexityDecision
from clew.types import FloatArray

RetrievalMode = Literal["auto", "single", "multi"]
Mode = Literal["single", "multi"]


def decide(
    question: str,
    *,
    mode: RetrievalMode = "auto",
    settings: ComplexitySettings,
    classifier: ComplexityClassifier | None = None,
    chat_model: ChatModel | None = None,
    embed_question: Callable[[], FloatArray] | None = None,
    head: ComplexityClassifier | None = None,
) -> ComplexityDecision:
    """The decision for a standalone question. Never raises for a failing service or model.

    ``mode``: the request's ``retrieval_mode``; anything but ``auto`` is obeyed. ``classifier``: the external service,
    where its URL is set. ``head``: the in-process classifier. ``embed_question`` gives the question's own vector
    (shape ``(dimension,)``) that retrieval needs anyway; it is called at most once and may be memoised by the caller.
    """
    case = _Case(question, settings)
    with case.timed("total"):
        with case.timed("rules"):
            case.features = extract_features(question, domain_terms=settings.domain_terms)
            rules = score_rules(case.features)
            case.rule_score, case.rule_reason, case.evidence = rules.score, rules.reason, rules.contributions
        if mode != "auto":
            return case.decision(mode, "request", f"retrieval_mode is {mode}")
        chosen = _chosen_classifier(settings, classifier, head, chat_model)
        if head is not None:
            _ask_head(case, head, embed_question)
        mode_, source, reason = (
            _by_rules(case) or _by_classifier(case, chosen, head) or _by_model(case, chat_model) or _by_fallback(case)
        )
        return case.decision(mode_, source, reason)


Verdict = tuple[Mode, str, str]
"""Mode, source, reason."""


@dataclass
class _Case:
    """What is known about one question so far."""

    question: str
    settings: ComplexitySettings
    features: ComplexityFeatures = field(init=False)
    rule_score: float = 0.0
    rule_reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    probability: float | None = None
    classifier_name: str | None = None
    model_version: str | None = None
    head_probability: float | None = None
    head_version: str | None = None
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

    def decision(self, mode: Mode, source: str, reason: str) -> ComplexityDecision:
        return ComplexityDecision(
            question=self.question,
            mode=mode,
            source=source,
            rule_score=self.rule_score,
            features=self.features.to_json(),
            classifier_probability=self.probability,
            classifier_name=self.classifier_name,
            model_version=self.model_version,
            head_probability=self.head_probability,
            llm_verdict=self.llm_verdict,
            reason=reason,
            evidence=self.evidence,
            failures=self.failures,
            thresholds=_thresholds(self.settings),
            ms=self.ms,
        )


def _thresholds(settings: ComplexitySettings) -> dict[str, float]:
    names = (
        "rules_multi_threshold",
        "rules_single_threshold",
        "classifier_multi_threshold",
        "classifier_single_threshold",
        "fallback_rules_threshold",
        "fallback_classifier_threshold",
    )
    return {name: getattr(settings, name) for name in names}


def _chosen_classifier(
    settings: ComplexitySettings,
    classifier: ComplexityClassifier | None,
    head: ComplexityClassifier | None,
    chat_model: ChatModel | None,
) -> ComplexityClassifier | None:
    """Who serves step 2. The head stands in for a missing service, never for a failing one."""
    match settings.classifier:
        case "none":
            return None
        case "service":
            return classifier
        case "head":
            return head
        case "auto":
            if classifier is not None:
                return classifier
            return head if chat_model is None else None


def _by_rules(case: _Case) -> Verdict | None:
    if case.rule_score >= case.settings.rules_multi_threshold:
        return "multi", "rules", case.rule_reason
    if case.rule_score <= case.settings.rules_single_threshold and case.features.entity_count <= 1:
        return "single", "rules", f"{case.rule_reason}, at most one entity"
    return None


def _ask_head(case: _Case, head: ComplexityClassifier, embed_question: Callable[[], FloatArray] | None) -> None:
    """Records what the head says, whoever decides: people see what it would save."""
    vector: FloatArray | None = None
    if embed_question is not None:
        with case.timed("embedding"):
            try:
                vector = embed_question()
            except ClewError as error:
                case.failures["embedding"] = str(error)
    with case.timed("head"):
        try:
            prediction = head.predict(case.question, case.features.vector, vector=vector)
        except ClewError as error:
            case.failures["head"] = str(error)
            return
    case.head_probability, case.head_version = prediction.multi_hop_probability, prediction.model_version


def _by_classifier(
    case: _Case, chosen: ComplexityClassifier | None, head: ComplexityClassifier | None
) -> Verdict | None:
    if chosen is None:
        return None
    if chosen is head:
        case.probability, case.model_version = case.head_probability, case.head_version
    else:
        _ask_service(case, chosen)
    if case.probability is None:
        return None
    case.classifier_name = chosen.name
    probability, settings = case.probability, case.settings
    if probability >= settings.classifier_multi_threshold:
        return "multi", chosen.name, f"probability {probability:.2f} of several hops"
    if probability <= settings.classifier_single_threshold:
        return "single", chosen.name, f"probability {probability:.2f} of several hops"
    return None


def _ask_service(case: _Case, service: ComplexityClassifier) -> None:
    seconds = case.settings.classifier_timeout
    with case.timed(service.name):
        try:
            prediction = within(
                seconds,
                "The classifier",
                lambda: service.predict(case.question, case.features.vector, timeout=seconds),
            )
        except ClewError as error:
            case.failures[service.name] = str(error)
            return
    case.probability, case.model_version = prediction.multi_hop_probability, prediction.model_version


def _by_model(case: _Case, chat_model: ChatModel | None) -> Verdict | None:
    if chat_model is None:
        return None
    seconds = case.settings.model_timeout
    messages = verdict_messages(case.question, chinese=case.features.chinese)
    with case.timed("model"):
        try:
            completion = within(
                seconds,
                f"The language model {chat_model.name}",
                lambda: chat_model.complete(messages, temperature=0.0, max_tokens=MAX_REPLY_TOKENS, timeout=seconds),
            )
            case.llm_verdict = read_verdict(completion.text)
            if case.llm_verdict is None:
                raise ServiceRefusedError(_unreadable(completion.text))
        except ClewError as error:
            case.failures["model"] = str(error)
            return None
    answer: Mode = "multi" if case.llm_verdict else "single"
    return answer, "model", f"{chat_model.name} says {'yes' if case.llm_verdict else 'no'}: {case.rule_reason}"


def _unreadable(text: str) -> str:
    shown = " ".join(text.split())[:80]
    return (
        f"The language model answered neither yes nor no: “{shown}”." if shown else "The language model said nothing."
    )


def _by_fallback(case: _Case) -> Verdict:
    settings = case.settings
    by_rules = case.rule_score >= settings.fallback_rules_threshold
    by_probability = case.probability is not None and case.probability >= settings.fallback_classifier_threshold
    said = f"rule score {case.rule_score:.2f}"
    if case.probability is not None:
        said += f", probability {case.probability:.2f}"
    return "multi" if by_rules or by_probability else "single", "fallback", f"{said}: {case.rule_reason}"


def replay(decision: ComplexityDecision, settings: ComplexitySettings) -> Mode:
    """What the recorded numbers of a decision would have meant under other thresholds, without asking anybody."""
    if decision.source == "request":
        return decision.mode
    entities = int(decision.features.get("entity_count", 0))
    probability = decision.classifier_probability
    if decision.rule_score >= settings.rules_multi_threshold:
        return "multi"
    if decision.rule_score <= settings.rules_single_threshold and entities <= 1:
        return "single"
    if probability is not None and probability >= settings.classifier_multi_threshold:
        return "multi"
    if probability is not None and probability <= settings.classifier_single_threshold:
        return "single"
    if decision.llm_verdict:
        return "multi"
    if decision.first_look_probability is not None or decision.source in FIRST_LOOK_SOURCES:
        return decision.mode  # by what the first look-up showed, which no threshold of the question's own changes
    if decision.llm_verdict is not None:
        return "single"
    fallback = decision.rule_score >= settings.fallback_rules_threshold or (
        probability is not None and probability >= settings.fallback_classifier_threshold
    )
    return "multi" if fallback else "single"
