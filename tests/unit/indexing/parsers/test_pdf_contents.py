"""Titles of contents entries and the headings that they name."""

from __future__ import annotations

import pytest

from clew.indexing.parsers.pdf import parse
from clew.indexing.parsers.pdf_contents import bare, label_of
from clew.types import BlockType
from fakes.pdf_file import PdfPage, pdf


@pytest.mark.parametrize(
    ("text", "label", "rest"),
    [
        ("Item 1A. Risk Factors", "item1a", "riskfactors"),
        ("ITEM 4. CONTROLS AND PROCEDURES", "item4", "controlsandprocedures"),
        ("Condensed Consolidated Balance Sheets", "", "condensedconsolidatedbalancesheets"),
        ("a) Condensed Balance Sheets", "a", "condensedbalancesheets"),
        ("第三节 公司业务概要", "第三节", "公司业务概要"),
        ("2.1 Methods", "21", "methods"),
    ],
)
def test_labels_are_told_from_titles(text: str, label: str, rest: str) -> None:
    assert label_of(text) == label
    assert bare(text) == rest


def test_a_heading_without_the_label_of_its_entry_is_found() -> None:
    names = ["Business", "Risk Factors", "Properties", "Legal Proceedings"]
    contents = PdfPage().text(250, 80, "Table of Contents", 12, "bold")
    for index, name in enumerate(names):
        contents.text(72, 110 + 16 * index, f"Item {index + 1}.").text(140, 110 + 16 * index, name)
        contents.text(500, 110 + 16 * index, str(index + 2))
    pages = [
        PdfPage().text(72, 80, f"ITEM {i + 1}. {name.upper()}").text(72, 110, "What follows is a sentence of the text.")
        for i, name in enumerate(names)
    ]
    headings = [b for b in parse(pdf(contents, *pages), "a.pdf").blocks if b.type is BlockType.HEADING]
    assert [(h.text, h.page) for h in headings] == [
        ("ITEM 1. BUSINESS", 2),
        ("ITEM 2. RISK FACTORS", 3),
        ("ITEM 3. PROPERTIES", 4),
        ("ITEM 4. LEGAL PROCEEDINGS", 5),
    ]


def test_a_numbered_entry_that_a_paragraph_opens_with_is_a_heading() -> None:
    names = ["15(a)(1) Financial Statements", "15(a)(2) Schedules", "15(a)(3) Exhibits"]
    contents = PdfPage().text(250, 80, "Table of Contents", 12, "bold")
    for index, name in enumerate(["Item 14. Fees", "Item 15. Exhibits and Schedules", *names, "Item 16. Summary"]):
        contents.text(72, 110 + 16 * index, f"{name} ............ {(2, 3, 3, 3, 3, 4)[index]}")
    first = PdfPage().text(72, 80, "Item 14. Fees", 12, "bold").text(72, 110, "There are none.")
    page = PdfPage().text(72, 80, "Item 15. Exhibits and Schedules", 12, "bold")
    for index, name in enumerate(names):
        follows = "These are filed with this report, or are incorporated by reference."
        page.lines(72, 120 + 60 * index, f"{name}. {follows}", "And a second line of it follows.")
    last = PdfPage().text(72, 80, "Item 16. Summary", 12, "bold").text(72, 110, "There is none.")
    blocks = parse(pdf(contents, first, page, last), "a.pdf").blocks
    assert [b.text for b in blocks if b.type is BlockType.HEADING][-5:] == [
        "Item 15. Exhibits and Schedules",
        *(f"{name}." for name in names),
        "Item 16. Summary",
    ]
    below = " ".join(b.text for b in blocks if b.type is BlockType.PARAGRAPH and b.page == 3)
    follows = "These are filed with this report, or are incorporated by reference. And a second line of it follows."
    assert below == " ".join([follows] * 3)


def test_a_remark_in_brackets_below_a_heading_is_not_part_of_it() -> None:
    page = PdfPage().text(72, 80, "STATEMENTS OF INCOME", 12, "bold").text(72, 94, "(In millions)", 12, "bold")
    page.lines(72, 130, "The figures of this year are those that follow, and were not audited.", pitch=12)
    blocks = parse(pdf(page), "a.pdf").blocks
    assert [b.text for b in blocks if b.type is BlockType.HEADING] == ["STATEMENTS OF INCOME"]
    assert "(In millions)" in [b.text for b in blocks]
