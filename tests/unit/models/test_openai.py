"""What is particular to OpenAI-compatible endpoints."""

from __future__ import annotations

import base64
import time

import numpy as np
import pytest

from clew.config import ChatSettings, EmbedderSettings
from clew.errors import ServiceError, ServiceRefusedError, ServiceUnavailableError, SettingsError
from clew.models.base import ChatMessage
from clew.models.openai import OpenAIChatModel, OpenAIEmbedder
from fakes.openai_server import Raw, Reply, Request, ScriptedServer, Status

HELLO = [ChatMessage("user", "Hello")]
SECRET = "sk-secret-1234"


def chat(server: ScriptedServer, **settings: object) -> OpenAIChatModel:
    values = {"url": server.url, "model": "fake", "timeout": 5, "retries": 1, **settings}
    return OpenAIChatModel(ChatSettings.model_validate(values))


def embedder(server: ScriptedServer, batch_size: int = 32, **settings: object) -> OpenAIEmbedder:
    values = {"kind": "openai", "url": server.url, "model": "fake", **settings}
    return OpenAIEmbedder(EmbedderSettings.model_validate(values), batch_size=batch_size, retries=1)


@pytest.mark.parametrize(
    ("url", "message"),
    [("", "http://"), ("localhost:8000/v1", "http://"), ("ftp://host/v1", "http://"), ("http://", "http://")],
)
def test_an_address_that_is_none_is_refused_with_its_path(url: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"models.enrichment.url.*{message}"):
        OpenAIChatModel(ChatSettings(url=url, model="fake"), setting="models.enrichment")


def test_a_missing_model_and_an_impossible_key_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"models\.chat\.model"):
        OpenAIChatModel(ChatSettings(url="http://127.0.0.1/v1"))
    with pytest.raises(SettingsError, match=r"models\.chat\.api_key") as caught:
        OpenAIChatModel(ChatSettings.model_validate({"url": "http://h/v1", "model": "m", "api_key": "sk 秘密"}))
    assert "秘密" not in str(caught.value)


def test_the_full_address_of_the_chat_route_is_understood() -> None:
    with ScriptedServer(["ok"]) as server:
        assert chat(server, url=server.url + "/chat/completions/").complete(HELLO).text == "ok"


def test_the_key_is_sent_and_never_told() -> None:
    with ScriptedServer(["ok", Status(400, {"error": SECRET})], api_key=SECRET) as server:
        assert chat(server, api_key=SECRET).complete(HELLO).text == "ok"
        with pytest.raises(ServiceRefusedError) as caught:
            chat(server, api_key=SECRET).complete(HELLO)
        assert SECRET not in str(caught.value)
        with pytest.raises(ServiceRefusedError, match=r"set models\.chat\.api_key") as caught:
            chat(server, api_key="sk-wrong").complete(HELLO)
        assert "sk-wrong" not in str(caught.value)


def test_user_and_query_of_an_address_are_never_told() -> None:
    with ScriptedServer() as server:
        hidden = server.url.replace("http://", "http://user:hush@")
    with pytest.raises(ServiceUnavailableError) as caught:
        chat(server, url=hidden, retries=0).complete(HELLO)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Raw("<html>Welcome</html>", "text/html"), "web page"),
        (Raw("<!doctype html>", "text/plain"), "web page"),
        (Raw("{ not json"), "cannot be understood"),
        (Raw("[]"), "cannot be understood"),
        (Raw("null"), "cannot be understood"),
        (Raw('{"choices": []}'), "cannot be understood"),
        (Raw('{"choices": [{"message": null}]}'), "cannot be understood"),
        (Status(302, headers={"location": "https://elsewhere/v1"}), "redirects to .*elsewhere"),
        (Status(429, {"error": {"code": "insufficient_quota"}}), "insufficient_quota"),
    ],
)
def test_nonsense_is_refused_at_once(answer: Raw | Status, message: str) -> None:
    with ScriptedServer([answer, answer]) as server:
        with pytest.raises(ServiceRefusedError, match=message):
            chat(server).complete(HELLO)
        with pytest.raises(ServiceRefusedError, match=message):
            list(chat(server).stream(HELLO))
        assert len(server.chats) == 2


def test_retry_after_is_obeyed_within_bounds() -> None:
    with ScriptedServer([Status(429, headers={"retry-after": "1"}), "ok"]) as server:
        start = time.monotonic()
        assert chat(server).complete(HELLO).text == "ok"
        assert time.monotonic() - start >= 1
    with ScriptedServer([Status(429, headers={"retry-after": "3600"}), "never"]) as server:
        with pytest.raises(ServiceUnavailableError):
            chat(server).complete(HELLO)
        assert len(server.chats) == 1


def test_a_body_that_breaks_off_is_asked_for_again() -> None:
    with ScriptedServer([Reply("half", break_after=0), "whole"]) as server:
        assert chat(server).complete(HELLO).text == "whole"


def test_parameters_that_are_refused_are_changed_and_remembered() -> None:
    def newer(request: Request) -> Reply | Status:
        for name in ("max_tokens", "temperature", "stream_options"):
            if name in request.body:
                return Status(400, {"error": {"message": f"Unsupported parameter: '{name}'"}})
        return Reply("ok")

    with ScriptedServer(newer) as server:
        model = chat(server)
        assert model.complete(HELLO, max_tokens=9).text == "ok"
        assert "".join(delta.text for delta in model.stream(HELLO, max_tokens=9)) == "ok"
        assert server.chats[-1].body["max_completion_tokens"] == 9
        asked = len(server.chats)
        assert model.complete(HELLO, max_tokens=9).text == "ok"
        assert len(server.chats) == asked + 1


def test_a_server_that_does_not_stream_gives_its_answer_in_one_piece() -> None:
    body = '{"choices": [{"message": {"content": [{"type": "text", "text": "Paris"}]}, "finish_reason": "stop"}]}'
    with ScriptedServer([Raw(body)]) as server:
        assert "".join(delta.text for delta in chat(server).stream(HELLO)) == "Paris"


@pytest.mark.parametrize(
    ("stream", "text", "error"),
    [
        ('data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}', "a", None),
        ('data:{"choices":[{"delta":{"content":"a"}}]}\r\n\r\ndata:[DONE]\r\n\r\n', "a", None),
        (': hello\n\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n', "a", None),
        ('data: {"choices":[{"delta":{"content":"a"}}]}\n\n', "a", ServiceUnavailableError),
        ('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"message":"x"}}\n\n', "a", ServiceError),
        ('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: nonsense\n\n', "a", ServiceRefusedError),
        ('data: {"choices":[{"delta":null}]}\n\ndata: [DONE]\n\n', "", None),
        ("", "", ServiceUnavailableError),
    ],
)
def test_streams_of_many_dialects(stream: str, text: str, error: type[ServiceError] | None) -> None:
    with ScriptedServer([Raw(stream, "text/event-stream")]) as server:
        came: list[str] = []

        def read() -> None:
            came.extend(delta.text for delta in chat(server).stream(HELLO))

        if error is None:
            read()
        else:
            with pytest.raises(error):
                read()
        assert "".join(came) == text


def test_embeddings_go_in_batches_that_shrink_where_the_server_wants_fewer() -> None:
    texts = [f"text {number}" for number in range(10)]
    with ScriptedServer(failures=[Status(413), Status(422)]) as server:
        vectors = embedder(server, batch_size=8, dimension=32).embed_passages(texts)
        assert [len(request.body["input"]) for request in server.embeddings] == [8, 4, 2, 2, 2, 2, 2]
    with ScriptedServer() as server:
        alone = np.concatenate([embedder(server).embed_passages([text]) for text in texts])
    assert np.allclose(vectors, alone)


def test_the_dimension_is_asked_for_once() -> None:
    with ScriptedServer(dimension=24) as server:
        subject = embedder(server)
        assert subject.dimension == 24
        assert subject.embed_queries(["a"]).shape == (1, 24)
        assert len(server.embeddings) == 2


def test_another_dimension_than_the_setting_is_refused() -> None:
    with ScriptedServer(dimension=24) as server, pytest.raises(ServiceRefusedError, match=r"24 numbers.*not 32"):
        embedder(server, dimension=32).embed_passages(["a"])


def test_base64_vectors_are_read() -> None:
    data = base64.b64encode(np.array([3, 4], "<f4").tobytes()).decode()
    with ScriptedServer(failures=[Raw(f'{{"data": [{{"index": 0, "embedding": "{data}"}}]}}')]) as server:
        assert embedder(server, dimension=2).embed_passages(["a"])[0] == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    "body", ['{"data": []}', '{"data": [{"embedding": [NaN, 1]}]}', '{"data": [{"embedding": null}]}', "{}", "[1]"]
)
def test_vectors_that_are_none_are_refused(body: str) -> None:
    with ScriptedServer(failures=[Raw(body)]) as server, pytest.raises(ServiceRefusedError):
        embedder(server, dimension=2).embed_passages(["a"])


def test_a_text_is_cut_to_what_the_endpoint_reads() -> None:
    with ScriptedServer() as server:
        embedder(server, max_tokens=16, dimension=32).embed_passages(["营业收入" * 100, "word " * 100])
        assert server.embeddings[0].body["input"] == ["营业收入" * 4, ("word " * 16).rstrip()]


def test_prefixes_are_part_of_the_name() -> None:
    with ScriptedServer() as server:
        assert embedder(server).name == "openai/fake"
        assert embedder(server, query_prefix="q: ").name != embedder(server, query_prefix="p: ").name
