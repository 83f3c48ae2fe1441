"""When two questions are the same."""

from __future__ import annotations

import pytest

from clew.retrieval.planners import question_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who directed Boden's Boy?", "who directed BODEN'S BOY"),
        ("Who is the director of Psycho?", "Please tell me who the director of Psycho is."),
        ("Ｐｓｙｃｈｏ 的导演是谁？", "谁是Psycho的导演"),
        ("张三的母亲是谁?", "请问张三的母亲是谁？"),
        ("Where was Beyoncé born?", "where was Beyonce born"),
    ],
)
def test_questions_that_differ_only_in_form_are_the_same(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who directed Psycho?", "Who directed Vertigo?"),
        ("When was she born?", "Where was she born?"),
        ("张三的母亲是谁", "张三的父亲是谁"),
        ("Revenue in 2022", "Revenue in 2023"),
    ],
)
def test_questions_that_ask_something_else_are_not(one: str, other: str) -> None:
    assert question_key(one) != question_key(other)


def test_a_question_of_nothing_but_fillers_still_has_a_key() -> None:
    assert question_key("是什么") != question_key("the")
