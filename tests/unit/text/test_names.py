"""Folding names, finding known ones in text, and reading off what a passage is about."""

from __future__ import annotations

import pytest

from clew.text.names import find_names, fold_name, is_name, names_of_title, subject_names


@pytest.mark.parametrize(
    "text", ["Boden's Boy", "BODEN’S BOY", "Boden'S  Boy", "boden's boy", "Ｂｏｄｅｎ's Boy", "Boden&#39;s Boy"]
)
def test_a_name_is_the_same_whatever_its_form(text: str) -> None:
    assert fold_name(text) == "boden boy"


def test_accents_marks_and_spaces_between_characters_do_not_count() -> None:
    assert fold_name("Beyoncé") == fold_name("Beyonce")
    assert fold_name("《战国无双 3》") == "战国无双3"
    assert fold_name("威廉·琼斯") == "威廉琼斯"
    assert fold_name("…!") == ""


def test_a_name_is_the_same_in_simplified_and_traditional_characters() -> None:
    assert fold_name("孫中山") == fold_name("孙中山")
    text = "興中會由孫中山創立。"
    assert [text[s.start : s.end] for s in find_names(text, {"孙中山"}.__contains__)] == ["孫中山"]


def test_a_title_gives_its_name_with_and_without_brackets() -> None:
    assert names_of_title("Henry Edwards (actor)") == ("henry edwards actor", "henry edwards")
    assert names_of_title("李白（诗人）") == ("李白诗人", "李白")
    assert names_of_title("Introduction") == ()
    assert names_of_title("概述") == ()


@pytest.mark.parametrize("common", ["the", "2023", "a", "of the", "附录", ""])
def test_common_words_are_no_names(common: str) -> None:
    assert not is_name(common)


def test_known_names_are_found_longest_first() -> None:
    known = {"henry edwards", "henry", "new york", "new york city", "战国无双3", "威廉琼斯", "琼斯"}
    text = "Henry Edwards of New York City met 威廉·琼斯, who knew 《战国无双3》."
    spans = find_names(text, known.__contains__)
    assert [span.name for span in spans] == ["henry edwards", "new york city", "威廉琼斯", "战国无双3"]
    assert text[spans[0].start : spans[0].end] == "Henry Edwards"
    assert text[spans[2].start : spans[2].end] == "威廉·琼斯"


def test_names_in_running_text_begin_with_a_capital_and_in_questions_need_not() -> None:
    known = {"wall street", "the wild"}
    assert find_names("stocks on wall street fell", known.__contains__) == []
    assert [s.name for s in find_names("who works on wall street", known.__contains__, capitals=False)] == [
        "wall street"
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Teutberga (died 11 November 875) was a queen of Lotharingia.", ("teutberga",)),
        ("The European Union (EU) is a union of states.", ("european union",)),
        ("《战国无双3》是由光荣开发的游戏。", ("战国无双3",)),
        ("江苏某某股份有限公司（以下简称“某某股份”）是一家公司。", ("江苏某某股份有限公司", "某某股份")),
        ("路易九世（1214年－1270年），法國國王。", ("路易九世",)),
        ("有期徒刑是一種刑罰。", ("有期徒刑",)),
        ("但是，法律另有規定的除外。", ()),
        ("目前，该公司有员工三百人。", ()),
        ("自開埠至今，人口增長十倍。", ()),
        ("截至2014年，共有十二所学校。", ()),
        ("民主黨領導人準備要顛覆杜魯門，沒有成功。", ()),
        ("However, it is not known why.", ()),
        ("it was a dark night.", ()),
    ],
)
def test_a_definition_says_what_a_passage_is_about(text: str, names: tuple[str, ...]) -> None:
    assert subject_names(text) == names


def test_long_text_takes_no_long_time() -> None:
    text = "(" * 5000 + "A" * 5000 + "，" * 5000
    assert find_names(text, lambda _: False) == []
    assert subject_names(text) == ()
