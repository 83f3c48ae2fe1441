"""Automatic numbers of Word paragraphs: ``第一章``, ``（二）``, ``1.2.3``, bullets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from clew.indexing.parsers.office import attribute, child, local_name

_DIGITS = "〇一二三四五六七八九"
_LEGAL = str.maketrans("一二三四五六七八九十百千", "壹贰叁肆伍陆柒捌玖拾佰仟")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_PLACE = re.compile(r"%([1-9])")


@dataclass(slots=True)
class _Level:
    format: str = "decimal"
    text: str = ""
    start: int = 1
    legal: bool = False
    """Shows the numbers of higher levels as digits, whatever their own format."""


@dataclass(slots=True)
class _List:
    """An abstract numbering definition and where its counters are."""

    levels: dict[int, _Level]
    counters: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The numbering definitions of a document; counts as its paragraphs go by."""

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[str, _List] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        if root is None:
            return
        abstract: dict[str | None, _List] = {}
        for element in root:
            if local_name(element) == "abstractNum":
                abstract[attribute(element, "abstractNumId")] = _List(_levels(element))
            elif local_name(element) == "num":
                identifier = attribute(element, "numId")
                definition = abstract.get(attribute(child(element, "abstractNumId"), "val"))
                if identifier and definition:
                    self._lists[identifier] = definition
                    self._overrides[identifier] = _start_overrides(element)

    def label(self, identifier: str, level: int) -> str | None:
        """The next number of a list at a level (from 0); ``None`` where it has none. Bullets come as ``-``."""
        numbered = self._lists.get(identifier)
        if numbered is None or level not in numbered.levels:
            return None
        restart = self._overrides[identifier].pop(level, None)
        definition = numbered.levels[level]
        before = numbered.counters.get(level, definition.start - 1)
        numbered.counters[level] = restart if restart is not None else before + 1
        for deeper in [key for key in numbered.counters if key > level]:
            del numbered.counters[deeper]
        if definition.format == "bullet":
            return "-"
        if definition.format == "none" and not _PLACE.sub("", definition.text).strip():
            return None

        def number(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            shown = numbered.levels.get(at, _Level())
            return format_number(
                numbered.counters.get(at, shown.start), "decimal" if definition.legal else shown.format
            )

        return _PLACE.sub(number, definition.text).strip() or None


def _levels(abstract: etree._Element) -> dict[int, _Level]:
    levels = {}
    for element in abstract:
        if local_name(element) == "lvl":
            start = attribute(child(element, "start"), "val") or "1"
            levels[int(attribute(element, "ilvl") or 0)] = _Level(
                format=attribute(child(element, "numFmt"), "val") or "decimal",
                text=attribute(child(element, "lvlText"), "val") or "",
                start=int(start) if start.isdigit() else 1,
                legal=(attribute(child(element, "isLgl"), "val") or "1") != "0"
                if child(element, "isLgl") is not None
                else False,
            )
    return levels


def _start_overrides(num: etree._Element) -> dict[int, int]:
    starts = {}
    for element in num:
        start = attribute(child(element, "startOverride"), "val")
        if local_name(element) == "lvlOverride" and start and start.isdigit():
            starts[int(attribute(element, "ilvl") or 0)] = int(start)
    return starts


def format_number(number: int, style: str) -> str:
    """A number in one of Word's formats; unknown formats count in digits."""
    if style in ("upperRoman", "lowerRoman"):
        roman = _roman(number)
        return roman.upper() if style == "upperRoman" else roman
    if style in ("upperLetter", "lowerLetter"):
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number > 0 else "0"
        return letter.upper() if style == "upperLetter" else letter
    if style.startswith("decimalEnclosedCircle") and 1 <= number <= 20:
        return chr(ord("①") + number - 1)
    if style == "chineseLegalSimplified":
        return chinese_number(number).translate(_LEGAL)
    if style.startswith(("chineseCounting", "japaneseCounting", "taiwaneseCounting", "ideographTraditional")):
        return chinese_number(number)
    if style == "ideographDigital":
        return "".join(_DIGITS[int(digit)] for digit in str(number))
    if style == "decimalZero":
        return f"{number:02d}"
    return str(number)


def chinese_number(number: int) -> str:
    """A number below 10,000 in Chinese: 十二, 一百〇五."""
    if not 0 < number < 10_000:
        return str(number) if number else _DIGITS[0]
    text = ""
    for power, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // power % 10
        if digit:
            text += _DIGITS[digit] + unit
        elif text and number % power and not text.endswith(_DIGITS[0]):
            text += _DIGITS[0]
    return text.removeprefix("一") if text.startswith("一十") else text


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text
