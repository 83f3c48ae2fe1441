import time

import pytest

from clew.config import ChatSettings
from clew.models.openai import OpenAIChatModel
from clew.retrieval.hyde import hypothetical_answer, is_sure
from clew.types import Candidate
from fakes.openai_server import Hang, Reply, ScriptedServer, Status


def model(server: ScriptedServer) -> OpenAIChatModel:
    return OpenAIChatModel(ChatSettings(url=server.url, model="fake", retries=0))


@pytest.mark.parametrize(
    ("question", "asks"),
    [("2020年的净利润是多少？", "资料原文"), ("What was the net profit of 2020?", "formal document")],
)
def test_the_prompt_speaks_the_language_of_the_question(question: str, asks: str) -> None:
    with ScriptedServer(replies=["净利润 net profit"]) as server:
        written = hypothetical_answer(question, model(server), 5)
        assert (written.text, written.failure) == ("净利润 net profit", "")
        assert asks in server.chats[0].text
        assert question in server.chats[0].text


@pytest.mark.parametrize(
    "reply",
    [
        "<think>What could it be? {braces}</think>\nIt is the Rhine.",
        "perhaps the Elbe</think>It is the Rhine.",
        "<Thinking mode='x'>no</Thinking>It is the Rhine.<think>or not, but this was cut",
    ],
)
def test_thinking_is_not_looked_up(reply: str) -> None:
    with ScriptedServer(replies=[reply]) as server:
        assert hypothetical_answer("Which river?", model(server), 5).text == "It is the Rhine."


def test_a_passage_that_runs_on_is_cut() -> None:
    with ScriptedServer(replies=["河" * 9000]) as server:
        assert 0 < len(hypothetical_answer("哪条河？", model(server), 5).text) < 2000


@pytest.mark.parametrize("reply", [Status(500), "", "<think>only this</think>"])
def test_a_failing_model_leaves_no_passage_and_says_why(reply: str | Status) -> None:
    with ScriptedServer(replies=[reply]) as server:
        written = hypothetical_answer("Which river?", model(server), 5)
        assert written.text == ""
        assert written.failure


def test_the_time_out_holds() -> None:
    with ScriptedServer(replies=[Hang()]) as server:
        start = time.monotonic()
        assert "did not answer" in hypothetical_answer("Which river?", model(server), 0.2).failure
        assert time.monotonic() - start < 3


def test_a_slow_answer_within_the_time_out_counts() -> None:
    with ScriptedServer(replies=[Reply("The Rhine.", delay=0.1)]) as server:
        assert hypothetical_answer("Which river?", model(server), 5).text == "The Rhine."


def test_a_ranking_is_sure_where_keywords_and_vectors_agree() -> None:
    def best(**ranks: int) -> Candidate:
        return Candidate("c", "p", "f", "kb", 1.0, tuple(ranks), ranks)

    assert is_sure(best(bm25=1, l2=1))
    assert not is_sure(best(bm25=1, l2=2))
    assert not is_sure(best(l2=1))
    assert not is_sure(None)
