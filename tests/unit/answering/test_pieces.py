from clew.answering.pieces import Piece, cells_of, has_figure, pieces_of

SALES = "\n".join([
    "单位：万元",
    " | 2022年 | 2022年 | 2021年 | 2021年",
    " | 金额 | 占比 | 金额 | 占比",
    "合计 | 1,200.50 | 100% | 980.00 | 100%",
    "分产品",
    "水泵 | 800.00 | 66.6% | 700.00 | 71.4%",
    "阀门 | 400.50 | 33.4% | 280.00 | 28.6%",
])  # fmt: skip


def row(text: str, table: str) -> Piece:
    return next(piece for piece in pieces_of(0, table) if piece.text == text)


def test_sentences_and_rows_of_one_passage() -> None:
    text = "公司生产水泵。产品销往海外。\n\n项目 | 金额\n收入 | 12.5\n\nIt was sold in May. Nobody knows why."
    assert [(piece.text, piece.is_row) for piece in pieces_of(3, text)] == [
        ("公司生产水泵。", False),
        ("产品销往海外。", False),
        ("项目 | 金额", True),
        ("收入 | 12.5", True),
        ("It was sold in May.", False),
        ("Nobody knows why.", False),
    ]
    assert {piece.evidence for piece in pieces_of(3, text)} == {3}


def test_a_row_has_all_header_rows_and_the_caption() -> None:
    piece = row("合计 | 1,200.50 | 100% | 980.00 | 100%", SALES)
    assert piece.header == "| 2022年 | 2022年 | 2021年 | 2021年\n| 金额 | 占比 | 金额 | 占比"
    assert piece.caption == "单位：万元"


def test_rows_below_a_subheading_keep_header_and_caption() -> None:
    piece = row("阀门 | 400.50 | 33.4% | 280.00 | 28.6%", SALES)
    assert piece.header == row("合计 | 1,200.50 | 100% | 980.00 | 100%", SALES).header
    assert piece.caption == "单位：万元\n分产品"


def test_three_header_rows() -> None:
    table = " | 2022 | 2022\n | Assets | Assets\n | Gross | Net\nPumps | 12.5 | 11.0"
    assert row("Pumps | 12.5 | 11.0", table).header == "| 2022 | 2022\n| Assets | Assets\n| Gross | Net"


def test_a_header_row_whose_first_cell_is_merged_over_rows() -> None:
    table = "产品 | 2022年 | 2022年\n产品 | 产量 | 销量\n水泵 | 12 | 11"
    assert row("水泵 | 12 | 11", table).header == "产品 | 2022年 | 2022年\n产品 | 产量 | 销量"


def test_a_second_header_in_one_table() -> None:
    table = " | 2022年 | 2021年\n收入 | 12.5 | 11.0\n | 2022年末 | 2021年末\n总资产 | 90.1 | 80.2"
    assert row("总资产 | 90.1 | 80.2", table).header == "| 2022年末 | 2021年末"


def test_a_new_header_below_a_subheading() -> None:
    table = "甲公司人数 | 120\n专业构成\n类别 | 人数\n生产人员 | 80\n销售人员 | 40"
    assert row("销售人员 | 40", table).header == "类别 | 人数"


def test_a_table_of_words_has_one_header_row() -> None:
    table = "简称 | 指 | 全称\n甲公司 | 指 | 甲水泵有限公司\n乙公司 | 指 | 乙阀门有限公司"
    assert row("甲公司 | 指 | 甲水泵有限公司", table).header == "简称 | 指 | 全称"


def test_a_table_that_begins_with_figures_has_no_header() -> None:
    pieces = pieces_of(0, "股票简称 | 甲水泵 | 股票代码 | 900001\n注册地址 | 南山路7号")
    assert [(piece.text, piece.header) for piece in pieces] == [
        ("股票简称 | 甲水泵 | 股票代码 | 900001", ""),
        ("注册地址 | 南山路7号", ""),
    ]


def test_the_first_pair_of_names_and_values_can_be_quoted() -> None:
    assert "法定代表人 | 王某" in [piece.text for piece in pieces_of(0, "法定代表人 | 王某\n注册地址 | 南山路7号")]


def test_header_rows_are_no_pieces() -> None:
    assert [piece.text for piece in pieces_of(0, "产品 | 产量 | 销量\n水泵 | 12 | 11")] == ["水泵 | 12 | 11"]


def test_labels() -> None:
    assert row("水泵 | 800.00 | 66.6% | 700.00 | 71.4%", SALES).label == "水泵"
    assert Piece(0, "水泵 | 产量 | 万台 | 12.5", is_row=True).label == "水泵 产量 万台"
    assert Piece(0, "1 | 甲公司 | 12.5", is_row=True).label == "1 甲公司"
    assert Piece(0, "水泵有三种。").label == ""


def test_years_and_dates_are_no_figures() -> None:
    for text in ("2022年", "2022", "2022年12月31日", "2022-12-31", "December 31, 2022", "31 December 2022", "水泵"):
        assert not has_figure(text), text
    for text in ("12", "2,022", "2022.5", "66.6%", "2022年12个", "3 pumps"):
        assert has_figure(text), text


def test_cells_at_the_ends_may_be_empty() -> None:
    assert cells_of("| 2022年 | 2021年") == ["", "2022年", "2021年"]
    assert cells_of("水泵 |  | 12 |") == ["水泵", "", "12", ""]


def test_text_without_anything_to_quote() -> None:
    assert pieces_of(0, "") == []
    assert pieces_of(0, "\n\n—\n | \n") == []


def test_a_list_of_values_has_no_header() -> None:
    table = "事务所名称 | 甲乙会计师事务所\n报酬（万元） | 60\n连续年限 | 18\n注册会计师 | 王某，李某"
    expected = [(line, "") for line in table.split("\n")]
    assert [(piece.text, piece.header) for piece in pieces_of(0, table)] == expected
    below_caption = pieces_of(0, f"现聘任的事务所\n{table}")
    assert [(piece.text, piece.header) for piece in below_caption if piece.is_row] == expected


def test_a_long_cell_is_no_header() -> None:
    table = f"变更情况 | 股东之间{'转让股份' * 20} | 无\n股份 | 12 | 13"
    assert row("股份 | 12 | 13", table).header == ""


def test_figures_of_pieces() -> None:
    assert Piece(0, "前5名客户 | 12.5", is_row=True).holds_figure
    assert not Piece(0, "前5名客户 | 甲公司", is_row=True).holds_figure
    assert not Piece(0, "（3）公司的收入是否大于支出").holds_figure
    assert Piece(0, "（3）公司的收入为3万元").holds_figure
    assert Piece(0, "年限 | 18 | 12.5%", is_row=True).holds_figures_only
    assert not Piece(0, "注册地址 | 南山路7号", is_row=True).holds_figures_only
    assert not Piece(0, "报酬60万元。").holds_figures_only


def test_running_text_in_a_cell_is_read_as_sentences() -> None:
    long = "公司于2020年设立。" + "股东转让了股份，" * 20 + "然后停止。"
    pieces = pieces_of(0, f"项目 | 情况\n变更情况 | {long}")
    assert pieces[-2] == Piece(0, "公司于2020年设立。", "", "变更情况")
