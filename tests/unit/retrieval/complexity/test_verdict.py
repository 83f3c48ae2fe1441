"""Reading a model's yes or no."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.retrieval.complexity.verdict import read_verdict, verdict_messages


@pytest.mark.parametrize(
    "reply",
    [
        "yes", "Yes.", "YES!", "**Yes**", '"yes"', "y", "Yes, several look-ups are needed; no doubt about it.",
        "是", "是。", "是的，需要多次检索。", "“是”", "答案：是", "答案是：**是**", "需要多次检索", "多跳", "ｙｅｓ",
        "<think>no, wait … not needed? </think>\n\nyes", "<think>可能不需要</think>是",
        "thinking aloud: no</think> Yes",
        '{"answer": "yes"}', "```\nyes\n```", "The question is multi-hop.", "Let me see. The answer is yes.",
        "Not a simple question. Answer: yes", "该问题属于多跳问题", "multi",
    ],
)  # fmt: skip
def test_yes(reply: str) -> None:
    assert read_verdict(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        "no", "No.", "NO", "n", "No, one look-up is enough, yes.", "否", "否。", "不是", "不需要",
        "不需要，一次检索即可。", "没有必要",
        "答案：否", "答案是：否", "无需多次检索", "单跳", "<think>yes or no? yes…</think>no", "single",
        "<THINK>是</THINK>\n否", "It is a single-hop question.", "So the final answer is: no",
        "Does it need several steps? The answer is no.",
    ],
)  # fmt: skip
def test_no(reply: str) -> None:
    assert read_verdict(reply) is False


@pytest.mark.parametrize(
    "reply",
    [
        "", "   ", "<think>yes, this needs", "<think>", "</think>", "是否", "但是", "maybe", "I do not know", "…", "42",
        "yesterday", "know", "nothing", "The question mentions Norway.", "还是",
    ],
)  # fmt: skip
def test_neither(reply: str) -> None:
    assert read_verdict(reply) is None


@given(st.text(max_size=400))
def test_any_reply_is_read(reply: str) -> None:
    assert read_verdict(reply) in {True, False, None}


def test_the_question_is_asked_in_its_language_and_as_it_is() -> None:
    (chinese,) = verdict_messages("谁是{question}的作者？", chinese=True)
    assert chinese.content.endswith("谁是{question}的作者？")
    assert "是 或 否" in chinese.content
    (english,) = verdict_messages("who wrote hamlet", chinese=False)
    assert "yes or no" in english.content
