"""What form of answer a question asks for (a share, a date, a figure, a name, a total, a place in a ranking), and how
well a piece of evidence fits it.

Only the outer form is looked at, so this can prefer one of several pieces about the same thing, and nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clew.answering.pieces import Piece, cells_of

_ASKS_SHARE = re.compile(
    r"百分|比例|比重|占比|多大比|[^频效机概汇]率|\b(?:percent(?:age)?|share|proportion|ratio|margin|rate)\b",
    re.IGNORECASE,
)
_ASKS_DATE = re.compile(
    r"何时|何年|哪[一]?[年天日月]|什么时[候间]|几[年月日号]|\b(?:when|(?:what|which) (?:year|date|day|month))\b",
    re.IGNORECASE,
)
_ASKS_FIGURE = re.compile(
    r"多少|几[个家名人次位项]|多[大高长重]|第几|金额|总额"
    r"|\bhow (?:much|many|large|high|old|long)\b|\bwhat (?:amount|number)\b",
    re.IGNORECASE,
)
_ASKS_MONEY = re.compile(r"多少(?:钱|[万亿千百]*元)|金额|\bhow much\b", re.IGNORECASE)
_ASKS_UNIT = re.compile(r"(?:多少|几)[万亿千百]*(元|吨|台|辆|人|股|项|件|只|家|户|次|天|米|公里|平方米)")
_ASKS_NAME = re.compile(
    r"谁|哪[一]?[家位里儿种]|哪个|什么(?:地方|人|公司|名)|何[地处人]|叫什么"
    r"|\b(?:who|whom|whose|where|what is the name)\b",
    re.IGNORECASE,
)
_ASKS_TOTAL = re.compile(r"总共|一共|总计|合计|总数|\b(?:in total|altogether|total)\b", re.IGNORECASE)
_ASKS_PLACE = re.compile(
    r"第([一二三四五1-5])(?=大|名|位)|最大|首位|\b(?:(second|third|fourth|fifth)[ -])?(?:largest|biggest)\b",
    re.IGNORECASE,
)
_PLACES = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

_SHARE = re.compile(r"\d\s*[%％‰]|百分之|\d (?:percent|per cent)\b")
_SHARE_SIGN = re.compile(r"[%％]")
_DATE = re.compile(
    r"(?:19|20)\d\d\s*(?:年|[./-]\s*\d{1,2})|\b(?:1\d|20)\d\d\b|\d\s*[月日]"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_MONEY = re.compile(r"\d\s*[万亿千百]*元|\d{1,3},\d{3}|\d\.\d\d(?!\d)|[$€£¥￥]\s*\d|\d [a-z]*llion\b", re.IGNORECASE)
_TOTAL = re.compile(r"合\s*计|总\s*计|总数|总额|共计|\btotal\b", re.IGNORECASE)

_FORM, _UNIT, _TOTALS, _PLACE = 0.12, 0.06, 0.1, 0.15


def fit(question: str) -> Callable[[Piece], float]:
    """How well the form of a piece fits what is asked for: 0 where nothing is known of it, above where it fits."""
    share, date = bool(_ASKS_SHARE.search(question)), bool(_ASKS_DATE.search(question))
    figure = not share and not date and bool(_ASKS_FIGURE.search(question))
    name = not (share or date or figure) and bool(_ASKS_NAME.search(question))
    money, unit = bool(_ASKS_MONEY.search(question)), _unit_asked(question)
    total, place = bool(_ASKS_TOTAL.search(question)), _place_asked(question)

    def score(piece: Piece) -> float:
        value = 0.0
        if (share and _holds_share(piece)) or (date and _DATE.search(piece.text)) or (figure and piece.holds_figure):
            value += _FORM
        if figure and ((money and _MONEY.search(piece.text)) or (unit and _counts(piece, unit))):
            value += _UNIT
        if name and piece.holds_figures_only:
            value -= _FORM
        if total and _TOTAL.search(piece.label or piece.text):
            value += _TOTALS
        if place and piece.is_row and cells_of(piece.text)[0] == str(place):
            value += _PLACE
        return value

    return score


def _holds_share(piece: Piece) -> bool:
    """Whether a piece holds a percentage, or is a row with figures whose header, caption or label says percent."""
    if not piece.is_row:
        return bool(_SHARE.search(piece.text))
    around = f"{piece.header}\n{piece.caption}\n{piece.label}"
    return bool(_SHARE.search(piece.text)) or (piece.holds_figure and bool(_SHARE_SIGN.search(around)))


def _unit_asked(question: str) -> str:
    match = _ASKS_UNIT.search(question)
    return match[1] if match else ""


def _counts(piece: Piece, unit: str) -> bool:
    """Whether a piece gives a number of the unit: beside the number, or in what says what a row's figures are."""
    if re.search(rf"\d\s*[万亿千百]*{unit}", piece.text):
        return True
    around = (
        cell for text in (piece.label, piece.header, piece.caption) for cell in re.split(r"[\s|（）()：:/]+", text)
    )
    return piece.holds_figure and any(re.fullmatch(rf"[万亿千百]*{unit}", cell) for cell in around)


def _place_asked(question: str) -> int:
    """1 for the largest, 2 for the second largest …; 0 where no place in a ranking is asked for."""
    match = _ASKS_PLACE.search(question)
    if not match:
        return 0
    name = (match[1] or match[2] or "").lower()
    return int(name) if name.isdigit() else _PLACES.get(name, 1)
