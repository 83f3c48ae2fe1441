"""What every chat model promises; the server behind it is scripted."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from clew.config import ChatSettings
from clew.errors import ServiceError, ServiceRefusedError, ServiceUnavailableError
from clew.models.base import ChatMessage, ChatModel
from clew.models.openai import OpenAIChatModel
from fakes.openai_server import Hang, Reply, ScriptedServer, Status

QUESTION = [ChatMessage("system", "Answer briefly."), ChatMessage("user", "法国的首都？ Capital of France?")]
Make = Callable[[ScriptedServer], ChatModel]


def openai(server: ScriptedServer) -> ChatModel:
    return OpenAIChatModel(ChatSettings(url=server.url, model="fake", timeout=5, retries=1))


@pytest.fixture(params=[openai])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def streamed(model: ChatModel, timeout: float | None = None) -> str:
    return "".join(delta.text for delta in model.stream(QUESTION, timeout=timeout))


def test_a_whole_answer_comes_with_usage_and_finish_reason(make: Make) -> None:
    with ScriptedServer([Reply("巴黎。", usage=(12, 3))]) as server:
        model = make(server)
        answer = model.complete(QUESTION, max_tokens=50)
        assert isinstance(model, ChatModel)
        assert (answer.text, answer.finish_reason) == ("巴黎。", "stop")
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.calls) == (12, 3, 1)
        assert [message["content"] for message in server.chats[0].messages] == [each.content for each in QUESTION]


def test_an_answer_that_was_cut_off_says_so(make: Make) -> None:
    with ScriptedServer([Reply("The capital of", finish_reason="length")] * 2) as server:
        assert make(server).complete(QUESTION).finish_reason == "length"
        assert list(make(server).stream(QUESTION))[-1].finish_reason == "length"


def test_pieces_add_up_to_the_answer_and_the_last_carries_the_usage(make: Make) -> None:
    with ScriptedServer([Reply("巴黎是法国的首都。It is Paris.", usage=(12, 9))]) as server:
        deltas = list(make(server).stream(QUESTION))
        assert "".join(delta.text for delta in deltas) == "巴黎是法国的首都。It is Paris."
        assert len(deltas) > 3
        assert [delta.usage for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
        assert deltas[-1].usage is not None
        assert deltas[-1].usage.completion_tokens == 9
        assert deltas[-1].finish_reason == "stop"


def test_usage_is_estimated_where_the_server_does_not_count(make: Make) -> None:
    with ScriptedServer([Reply("Paris", usage=None)] * 2) as server:
        assert make(server).complete(QUESTION).usage.prompt_tokens > 5
        last = list(make(server).stream(QUESTION))[-1].usage
        assert last is not None
        assert last.completion_tokens > 0


@pytest.mark.parametrize(
    "text", ["[DONE]", "data: [DONE]\n\n", "a\u2028b\u2029c\u0085d\x0ce", "\r\n\r\n", "", "😀" * 9, "\ud83d half"]
)
def test_any_text_arrives_as_it_was_sent(make: Make, text: str) -> None:
    expected = text.replace("\ud83d", "\ufffd")
    with ScriptedServer([Reply(text, pieces=[text]), text]) as server:
        assert streamed(make(server)) == expected
        assert make(server).complete(QUESTION).text == expected


def test_a_question_with_lone_surrogates_is_asked(make: Make) -> None:
    with ScriptedServer(["ok"]) as server:
        assert make(server).complete([ChatMessage("user", "a\ud800b")]).text == "ok"
        assert server.chats[0].messages[0]["content"] == "a\ufffdb"


def test_reasoning_is_not_part_of_the_answer(make: Make) -> None:
    with ScriptedServer([Reply("Paris", reasoning="It says France, so …")] * 2) as server:
        assert make(server).complete(QUESTION).text == "Paris"
        assert streamed(make(server)) == "Paris"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(make: Make, status: int) -> None:
    with ScriptedServer([Status(status), "whole", Status(status), "streamed"]) as server:
        assert make(server).complete(QUESTION).text == "whole"
        assert streamed(make(server)) == "streamed"


def test_what_stays_is_transient_and_names_the_server(make: Make) -> None:
    with ScriptedServer(lambda request: Status(503)) as server:
        with pytest.raises(ServiceUnavailableError, match=r"127\.0\.0\.1") as caught:
            make(server).complete(QUESTION)
        assert caught.value.transient
        assert len(server.chats) == 2


def test_a_refusal_is_not_tried_again(make: Make) -> None:
    with ScriptedServer([Status(404, {"error": {"message": "no model 'fake'"}})]) as server:
        with pytest.raises(ServiceRefusedError, match="no model 'fake'"):
            make(server).complete(QUESTION)
        assert len(server.chats) == 1


def test_a_server_that_says_nothing_times_out(make: Make) -> None:
    with ScriptedServer(lambda request: Hang()) as server:
        start = time.monotonic()
        with pytest.raises(ServiceUnavailableError, match="did not answer within"):
            make(server).complete(QUESTION, timeout=0.3)
        with pytest.raises(ServiceUnavailableError, match="did not answer within"):
            streamed(make(server), timeout=0.3)
        assert time.monotonic() - start < 3


def test_a_server_that_is_not_there_is_named(make: Make) -> None:
    with ScriptedServer() as server:
        model = make(server)
    with pytest.raises(ServiceUnavailableError, match=r"127\.0\.0\.1.*cannot be reached"):
        model.complete(QUESTION)


def test_a_stream_that_breaks_midway_gives_what_came_and_then_the_error(make: Make) -> None:
    with ScriptedServer([Reply("The capital is Paris.", break_after=2)]) as server:
        came: list[str] = []
        with pytest.raises(ServiceUnavailableError):
            came.extend(delta.text for delta in make(server).stream(QUESTION))
        assert "".join(came) == "The capi"
        pieces = make(server).stream(QUESTION)
        with pytest.raises(ServiceError):
            next(pieces)


def test_closing_the_iterator_closes_the_connection(make: Make) -> None:
    with ScriptedServer([Reply("x" * 4000, delay=0.02)]) as server:
        pieces = make(server).stream(QUESTION)
        assert next(pieces).text == "xxxx"
        pieces.close()  # type: ignore[attr-defined]
        deadline = time.monotonic() + 5
        while not server.disconnects and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.disconnects == 1


def test_a_schema_is_sent_and_left_out_where_it_is_refused(make: Make) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    refusal = Status(400, {"error": {"message": "this endpoint has no structured output"}})
    with ScriptedServer(['{"answer": "Paris"}', refusal, '{"answer": "Rome"}', '{"answer": "Oslo"}']) as server:
        model = make(server)
        assert model.complete(QUESTION, schema=schema).text == '{"answer": "Paris"}'
        assert model.complete(QUESTION, schema=schema).text == '{"answer": "Rome"}'
        assert model.complete(QUESTION, schema=schema).text == '{"answer": "Oslo"}'
        formats = [request.body.get("response_format") for request in server.chats]
        assert formats[0]["json_schema"]["schema"] == schema
        assert [each is None for each in formats] == [False, False, True, True]
