from collections.abc import Sequence

import numpy as np

from clew.answering.quoting import Quote, best_quotes
from clew.types import Candidate, Evidence, FloatArray

REVENUE = """单位：元
 | 2022年 | 2021年 | 本年比上年增减
营业收入（元） | 1,200,500.00 | 980,000.00 | 22.50%
归属于上市公司股东的净利润（元） | 88,000.00 | 95,000.00 | -7.37%
归属于上市公司股东的扣除非经常性损益的净利润（元） | 71,000.00 | 90,000.00 | -21.11%"""
CUSTOMERS = """公司前5大客户资料
序号 | 客户名称 | 销售额（元） | 占年度销售总额比例
1 | 甲水务集团 | 310,000.00 | 25.82%
2 | 乙船舶公司 | 120,000.00 | 10.00%
3 | 丙化工公司 | 60,000.00 | 5.00%
合计 | -- | 490,000.00 | 40.82%"""
STAFF = """母公司在职员工的数量（人） | 516
主要子公司在职员工的数量（人） | 283
在职员工的数量合计（人） | 799
专业构成
类别 | 人数
生产人员 | 506
销售人员 | 77"""


def evidence(*texts: str, titles: Sequence[str] = (), title: str = "") -> list[Evidence]:
    return [
        Evidence(n, Candidate(f"c{n}", f"p{n}", "f", "k", 1.0, ()), "f.pdf", title, "", tuple(titles), text, text, 10)
        for n, text in enumerate(texts, start=1)
    ]


def no_vectors(texts: list[str]) -> FloatArray:
    raise AssertionError("nothing is to be encoded where the question has no vector")


def quotes(question: str, *texts: str, title: str = "", limit: int = 3) -> list[Quote]:
    return best_quotes(question, None, evidence(*texts, title=title), no_vectors, limit=limit)


def first(question: str, *texts: str, title: str = "") -> str:
    return quotes(question, *texts, title=title)[0].text


def test_no_evidence_no_quotes() -> None:
    assert quotes("水泵的收入是多少？") == []
    assert quotes("水泵的收入是多少？", "", "\n\n") == []


def test_a_chinese_sentence() -> None:
    text = "公司生产水泵和阀门。公司在东海市新建的铸造厂于2021年10月投产。员工很满意。"
    assert first("东海市的铸造厂什么时候投产？", text) == "公司在东海市新建的铸造厂于2021年10月投产。"


def test_an_english_sentence() -> None:
    text = "The harbour was built by monks. The lighthouse opened in 1862 and is 41 metres high. Ships like it."
    assert first("How high is the lighthouse?", text) == "The lighthouse opened in 1862 and is 41 metres high."


def test_a_row_comes_with_its_header() -> None:
    quote = quotes("2022年的营业收入是多少？", REVENUE)[0]
    assert quote.text.startswith("营业收入")
    assert quote.header == "| 2022年 | 2021年 | 本年比上年增减"
    assert str(quote) == f"{quote.header}\n{quote.text}"


def test_of_two_rows_with_the_words_the_one_that_says_no_more() -> None:
    assert first("归属于上市公司股东的净利润", REVENUE).startswith("归属于上市公司股东的净利润")


def test_a_total_where_a_total_is_asked() -> None:
    assert first("公司在职员工总共有多少人？", STAFF) == "在职员工的数量合计（人） | 799"
    assert first("前5大客户合计的销售额是多少？", CUSTOMERS) == "合计 | -- | 490,000.00 | 40.82%"


def test_a_place_in_a_ranking() -> None:
    assert first("公司最大的客户的销售额是多少？", CUSTOMERS).startswith("1 | 甲水务集团")
    assert first("第二大客户的销售额是多少？", CUSTOMERS).startswith("2 | 乙船舶公司")
    english = "Rank | Customer | Sales\n1 | Harbour Works | 31.0\n2 | Blue Ships | 12.0\n3 | Chem Trade | 6.0"
    assert first("How much did the second largest customer buy?", english).startswith("2 | Blue Ships")


def test_a_subheading_tells_what_a_row_is_about() -> None:
    table = " | 收入 | 成本\n分产品\n水泵 | 12.5 | 9.0\n分地区\n东北 | 3.5 | 2.0\n华东 | 9.0 | 7.0"
    assert first("分地区看，华东收入多少？", table) == "华东 | 9.0 | 7.0"


def test_a_share_where_a_share_is_asked() -> None:
    text = "阀门收入400万元，增长较快。阀门收入占公司收入的33.4%。"
    assert first("阀门收入占多大比例？", text) == "阀门收入占公司收入的33.4%。"


def test_a_date_where_a_date_is_asked() -> None:
    text = "股东大会审议了议案，到会股东12人。股东大会于2022年5月6日表决通过议案。"
    assert first("议案是哪一天经股东大会审议通过的？", text).startswith("股东大会于2022年5月6日")


def test_the_name_of_the_file_is_no_answer() -> None:
    text = "甲水泵股份有限公司2022年的财务报表已经审计。公司本年缴纳的环境保护税为31万元。"
    found = first("甲水泵2022年交了多少环保税？", text, title="甲水泵股份有限公司 2022年年度报告")
    assert found == "公司本年缴纳的环境保护税为31万元。"


def test_the_evidence_that_ranks_higher_wins_a_tie() -> None:
    found = quotes("水泵的产量是多少？", "水泵的产量是12台。", "水泵的产量是13台。")
    assert [(quote.number, quote.text) for quote in found] == [(1, "水泵的产量是12台。"), (2, "水泵的产量是13台。")]


def test_the_same_words_are_quoted_once_and_no_more_than_asked_for() -> None:
    text = "水泵的产量是12台。"
    assert len(quotes("水泵的产量是多少？", text, text)) == 1
    assert len(quotes("水泵的产量是多少？", "水泵产量12台。阀门产量9台。泵房产量7台。", limit=2)) == 2


def test_a_long_sentence_is_cut() -> None:
    assert len(first("水泵的产量是多少？", "水泵" * 2000 + "的产量是12台。")) == 600


def test_vectors_decide_between_pieces_with_the_same_words() -> None:
    def embed(texts: list[str]) -> FloatArray:
        return np.array([[1.0, 0.0] if "阀门" in text else [0.0, 1.0] for text in texts], np.float32)

    found = best_quotes(
        "产量？", np.array([1.0, 0.0], np.float32), evidence("水泵的产量高。阀门的产量高。"), embed, limit=1
    )
    assert found[0].text == "阀门的产量高。"


def test_the_encoder_sees_titles_caption_and_header_of_a_row() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> FloatArray:
        seen.extend(texts)
        return np.zeros((len(texts), 2), np.float32)

    best_quotes("客户", np.zeros(2, np.float32), evidence(CUSTOMERS, titles=["第四节", "客户"]), embed)
    assert (
        "第四节 > 客户\n公司前5大客户资料\n序号 | 客户名称 | 销售额（元） | 占年度销售总额比例\n"
        "1 | 甲水务集团 | 310,000.00 | 25.82%"
    ) in seen
