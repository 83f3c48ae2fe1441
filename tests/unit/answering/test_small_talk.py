"""What needs no retrieval, and what only looks as if."""

from __future__ import annotations

import pytest

from clew.answering.small_talk import Language, small_talk, small_talk_messages, small_talk_reply
from clew.retrieval.rewriting import Turn

HISTORY = (Turn("user", "How long is the Danube?"), Turn("assistant", "It is 2,850 km long [1]."))


@pytest.mark.parametrize(
    "text", ["你好", "您好！", "Hi", "hello there!", "Good morning", "嗨~", "早上好。", "Hey Clew", "在吗？"]
)
def test_greetings(text: str) -> None:
    assert small_talk(text, ()) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        "谢谢",
        "非常感谢！",
        "Thanks a lot!",
        "thank you very much",
        "好的，谢谢",
        "OK, thanks.",
        "再见",
        "bye",
        "明白了",
        "ok",
    ],
)
def test_thanks(text: str) -> None:
    assert small_talk(text, ()) == "thanks"


@pytest.mark.parametrize(
    "text",
    [
        "Translate your last answer into Chinese", "please summarise our conversation", "Can you repeat that?",
        "Say that again in English", "shorten your answer",
        "把你的回答翻译成英文", "请把上一个回答总结一下", "翻译一下上面的回答", "用英文再说一遍",
        "总结一下对话", "再说一遍", "把刚才的回答缩短到一句话",
    ],
)  # fmt: skip
def test_requests_about_the_conversation(text: str) -> None:
    assert small_talk(text, HISTORY) == "conversation"
    assert small_talk(text, ()) is None, "without an answer there is nothing to speak of"


@pytest.mark.parametrize("text", ["What did I ask?", "What was my last question?", "我刚才问了什么？"])
def test_questions_about_earlier_questions(text: str) -> None:
    assert small_talk(text, HISTORY) == "conversation"
    assert small_talk(text, ()) == "conversation"
    language: Language = "en" if text.isascii() else "zh"
    assert "How long is the Danube?" in small_talk_reply("conversation", text, HISTORY, language)
    none = small_talk_reply("conversation", text, (), language)
    assert none in ("Nothing was asked in this conversation before.", "这个对话里还没有更早的问题。")


@pytest.mark.parametrize(
    "text", ["Who are you?", "what can you do", "How can you help me?", "你是谁？", "你能做什么", "请介绍一下你自己"]
)
def test_questions_about_clew(text: str) -> None:
    assert small_talk(text, ()) == "about"
    language: Language = "en" if text.isascii() else "zh"
    assert "Clew" in small_talk_reply("about", text, (), language)


@pytest.mark.parametrize(
    "text",
    [
        "What can you do with a senator who resigned?", "Who are you required to notify?", "董事会能做什么",
        "你公司是谁出资的",
        "How long is the Danube?", "你好公司的营业收入是多少？", "Hello Kitty 的版权属于谁？",
        "What is in the answer sheet?",
        "Who wrote the response to the regulator?", "翻译服务的收入是多少？", "Summarise the report",
        "What did the chairman ask?", "谢谢集团的注册地在哪里？", "How is the conversation rate computed?",
        "ok rate of 2023",
        "总结第三章", "What did I owe in 2023 according to the contract?", "回答客户投诉的时限是多少？",
        "再保险公司的对话机制是什么",
        "Explain the answer that the company gave to the tax office in its 2023 report and the reasons for it",
        "What does this file say?", "",
    ],
)  # fmt: skip
def test_questions_are_looked_up(text: str) -> None:
    assert small_talk(text, HISTORY) is None


def test_replies_without_a_model() -> None:
    assert "sources" in small_talk_reply("greeting", "hi", (), "en")
    assert "出处" in small_talk_reply("greeting", "你好", (), "zh")
    assert small_talk_reply("conversation", "What did I ask?", HISTORY, "en").endswith("How long is the Danube?")
    assert small_talk_reply("conversation", "Repeat your last answer", HISTORY, "en") == HISTORY[1].text
    assert "models.chat.url" in small_talk_reply("conversation", "Translate your last answer", HISTORY, "en")


def test_a_model_sees_the_conversation() -> None:
    messages = small_talk_messages("Translate your last answer into Chinese", HISTORY, "en")
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == HISTORY[1].text
