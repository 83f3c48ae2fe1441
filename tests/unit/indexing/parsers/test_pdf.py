"""The PDF parser on small files whose right reading is known."""

from __future__ import annotations

import pytest

from clew.errors import DamagedFileError, EmptyFileError, FileFailedError
from clew.indexing.parsers.pdf import parse
from clew.types import Block, BlockType, CellSpan, ParsedFile
from fakes.pdf_file import PdfPage, pdf

PROSE = (
    "The company makes engines and sells them through dealers in many",
    "countries, and it keeps spare parts for all of them in its own store-",
    "houses, so that a farmer never waits longer than two days for a part.",
)


def blocks(parsed: ParsedFile, kind: BlockType) -> list[Block]:
    return [block for block in parsed.blocks if block.type is kind]


def test_lines_become_paragraphs_with_page_and_box() -> None:
    page = (
        PdfPage().lines(72, 100, *PROSE).lines(72, 180, "A second paragraph stands apart from the first one by a gap.")
    )
    parsed = parse(pdf(page), "a.pdf")
    first, second = blocks(parsed, BlockType.PARAGRAPH)
    assert first.text.startswith("The company makes engines and sells them through dealers in many countries, and")
    assert "in its own storehouses, so that" in first.text
    assert second.text == "A second paragraph stands apart from the first one by a gap."
    assert first.page == 1
    assert first.bbox is not None
    assert first.bbox.x0 == pytest.approx(72, abs=1)
    assert 85 < first.bbox.y0 < 100 < first.bbox.y1 < 135
    assert parsed.language == "en"
    assert parsed.pages == 1


def test_chinese_lines_are_joined_without_spaces_and_keep_their_paragraphs() -> None:
    page = PdfPage().lines(
        72,
        100,
        "　　公司主要从事柴油机的研发、制造和销售，产品用于拖拉机、联合收割机和小型",
        "工程机械，报告期内主营业务没有发生变化。",
        "　　公司的经营模式为自主研发，销售采取经销与直销相结合的方式进行，并设立了二",
        "十个办事处。",
    )
    parsed = parse(pdf(page), "a.pdf")
    assert [block.text for block in parsed.blocks] == [
        "公司主要从事柴油机的研发、制造和销售，产品用于拖拉机、联合收割机和小型工程机械，报告期内主营业务没有发生变化。",
        "公司的经营模式为自主研发，销售采取经销与直销相结合的方式进行，并设立了二十个办事处。",
    ]
    assert parsed.language == "zh"


def test_ruled_table_keeps_cells_spans_and_headers() -> None:
    xs, ys = [72.0, 200.0, 300.0, 400.0], [120.0, 140.0, 160.0, 190.0, 210.0]
    page = PdfPage().text(350, 112, "单位：元", 9)
    for y in (120, 160, 190, 210):
        page.rule(72, y, 400, y)
    page.rule(200, 140, 400, 140)
    for x in (72, 200, 400):
        page.rule(x, ys[0], x, ys[-1])
    page.rule(300, 140, 300, 210)
    page.text(110, 145, "项目").text(270, 134, "2019年").text(230, 154, "调整前").text(330, 154, "调整后")
    page.text(76, 173, "归属于上市公司股东的").text(76, 187, "净利润").text(220, 180, "1,055,368.36").text(
        320, 180, "992,955.15"
    )
    page.text(76, 204, "每股收益").text(260, 204, "0.66").text(360, 204, "0.72")
    parsed = parse(pdf(page), "a.pdf")
    unit, table = parsed.blocks
    assert unit.text == "单位：元"
    assert table.table is not None
    assert table.table.rows == (
        ("项目", "2019年", ""),
        ("", "调整前", "调整后"),
        ("归属于上市公司股东的净利润", "1,055,368.36", "992,955.15"),
        ("每股收益", "0.66", "0.72"),
    )
    assert table.table.header_rows == 2
    assert set(table.table.spans) == {CellSpan(0, 0, 2, 1), CellSpan(0, 1, 1, 2)}
    assert table.bbox is not None
    assert table.bbox.y0 == pytest.approx(120, abs=1)
    assert table.bbox.x1 == pytest.approx(xs[-1], abs=1)


def test_figures_that_touch_are_parted_at_the_line_between_them() -> None:
    page = PdfPage().grid([72, 150, 217, 290], [100, 120, 140])
    page.text(80, 114, "Item").text(160, 114, "2019").text(230, 114, "2018")
    page.text(80, 134, "Sales").text(152, 134, "39,608,340,979").text(221.9, 134, "36,683,290,53")
    table = parse(pdf(page), "a.pdf").blocks[0].table
    assert table is not None
    assert table.rows[1] == ("Sales", "39,608,340,979", "36,683,290,53")


def _ruled(page: PdfPage, top: float, rows: list[tuple[str, str, str]]) -> PdfPage:
    page.grid([72, 250, 350, 450], [top + 20 * i for i in range(len(rows) + 1)])
    for index, row in enumerate(rows):
        for x, cell in zip((76, 254, 354), row, strict=True):
            if cell:
                page.text(x, top + 20 * index + 14, cell)
    return page


def test_a_table_that_goes_on_repeats_its_header() -> None:
    first = PdfPage().text(72, 80, "Revenue by product, which the following table shows in full detail.")
    _ruled(first, 700, [("Product", "2019", "2018"), ("Engines", "1,200", "1,100"), ("Parts", "300", "280")])
    second = _ruled(PdfPage(), 60, [("Service", "90", "85"), ("Total", "1,590", "1,465")])
    tables = blocks(parse(pdf(first, second), "a.pdf"), BlockType.TABLE)
    assert [t.page for t in tables] == [1, 2]
    assert [t.table.continued for t in tables if t.table] == [False, True]
    assert tables[1].table is not None
    assert tables[1].table.rows[0] == ("Product", "2019", "2018")
    assert tables[1].table.rows[1] == ("Service", "90", "85")
    assert tables[1].table.header_rows == 1


def test_columns_without_lines_are_found_by_alignment() -> None:
    page = PdfPage().text(200, 90, "Consolidated Statements of Income", 12, "bold")
    page.text(330, 120, "2023", 9).text(420, 120, "2022", 9).text(72, 120, "For the years ended June 30,", 9)
    rows = [
        ("Net sales", "14,694", "14,544"),
        ("Cost of sales", "(11,969)", "(11,724)"),
        ("Gross profit", "2,725", "2,820"),
        ("Other income, net", "26", "—"),
    ]
    for index, (label, a, b) in enumerate(rows):
        y = 140 + 14 * index
        page.text(72, y, label, 9)
        for right, figure in ((360, a), (450, b)):
            figure = figure.replace("—", "-")
            if index == 0:
                page.text(right - 60, y, "$", 9)
            page.text(right - 5 * len(figure) + (3 if figure.endswith(")") else 0), y, figure, 9)
    parsed = parse(pdf(page), "a.pdf")
    heading, table = parsed.blocks
    assert heading.type is BlockType.HEADING
    assert table.table is not None
    assert table.table.rows == (
        ("For the years ended June 30,", "2023", "2022"),
        ("Net sales", "$14,694", "$14,544"),
        ("Cost of sales", "(11,969)", "(11,724)"),
        ("Gross profit", "2,725", "2,820"),
        ("Other income, net", "26", "-"),
    )
    assert table.table.header_rows == 1


def test_running_headers_and_page_numbers_are_no_text() -> None:
    pages = [
        PdfPage()
        .text(200, 40, "Acme Annual Report 2019", 8)
        .lines(72, 100, f"Page {n} has its own sentence here.")
        .text(290, 810, f"{n}", 8)
        for n in ("one", "two", "three", "four")
    ]
    for number, page in enumerate(pages, start=1):
        page.text(290, 820, str(number), 8)
    parsed = parse(pdf(*pages), "a.pdf")
    text = "\n".join(block.text for block in parsed.blocks)
    assert "Acme" not in text
    assert "Page three has its own sentence here." in text
    assert not any(block.text.isdigit() for block in parsed.blocks)


def test_a_side_column_that_ends_above_the_text_and_its_table_is_read_after_them() -> None:
    page = PdfPage()
    for n in range(14):
        page.text(40, 100 + 14 * n, f"the report says in line {n} what became of the sales")
    for n in range(8):  # on base lines of its own, as side columns are
        page.text(400, 105 + 16 * n, f"side note {n} of it")
    for row, label in enumerate(("Year", "Revenue", "Profit", "Margin", "Shares")):
        page.text(40, 320 + 14 * row, label)
        for column in range(3):
            page.text(150 + 60 * column, 320 + 14 * row, f"{2023 + column}" if not row else f"{row},{column}00")
    parsed = parse(pdf(page), "a.pdf")
    text = "\n".join(block.text for block in parsed.blocks)
    assert "line 12 what became of the sales the report says in line 13" in " ".join(text.split())
    assert text.index("line 13") < text.index("Revenue") < text.index("side note 0")
    assert "side note 6 of it side note 7" in " ".join(text.split())


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [f"left column line number {n} with enough words" for n in range(8)]
    right = [f"right column line number {n} with enough words" for n in range(8)]
    page = PdfPage().text(150, 60, "A title across both of the columns", 16, "bold")
    page.lines(60, 100, *left).lines(320, 100, *right)
    text = " ".join(block.text for block in parse(pdf(page), "a.pdf").blocks)
    assert text.index("left column line number 7") < text.index("right column line number 0")


def test_headings_from_numbering_and_weight_with_levels() -> None:
    page = PdfPage()
    y = 80
    for text, size in (("第一节 公司简介", 16), ("一、公司信息", 12), ("二、主要会计数据", 12)):
        page.text(72, y, text, size)
        page.text(72, y + 30, "公司负责人保证年度报告中财务报告的真实、准确、完整，并承担相应的法律责任。")
        y += 80
    page.text(72, y, "见本报告第三节所述。")
    parsed = parse(pdf(page), "a.pdf")
    found = [(block.text, block.level) for block in blocks(parsed, BlockType.HEADING)]
    assert found == [("第一节 公司简介", 1), ("一、公司信息", 2), ("二、主要会计数据", 2)]


def test_contents_are_a_list_and_help_to_find_headings() -> None:
    contents = PdfPage().text(280, 80, "目录", 16)
    chapters = ["公司简介", "公司业务概要", "经营情况讨论", "重要事项", "财务报告"]
    for index, chapter in enumerate(chapters):
        contents.text(72, 120 + 20 * index, f"{chapter}......................{index + 2}")
    pages = [
        PdfPage().text(72, 80, chapter, 10).lines(72, 110, "这里是本章的正文，它写得足够长，足以被看作一段普通的文字。")
        for chapter in chapters
    ]
    parsed = parse(pdf(contents, *pages), "a.pdf")
    assert parsed.blocks[0].type is BlockType.LIST
    assert parsed.blocks[0].page == 1
    assert "公司业务概要" in parsed.blocks[0].text
    assert [(b.text, b.page) for b in blocks(parsed, BlockType.HEADING)] == [(c, i + 2) for i, c in enumerate(chapters)]


def test_bookmarks_make_headings_of_their_lines() -> None:
    page = PdfPage().text(72, 80, "Scope of work").lines(72, 110, *PROSE)
    parsed = parse(pdf(page, outline=[("Scope of work", 0)]), "a.pdf")
    assert [b.text for b in blocks(parsed, BlockType.HEADING)] == ["Scope of work"]


def test_sideways_text_is_read_and_boxes_are_those_of_the_shown_page() -> None:
    page = PdfPage(rotate=90).lines(72, 100, *PROSE)
    block = parse(pdf(page), "a.pdf").blocks[0]
    assert block.text.startswith("The company makes engines")
    assert block.bbox is not None
    assert block.bbox.x1 - block.bbox.x0 < 60 < block.bbox.y1 - block.bbox.y0


def test_large_images_are_blocks_and_small_ones_are_not() -> None:
    page = PdfPage().lines(72, 100, *PROSE).image(72, 200, 300, 200).image(400, 700, 20, 20)
    images = blocks(parse(pdf(page), "a.pdf"), BlockType.IMAGE)
    assert len(images) == 1
    assert images[0].bbox is not None
    assert images[0].bbox.y0 == pytest.approx(200, abs=1)


def test_title_from_the_cover_or_the_metadata() -> None:
    page = PdfPage().text(100, 200, "Report on Engines", 30, "bold").lines(72, 400, *PROSE)
    assert parse(pdf(page), "a.pdf").title == "Report on Engines"
    assert parse(pdf(page, title="Engines of the World"), "a.pdf").title == "Engines of the World"
    assert parse(pdf(page, title="Microsoft Word - x.doc"), "a.pdf").title == "Report on Engines"


def test_what_cannot_be_read_fails_with_a_reason() -> None:
    with pytest.raises(DamagedFileError, match="damaged"):
        parse(b"%PDF-1.7\nnonsense", "x.pdf")
    with pytest.raises(EmptyFileError):
        parse(pdf(PdfPage()), "empty.pdf")
    with pytest.raises(FileFailedError, match="no text was recognised"):
        parse(pdf(PdfPage().image(0, 0, 595, 842)), "scan.pdf")


def test_bookmarks_without_the_number_of_their_heading_are_matched() -> None:
    page = PdfPage().text(72, 80, "2.3. Statistical analyses").lines(72, 110, *PROSE)
    parsed = parse(pdf(page, outline=[("Statistical analyses", 0)]), "a.pdf")
    assert [b.text for b in blocks(parsed, BlockType.HEADING)] == ["2.3. Statistical analyses"]
