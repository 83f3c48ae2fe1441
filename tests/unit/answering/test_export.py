"""Conversations as files."""

from __future__ import annotations

import json

from clew.answering.export import as_json, as_markdown
from clew.storage.base import Conversation, Message

TALK = Conversation("c1", "How long is the Danube?", "2026-01-02T03:04:05.000000+00:00", "2026-01-02", ("kb1",))
TRACE = {
    "complexity": {"mode": "multi", "source": "rules"},
    "kind": {"kind": "fact"},
    "rounds": [{"round": 1, "sub_question": "Which river?", "new_chunks": 4, "why": "a bridge is left"}],
    "stop_reason": "sufficient",
}
CITATION = {"number": 1, "file_name": "rivers.md", "section_titles": ["Rivers", "The Danube"], "page": 3}
MESSAGES = [
    Message("m1", "c1", "user", "How long is the Danube?", "2026-01-02"),
    Message("m2", "c1", "assistant", "2,850 km [1].", "2026-01-02", "done",
            {"citations": [CITATION], "retrieval_trace": TRACE}),
    Message("m3", "c1", "user", "多瑙河有多长？", "2026-01-02"),
    Message("m4", "c1", "assistant", "约", "2026-01-02", "stopped", {}),
]  # fmt: skip


def test_markdown_shows_questions_answers_sources_and_how_they_were_found() -> None:
    assert as_markdown(TALK, MESSAGES) == (
        "# How long is the Danube?\n\n2026-01-02 03:04 UTC\n\n"
        "## Question\n\nHow long is the Danube?\n\n"
        "## Answer\n\n2,850 km [1].\n\n"
        "**Sources**\n\n- [1] rivers.md > Rivers > The Danube, p. 3\n\n"
        "**How it was found**\n\n- multi · rules · fact\n"
        "- Round 1: Which river? → 4 new passages; a bridge is left\n- sufficient\n\n"
        "## 问\n\n多瑙河有多长？\n\n## 答\n\n约\n\n（已停止）\n"
    )


def test_json_holds_everything() -> None:
    document = json.loads(json.dumps(as_json(TALK, MESSAGES)))
    assert (document["format"], document["version"]) == ("clew-conversation", 1)
    assert document["conversation"]["kb_ids"] == ["kb1"]
    assert document["messages"][1]["usage"] == {"citations": [CITATION], "retrieval_trace": TRACE}
    assert [m["status"] for m in document["messages"]] == ["done", "done", "done", "stopped"]


def test_an_empty_conversation_is_exported_too() -> None:
    assert as_markdown(Conversation("c1", "", "2026-01-02T03:04", "2026-01-02"), []).startswith("# \n")
