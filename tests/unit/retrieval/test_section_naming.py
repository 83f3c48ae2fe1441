"""Which files and sections a question names."""

from __future__ import annotations

import pytest

from clew.retrieval.section_naming import asks_for_whole, named_files, named_sections, upper_sections
from clew.types import File, FileStatus, Section


def file(file_id: str, title: str, name: str = "") -> File:
    return File(file_id, "kb", name or f"{title}.pdf", "", 1, "k", "h", FileStatus.COMPLETED, 1, "", "", title=title)


def tree(*titles: str) -> list[Section]:
    """Sections of a title each; two more spaces a level deeper."""
    sections = [Section("", ("Report",), 0)]
    counts: list[int] = []
    above: list[str] = []
    for title in titles:
        level = (len(title) - len(title.lstrip())) // 2
        counts = [*counts[: level + 1], *[0] * (level + 1 - len(counts))]
        counts[level] += 1
        above = [*above[:level], title.strip()]
        sections.append(Section("".join(f"{n:04d}/" for n in counts), tuple(above), level + 1))
    return sections


ANNUAL = tree(
    "第一节 重要提示",
    "第二节 公司简介",
    "第三节 公司业务概要",
    "  一、主要业务",
    "第十节 公司治理",
    "第十三节 备查文件",
)
FILING = tree(
    "PART I", "  Item 1. Business", "  Item 1A. Risk Factors", "    Operational Risks", "PART II", "  Item 7. MD&A"
)
LATER = tree(
    "第四节经营情况讨论与分析",
    "  九、公司未来发展的展望",
    "第五节 重要事项",
    "  十、与金融工具相关的风险",
    "  公司主要会计数据",
)
MANUAL = tree("1 Setup", "  1.1 Tools", "  1.2 Wiring", "  1.10 Cleaning", "  1.11 Storing", "2 Use")
PLAIN = tree("Introduction", "Methods", "100%_growth and C++", "Conclusion")


def names(question: str, sections: list[Section]) -> list[str]:
    return [named.section.title for named in named_sections(question, sections, file("f", "Report"))]


@pytest.mark.parametrize(
    ("question", "sections", "expected"),
    [
        ("第三节讲了什么", ANNUAL, ["第三节 公司业务概要"]),
        ("第三章讲了什么？", ANNUAL, ["第三节 公司业务概要"]),
        ("请概括第十节的内容", ANNUAL, ["第十节 公司治理"]),
        ("第13节说了什么", ANNUAL, ["第十三节 备查文件"]),
        ("概括公司治理", ANNUAL, ["第十节 公司治理"]),
        ("第二十节讲了什么", ANNUAL, []),
        ("summarise the risk factors", FILING, ["Item 1A. Risk Factors"]),
        ("What is in item 1a?", FILING, ["Item 1A. Risk Factors"]),
        ("Summarise Item 1", FILING, ["Item 1. Business"]),
        ("summarise section 1.1", MANUAL, ["1.1 Tools"]),
        ("1.10节讲了什么", MANUAL, ["1.10 Cleaning"]),
        ("what does chapter 2 say", MANUAL, ["2 Use"]),
        ("what does chapter 2 say", PLAIN, ["Methods"]),
        ("what does chapter 9 say", PLAIN, []),
        ("summarise 100%_growth and C++", PLAIN, ["100%_growth and C++"]),
        ("summarise the conclusion", PLAIN, ["Conclusion"]),
        ("How did margins develop in Europe?", FILING, []),
        ("公司的研发投入情况怎么样", ANNUAL, []),
        ("总结2019年的经营情况", LATER, ["第四节经营情况讨论与分析"]),
        ("公司未来的发展计划是什么？请概括", LATER, ["九、公司未来发展的展望"]),
        ("公司面临哪些主要风险？请总结", LATER, []),
    ],
)
def test_sections_are_named_by_number_or_title(question: str, sections: list[Section], expected: list[str]) -> None:
    assert names(question, sections) == expected


def test_what_lies_below_a_named_section_is_not_named_again() -> None:
    sections = tree("Risks", "  Risks", "Other")
    assert [n.section.path for n in named_sections("summarise the risks", sections, file("f", "Report"))] == ["0001/"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("总结华锦股份2019年年度报告", ["hj19"]),
        ("概括一下华锦股份的年报", ["hj19", "hj20"]),
        ("苏常柴的年报主要讲了什么", ["cc"]),
        ("对比华锦股份2020年和苏常柴的年报", ["hj20", "cc"]),
        ("总结年度报告", []),
        ("Summarise the Amcor filing", ["am"]),
    ],
)
def test_files_are_named_by_what_few_of_them_have(question: str, expected: list[str]) -> None:
    files = [
        file("hj19", "华锦股份 2019年年度报告"),
        file("hj20", "华锦股份 2020年年度报告"),
        file("cc", "苏常柴 2018年年度报告"),
        file("am", "Annual report on form 10-K", "AMCOR_2023_10K.pdf"),
    ]
    assert {named.file_id for named in named_files(question, files)} == set(expected)


def test_the_only_file_needs_no_name() -> None:
    assert named_files("华锦股份", [file("f", "华锦股份")]) == []


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("总结一下这份年报", True),
        ("概括全文", True),
        ("请总结华锦股份2019年年度报告的主要内容", True),
        ("Summarise this document", True),
        ("give me an overview of the whole report", True),
        ("这份报告有哪些看点", True),
        ("总结一下公司的环保措施", False),
        ("What does the report say about sustainability?", False),
    ],
)
def test_a_question_that_names_nothing_else_wants_the_whole(question: str, whole: bool) -> None:
    assert asks_for_whole(question, [file("f", "华锦股份 2019年年度报告")]) is whole


def test_the_upper_sections_lie_below_a_title_that_stands_alone() -> None:
    assert [s.title for s in upper_sections(tree("The Report", "  One", "  Two"))] == ["One", "Two"]
    assert [s.title for s in upper_sections(tree("One", "Two"))] == ["One", "Two"]
    assert upper_sections([Section("", ("x",), 0)]) == []


def test_a_number_of_the_same_kind_comes_before_one_of_another_kind() -> None:
    law, constitution = tree("第一章 总则", "第二章 公司登记"), tree("Section 1", "Section 2")
    in_law, in_constitution = (named_sections("第二章讲了什么？", s, file("f", "x")) for s in (law, constitution))
    assert in_law[0].score * 0.8 > in_constitution[0].score
