import pytest

from clew.answering.asked import fit
from clew.answering.pieces import Piece


def sentence(text: str) -> Piece:
    return Piece(0, text)


def row(text: str, header: str = "", caption: str = "") -> Piece:
    return Piece(0, text, header, caption, is_row=True)


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        ("阀门收入占多大比例？", sentence("阀门收入占33.4%。"), sentence("阀门收入400万元。")),
        ("毛利率有多高？", sentence("毛利率为12.5%。"), sentence("毛利为12.5万元。")),
        ("What percentage was sold abroad?", sentence("It was 12 percent."), sentence("It was 12 ships.")),
        ("阀门占比是多少？", row("阀门 | 33.4", "产品 | 占比（%）"), row("阀门 | 33.4", "产品 | 金额")),
        ("工厂何时投产？", sentence("工厂于2021年10月投产。"), sentence("工厂投产了12条产线。")),
        ("When did it open?", sentence("It opened in 1862."), sentence("It opened with 12 guests.")),
        ("产量是多少？", sentence("产量为12台。"), sentence("2021年的产量很高。")),
        ("How many pumps were made?", sentence("It made 12 pumps."), sentence("It made pumps.")),
        ("由哪家会计师事务所审计？", row("事务所名称 | 甲乙会计师事务所"), row("事务所年限 | 18")),
        ("出资多少钱？", sentence("公司出资1,200万元。"), sentence("公司信用代码为9144190。")),
        ("产量是多少吨？", sentence("产量12万吨。"), sentence("产量占12%。")),
        ("产量是多少台？", row("水泵 | 产量 | 台 | 12"), row("水泵 | 产量 | 吨 | 12")),
        ("有多少人？", row("销售人员 | 77", "类别 | 数量（人）"), row("销售 | 77", "类别 | 数量")),
        ("职工总共多少人？", row("职工人数合计 | 799"), row("生产人员人数 | 506")),
        ("最大的客户买了多少？", row("1 | 甲公司 | 12"), row("2 | 乙公司 | 9")),
        ("第二大客户买了多少？", row("2 | 乙公司 | 9"), row("1 | 甲公司 | 12")),
        ("How much did the third largest customer buy?", row("3 | Chem Trade | 6"), row("1 | Harbour Works | 31")),
    ],
)
def test_the_form_that_is_asked_for_fits_better(question: str, better: Piece, worse: Piece) -> None:
    score = fit(question)
    assert score(better) > score(worse)


def test_nothing_is_preferred_where_no_form_is_asked_for() -> None:
    score = fit("公司为什么建新工厂？")
    assert {score(piece) for piece in (sentence("产量为12台。"), row("合计 | 12%"), sentence("因为旧厂太小。"))} == {
        0.0
    }
