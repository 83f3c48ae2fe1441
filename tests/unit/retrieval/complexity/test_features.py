"""Features of Chinese, English and mixed questions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.retrieval.complexity.features import FEATURE_NAMES, SIGNALS, extract_features


def signals(question: str) -> set[str]:
    return set(extract_features(question).signals)


@pytest.mark.parametrize(
    "question",
    [
        "百和集团和农田公司的净利润哪家更高？",
        "SQL和NoSQL有什么区别？",
        "与2022年相比，2023年的营收如何？",
        "2022年中国和美国的经济增速分别是多少？",
        "中国 GDP versus 印度 GDP",
        "Which film was released first, Dekha Pyar Tumhara or Lucky Journey?",
        "What is the difference between Coldplay and Keane?",
        "Are Waverley College and Torrens Valley School located in the same country?",
        "How has Apple's revenue changed over time?",
        "近三年毛利率的变化趋势如何？",
    ],
)
def test_comparisons(question: str) -> None:
    assert extract_features(question).comparison >= 0.4


@pytest.mark.parametrize(
    "question",
    ["新加坡的国土面积是多少？", "更新日志在哪里？", "比赛在哪里举行？", "who wrote hamlet", "Where was Mozart born?"],
)
def test_no_comparison(question: str) -> None:
    assert extract_features(question).comparison == 0


@pytest.mark.parametrize(
    ("question", "present", "absent"),
    [
        # a pair is seen once
        ("2022年中国和美国的经济增速分别是多少？", {"compare_pair", "coordination"}, {"asks_pair"}),
        ("2022年中国和美国的经济增速", {"asks_pair", "coordination"}, {"compare_pair"}),
        ("2021年人口的出生率和死亡率是多少？", {"asks_pair"}, {"compare_pair", "coordination"}),
        ("货物贸易量和价格指数的走势如何？", {"trend"}, {"asks_pair", "compare_pair"}),
        ("谁拥有最高元首的选举权和被选举权？", set(), {"compare_pair"}),
        # a list is completed
        ("长沙、桂阳以及哪里为刘备所攻下？", set(), {"coordination", "asks_pair"}),
        # rates of one period are no trend
        ("A公司净利润同比增长多少？", set(), {"trend", "compare_degree"}),
        ("To what gauge have some lines been changed?", set(), {"trend"}),
    ],
)
def test_pairs_and_trends(question: str, present: set[str], absent: set[str]) -> None:
    found = signals(question)
    assert present <= found
    assert not absent & found


@pytest.mark.parametrize(
    ("question", "signal"),
    [
        ("首先注册公司，然后怎么办理税务登记？", "logic_pair"),
        ("如果合同提前终止，则违约金怎么计算？", "logic_pair"),
        ("因为汇率变动，所以净利润下降了多少？", "logic_pair"),
        ("并购之前公司的负债是多少？", "order"),
        ("If the contract ends early, what will the fee be?", "logic_pair"),
        ("Did Li Hua ask Jennifer about books before she announced the speaker?", "event_order"),
        ("《流浪地球》的导演是谁，什么时候上映？", "two_questions"),
        ("What was Intel's spending, and which projects were funded?", "two_questions"),
        ("Could a llama birth twice during the war?", "polar"),
        ("When was the party Trudeau joined formed?", "relative"),
        ("What is the capital of the country Nuwaidrat is located in?", "relative"),
    ],
)
def test_logic(question: str, signal: str) -> None:
    assert signal in signals(question)


@pytest.mark.parametrize("question", ["首先是什么意思？", "然后呢？", "what happened after the war"])
def test_half_a_pair_of_connectives_is_none(question: str) -> None:
    assert "logic_pair" not in signals(question)


@pytest.mark.parametrize(
    "question",
    [
        "《野草》的作者的代表作品有哪些？",
        "阿里巴巴的董事长的母校是哪里？",
        "成龙的儿子毕业于哪一所学校？",
        "卧虎藏龙的导演是什么星座？",
        "腾讯公司董事长毕业于哪个学校？",
        "北大现任校长何时出生？",
        "北大现任校长的信仰是什么？",
        "口袋妖怪的出品公司成立于哪一年？",
        "What is the place of birth of the director of film Bitter Rice?",
        "When did the company that acquired YouTube go public?",
        "Where did Michael Reagan's mother work?",
        "In which country was the author of Process born?",
        "What is the genre of the composer of Petite Suite?",
    ],
)
def test_bridges(question: str) -> None:
    assert extract_features(question).bridge >= 0.4


@pytest.mark.parametrize(
    "question",
    [
        "新加坡的国土面积是多少？",
        "《史记》的作者是谁？",
        "《我的父亲母亲》的导演是谁？",
        "火药是什么时候发明的？",
        "Who is the director of Bitter Rice?",
        "who wrote hamlet",
        "What is the population of Oslo?",
    ],
)
def test_one_relation_is_no_bridge(question: str) -> None:
    assert extract_features(question).bridge < 0.4


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("火药是什么时候发明的？", 0),
        ("《史记》讲了什么？", 1),
        ("李白和杜甫谁更年长？", 2),
        ("李白和李白", 1),
        ("Who is older, Tom Hanks or Brad Pitt?", 2),
        ("iPhone和华为哪个好", 2),
    ],
)
def test_entities_are_counted_once(question: str, count: int) -> None:
    features = extract_features(question)
    assert features.entity_count == count
    assert (features.entities > 0) == (count > 1)


def test_length_grows_to_one() -> None:
    lengths = [extract_features("word " * count).length for count in (3, 6, 12, 18, 30)]
    assert lengths == sorted(lengths)
    assert lengths[0] == 0
    assert lengths[-1] == 1


def test_polite_openings_are_no_part_of_the_question() -> None:
    assert signals("你知道新加坡的国土面积是多少吗？") == signals("新加坡的国土面积是多少？")
    assert "polar" not in signals("请问你知道《史记》的作者是谁吗？")
    assert "polar" in signals("李白见过杜甫吗？")


def test_domain_terms_become_entities() -> None:
    assert extract_features("净息差和拨备覆盖率是多少", domain_terms=("净息差", "拨备覆盖率")).entity_count == 2


@given(st.text(max_size=300))
def test_any_text_gives_five_numbers_between_0_and_1(question: str) -> None:
    features = extract_features(question)
    assert len(features.vector) == len(FEATURE_NAMES) == 5
    assert all(0.0 <= value <= 1.0 for value in features.vector)
    assert set(features.signals) <= set(SIGNALS)
    assert all(0.0 < value <= 1.0 for value in features.signals.values())


@pytest.mark.parametrize("unit", ["的", "的作者", "a of the ", "who that ", "，", "“", "《", "A or ", "'s "])
def test_hostile_repetition_stays_fast(unit: str) -> None:
    start = time.process_time()
    extract_features(unit * 20_000)
    assert time.process_time() - start < 1.0


def test_a_question_takes_under_a_millisecond() -> None:
    questions = [
        "《野草》的作者的代表作品有哪些？",
        "Which film has the director who died later, Majhli Didi or Dream Of The Rhine?",
    ]
    for question in questions:
        extract_features(question)
    start = time.process_time()
    for _ in range(100):
        for question in questions:
            extract_features(question)
    assert (time.process_time() - start) / 200 < 0.001
