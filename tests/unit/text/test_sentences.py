import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("他说：“好。”她走了。真的？是的！", ["他说：“好。”", "她走了。", "真的？", "是的！"]),
        ("“你好！”，他说。", ["“你好！”，他说。"]),
        ("（见图3。）接着说。", ["（见图3。）", "接着说。"]),
        ("他走了……没有人知道。", ["他走了……", "没有人知道。"]),
        ("收入为12.5万元，增长3.14%。版本1.2.3发布。", ["收入为12.5万元，增长3.14%。", "版本1.2.3发布。"]),
        ("收入为12.5万元.下一句", ["收入为12.5万元.", "下一句"]),
        (
            "Mr. Smith bought 3.14 shares of Apple Inc. The deal closed at 5 p.m. on Jan. 5, 2020.",
            ["Mr. Smith bought 3.14 shares of Apple Inc.", "The deal closed at 5 p.m. on Jan. 5, 2020."],
        ),
        (
            "See Fig. 3 and Sec. 1.2.3, e.g. this one. It is in file.txt. Really!",
            ["See Fig. 3 and Sec. 1.2.3, e.g. this one.", "It is in file.txt.", "Really!"],
        ),
        ("J. K. Rowling wrote it. The U.S. economy grew.", ["J. K. Rowling wrote it.", "The U.S. economy grew."]),
        ('"Really?" he asked. "Yes." She left.', ['"Really?" he asked.', '"Yes."', "She left."]),
        ("Well... then she left... Nobody knew.", ["Well... then she left...", "Nobody knew."]),
        ("1. First item. 2. Second item.", ["1. First item.", "2. Second item."]),
        ("第一章 总则\n- 苹果\n- 梨", ["第一章 总则", "- 苹果", "- 梨"]),
        ("项目 | 2023年. | 2022年。\n收入 | 1.5 | 1.2", ["项目 | 2023年. | 2022年。", "收入 | 1.5 | 1.2"]),
        ("a. \r\n\u3000\n  b。 ", ["a.", "b。"]),
        ("", []),
        (" \n\t\u3000", []),
    ],
)
def test_splits(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


hostile = st.text(alphabet=st.sampled_from(list("ab1A。.!?…”\"') |\t\n\r\u2028\u3000好，No")), max_size=200)


@given(st.one_of(st.text(max_size=300), hostile))
def test_spans_hold_all_that_is_not_space_in_order(text: str) -> None:
    at = 0
    for start, end in sentence_spans(text):
        assert not text[at:start].strip()
        assert start < end
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        ".",
        ". ",
        "。",
        "”",
        "1.",
        "A. ",
        "U.S. ",
        "(",
        ".”",
        "No. ",
        "| ",
        "\n",
        " ",
        "… ",
        "e.g",
        " " * 20 + "A. ",
    ],
)
def test_time_is_linear(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began = time.process_time()
    sentence_spans(text)
    assert time.process_time() - began < 2
