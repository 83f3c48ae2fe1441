"""Vision: any OpenAI-compatible chat endpoint that takes images."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

from clew.config import ChatSettings
from clew.models.base import ChatMessage, Completion, VisionModel
from clew.models.openai import OpenAIChatModel
from clew.types import Picture


class OpenAIVisionModel:
    """A model behind ``<url>/chat/completions`` that is sent a text and one image (as a ``data:`` URL)."""

    def __init__(self, settings: ChatSettings, *, setting: str = "models.vision") -> None:
        self._chat = OpenAIChatModel(settings, setting=setting)
        self._temperature = settings.temperature

    @property
    def name(self) -> str:
        return self._chat.name

    def close(self) -> None:
        self._chat.close()

    def describe(
        self, prompt: str, picture: Picture, *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The answer. Raises ServiceUnavailableError (transient) or ServiceRefusedError."""
        message = ChatMessage("user", prompt, (picture,))
        return self._chat.complete([message], temperature=self._temperature, max_tokens=max_tokens, schema=schema)


def probe_vision(model: VisionModel) -> str:
    """What the model says about a red square, for people. Raises ServiceError, also where it takes no images."""
    answer = model.describe("Which colour is this? One word.", Picture(_red_square(64), "image/png"), max_tokens=16)
    return f"{model.name} says that a red square is {answer.text.strip()[:40]!r}"


def _red_square(side: int) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff\0\0" * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
