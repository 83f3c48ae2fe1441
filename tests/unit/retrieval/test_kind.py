"""Fact or summary: every step, every boundary, every failure; the language model is a real server on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.config import ChatSettings, KindSettings, Settings
from clew.errors import ServiceUnavailableError
from clew.models.base import ChatMessage, Completion
from clew.models.openai import OpenAIChatModel
from clew.retrieval.kind import decide_kind, kind_messages, load_weights, parse_weights, replay_kind, score_kind
from clew.retrieval.kind_signals import LONG_FROM, LONG_TO, SIGNALS, SIGNALS_VERSION, kind_signals
from clew.trace import KindDecision, to_json
from clew.types import FloatArray
from fakes.openai_server import Hang, Raw, Reply, ScriptedServer, Status

SETTINGS = KindSettings()
SURELY_SUMMARY = "请概括第三章的主要内容"
SURELY_FACT = "2020年的净利润是多少？"
UNSURE = "tariffs"
UNSURE_HIGH = "公司采取了哪些做法？"
TITLES = ("华锦股份2019年年度报告", "第三章 经营情况", "研发投入", "Item 1A. Risk Factors", "Tariffs")


def chat(server: ScriptedServer) -> OpenAIChatModel:
    return OpenAIChatModel(ChatSettings(url=server.url, model="fake", retries=0))


def test_the_examples_are_what_they_are_called() -> None:
    assert score_kind(SURELY_SUMMARY).score >= 0.8
    assert score_kind(SURELY_FACT).score <= 0.2
    assert 0.2 < score_kind(UNSURE).score < 0.5 <= score_kind(UNSURE_HIGH).score < 0.8


class TestSignals:
    @pytest.mark.parametrize(
        ("question", "signal"),
        [
            ("用三句话概括全文", "form"),
            ("第三章讲了什么", "section"),
            ("第三章讲了什么", "gist"),
            ("关于数据安全，这部法律是怎么规定的？", "says_about"),
            ("第二章和第五章有什么不同", "two_sections"),
            ("What does the report say about tariffs?", "says_about"),
            ("Summarise Item 1A", "section"),
            ("把所有处罚情形列出来", "list_all"),
            ("我没时间看，说说重点", "reader"),
            ("帮我看看 key points", "gist"),
            ("员工有几个人？", "value"),
            ("How many stores are there?", "value"),
            ("该条例何时生效", "when"),
            ("In 2019, who chaired the board?", "who"),
            ("第十五条规定的期限", "place_in_text"),
            ("什么是关联方？", "definition"),
            ("Does the warranty cover water?", "yes_no"),
            ("R&D 占比", "value"),
        ],
    )
    def test_what_a_question_shows(self, question: str, signal: str) -> None:
        assert signal in kind_signals(question)

    @pytest.mark.parametrize(
        ("question", "signal"),
        [
            ("What did they say when discussing prices?", "when"),
            ("How does Ilia, who was a Vestal, appear?", "who"),
            ("Can you walk me through the filing?", "yes_no"),
            ("能不能帮我总结一下", "yes_no"),
            ("说明三个方面", "place_in_text"),
        ],
    )
    def test_what_only_looks_like_it(self, question: str, signal: str) -> None:
        assert signal not in kind_signals(question)

    def test_full_width_and_half_width_are_one(self) -> None:
        assert kind_signals("净利润是多少?") == kind_signals("净利润是多少？")
        assert kind_signals("ＥＰＳ") == kind_signals("EPS")

    def test_length_rises_between_its_limits(self) -> None:
        at, half, over = (" ".join(["word"] * int(n)) for n in (LONG_FROM, (LONG_FROM + LONG_TO) / 2, LONG_TO + 5))
        assert "long" not in kind_signals(at)
        assert kind_signals(half)["long"] == pytest.approx(0.5)
        assert kind_signals(over)["long"] == 1.0
        assert kind_signals("字" * int(LONG_TO + 5) * 2)["long"] == 1.0

    @pytest.mark.parametrize(
        "question", ["", "   ", "？", "\x00", "what is " * 5000, "请请请" * 3000, "a, who " * 1000]
    )
    def test_nothing_makes_it_fail_or_hang(self, question: str) -> None:
        start = time.process_time()
        decision = decide_kind(question, settings=SETTINGS, titles=TITLES)
        assert time.process_time() - start < 2
        assert decision.kind in ("fact", "summary")


class TestWeights:
    def test_there_is_one_for_every_signal_and_none_is_negative(self) -> None:
        weights = load_weights().weights
        assert set(weights) == set(SIGNALS)
        assert min(weights.values()) > 0

    @pytest.mark.parametrize("name", list(SIGNALS))
    def test_each_signal_pulls_its_own_way(self, name: str) -> None:
        evidence = {signal: amount for text in EXAMPLES for signal, amount in score_kind(text).evidence.items()}
        amount = evidence.get(name, 0.0)
        assert amount >= 0 if SIGNALS[name].points_to == "summary" else amount <= 0

    def test_weights_of_other_signals_are_refused(self) -> None:
        with pytest.raises(ValueError, match="fit_kind"):
            parse_weights({"signals_version": SIGNALS_VERSION + "x", "weights": {}, "bias": 0})


EXAMPLES = (SURELY_SUMMARY, SURELY_FACT, UNSURE, UNSURE_HIGH, "Who wrote the overview?", "List all risks and why")


class TestPatterns:
    def test_a_high_score_is_a_summary_and_nobody_is_asked(self) -> None:
        with ScriptedServer(["no"]) as llm:
            decision = decide_kind(SURELY_SUMMARY, settings=SETTINGS, titles=TITLES, chat_model=chat(llm))
            assert not llm.requests
        assert (decision.kind, decision.source) == ("summary", "r1")
        assert decision.title_similarity is None
        assert "summarise" in decision.reason
        assert set(decision.ms) == {"r1", "total"}

    def test_a_low_score_is_a_fact(self) -> None:
        decision = decide_kind(SURELY_FACT, settings=SETTINGS)
        assert (decision.kind, decision.source) == ("fact", "r1")
        assert "asks for a number" in decision.reason

    def test_summary_threshold_exactly_on_the_score(self) -> None:
        score = score_kind(UNSURE_HIGH).score
        on = decide_kind(UNSURE_HIGH, settings=KindSettings(summary_threshold=score))
        above = decide_kind(UNSURE_HIGH, settings=KindSettings(summary_threshold=score + 1e-6))
        assert (on.kind, on.source) == ("summary", "r1")
        assert above.source == "fallback"

    def test_fact_threshold_exactly_on_the_score(self) -> None:
        score = score_kind(UNSURE).score
        on = decide_kind(UNSURE, settings=KindSettings(fact_threshold=score))
        below = decide_kind(UNSURE, settings=KindSettings(fact_threshold=score - 1e-6))
        assert (on.kind, on.source) == ("fact", "r1")
        assert below.source == "fallback"

    def test_fallback_threshold_exactly_on_the_score(self) -> None:
        score = score_kind(UNSURE).score
        on = decide_kind(UNSURE, settings=KindSettings(fallback_threshold=score))
        above = decide_kind(UNSURE, settings=KindSettings(fallback_threshold=score + 1e-6))
        assert (on.kind, on.source) == ("summary", "fallback")
        assert (above.kind, above.source) == ("fact", "fallback")


class TestTitles:
    @pytest.mark.parametrize("question", ["华锦股份研发投入", "Item 1A", "risk factors"])
    def test_a_question_that_names_nothing_but_titles_is_a_summary(self, question: str) -> None:
        settings = KindSettings(summary_threshold=1.0, fact_threshold=0.0)
        decision = decide_kind(question, settings=settings, titles=TITLES)
        assert (decision.kind, decision.source) == ("summary", "r2")
        assert decision.title_similarity == 1.0
        assert all(title in TITLES for title in decision.titles)

    @pytest.mark.parametrize(
        ("question", "kind"),
        [
            ("tariffs", "fact"),
            ("Tariffs?", "fact"),
            ("the tariffs", "fact"),
            ("多瑙河", "fact"),
            ("summarise tariffs", "summary"),
            ("概括多瑙河", "summary"),
            ("tariffs: overview", "summary"),
        ],
    )
    def test_one_term_is_looked_up_unless_a_summary_of_it_is_asked_for(self, question: str, kind: str) -> None:
        titles = [*TITLES, "多瑙河"]
        decision = decide_kind(question, settings=SETTINGS, titles=titles)
        assert (decision.kind, replay_kind(decision, SETTINGS)) == (kind, kind)

    def test_what_no_title_covers_is_left_to_the_next_step(self) -> None:
        decision = decide_kind("tariffs imposed abroad", settings=SETTINGS, titles=TITLES)
        assert decision.source == "fallback"
        assert decision.title_similarity == pytest.approx(1 / 3)

    def test_title_threshold_exactly_on_the_similarity(self) -> None:
        question = "tariffs imposed abroad"
        similarity = decide_kind(question, settings=SETTINGS, titles=TITLES).title_similarity
        assert similarity is not None
        on = decide_kind(question, settings=KindSettings(title_threshold=similarity), titles=TITLES)
        above = decide_kind(question, settings=KindSettings(title_threshold=similarity + 1e-6), titles=TITLES)
        assert on.source == "r2"
        assert above.source == "fallback"

    def test_vector_threshold_exactly_on_the_cosine(self) -> None:
        def embed(texts: Sequence[str]) -> FloatArray:
            vectors = np.zeros((len(texts), 2), dtype=np.float32)
            vectors[:, 0] = 0.5
            vectors[0] = (1.0, 0.0)
            return vectors

        def decided(threshold: float) -> KindDecision:
            settings = KindSettings(title_vector_threshold=threshold, fact_threshold=0.0)
            return decide_kind("goodwill writedowns", settings=settings, titles=TITLES, embed=embed)

        assert (decided(0.5).kind, decided(0.5).source) == ("summary", "r2")
        assert decided(0.5).title_vector_similarity == 0.5
        assert decided(0.500001).source == "fallback"

    def test_vectors_are_not_asked_for_where_words_suffice(self) -> None:
        def embed(texts: Sequence[str]) -> FloatArray:
            raise AssertionError("asked")

        assert decide_kind(UNSURE, settings=SETTINGS, titles=TITLES, embed=embed).source == "r2"

    def test_a_failing_embedder_is_recorded_and_blocks_nothing(self) -> None:
        def embed(texts: Sequence[str]) -> FloatArray:
            raise ServiceUnavailableError("no embedder")

        decision = decide_kind("writedowns", settings=SETTINGS, titles=TITLES, embed=embed)
        assert (decision.kind, decision.source) == ("fact", "fallback")
        assert decision.failures == {"embedding": "no embedder"}


class TestModel:
    @pytest.mark.parametrize(
        ("reply", "kind"),
        [("是", "summary"), ("No.", "fact"), ("<think>否</think>是", "summary"), ("Answer: no, a number", "fact")],
    )
    def test_its_answer_decides(self, reply: str, kind: str) -> None:
        with ScriptedServer([reply]) as llm:
            decision = decide_kind(UNSURE, settings=SETTINGS, chat_model=chat(llm))
            body = llm.chats[0].body
        assert (decision.kind, decision.source) == (kind, "model")
        assert decision.llm_verdict is (kind == "summary")
        assert body["temperature"] == 0
        assert body["max_tokens"] <= 64

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
        ids=["down", "refused", "no JSON", "nothing", "nonsense", "cut off"],
    )
    def test_a_failing_model_is_recorded_and_the_score_decides(self, reply: Any) -> None:
        with ScriptedServer([reply, reply]) as llm:
            low = decide_kind(UNSURE, settings=SETTINGS, chat_model=chat(llm))
            high = decide_kind(UNSURE_HIGH, settings=SETTINGS, chat_model=chat(llm))
        assert (low.kind, low.source) == ("fact", "fallback")
        assert (high.kind, high.source) == ("summary", "fallback")
        assert low.failures["model"]
        assert low.llm_verdict is None

    def test_a_hanging_model_holds_nobody_longer_than_its_time_out(self) -> None:
        with ScriptedServer([Hang(30)]) as llm:
            start = time.monotonic()
            decision = decide_kind(UNSURE, settings=KindSettings(model_timeout=0.2), chat_model=chat(llm))
            assert time.monotonic() - start < 2
        assert decision.source == "fallback"
        assert "did not answer within" in decision.failures["model"]

    def test_a_client_that_forgets_its_time_out_is_left_alone(self) -> None:
        class Stuck:
            name = "stuck"

            def complete(self, messages: Sequence[ChatMessage], **options: Any) -> Completion:
                time.sleep(3)
                return Completion("yes")

            def stream(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
                raise AssertionError

        start = time.monotonic()
        decision = decide_kind(UNSURE, settings=KindSettings(model_timeout=0.1), chat_model=Stuck())
        assert time.monotonic() - start < 1.5
        assert decision.source == "fallback"

    def test_it_is_asked_in_the_language_of_the_question(self) -> None:
        assert "只回答一个字" in kind_messages("商誉")[0].content
        assert "one word only" in kind_messages("What about {question}?")[0].content
        assert "What about {question}?" in kind_messages("What about {question}?")[0].content

    def test_titles_come_before_the_model(self) -> None:
        with ScriptedServer(["no"]) as llm:
            decision = decide_kind(UNSURE, settings=SETTINGS, titles=TITLES, chat_model=chat(llm))
            assert not llm.requests
        assert decision.source == "r2"


class TestRequest:
    @pytest.mark.parametrize(("question", "kind"), [(SURELY_SUMMARY, "fact"), (SURELY_FACT, "summary")])
    def test_it_is_obeyed_and_the_score_still_recorded(self, question: str, kind: Any) -> None:
        with ScriptedServer(["no"]) as llm:
            decision = decide_kind(question, kind=kind, settings=SETTINGS, titles=TITLES, chat_model=chat(llm))
            assert not llm.requests
        assert (decision.kind, decision.source) == (kind, "request")
        assert decision.score == score_kind(question).score
        assert replay_kind(decision, KindSettings(summary_threshold=0.0)) == kind


class TestRecord:
    def test_it_is_json_and_holds_thresholds_and_times(self) -> None:
        decision = decide_kind("writedowns", settings=SETTINGS, titles=TITLES)
        data = json.loads(json.dumps(to_json(decision)))
        assert data["thresholds"] == {
            "summary_threshold": 0.8,
            "fact_threshold": 0.2,
            "title_threshold": 0.8,
            "title_vector_threshold": 0.9,
            "fallback_threshold": 0.5,
        }
        assert {"r1", "r2", "total"} <= set(data["ms"])

    def test_replay_gives_the_same_under_the_same_thresholds(self) -> None:
        for question in (*EXAMPLES, "writedowns", "risk factors"):
            with ScriptedServer(["yes"]) as llm:
                for model in (None, chat(llm)):
                    decision = decide_kind(question, settings=SETTINGS, titles=TITLES, chat_model=model)
                    assert replay_kind(decision, SETTINGS) == decision.kind

    def test_replay_under_other_thresholds(self) -> None:
        fallback = decide_kind(UNSURE, settings=SETTINGS)
        by_title = decide_kind(UNSURE, settings=SETTINGS, titles=TITLES)
        assert replay_kind(fallback, KindSettings(fallback_threshold=0.1)) == "summary"
        assert replay_kind(by_title, KindSettings(fact_threshold=0.5)) == "fact"
        with ScriptedServer(["yes"]) as llm:
            by_model = decide_kind(UNSURE, settings=SETTINGS, chat_model=chat(llm))
        assert replay_kind(by_model, KindSettings(fallback_threshold=1.0)) == "summary"

    def test_a_knowledge_base_sets_its_own(self) -> None:
        settings = Settings().for_kb({"kind": {"summary_threshold": 0.6}})
        assert settings.kind.summary_threshold == 0.6


def test_without_a_model_the_labelled_questions_are_decided_well_enough() -> None:
    path = Path(__file__).parents[2] / "data" / "kind_questions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for language in ("zh", "en"):
        chosen = [row for row in rows if row["lang"] == language]
        said = [decide_kind(row["question"], settings=SETTINGS).kind == "summary" for row in chosen]
        true = [row["label"] == "summary" for row in chosen]
        right = sum(a and b for a, b in zip(said, true, strict=True))
        assert 2 * right / (sum(said) + sum(true)) >= 0.85, language
