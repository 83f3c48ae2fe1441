import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.simplified import to_simplified
from clew.text.tokenizing import only_connects, query_terms, stem, tokenize, word_spans


@pytest.mark.parametrize(
    ("passage", "question"),
    [
        ("订购ABC123型号的产品", "ABC123"),
        ("订购ABC123型号的产品", "abc123型号"),
        ("订购ABC123型号的产品", "型号"),
        ("股票代码600519上涨", "600519"),
        ("符合GB/T3620.1-2016标准", "GB/T3620.1-2016"),
        ("符合GB/T3620.1-2016标准", "T3620"),
        ("我家养了一只猫咪", "猫"),
        ("他叫欧阳翀翯", "翀翯"),
        ("臺灣最高的山是玉山", "玉山"),
        ("臺灣最高的山是玉山", "臺灣"),
        ("臺灣最高的山是玉山", "台湾"),
        ("一九二三年的發電廠", "发电厂"),
        ("乾隆皇帝的头发", "頭髮"),
        ("营业收入为1,234.56万元", "1234.56"),
        ("营业收入为１２３４．５６万元", "1,234.56"),
        ("增长12.5%", "12.5"),
        ("增长12.5％", "12.5%"),
        ("2023-01-15 发布", "2023年1月15日"),
        ("2019，2020，2021", "2020"),
        ("the companies' boxes", "company box"),
        ("Apple’s revenue", "apple"),
        ("Beyoncé Knowles", "beyonce"),
        ("the U.S. economy", "US"),
        ("AT&T Inc.", "at&t"),
        ("COVID-19", "covid"),
        ("COVID-19", "covid19"),
        ("written in C++", "C++"),
        ("written in C++", "c"),
        ("state-of-the-art", "art"),
        ("call load_settings(data)", "load_settings"),
        ("𠮷野家", "𠮷"),
        ("東京タワー", "タワー"),
        ("Ελλάδα και Москва", "москва"),
    ],
)
def test_found(passage: str, question: str) -> None:
    assert set(tokenize(passage)) & set(query_terms(question))


@pytest.mark.parametrize(
    ("passage", "question"),
    [("100，200，300", "100200300"), ("型号ABC1234", "ABC123"), ("3.14", "3.1"), ("马克", "克马")],
)
def test_not_found(passage: str, question: str) -> None:
    shared = set(tokenize(passage)) & set(query_terms(question))
    assert shared <= {"abc", "马", "克"}


def test_a_term_occurs_as_often_as_the_text_has_it() -> None:
    assert tokenize("北京欢迎北京").count("北京") == 2
    assert tokenize("cats and a cat").count("cat") == 2


def test_function_words_are_not_asked_for() -> None:
    assert query_terms("What is the revenue of the company?") == ["revenue", "company"]
    assert not {"什么", "的", "是", "入是"} & set(query_terms("公司的收入是什么"))


def test_a_question_of_function_words_alone_is_asked_all_the_same() -> None:
    assert query_terms("The Who") == ["the", "who"]
    assert "什么" in query_terms("什么")
    assert query_terms("的") == ["的"]


@pytest.mark.parametrize("text", ["", " ", "\n\t", "!?。，", "___", "'", "\ud800", "\x00", "🙂"])
def test_nothing_to_find(text: str) -> None:
    assert tokenize(text) == query_terms(text) == []


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("companies", "company"),
        ("boxes", "box"),
        ("glasses", "glass"),
        ("cars", "car"),
        ("glass", "glass"),
        ("bus", "bus"),
        ("analysis", "analysis"),
        ("his", "his"),
        ("", ""),
    ],
)
def test_stem(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


mixed = st.text(alphabet=st.sampled_from(list("aZ1９.,-/&'%+#_@:的猫中國𠮷éßİ ﷺ\ud800\u0301")), max_size=100)


@given(st.one_of(st.text(max_size=200), mixed))
def test_terms_are_short_lower_case_and_without_space(text: str) -> None:
    terms = tokenize(text)
    for term in terms:
        assert term
        assert len(term) <= 64
        assert term == term.lower()
        assert not any(character.isspace() for character in term)


@given(st.one_of(st.text(max_size=200), mixed))
def test_a_question_finds_the_passage_that_is_the_same_text(text: str) -> None:
    assert set(query_terms(text)) <= set(tokenize(text))


@pytest.mark.parametrize("unit", ["a", "1", "1,", "a-", "的", "中国人民", "a.b", "'", "%", "ﷺ", "é", "a的1"])
def test_time_is_linear(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began = time.process_time()
    tokenize(text)
    assert time.process_time() - began < 3


def test_traditional_characters_make_the_terms_of_simplified_ones() -> None:
    assert tokenize("下令興建聖禮拜教堂") == tokenize("下令兴建圣礼拜教堂")


def test_words_and_where_they_stand() -> None:
    text = "Who 下令興建聖禮拜教堂, 在1248年?"
    words = [text[start:end] for start, end in word_spans(text)]
    assert "".join(words) == "Who下令興建聖禮拜教堂在1248年"
    assert {"Who", "興建", "教堂", "1248"} <= set(words)


def test_words_that_only_connect() -> None:
    assert [word for word in ("由", "以及", "為", "教堂", "什么", "的", "與") if only_connects(word)] == [
        "由",
        "以及",
        "為",
        "的",
        "與",
    ]


@given(st.text(max_size=60))
def test_simplifying_keeps_every_place(text: str) -> None:
    assert len(to_simplified(text)) == len(text)
