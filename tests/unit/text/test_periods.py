import pytest

from clew.text.periods import Period, find_periods, read_period


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("2019年的营业收入", ["2019"]),
        ("二〇一九年年度报告", ["2019"]),
        ("2023年第三季度的营收", ["2023Q3"]),
        ("2024年上半年", ["2024H1"]),
        ("2021年半年度报告", ["2021H1"]),
        ("比较2018年和2019年", ["2018", "2019"]),
        ("2019年度和2018年第一季度", ["2019", "2018Q1"]),
        ("2019年至2021年的变化", ["2019", "2021", "2020"]),
        ("revenue from 2019 to 2021", ["2019", "2021", "2020"]),
        ("Q3 2023 revenue", ["2023Q3"]),
        ("the third quarter of fiscal 2023", ["2023Q3"]),
        ("FY25 guidance", ["2025"]),
        ("FY2024 Q2", ["2024Q2"]),
        ("2023Q4", ["2023Q4"]),
        ("于2020-04-03发布", []),
        ("金额为2,019.50元，编号12020", []),
        ("2019.5 percent, 1/2019", []),
        ("", []),
    ],
)
def test_periods_are_found_as_people_write_them(text: str, periods: list[str]) -> None:
    assert [str(period) for period in find_periods(text)] == periods


def test_a_year_agrees_with_its_parts() -> None:
    assert Period(2023).agrees_with(Period(2023, "Q3"))
    assert Period(2023, "Q3").agrees_with(Period(2023))
    assert not Period(2023, "Q3").agrees_with(Period(2023, "Q2"))
    assert not Period(2023).agrees_with(Period(2022))


def test_written_periods_are_read_back() -> None:
    for period in (Period(2019), Period(2023, "Q3"), Period(2024, "H1")):
        assert read_period(str(period)) == period
    assert read_period("2023年") is None
    assert read_period("") is None
