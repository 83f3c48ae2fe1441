"""Routing: every step, every boundary, every failure; services and models are real HTTP servers on loopback."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from clew.config import ChatSettings, ComplexitySettings
from clew.errors import ServiceUnavailableError
from clew.models.base import ComplexityPrediction
from clew.models.classifier import HttpComplexityClassifier
from clew.models.openai import OpenAIChatModel
from clew.retrieval.complexity import decide, replay
from clew.retrieval.complexity.features import extract_features
from clew.retrieval.complexity.rules import score_rules
from clew.trace import ComplexityDecision, to_json
from clew.types import FloatArray
from fakes.classifier_server import Answer, ClassifierServer, Slow
from fakes.openai_server import Hang, Raw, Reply, ScriptedServer, Status

SURELY_MULTI = "《野草》的作者的代表作品有哪些？"
SURELY_SINGLE = "新加坡的国土面积是多少？"
UNSURE = "Who is older, Tom Hanks or Brad Pitt?"
UNSURE_LOW = "西里斯的葡萄酒有什么特点？"
TWO_ENTITIES = "贝多芬哪年见过歌德？"

SETTINGS = ComplexitySettings(classifier_timeout=5.0)
"""Patient, so that a busy machine changes no answer; what is about time-outs has the defaults."""


class Head:
    """An in-process classifier with one answer."""

    name = "head"

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.vectors: list[FloatArray | None] = []

    def predict(
        self,
        question: str,
        features: Sequence[float],
        *,
        vector: FloatArray | None = None,
        timeout: float | None = None,
    ) -> ComplexityPrediction:
        assert len(features) == 5
        self.vectors.append(vector)
        return ComplexityPrediction(self.probability, "head-test")


def chat(server: ScriptedServer) -> OpenAIChatModel:
    return OpenAIChatModel(ChatSettings(url=server.url, model="fake", retries=0))


def service(server: ClassifierServer) -> HttpComplexityClassifier:
    return HttpComplexityClassifier(server.url, features_version="1")


def rule_score(question: str) -> float:
    return score_rules(extract_features(question)).score


def test_the_examples_are_what_they_are_called() -> None:
    assert rule_score(SURELY_MULTI) >= 0.75
    assert rule_score(SURELY_SINGLE) <= 0.15
    assert 0.4 <= rule_score(UNSURE) < 0.75
    assert 0.15 < rule_score(UNSURE_LOW) < 0.4
    assert rule_score(TWO_ENTITIES) <= 0.15
    assert extract_features(TWO_ENTITIES).entity_count == 2


class TestRules:
    def test_high_score_is_multi_and_nobody_is_asked(self) -> None:
        with ClassifierServer(0.0) as server, ScriptedServer(["no"]) as llm:
            decision = decide(SURELY_MULTI, settings=SETTINGS, classifier=service(server), chat_model=chat(llm))
            assert (decision.mode, decision.source) == ("multi", "rules")
            assert not server.bodies
            assert not llm.requests

    def test_low_score_with_at_most_one_entity_is_single(self) -> None:
        decision = decide(SURELY_SINGLE, settings=SETTINGS)
        assert (decision.mode, decision.source) == ("single", "rules")

    def test_two_entities_at_a_low_score_are_not_decided_by_the_rules(self) -> None:
        with ClassifierServer(0.9) as server:
            decision = decide(TWO_ENTITIES, settings=SETTINGS, classifier=service(server))
        assert (decision.mode, decision.source) == ("multi", "classifier")

    def test_multi_threshold_exactly_on_the_score(self) -> None:
        score = rule_score(UNSURE)
        on = decide(UNSURE, settings=ComplexitySettings(rules_multi_threshold=score))
        above = decide(UNSURE, settings=ComplexitySettings(rules_multi_threshold=score + 1e-6))
        assert (on.mode, on.source) == ("multi", "rules")
        assert above.source == "fallback"

    def test_single_threshold_exactly_on_the_score(self) -> None:
        score = rule_score(UNSURE_LOW)
        on = decide(UNSURE_LOW, settings=ComplexitySettings(rules_single_threshold=score))
        below = decide(UNSURE_LOW, settings=ComplexitySettings(rules_single_threshold=score - 1e-6))
        assert (on.mode, on.source) == ("single", "rules")
        assert below.source == "fallback"


class TestClassifier:
    @pytest.mark.parametrize(
        ("probability", "mode", "source"),
        [
            (1.0, "multi", "classifier"),
            (0.8, "multi", "classifier"),
            (0.799999, "multi", "fallback"),
            (0.200001, "single", "fallback"),
            (0.2, "single", "classifier"),
            (0.0, "single", "classifier"),
        ],
    )
    def test_thresholds(self, probability: float, mode: str, source: str) -> None:
        with ClassifierServer(probability) as server:
            decision = decide(UNSURE_LOW, settings=SETTINGS, classifier=service(server))
        assert (decision.mode, decision.source) == (mode, source)
        assert decision.classifier_probability == probability
        assert (decision.classifier_name, decision.model_version) == ("classifier", "fake-1")
        assert not decision.failures

    def test_unsure_goes_on_to_the_model(self) -> None:
        with ClassifierServer(0.5) as server, ScriptedServer(["yes"]) as llm:
            decision = decide(UNSURE_LOW, settings=SETTINGS, classifier=service(server), chat_model=chat(llm))
        assert (decision.mode, decision.source, decision.llm_verdict) == ("multi", "model", True)
        assert decision.classifier_probability == 0.5

    @pytest.mark.parametrize(
        "reply",
        [Answer(500, "x"), Answer(503, {"detail": "no weights"}), Answer(200, "not json"), Answer(200, {"a": 1})],
        ids=["down", "no weights", "no JSON", "wrong JSON"],
    )
    def test_a_failing_service_goes_on_to_the_model_and_never_to_the_head(self, reply: Answer) -> None:
        with ClassifierServer(reply) as server, ScriptedServer(["no"]) as llm:
            decision = decide(
                UNSURE, settings=SETTINGS, classifier=service(server), chat_model=chat(llm), head=Head(0.99)
            )
        assert (decision.mode, decision.source) == ("single", "model")
        assert decision.classifier_probability is None
        assert decision.head_probability == 0.99
        assert "classifier_url" in decision.failures["classifier"]

    def test_a_failing_service_without_a_model_falls_back_without_the_head(self) -> None:
        with ClassifierServer(Answer(500, "x")) as server:
            decision = decide(UNSURE_LOW, settings=SETTINGS, classifier=service(server), head=Head(0.99))
        assert (decision.mode, decision.source) == ("single", "fallback")

    @pytest.mark.parametrize("reply", [Slow(30.0), Slow(0.05, trickle=True)], ids=["hangs", "trickles"])
    def test_a_hanging_service_holds_nobody_longer_than_its_time_out(self, reply: Slow) -> None:
        with ClassifierServer(reply) as server:
            start = time.monotonic()
            decision = decide(UNSURE, settings=ComplexitySettings(), classifier=service(server))
            assert time.monotonic() - start < 0.3 + 0.5
        assert (decision.mode, decision.source) == ("multi", "fallback")
        assert "0.3 s" in decision.failures["classifier"]
        assert decision.ms["classifier"] >= 250

    def test_many_questions_at_once_wait_no_longer_for_a_hanging_service(self) -> None:
        with ClassifierServer(Slow(30.0)) as server, ThreadPoolExecutor(16) as pool:
            classifier = service(server)
            start = time.monotonic()
            decisions = list(
                pool.map(lambda _: decide(UNSURE, settings=ComplexitySettings(), classifier=classifier), range(16))
            )
            assert time.monotonic() - start < 16 * 0.3 / 2
        assert {decision.source for decision in decisions} == {"fallback"}
        assert max(decision.ms["classifier"] for decision in decisions) < 1500

    def test_a_client_that_forgets_its_time_out_is_left_alone(self) -> None:
        class Stuck(Head):
            name = "classifier"

            def predict(self, *arguments: Any, **options: Any) -> ComplexityPrediction:
                time.sleep(3)
                return ComplexityPrediction(0.0, "late")

        start = time.monotonic()
        decision = decide(UNSURE, settings=ComplexitySettings(classifier_timeout=0.1), classifier=Stuck(0.0))
        assert time.monotonic() - start < 1.0
        assert decision.source == "fallback"
        assert "did not answer" in decision.failures["classifier"]


class TestModel:
    @pytest.mark.parametrize(("reply", "mode"), [("是", "multi"), ("否", "single"), ("<think>否</think>是", "multi")])
    def test_its_answer_decides(self, reply: str, mode: str) -> None:
        with ScriptedServer([reply]) as llm:
            decision = decide(UNSURE_LOW, settings=SETTINGS, chat_model=chat(llm))
            body = llm.chats[0].body
        assert (decision.mode, decision.source) == (mode, "model")
        assert body["temperature"] == 0
        assert body["max_tokens"] <= 64
        assert decision.ms["model"] > 0

    @pytest.mark.parametrize(
        "reply",
        [
            Status(500),
            Status(401),
            Raw("<html>"),
            Reply(""),
            Reply("perhaps"),
            Reply("<think>yes", finish_reason="length"),
        ],
        ids=["down", "no key", "no JSON", "empty", "prose", "cut off"],
    )
    def test_a_failing_model_falls_back(self, reply: Any) -> None:
        with ScriptedServer([reply]) as llm:
            decision = decide(UNSURE, settings=SETTINGS, chat_model=chat(llm))
        assert (decision.mode, decision.source) == ("multi", "fallback")
        assert decision.llm_verdict is None
        assert decision.failures["model"]

    def test_a_hanging_model_holds_nobody_longer_than_its_time_out(self) -> None:
        with ScriptedServer([Hang(30)]) as llm:
            start = time.monotonic()
            decision = decide(UNSURE, settings=ComplexitySettings(model_timeout=0.3), chat_model=chat(llm))
            assert time.monotonic() - start < 1.0
        assert decision.source == "fallback"
        assert "model" in decision.failures


class TestFallback:
    def test_rule_threshold_exactly_on_the_score(self) -> None:
        score = rule_score(UNSURE_LOW)
        on = decide(UNSURE_LOW, settings=ComplexitySettings(fallback_rules_threshold=score))
        above = decide(UNSURE_LOW, settings=ComplexitySettings(fallback_rules_threshold=score + 1e-6))
        assert (on.mode, above.mode) == ("multi", "single")
        assert on.source == above.source == "fallback"

    @pytest.mark.parametrize(("probability", "mode"), [(0.5, "multi"), (0.499999, "single")])
    def test_probability_threshold(self, probability: float, mode: str) -> None:
        with ClassifierServer(probability) as server:
            decision = decide(UNSURE_LOW, settings=SETTINGS, classifier=service(server))
        assert (decision.mode, decision.source) == (mode, "fallback")


class TestHead:
    def test_it_serves_where_there_is_neither_service_nor_model(self) -> None:
        vector = np.ones(384, dtype=np.float32)
        head = Head(0.85)
        decision = decide(UNSURE_LOW, settings=SETTINGS, head=head, embed_question=lambda: vector)
        assert (decision.mode, decision.source) == ("multi", "head")
        assert (decision.classifier_name, decision.model_version) == ("head", "head-test")
        assert head.vectors[0] is vector

    def test_with_a_model_it_is_recorded_and_does_not_decide(self) -> None:
        with ScriptedServer(["no"]) as llm:
            decision = decide(UNSURE_LOW, settings=SETTINGS, head=Head(0.99), chat_model=chat(llm))
        assert (decision.mode, decision.source) == ("single", "model")
        assert decision.head_probability == 0.99
        assert decision.classifier_probability is None

    def test_it_can_be_chosen_before_service_and_model(self) -> None:
        with ClassifierServer(0.0) as server, ScriptedServer(["no"]) as llm:
            decision = decide(
                UNSURE_LOW,
                settings=ComplexitySettings(classifier="head"),
                classifier=service(server),
                chat_model=chat(llm),
                head=Head(0.8),
            )
            assert not server.bodies
        assert (decision.mode, decision.source) == ("multi", "head")

    def test_none_means_none(self) -> None:
        with ClassifierServer(0.99) as server:
            decision = decide(
                UNSURE_LOW, settings=ComplexitySettings(classifier="none"), classifier=service(server), head=Head(0.99)
            )
            assert not server.bodies
        assert (decision.mode, decision.source) == ("single", "fallback")

    def test_it_is_recorded_where_the_rules_decide(self) -> None:
        assert decide(SURELY_MULTI, settings=SETTINGS, head=Head(0.1)).head_probability == 0.1

    def test_a_failing_embedder_blocks_nothing(self) -> None:
        def fail() -> FloatArray:
            raise ServiceUnavailableError("The embedder is away.")

        decision = decide(UNSURE_LOW, settings=SETTINGS, head=Head(0.9), embed_question=fail)
        assert decision.failures == {"embedding": "The embedder is away."}
        assert (decision.mode, decision.source) == ("multi", "head")


class TestRequest:
    @pytest.mark.parametrize("mode", ["single", "multi"])
    def test_the_requested_mode_is_obeyed(self, mode: Any) -> None:
        with ClassifierServer(0.5) as server:
            decision = decide(SURELY_MULTI, mode=mode, settings=SETTINGS, classifier=service(server), head=Head(0.5))
            assert not server.bodies
        assert (decision.mode, decision.source) == (mode, "request")
        assert decision.rule_score >= 0.75


def test_everything_is_recorded() -> None:
    with ClassifierServer(0.6) as server, ScriptedServer(["yes"]) as llm:
        decision = decide(UNSURE, settings=SETTINGS, classifier=service(server), chat_model=chat(llm), head=Head(0.4))
    record = to_json(decision)
    assert record["thresholds"] == {
        "rules_multi_threshold": 0.75,
        "rules_single_threshold": 0.15,
        "classifier_multi_threshold": 0.8,
        "classifier_single_threshold": 0.2,
        "fallback_rules_threshold": 0.4,
        "fallback_classifier_threshold": 0.5,
    }
    assert set(record["ms"]) == {"rules", "head", "classifier", "model", "total"}
    assert record["ms"]["total"] >= record["ms"]["model"]
    assert record["features"]["comparison"] > 0
    assert record["features"]["entity_texts"] == ["Tom Hanks", "Brad Pitt"]
    assert record["reason"]


def test_domain_terms_of_the_kb_count_as_entities() -> None:
    settings = ComplexitySettings(domain_terms=("净息差", "拨备率"))
    decision = decide("净息差拨备率是多少", settings=settings)
    assert decision.features["entity_count"] == 2


class TestReplay:
    def decided(self, **changes: Any) -> ComplexityDecision:
        values: dict[str, Any] = {
            "mode": "single",
            "source": "classifier",
            "rule_score": 0.3,
            "features": {"entity_count": 1},
        }
        return ComplexityDecision(question="q", **(values | changes))

    def test_the_same_thresholds_give_the_same_mode(self) -> None:
        for question in (SURELY_MULTI, SURELY_SINGLE, UNSURE, UNSURE_LOW, TWO_ENTITIES):
            for probability in (0.1, 0.4, 0.6, 0.9):
                decision = decide(question, settings=SETTINGS, head=Head(probability))
                assert replay(decision, SETTINGS) == decision.mode

    def test_other_thresholds_change_it(self) -> None:
        decision = self.decided(classifier_probability=0.15)
        assert replay(decision, ComplexitySettings(classifier_single_threshold=0.1)) == "single"
        assert (
            replay(decision, ComplexitySettings(classifier_single_threshold=0.1, fallback_rules_threshold=0.3))
            == "multi"
        )
        assert replay(decision, ComplexitySettings(rules_multi_threshold=0.3)) == "multi"
        assert replay(decision, ComplexitySettings(classifier_multi_threshold=0.15)) == "multi"

    def test_a_request_stays_what_was_asked(self) -> None:
        decision = self.decided(source="request", rule_score=1.0)
        assert replay(decision, SETTINGS) == "single"

    def test_the_verdict_of_the_model_counts(self) -> None:
        assert replay(self.decided(llm_verdict=True), SETTINGS) == "multi"
