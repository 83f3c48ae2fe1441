"""What a question is about that no document uses."""

from __future__ import annotations

import pytest

from clew.retrieval.unmentioned import subjects, unmentioned
from clew.text.tokenizing import tokenize


def asked(question: str, text: str) -> list[str]:
    return unmentioned(question, set(tokenize(text)).__contains__)


@pytest.mark.parametrize(
    ("question", "text", "unknown"),
    [
        ("What is the boiling point of tungsten?", "A point of order.", ["boiling", "tungsten"]),
        ("What is the boiling point of tungsten?", "The boiling point of water.", []),
        ("How old must a senator be?", "Senators are thirty years old.", []),
        ("特朗普的生日是哪天？", "董事的任期为三年。", ["特朗普", "生日"]),
        ("董事的任期是几年？", "董事任期由公司章程规定。", []),
        ("億級公司的註冊地在哪裡？", "亿级公司的注册地是北京。", []),
        ("What?", "Nothing at all.", []),
        ("2019年是多少？", "空", []),
    ],
)
def test_words_that_no_document_uses(question: str, text: str, unknown: list[str]) -> None:
    assert asked(question, text) == unknown


def test_a_word_that_the_document_cuts_otherwise_occurs() -> None:
    assert asked("研发投入是多少？", "公司研发的投入") == []


def test_a_minority_of_unknown_words_says_nothing() -> None:
    text = "The river flows through the city to the sea."
    assert asked("Does the river flow through the old city of Budapest to the sea?", text) == []


def test_words_of_any_question_are_no_subjects() -> None:
    assert subjects("What is the name of the river called in that year?") == ["river"]
    assert subjects("多少人参加了董事会会议？") == ["董事会", "会议"]
