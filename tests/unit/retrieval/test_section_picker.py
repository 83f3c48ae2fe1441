"""The reader of a model's choice of sections."""

from __future__ import annotations

import pytest

from clew.config import ChatSettings
from clew.errors import ServiceError, ServiceRefusedError
from clew.models.openai import OpenAIChatModel
from clew.retrieval.section_picker import pick_sections, read_pick
from clew.types import Section
from fakes.openai_server import ScriptedServer, Status

OUTLINE = [("Report", Section(f"{i:04d}/" if i else "", (f"Title {i}",), 1, summary=f"About {i}.")) for i in range(40)]


@pytest.mark.parametrize(
    ("text", "scope", "places", "detail"),
    [
        ('{"scope": "sections", "sections": [3, 1], "detail": false, "reason": "named"}', "sections", (2, 0), False),
        ('<think>[9]?</think>```json\n{"scope": "topic", "sections": [2]}\n```', "topic", (1,), False),
        ("{'scope': 'document', 'sections': [], 'detail': True}", "document", (), True),
        ('{"sections": ["[2]", "section 3"], "detail": "yes"}', "sections", (1, 2), True),
        ('{"scope": "Section", "sections": "2, 3"}', "sections", (1, 2), False),
        ('{"answer": {"scope": "topics", "sections": [{"number": 4}, 99, -1, true, 4]}}', "topic", (3,), False),
    ],
)
def test_choices_are_read_however_they_are_typed(text: str, scope: str, places: tuple[int, ...], detail: bool) -> None:
    pick = read_pick(text, 10)
    assert (pick.scope, pick.places, pick.detail) == (scope, places, detail)


@pytest.mark.parametrize(
    "text",
    ["", "Section 3.", '{"scope": "sections", "sections": [99]}', '{"scope": "all", "sections": [1]}', "{", "[]"],
)
def test_what_chooses_nothing_is_refused(text: str) -> None:
    with pytest.raises(ServiceRefusedError):
        read_pick(text, 10)


def test_the_model_sees_the_outline_as_far_as_it_fits() -> None:
    with ScriptedServer(['{"scope": "sections", "sections": [39, 2]}', Status(400)]) as server:
        chat = OpenAIChatModel(ChatSettings(url=server.url, model="small", retries=0), setting="models.enrichment")

        def count(text: str) -> int:
            return len(text.split())

        pick = pick_sections("What is in title 1?", OUTLINE, chat, tokens=80, timeout=5, count_tokens=count)
        assert pick.places == (1,)  # the 39th line was not shown
        shown = server.chats[0].text
        assert "[1] Report: About 0." in shown
        assert "[2] Report: Title 1: About 1." in shown
        assert "[30]" not in shown
        with pytest.raises(ServiceError):
            pick_sections("What?", OUTLINE, chat, tokens=80, timeout=5, count_tokens=count)
