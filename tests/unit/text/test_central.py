from __future__ import annotations

import pytest

from clew.text.central import central_sentences, says_little, says_something

RIVER = [
    "The Danube is a river in Europe and rises in the Black Forest.",
    "The river Danube flows through ten countries of Europe to the Black Sea.",
    "Lunch was served at noon in the small hotel beside the church.",
    "Ships on the Danube carry grain through Europe to the Black Sea.",
    "He had forgotten his umbrella at the station that morning.",
    "The Danube floods Europe's plains where the river leaves the forest.",
]


def test_what_is_shared_is_central_and_what_stands_alone_is_not() -> None:
    chosen = central_sentences(RIVER, 30)
    assert 0 in chosen
    assert not {2, 4} & set(chosen)
    assert chosen == sorted(chosen)


def test_a_short_text_stays_whole() -> None:
    assert central_sentences(RIVER, 200) == list(range(6))


def test_there_is_always_one_sentence() -> None:
    assert len(central_sentences(["word " * 50 + str(i) + "." for i in range(3)], 5)) == 1


def test_a_repeated_sentence_is_taken_once() -> None:
    chosen = central_sentences([RIVER[1]] * 5 + [RIVER[3], RIVER[5]], 24)
    assert sum(i < 5 for i in chosen) == 1


def test_no_part_crowds_out_the_others() -> None:
    topics = ("产量", "收入", "利润", "成本", "费用", "税金", "产品", "销量", "价格", "订单")
    long = [
        f"石油化工的{a}与{b}比上年同期增长，公司第{i}季度的情况有所改善。"
        for i in range(2)
        for a in topics
        for b in topics
    ]
    parts = [0] * len(long) + [1, 2]
    texts = [
        *long,
        "公司治理结构完善，股东大会、董事会和监事会规范运作。",
        "报告期末公司员工总数为九千人，其中技术人员两千人。",
    ]
    assert max(central_sentences(texts, 120, parts=parts)) >= len(long)
    assert max(central_sentences(texts, 120)) < len(long)


@pytest.mark.parametrize(
    "empty",
    [
        "报告期公司不存在优先股。",
        "There were no changes in the executive board during the year.",
        "公司近三年普通股现金分红情况表",
    ],
)
def test_formulas_that_say_nothing_count_less(empty: str) -> None:
    says = ["公司的主要业务是石油化工产品的生产和销售。", "The board approved the new executive plan for the year."]
    assert central_sentences([empty, *says], 14)[0] != 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("The Danube rises here.", True),
        ("公司主营石油化工。", True),
        ("□适用 √不适用", False),
        ("第一节 重要提示..............3", False),
        ("1,234 5,678 9,012", False),
        ("2019 | 12 | a b", False),
    ],
)
def test_what_says_something(line: str, says: bool) -> None:
    assert says_something(line) is says


@pytest.mark.parametrize(
    ("line", "little"),
    [
        ("公司主要业务包括石油化工产品的生产与销售。", False),
        ("Net sales rose by one percent in fiscal year 2023.", False),
        ("第一节 重要提示、目录和释义 …", True),
        ("采购商品/接受劳务情况表", True),
        ("None.", True),
        ("报告期公司不存在优先股。", True),
    ],
)
def test_labels_and_formulas_say_little(line: str, little: bool) -> None:
    assert says_little(line) is little
