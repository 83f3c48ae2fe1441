"""A conversation as a file: Markdown for people, JSON with everything for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew.storage.base import Conversation, Message
from clew.text.language import detect_language
from clew.trace import to_json

FORMAT_VERSION = 1

_WORDS = {
    "zh": {
        "user": "问", "assistant": "答", "sources": "出处", "page": "第 {n} 页", "how": "检索过程",
        "round": "第 {n} 轮", "new": "新增 {n} 段", "stopped": "（已停止）", "error": "（出错：{detail}）",
        "streaming": "（未完成）",
    },
    "en": {
        "user": "Question", "assistant": "Answer", "sources": "Sources", "page": "p. {n}", "how": "How it was found",
        "round": "Round {n}", "new": "{n} new passages", "stopped": "(stopped)", "error": "(error: {detail})",
        "streaming": "(unfinished)",
    },
}  # fmt: skip


def as_json(conversation: Conversation, messages: Sequence[Message]) -> dict[str, Any]:
    """The conversation with all messages; those of the assistant keep citations, trace, notice and token counts."""
    return {
        "format": "clew-conversation",
        "version": FORMAT_VERSION,
        "conversation": to_json(conversation),
        "messages": [to_json(message) for message in messages],
    }


def as_markdown(conversation: Conversation, messages: Sequence[Message]) -> str:
    """The conversation to read: questions, answers with their sources, and how each was found."""
    lines = [f"# {conversation.title}", "", f"{conversation.created_at[:16].replace('T', ' ')} UTC", ""]
    for message in messages:
        words = _WORDS[detect_language(message.content or conversation.title)]
        lines += [f"## {words.get(message.role, message.role)}", "", message.content.strip(), ""]
        if message.role == "assistant":
            lines += _below_answer(message, words)
    return "\n".join(lines).rstrip() + "\n"


def _below_answer(message: Message, words: Mapping[str, str]) -> Iterator[str]:
    usage = message.usage
    if message.status in {"stopped", "error", "streaming"}:
        yield words[message.status].format(detail=usage.get("error", ""))
        yield ""
    if usage.get("citations"):
        yield f"**{words['sources']}**"
        yield ""
        for citation in usage["citations"]:
            page = f", {words['page'].format(n=citation['page'])}" if citation.get("page") else ""
            place = " > ".join([citation["file_name"], *citation["section_titles"]])
            yield f"- [{citation['number']}] {place}{page}"
        yield ""
    trace = usage.get("retrieval_trace")
    if trace:
        yield f"**{words['how']}**"
        yield ""
        decision = trace.get("complexity") or {}
        kind = (trace.get("kind") or {}).get("kind")
        yield f"- {' · '.join(str(part) for part in (decision.get('mode'), decision.get('source'), kind) if part)}"
        for step in trace.get("rounds", []):
            why = f"; {step['why']}" if step.get("why") else ""
            new = words["new"].format(n=step["new_chunks"])
            yield f"- {words['round'].format(n=step['round'])}: {step['sub_question']} → {new}{why}"
        yield f"- {trace.get('stop_reason', '')}"
        yield ""
