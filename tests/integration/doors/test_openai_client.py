"""The OpenAI-compatible door, through the official client and a real server process."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest

from fakes.openai_server import ScriptedServer
from fakes.server_process import ServedClew

QUESTION = "How long is the Danube?"
ANSWER = "The Danube is 2,850 kilometres long [1]."


@pytest.fixture
def client(server: ServedClew) -> Iterator[openai.OpenAI]:
    http = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0, http_client=http) as client:
        yield client


def test_every_knowledge_base_is_a_model(client: openai.OpenAI) -> None:
    models = {model.id: model for model in client.models.list()}

    assert models.keys() == {"rivers", "cities"}
    one = client.models.retrieve("rivers")
    assert (one.object, one.owned_by, one.created > 1_600_000_000) == ("model", "clew", True)
    assert client.models.retrieve(one.model_extra["clew"]["kb_id"]).id == "rivers"


def test_a_whole_answer_has_usage_citations_and_trace(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="rivers", messages=[{"role": "user", "content": QUESTION}])

    choice = completion.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", ANSWER, "stop")
    assert completion.usage is not None
    assert completion.usage.completion_tokens >= 9
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    found = completion.model_extra["clew"]
    assert found["citations"][0]["file_name"] == "rivers.md"
    assert "2,850" in found["citations"][0]["text"]
    assert found["retrieval_trace"]["question"] == QUESTION
    assert found["retrieval_trace"]["rounds"]


def test_a_streamed_answer_tells_how_it_was_found(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model="rivers",
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)

    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == ANSWER
    assert sum(map(bool, pieces)) > 1
    assert chunks[0].choices[0].delta.role == "assistant"
    events = [e["event"] for chunk in chunks if (e := (chunk.model_extra or {}).get("clew")) and "event" in e]
    assert events[0] == "retrieval_plan"
    assert events[-1] == "retrieval_done"
    last = chunks[-2]
    assert last.choices[0].finish_reason == "stop"
    assert last.model_extra["clew"]["citations"][0]["file_name"] == "rivers.md"
    assert last.model_extra["clew"]["retrieval_trace"]["complexity"]["mode"] in {"single", "multi"}
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens >= 9
    assert len({chunk.id for chunk in chunks}) == 1


def test_earlier_messages_are_the_conversation(client: openai.OpenAI, chat_model: ScriptedServer) -> None:
    before = len(chat_model.chats)
    completion = client.chat.completions.create(
        model="rivers",
        messages=[
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": [{"type": "text", "text": "What about the Rhine?"}]},
        ],
    )

    asked = [request.text for request in chat_model.chats[before:]]
    assert any("How long is the Danube" in text and "What about the Rhine" in text for text in asked), "no rewriting"
    assert completion.model_extra["clew"]["retrieval_trace"]["question"] == "What about the Rhine?"
    assert not any("pirate" in text for text in asked)


def test_the_extension_narrows_and_widens(client: openai.OpenAI, server: ServedClew) -> None:
    message = {"role": "user", "content": "武汉市的面积是多少？"}
    with server.api() as api:
        conversations = api.get("/conversations").json()["items"]
    alone = client.chat.completions.create(model="rivers", messages=[message])
    both = client.chat.completions.create(
        model="rivers", messages=[message], extra_body={"clew": {"kbs": ["cities"], "retrieval_mode": "multi"}}
    )

    assert all(c["file_name"] == "rivers.md" for c in alone.model_extra["clew"]["citations"])
    assert "城市.md" in {c["file_name"] for c in both.model_extra["clew"]["citations"]}
    decision = both.model_extra["clew"]["retrieval_trace"]["complexity"]
    assert (decision["mode"], decision["source"]) == ("multi", "request")
    with server.api() as api:
        assert api.get("/conversations").json()["items"] == conversations, "nothing is stored"


def test_limits_of_the_request_reach_the_model(client: openai.OpenAI, chat_model: ScriptedServer) -> None:
    message = {"role": "user", "content": QUESTION}
    client.chat.completions.create(model="rivers", messages=[message], max_tokens=33, temperature=0.5)

    body = chat_model.chats[-1].body
    assert (body["max_tokens"], body["temperature"]) == (33, 0.5)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_unknown_model_is_not_found(client: openai.OpenAI, streamed: bool) -> None:
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(
            model="nothing", messages=[{"role": "user", "content": QUESTION}], stream=streamed
        )
    assert error.value.code == "model_not_found"
    assert "nothing" in str(error.value)
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nothing")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant", "content": "hello"}]}, "last message"),
        ({"messages": [{"role": "user", "content": "  "}]}, "empty"),
        ({"n": 2}, "n:"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]}, "text"),
        ({"extra_body": {"clew": {"nonsense": 1}}}, "nonsense"),
    ],
    ids=["none", "no question", "empty", "several", "image", "extension"],
)
def test_impossible_requests_are_refused(client: openai.OpenAI, change: dict[str, object], says: str) -> None:
    request = {"model": "rivers", "messages": [{"role": "user", "content": QUESTION}], **change}
    with pytest.raises(openai.APIStatusError) as error:
        client.chat.completions.create(**request)  # type: ignore[call-overload]
    assert 400 <= error.value.status_code < 500
    assert error.value.type == "invalid_request_error"
    assert says in str(error.value)


def test_a_client_that_goes_away_stops_the_answer(server: ServedClew, client: openai.OpenAI) -> None:
    body = {"model": "rivers", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body, trust_env=False) as response:
        assert next(response.iter_lines()).startswith("data:")
    assert client.models.list().data, "the server goes on"


def test_a_greeting_needs_no_look_up(client: openai.OpenAI, chat_model: ScriptedServer) -> None:
    completion = client.chat.completions.create(model="rivers", messages=[{"role": "user", "content": "Hello!"}])

    assert completion.choices[0].message.content
    found = completion.model_extra["clew"]
    assert found["citations"] == []
    assert found["retrieval_trace"]["stop_reason"] == "not_needed"
    assert [m["role"] for m in chat_model.chats[-1].messages] == ["system", "user"]


def test_an_answer_that_was_cut_off_says_so(client: openai.OpenAI) -> None:
    message = {"role": "user", "content": f"{QUESTION} Answer at length."}
    whole = client.chat.completions.create(model="rivers", messages=[message])
    pieces = list(client.chat.completions.create(model="rivers", messages=[message], stream=True))

    assert whole.choices[0].finish_reason == pieces[-1].choices[0].finish_reason == "length"
