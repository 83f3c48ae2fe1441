"""Headings by numbering and wording."""

import pytest

from clew.indexing.numbering import dense_levels, is_heading_like, is_sentence_like, is_toc_line, numbering_level


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("第一编 总则", 1),
        ("第二部分　财务", 1),
        ("PART II", 1),
        ("第三章 公司治理", 2),
        ("第一回 宴桃园豪杰三结义", 2),
        ("Chapter 3 Results", 2),
        ("附录 A 术语", 2),
        ("第二节公司简介和主要财务指标", 3),
        ("Item 1A. Risk Factors", 3),
        ("一、公司信息", 4),
        ("十二、其他", 4),
        ("（二）会计政策", 5),
        ("(三)重要事项", 5),
        ("1、主营业务", 6),
        ("1. Overview", 6),
        ("3 范围", 6),
        ("1.1 适用范围", 7),
        ("1.10 Definitions", 7),
        ("3.2.1 试验方法", 8),
        ("3.2.1.4 样品", 9),
        ("（1）应收账款", 10),
        ("①库存", 11),
        ("a) scope", 12),
    ],
)
def test_schemes_have_their_ranks(text: str, rank: int) -> None:
    assert numbering_level(text) == rank


@pytest.mark.parametrize(
    "text",
    [
        "2019年年度报告",
        "1.5亿元",
        "3.2%",
        "12 个月",
        "100 million",
        "1,234",
        "公司一、二期项目",
        "3.14",
        "见 3.2.1 节",
        "",
        "10.5 percent",
    ],
)
def test_numbers_are_not_numbering(text: str) -> None:
    assert numbering_level(text) is None


@pytest.mark.parametrize(
    "text", ["一、公司信息", "1.1 Scope", "重大事项提示", "Risk Factors", "（一）主要业务：", "U.S. GAAP"]
)
def test_headings(text: str) -> None:
    assert is_heading_like(text)


@pytest.mark.parametrize(
    "text",
    [
        "详细内容见 3.2.1 节。",
        "见 3.2.1 节",
        "详见第三章",
        "1.1 本标准规定了工业用钛及钛合金的牌号；适用于各类产品。",
        "Net sales rose by five percent.",
        "第一节重要提示 ......................... 2",
        "本公司承诺：",
        "字" * 80,
        "一、" + "很长" * 40,
    ],
)
def test_not_headings(text: str) -> None:
    assert not is_heading_like(text)


def test_marked_headings_are_believed_unless_they_are_prose() -> None:
    assert not is_sentence_like("What is this?")
    assert not is_sentence_like("公司简介。")
    assert is_sentence_like(
        "本公司全体董事、监事、高级管理人员承诺本招股意向书及其摘要不存在任何虚假、误导性陈述或重大遗漏。"
    )


def test_toc_lines() -> None:
    assert is_toc_line("第一节重要提示 ........................ 2")
    assert is_toc_line("Risk Factors . . . . . . . 12")
    assert not is_toc_line("等等……")


def test_dense_levels() -> None:
    assert dense_levels([7, 2, 4, 2]) == {2: 1, 4: 2, 7: 3}
