"""Names in Chinese, English and mixed text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.entities import extract_entities


def names(text: str, **options: object) -> list[str]:
    return [entity.text for entity in extract_entities(text, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("由佘诗曼和陈键锋共同主演的电视剧是哪部?", ["佘诗曼", "陈键锋"]),
        ("《野草》的作者是谁？", ["野草"]),
        ("我想知道马克斯·冯·巴登的父亲是谁？", ["马克斯·冯·巴登"]),
        ("绿源环保有限公司在2017年12月设立了什么子公司？", ["绿源环保有限公司"]),
        ("北京大学的校长", ["北京大学"]),
        ("“杂交水稻之父”指的是谁？", ["杂交水稻之父"]),
        ("疗效的定义是什么", []),
        ("美国和中国的iphone 15 Pro价格", ["美国", "中国", "iphone 15 Pro"]),
        ("SQL和NoSQL有什么区别", ["SQL", "NoSQL"]),
    ],
)
def test_chinese_and_mixed(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Did Li Hua ask Jennifer Moore about U.S. sales?", ["Li Hua", "Jennifer Moore", "U.S."]),
        ("The University of Oxford was founded in 1096. However, nobody knows why.", ["University of Oxford"]),
        ("Who founded Google's parent company?", ["Google"]),
        ("Which film came out first, Kalavar King or Ogro?", ["Kalavar King", "Ogro"]),
        ('Who wrote "the old man and the sea"?', ["the old man and the sea"]),
        ("When did Väinö Malmivaara meet Gülnuş Sultan?", ["Väinö Malmivaara", "Gülnuş Sultan"]),
        ("What was revenue in 2023?", []),
        ("When was the iPhone 15 sold?", ["iPhone 15"]),
    ],
)
def test_english(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("who plays bart on the simpsons", ["bart", "simpsons"]),
        ("where was mozart born", ["mozart"]),
        ("what is the name of harry potter's owl", ["harry potter", "owl"]),
        ("what is the largest country in the world", []),
        ("how many people live in a city", []),
    ],
)
def test_questions_without_capitals(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_traditional_text_is_read_as_simplified_and_quoted_as_it_stands() -> None:
    text = "唐太宗與孫中山、黑龍江省"
    found = extract_entities(text)
    assert [entity.text for entity in found] == ["唐太宗", "孫中山", "黑龍江省"]
    assert all(text[entity.start : entity.end] == entity.text for entity in found)


def test_a_legal_form_names_no_company() -> None:
    assert extract_entities("公司名称中应当标明有限责任公司或者股份有限公司字样") == []
    assert [entity.text for entity in extract_entities("中国银行股份有限公司")] == ["中国银行股份有限公司"]


def test_domain_terms_count_whatever_their_words() -> None:
    assert names("净息差是多少", domain_terms=["净息差"]) == ["净息差"]
    assert names("what is the cost ratio", domain_terms=["Cost Ratio", " "]) == ["cost ratio"]
    assert "rat" not in names("what is the ratio", domain_terms=["rat"])


def test_the_longest_domain_term_wins() -> None:
    assert names("一级资本充足率是多少", domain_terms=["资本充足率", "一级资本充足率"]) == ["一级资本充足率"]


@given(st.text(max_size=200), st.lists(st.text(max_size=8), max_size=3))
def test_spans_are_true_in_order_and_never_overlap(text: str, terms: list[str]) -> None:
    end = 0
    for entity in extract_entities(text, domain_terms=terms):
        assert text[entity.start : entity.end] == entity.text
        assert entity.text
        assert entity.start >= end
        end = entity.end


@pytest.mark.parametrize(
    "sentence", ["张三在北京大学的图书馆里读《红楼梦》，第二天去了上海。", "In 1999 John Smith left New York. "]
)
def test_a_megabyte_takes_no_minute(sentence: str) -> None:
    extract_entities(sentence)
    text = sentence * (200_000 // len(sentence.encode()))
    start = time.process_time()
    extract_entities(text)
    # 1 MB/s is the aim on an idle machine; a loaded one gets ten times as long.
    assert time.process_time() - start < 2.0
