"""Years, quarters and halves that a text names: in questions, titles and file names, Chinese and English."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMERALS = str.maketrans("〇○Ｏ零一二三四五六七八九", "0000123456789")
_SPELLED = re.compile("(?<![〇○零一二三四五六七八九十])[一二][九〇○零][〇○零一二三四五六七八九]{2}(?=年)")
_RANGE = re.compile(
    r"(?<![\d.,])((?:19|20)\d\d)\s*年?度?\s*(?:[-–—~～至到]|to|through|until)\s*((?:19|20)\d\d)(?!\d)", re.I
)
_LONGEST_RANGE = 30
_YEAR = re.compile(
    r"(?<![\d.,/])(?P<year>(?:19|20)\d\d)(?![\d,]|\.\d|[-/.]\d\d?[-/.]\d|[-/]\d\d(?!\d))|\bFY\s?['’]?(?P<fiscal>(?:20)?\d\d)(?!\d)",
    re.I,
)
_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "一": 1, "二": 2, "三": 3, "四": 4, "上": 1, "下": 2}
_QUARTER = r"Q(?P<q>[1-4])(?!\d)|第?(?P<zh>[一二三四1-4])\s*季度?|(?P<en>first|second|third|fourth)[- ]quarter"
_HALF = r"H(?P<h>[12])(?!\d)|(?P<zh_half>[上下])半年|(?P<en_half>first|second) half"
# Interim reports are those of the first half.
_PART = re.compile(rf"(?:{_QUARTER}|{_HALF}|(?P<interim>半年|中期|half[- ]year|interim))", re.I)
_PART_AFTER, _PART_BEFORE = 14, 28


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A year, or a part of it: ``Q1`` to ``Q4``, ``H1`` or ``H2``; written ``2023Q3``."""

    year: int
    part: str = ""

    def __str__(self) -> str:
        return f"{self.year}{self.part}"

    def agrees_with(self, other: Period) -> bool:
        """Whether both may be the same: a year agrees with its parts."""
        return self.year == other.year and (not self.part or not other.part or self.part == other.part)


def read_period(text: str) -> Period | None:
    """A period as it is written in a file's facts (``2019``, ``2023Q3``), or None."""
    match = re.fullmatch(r"((?:19|20)\d\d)(Q[1-4]|H[12])?", text.strip().upper())
    return Period(int(match[1]), match[2] or "") if match else None


def find_periods(text: str) -> list[Period]:
    """The periods that ``text`` names, in order and once each; ranges in full. Years inside dates (2020-04-03) and
    longer numbers are none."""
    text = _SPELLED.sub(lambda match: match[0].translate(_NUMERALS), text)
    found: dict[Period, None] = {}
    for match in _YEAR.finditer(text):
        year = int(match["year"] or match["fiscal"])
        period = Period(year + 2000 if year < 100 else year, _part_near(text, match.start(), match.end()))
        found.setdefault(period)
    for match in _RANGE.finditer(text):
        first, last = int(match[1]), int(match[2])
        if first < last <= first + _LONGEST_RANGE:
            found.update((Period(year), None) for year in range(first, last + 1))
    return list(found)


def _part_near(text: str, start: int, end: int) -> str:
    """The quarter or half that stands right after the year, or right before it."""
    after = _PART.search(text, end, end + _PART_AFTER)
    if after is not None and not _YEAR.search(text, end, after.start()):
        return _part(after)
    before = list(_PART.finditer(text, max(0, start - _PART_BEFORE), start))
    if before and not _YEAR.search(text, before[-1].end(), start):
        return _part(before[-1])
    return ""


def _part(match: re.Match[str]) -> str:
    if match["interim"]:
        return "H1"
    quarter = match["q"] or match["zh"] or match["en"]
    if quarter:
        return f"Q{_WORDS.get(quarter.lower(), quarter)}"
    half = match["h"] or match["zh_half"] or match["en_half"]
    return f"H{_WORDS.get(half.lower(), half)}"
