"""Tables without a full grid: lines between rows only, and columns of words."""

from __future__ import annotations

from clew.indexing.parsers.pdf import parse
from clew.types import BlockType, Table
from fakes.pdf_file import PdfPage, pdf


def only_table(page: PdfPage) -> Table:
    tables = [block.table for block in parse(pdf(page), "a.pdf").blocks if block.type is BlockType.TABLE]
    assert len(tables) == 1
    assert tables[0] is not None
    return tables[0]


def test_lines_between_rows_part_rows_of_several_text_lines() -> None:
    page = PdfPage()
    rows = [
        (["Portfolio"], ["Definition"], "Assets"),
        (["Large institutions", "(LISCC)"], ["Banks that matter to the whole", "financial system"], "14.9"),
        (["Regional banks"], ["Between $10 and $100 billion"], "2.8"),
        (["Community banks"], ["Less than $10 billion"], "3.0"),
    ]
    y = 100.0
    page.rule(72, y, 500, y)
    for names, definitions, figure in rows:
        page.lines(76, y + 14, *names).lines(220, y + 14, *definitions).text(450, y + 14, figure)
        y += 14 * max(len(names), len(definitions)) + 8
        page.rule(72, y, 500, y)
    table = only_table(page)
    assert table.rows == (
        ("Portfolio", "Definition", "Assets"),
        ("Large institutions (LISCC)", "Banks that matter to the whole financial system", "14.9"),
        ("Regional banks", "Between $10 and $100 billion", "2.8"),
        ("Community banks", "Less than $10 billion", "3.0"),
    )
    assert table.header_rows == 1


def test_columns_of_words_keep_term_and_meaning_together() -> None:
    page = PdfPage()
    page.text(72, 100, "ABO").text(200, 100, "Accumulated benefit obligation, the present value of the benefit")
    page.text(200, 112, "obligation earned in the year")
    page.text(72, 126, "ACIP").text(200, 126, "Advisory Committee on Immunization Practices")
    page.text(72, 140, "ALK").text(200, 140, "anaplastic lymphoma kinase")
    table = only_table(page)
    assert table.rows[0] == (
        "ABO",
        "Accumulated benefit obligation, the present value of the benefit obligation earned in the year",
    )
    assert table.rows[2] == ("ALK", "anaplastic lymphoma kinase")


def test_a_wrapped_label_is_one_label() -> None:
    page = PdfPage().text(330, 100, "2023").text(420, 100, "2022")
    page.text(72, 116, "Net sales").text(330, 116, "9,583").text(420, 116, "10,329")
    page.text(72, 130, "Equity in income of companies that are").lines(72, 141, "affiliated, net of tax")
    page.text(330, 141, "1,234").text(420, 141, "5,678")
    page.text(72, 156, "Net earnings").text(330, 156, "2,740").text(420, 156, "3,060")
    table = only_table(page)
    assert table.rows[2] == ("Equity in income of companies that are affiliated, net of tax", "1,234", "5,678")


def test_figures_keep_sign_currency_and_unit() -> None:
    page = PdfPage().text(330, 100, "2023").text(420, 100, "Change")
    for index, (label, figure, change) in enumerate([("Sales", "9,583", "(7.2)"), ("Cost", "7,363", "8.4")]):
        y = 116 + 14 * index
        page.text(72, y, label).text(300, y, "$").text(330, y, figure).text(420, y, change).text(446, y, "%")
    table = only_table(page)
    assert table.rows[1:] == (("Sales", "$9,583", "(7.2)%"), ("Cost", "$7,363", "8.4%"))


def test_list_items_are_no_table() -> None:
    page = PdfPage()
    for index in range(5):
        page.text(72, 100 + 14 * index, f"({index + 1})").text(
            110, 100 + 14 * index, f"obligation number {index} of us"
        )
    assert all(block.type is not BlockType.TABLE for block in parse(pdf(page), "a.pdf").blocks)


def test_years_and_forecasts_head_their_columns() -> None:
    page = PdfPage().text(60, 100, "Forecast")
    for x, text in zip((300, 360, 420, 480), ("2023", "2024", "2025E", "2026E"), strict=True):
        page.text(x, 100, text)
    for row, label in enumerate(("Revenue", "Net profit", "Margin")):
        page.text(60, 120 + 15 * row, label)
        for column, x in enumerate((300, 360, 420, 480)):
            page.text(x, 120 + 15 * row, f"{(row + 1) * 1100 + column:,}")
    table = only_table(page)
    assert table.header_rows == 1
    assert table.rows[0] == ("Forecast", "2023", "2024", "2025E", "2026E")
