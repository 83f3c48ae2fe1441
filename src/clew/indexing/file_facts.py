"""Facts about a file, read off its name, its title and its first pages: company, period, date and type.

What is not there is left out; nothing is guessed from the body of a file. A person's corrections stay when the file is
read again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from clew.errors import InputError
from clew.text.language import HAN
from clew.text.periods import find_periods, read_period

FACTS = ("company", "aliases", "period", "date", "type")
CORRECTED = "corrected"
"""Key under which the facts list the names of those that a person has set."""

# A type, and what names, titles and title pages say of it; what stands first in the text counts.
_TYPES: Mapping[str, str] = {
    "annual_report": (
        r"(?<!半)年度报告|(?<![半中\d])年报|annual[-_ ]report|(?<![a-z0-9])(?:form[-_ ]?)?(?:10-?k|20-?f)(?![a-z0-9])"
    ),
    "interim_report": r"半年度?报告?|中期报告|half[-_ ]?year(?:ly)?[-_ ]report|interim[-_ ]report",
    "quarterly_report": r"季度报告|季报|quarterly[-_ ]report|(?<![a-z0-9])(?:form[-_ ]?)?10-?q(?![a-z0-9])",
    "prospectus": r"招股说明书|招股意向书|募集说明书|\bprospectus\b",
    "earnings_release": r"业绩快报|业绩预告|业绩公告|(?<![a-z])earnings(?![a-z])",
    "research_report": r"研究报告|研报|展望报告|research[-_ ]report",
    "contract": r"合同|协议书|\b(?:agreement|contract)\b",
    "invoice": r"发票|\binvoice\b",
    "minutes": r"会议纪要|会议记录|\bminutes of\b",
    "manual": r"手册|说明书|\b(?:manual|handbook|user guide)\b",
    "standard": r"(?<![a-z])(?:GB|GB/T|GBT|ISO|DB|HJ)[-/ ]?T?[-_ ]?\d{3,}",
    "law": rf"(?<=[{HAN}])(?:法|条例|办法|规定|法典)(?=[(（\d]|$)|\bAct\b",
}
_TYPE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _TYPES.items()), re.I | re.M)
_REPORTS = frozenset(
    {"annual_report", "interim_report", "quarterly_report", "prospectus", "earnings_release", "research_report"}
)
_HEAD = 12_000
_TITLE, _TITLE_PAGE = 400, 1_500
_TITLE_LINE = 50

_ISO_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./](\d\d?)[-_./](\d\d?)(?!\d)")
_PLAIN_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")
_LONG_DATE = re.compile(r"^\W*((?:19|20)\d\d)\s*年\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*日)?\W*$", re.M)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_ENGLISH_DATE = re.compile(
    rf"^\W*(?:dated?:?\s*)?(?P<month>{'|'.join(_MONTHS)}) (?P<day>\d{{1,2}}), (?P<year>(?:19|20)\d\d)\W*$", re.I | re.M
)
_FISCAL_END = re.compile(
    r"(?:year|quarter(?:ly period)?|period)\s+ended:?\s+[A-Z][a-z]+\s+\d{1,2},?\s+((?:19|20)\d\d)", re.I
)

_LEGAL_FORM = r"(?:股份有限公司|有限责任公司|集团有限公司|有限公司)"
_CHINESE_COMPANY = re.compile(rf"[{HAN}][{HAN}（）()·]{{1,28}}?{_LEGAL_FORM}")
_CHINESE_LINE = re.compile(rf"^\W*([{HAN}][{HAN}（）()·]{{1,28}}?{_LEGAL_FORM})\W*$", re.M)
_ENGLISH_FORM = r"(?:Incorporated|Inc|Corporation|Corp|Company|Limited|Ltd|plc|LLC|N\.V|S\.A|AG|SE|GmbH)"
_ENGLISH_COMPANY = re.compile(
    rf"(?<![\w.])([A-Z][\w&.’'-]*(?:,? [A-Z&][\w&.’'-]*){{0,6}}?,? {_ENGLISH_FORM}\b\.?)", re.I
)
_REGISTRANT = re.compile(r"^(?P<name>\S.{1,80}?)\s*\n?\s*\(\s*exact name of (?:the )?registrant", re.I | re.M)
_SHORT_NAME = re.compile(
    rf"(?:股票|证券|公司|A\s?股)?(?:的?中文)?简称[ \t:：|]*([{HAN}A-Za-z*]{{2,8}})(?=[\s|，。,（(]|股票|证券|$)"
)
_CODE = re.compile(r"(?:股票|证券|公司|A\s?股)\s*代码[ \t:：|]*(\d{6})(?!\d)")
_SYMBOL = re.compile(r"(?:NASDAQ|NYSE|trading symbol)\W{1,3}([A-Z]{2,5})\b")
_NOT_A_NAME = frozenset({"股票", "证券", "公司", "代码", "简称", "名称", "变更"})

# Pieces of a file name that name nobody.
_PLAIN = re.compile(
    r"(?:(?:FY)?(?:19|20)?\d\d)?(?:Q[1-4]|H[12])?|FY\d\d|\d+|10-?[KQ]|20-?F|\d*年?|earnings|report|annual|quarterly|equity|"
    r"research|final|draft|copy|v\d+|the|of|and|pdf|html?|en|cn|zh",
    re.I,
)


def read_facts(name: str, title: str, head: str) -> dict[str, Any]:
    """The facts of a file called ``name`` whose first pages say ``head``; only what can be read off."""
    stem = PurePath(name).stem if "." in name else name
    head = head[:_HEAD]
    page = head[:_TITLE_PAGE]
    kind = _type_of(stem) or _type_of(title)
    if not kind:
        lines = [line for line in head[:_TITLE].splitlines() if len(line) <= _TITLE_LINE]
        on_page = _type_of("\n".join(lines))
        # Whatever else a first page mentions says little about the file.
        kind = on_page if on_page in _REPORTS else ""
    company, aliases = _company(stem, title, head, kind)
    facts = {
        "company": company,
        "aliases": aliases,
        "period": _period(stem, title, page, kind),
        "date": _date(stem, page),
        "type": kind,
    }
    return {name: value for name, value in facts.items() if value}


def merged_facts(read: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """What was read now under what a person has set before."""
    corrected = [name for name in old.get(CORRECTED, ()) if name in FACTS]
    if not corrected:
        return dict(read)
    kept = {name: old[name] for name in corrected if name in old}
    return {name: value for name, value in read.items() if name not in corrected} | kept | {CORRECTED: corrected}


def corrected_facts(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with a person's changes: a value for a name, or None to take it away. They stay when the file is read
    again. Raises InputError for an unknown name or an impossible value."""
    for name, value in changes.items():
        if name not in FACTS:
            raise InputError(f"facts.{name}: there is no such fact; use {', '.join(FACTS)}.")
        if value is not None:
            _check(name, value)
    facts = {name: value for name, value in old.items() if name not in changes and name != CORRECTED}
    facts |= {name: value for name, value in changes.items() if value is not None}
    return facts | {CORRECTED: list(dict.fromkeys([*old.get(CORRECTED, ()), *changes]))}


def _check(name: str, value: Any) -> None:
    if name == "aliases":
        good = isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)
        wanted = "a list of names"
    elif name == "period":
        good, wanted = isinstance(value, str) and read_period(value) is not None, "a year or a part of one, as 2023Q3"
    elif name == "date":
        good, wanted = isinstance(value, str) and _PLAIN_DATE.fullmatch(value) is not None, "a date, as 2023-04-28"
    else:
        good, wanted = isinstance(value, str) and 0 < len(value.strip()) <= 200, "a short text"
    if not good:
        raise InputError(f"facts.{name}: {value!r} is not {wanted}.")


def _type_of(text: str) -> str:
    match = _TYPE.search(text)
    return match.lastgroup or "" if match else ""


def _period(stem: str, title: str, page: str, kind: str) -> str:
    named = find_periods(_without_dates(stem).replace("_", " ").replace("-", " "))
    if not named:
        named = find_periods(_without_dates(title))
    if len(named) == 1 or (named and kind in _REPORTS):
        return str(named[0])
    if kind not in _REPORTS or kind == "prospectus":
        return ""
    match = _TYPE.search(page)
    around = page[max(0, match.start() - 30) : match.end() + 10] if match else ""
    near = find_periods(_without_dates(around))
    if near:
        return str(near[0])
    ended = _FISCAL_END.search(page)
    return ended[1] if ended else ""


def _without_dates(text: str) -> str:
    return _ISO_DATE.sub(" ", text)


def _date(stem: str, page: str) -> str:
    named = _ISO_DATE.search(stem)
    if named:
        return _iso(*named.groups())
    spelled = _LONG_DATE.search(page)
    if spelled:
        return _iso(*spelled.groups())
    english = _ENGLISH_DATE.search(page)
    if english:
        return _iso(english["year"], str(_MONTHS.index(english["month"].lower()) + 1), english["day"])
    return ""


def _iso(year: str, month: str, day: str | None) -> str:
    if not 1 <= int(month) <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    return f"{year}-{int(month):02d}" + (f"-{int(day):02d}" if day else "")


def _company(stem: str, title: str, head: str, kind: str) -> tuple[str, list[str]]:
    pieces = [piece for piece in re.split(r"_+|\s+|-", _TYPE.sub(" ", _without_dates(stem))) if piece.strip()]
    company = _full_name(stem, title, head, kind)
    aliases: list[str] = []
    if company or kind in _REPORTS:
        aliases += [piece for piece in pieces if _names_somebody(piece, company)]
        aliases += [match[1] for pattern in (_SHORT_NAME, _CODE, _SYMBOL) for match in pattern.finditer(head)][:6]
        codes = [piece for piece in pieces if re.fullmatch(r"\d{6}", piece)]
        aliases += codes
    aliases = [alias for alias in dict.fromkeys(aliases) if alias != company and alias not in _NOT_A_NAME]
    if not company and aliases and kind in _REPORTS:
        company = aliases.pop(0)
    return company, aliases


def _full_name(stem: str, title: str, head: str, kind: str) -> str:
    for text in (stem.replace("_", " "), title):
        chinese = _CHINESE_COMPANY.search(text)
        if chinese:
            return chinese[0]
    registrant = _REGISTRANT.search(head)
    if registrant:
        return registrant["name"].strip()
    page = head[:_TITLE_PAGE]
    line = _CHINESE_LINE.search(page)
    if line:
        return line[1]
    if kind in _REPORTS:
        chinese = _CHINESE_COMPANY.search(page)
        if chinese:
            return chinese[0]
        english = _ENGLISH_COMPANY.search(title) or _ENGLISH_COMPANY.search(page[:_TITLE])
        if english:
            return " ".join(english[1].split())
    return ""


def _names_somebody(piece: str, company: str) -> bool:
    """Whether a piece of a file's name may be a short name or a ticker of the company."""
    if _PLAIN.fullmatch(piece) or _TYPE.search(piece) or find_periods(piece):
        return False
    if re.fullmatch(rf"[{HAN}]{{2,8}}", piece):
        return not company or _shares(piece, company)
    return bool(re.fullmatch(r"[A-Z]{2,8}|[A-Z][a-z]{2,15}", piece)) or (
        bool(re.fullmatch(r"[a-z]{2,5}", piece)) and company.lower().startswith(piece[0])
    )


def _shares(short: str, full: str) -> bool:
    """Whether most characters of a short name occur in the full one: 苏常柴 and 常柴股份有限公司."""
    return 2 * sum(character in full for character in short) >= len(short)
