from typing import Any

import pytest

from clew.errors import InputError
from clew.indexing.file_facts import corrected_facts, merged_facts, read_facts

GREEN = "青山机械股份有限公司"


@pytest.mark.parametrize(
    ("name", "title", "head", "facts"),
    [
        (
            f"2020-04-03__{GREEN}__000999__青山机械__2019年__年度报告.pdf",
            f"{GREEN} 2019年年度报告",
            "重要提示 本报告期 2018年 同比",
            {
                "company": GREEN,
                "aliases": ["青山机械", "000999"],
                "period": "2019",
                "date": "2020-04-03",
                "type": "annual_report",
            },
        ),
        (
            "青山_2021_半年报.html",
            "无标题",
            "",
            {"company": "青山", "period": "2021H1", "type": "interim_report"},
        ),
        (
            "report.pdf",
            "封面",
            f"{GREEN}\n2023 年第三季度报告\n2023年10月28日\n公司简称：青山机械 股票代码：000999",
            {
                "company": GREEN,
                "aliases": ["青山机械", "000999"],
                "period": "2023Q3",
                "date": "2023-10-28",
                "type": "quarterly_report",
            },
        ),
        (
            "2022_Q3_ACME.pdf",
            "FORM 10-Q",
            "Acme Robotics, Inc.\n(Exact name of registrant as specified in its charter)\nNASDAQ: ACME",
            {"company": "Acme Robotics, Inc.", "aliases": ["ACME"], "period": "2022Q3", "type": "quarterly_report"},
        ),
        (
            "annual.pdf",
            "Acme Robotics, Inc.",
            "FORM 10-K\nFor the fiscal year ended December 31, 2021\n",
            {"company": "Acme Robotics, Inc.", "period": "2021", "type": "annual_report"},
        ),
        ("渔业法(2013-12-28).md", "中华人民共和国渔业法", "", {"date": "2013-12-28", "type": "law"}),
        ("q1-fy25-earnings.pdf", "", "", {"period": "2025Q1", "type": "earnings_release"}),
        ("notes.txt", "Notes", "We met in 2019 and 2020 about the annual report of someone.", {}),
        ("photo.png", "", "", {}),
    ],
)
def test_facts_are_read_off_name_title_and_first_page(name: str, title: str, head: str, facts: dict[str, Any]) -> None:
    assert read_facts(name, title, head) == facts


def test_corrections_outlive_another_reading() -> None:
    read = {"company": "A", "period": "2019", "type": "annual_report"}
    corrected = corrected_facts(read, {"period": "2020", "company": None})
    assert corrected == {"period": "2020", "type": "annual_report", "corrected": ["period", "company"]}
    again = merged_facts({"company": "B", "period": "2019", "date": "2021-01-01"}, corrected)
    assert again == {"period": "2020", "date": "2021-01-01", "corrected": ["period", "company"]}
    assert merged_facts(read, {"company": "old"}) == read


@pytest.mark.parametrize(
    "changes",
    [{"period": "last year"}, {"date": "2020-13-01"}, {"aliases": "A"}, {"company": ""}, {"colour": "red"}],
)
def test_impossible_facts_are_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"facts.{next(iter(changes))}"):
        corrected_facts({}, changes)
