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
