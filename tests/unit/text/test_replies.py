from __future__ import annotations

import pytest

from clew.text.replies import listed_reply, objects_in, plain_reply


@pytest.mark.parametrize("text", ["Rome.", "“Rome.”", "```\nRome.\n```", "<think>Italy?</think>\n\nRome.\n"])
def test_the_text_of_a_reply(text: str) -> None:
    assert plain_reply(text) == "Rome."


@pytest.mark.parametrize(
    "text",
    [
        "1. Who?\n2. When?",
        "- Who?\n\n- When?",
        '["Who?", "When?"]',
        "（1）Who?\n（2）When?",
        '```json\n["Who?", "When?"]\n```',
    ],
)
def test_the_lines_of_a_list(text: str) -> None:
    assert listed_reply(text) == ["Who?", "When?"]


def test_a_year_is_no_number_of_a_list() -> None:
    assert listed_reply("2019年营业收入是多少？") == ["2019年营业收入是多少？"]


def test_objects_in_json_and_in_python_spelling() -> None:
    assert list(objects_in("x {\"a\": 1} y {'b': True} {broken")) == [{"a": 1}, {"b": True}]
