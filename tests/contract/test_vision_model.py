"""What every vision model promises; the server behind it is scripted."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from clew.config import ChatSettings
from clew.errors import ServiceRefusedError, ServiceUnavailableError
from clew.models.base import VisionModel
from clew.models.vision import OpenAIVisionModel, probe_vision
from clew.types import Picture
from fakes.openai_server import Hang, Reply, ScriptedServer, Status

PICTURE = Picture(b"\x89PNG\r\n\x1a\nnot really", "image/png")


def model(server: ScriptedServer, **settings: float) -> VisionModel:
    return OpenAIVisionModel(ChatSettings(url=server.url, model="sees", **{"timeout": 5, "retries": 1, **settings}))


def test_the_picture_is_sent_beside_the_prompt_and_the_usage_comes_back() -> None:
    with ScriptedServer([Reply("一张折线图。", usage=(900, 12))]) as server:
        seen = model(server)
        answer = seen.describe("这是什么？", PICTURE, max_tokens=99)
        assert isinstance(seen, VisionModel)
        assert (seen.name, answer.text) == ("sees", "一张折线图。")
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.calls) == (900, 12, 1)
        text, image = server.chats[0].messages[0]["content"]
        assert text == {"type": "text", "text": "这是什么？"}
        head, _, data = image["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(data) == PICTURE.data
        assert server.chats[0].body["max_tokens"] == 99


def test_an_overloaded_endpoint_is_asked_again_and_a_refusal_is_not() -> None:
    with ScriptedServer([Status(429, headers={"retry-after": "0"}), "yes"]) as server:
        assert model(server).describe("?", PICTURE).text == "yes"
    with ScriptedServer([Status(400, {"error": {"message": "image input is not supported"}})]) as server:
        with pytest.raises(ServiceRefusedError, match="image input is not supported"):
            model(server).describe("?", PICTURE)
        assert len(server.chats) == 1
    with ScriptedServer([Hang()]) as server, pytest.raises(ServiceUnavailableError, match=r"models\.vision\.timeout"):
        model(server, timeout=0.3, retries=0).describe("?", PICTURE)


def test_the_probe_shows_a_picture_that_can_be_decoded() -> None:
    with ScriptedServer(["Red."]) as server:
        assert probe_vision(model(server)) == "sees says that a red square is 'Red.'"
        url = server.chats[0].messages[0]["content"][1]["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        assert image.convert("RGB").getcolors() == [(64 * 64, (255, 0, 0))]
