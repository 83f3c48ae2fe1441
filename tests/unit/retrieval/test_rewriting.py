import pytest

from clew.config import ChatSettings
from clew.models.openai import OpenAIChatModel
from clew.retrieval.rewriting import Turn, rewrite
from fakes.openai_server import ScriptedServer, Status


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("华锦股份2019年营业收入是多少？", "那2020年呢？", "华锦股份2020年营业收入是多少？"),
        ("How long is the Danube?", "What about the Rhine?", "How long is the Rhine?"),
        ("华锦股份2019年营业收入是多少？", "它的注册地址在哪里？", "华锦股份的注册地址在哪里？"),
        ("How long is the Danube?", "What are its sources?", "What are Danube's sources?"),
        # Not clearly missing: left alone.
        ("How long is the Danube?", "How long is the Rhine?", None),
        ("How do the Danube and the Rhine differ?", "What about its length?", None),
        ("今天天气怎么样？", "它的注册地址在哪里？", None),
        ("华锦股份2019年营业收入是多少？", "谢谢", None),
    ],
)
def test_the_rule_fills_in_only_what_is_clearly_missing(previous: str, question: str, expected: str | None) -> None:
    result = rewrite(question, [Turn("user", previous), Turn("assistant", "…")], None)
    assert result.question == (expected or question)
    assert result.source == ("rule" if expected else "none")


def test_a_first_question_is_left_alone_and_costs_nothing() -> None:
    with ScriptedServer(replies=["never asked"]) as server:
        model = OpenAIChatModel(ChatSettings(url=server.url, model="m"))
        assert rewrite("它的地址？", [], model).question == "它的地址？"
        assert server.requests == []


def test_a_model_rewrites() -> None:
    with ScriptedServer(replies=["<think>hm</think>\nHow long is the Rhine?"]) as server:
        model = OpenAIChatModel(ChatSettings(url=server.url, model="m"))
        result = rewrite("And the other one?", [Turn("user", "How long is the Danube?")], model)
    assert (result.question, result.source) == ("How long is the Rhine?", "model")


@pytest.mark.parametrize("reply", [Status(400), "", "line one\nline two", "x" * 5000])
def test_a_failing_model_is_recorded_and_the_rule_takes_over(reply: object) -> None:
    with ScriptedServer(replies=[reply]) as server:
        model = OpenAIChatModel(ChatSettings(url=server.url, model="m", retries=0))
        result = rewrite("What about the Rhine?", [Turn("user", "How long is the Danube?")], model)
    assert (result.question, result.source) == ("How long is the Rhine?", "rule")
    assert result.failure
