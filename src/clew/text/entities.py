"""Named things in a text, Chinese, English or mixed: quickly, and without any model.

Chinese names come from the part-of-speech tags of ``rjieba``, English ones from capital letters. A question typed
wholly in lower case has none of these; there, runs of words that are no everyday English stand in for names.
Quoted terms, book titles (《…》) and the caller's own domain terms always count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import rjieba

from clew.text.everyday_english import EVERYDAY_WORDS, FUNCTION_WORDS
from clew.text.simplified import to_simplified

EntityKind = Literal["person", "place", "organisation", "name", "title", "quoted", "term"]

Tag = tuple[str, str]
"""A token and its part of speech, as ``rjieba`` gives them."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A name and where it stands: ``source[start:end] == text``."""

    text: str
    kind: EntityKind
    start: int
    end: int


_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_TITLE = re.compile(r"《([^《》\n]{1,80})》")
_QUOTED = re.compile(r"[“”\"]([^“”\"\n]{1,60})[“”\"]|[「『]([^「」『』\n]{1,60})[」』]")

_UPPER = r"A-ZÀ-ÖØ-ÞĀ-ſ"
_CAPITALISED = rf"(?:(?:[A-Z]\.){{2,}}|[a-z]?[{_UPPER}]\w*(?:(?:['’](?!s\b)|[-.&/])\w+)*)"
_NUMBER = r"(?!(?:1[5-9]|20)\d\d\b)\d[\w.\-]*"
_INNER = r"(?:of|the|de|van|von|der|den|la|le|du|del|di|da|dos|al|el|bin|ibn|&|y|et)"
_ENGLISH_NAME = re.compile(
    rf"(?<![\w\-]){_CAPITALISED}(?:,? (?=[JS]r\.))?(?:(?: {_INNER}){{0,2}} (?:{_CAPITALISED}|{_NUMBER}))*"
)
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_LOWER_CASE_LIMIT = 400
"""Longer texts without capitals are no questions; runs of rare words mean nothing there."""

_KIND_BY_TAG: dict[str, EntityKind] = {
    "nr": "person",
    "nrt": "person",
    "nrfg": "person",
    "ns": "place",
    "nt": "organisation",
    "nz": "name",
}
_ORGANISATION_ENDS = (
    *("公司", "集团", "大学", "学院", "银行", "医院", "研究所", "研究院", "委员会", "协会", "基金会", "出版社"),
    *("事务所", "法院", "检察院", "中学", "小学", "交易所", "俱乐部", "乐队", "股份"),
)
_ORGANISATION_PART_TAGS = frozenset(("n", "j", "b", "vn", "eng", "zg", "s", "an", "l", "i", "ng"))
_NEVER_IN_NAMES_WORDS = (
    "上市 母 子 总 分 同类 同行 本 该 其他 其它 目标 主要 哪家 双方 两家 年 学校 什么 类型 代表 法定代表 人 标明 名称"
)
_NEVER_IN_NAMES = frozenset(_NEVER_IN_NAMES_WORDS.split())
_ORGANISATION_MAX_PARTS = 6
# What says of which kind a company is, and not which company.
_LEGAL_FORM = re.compile("(?:国有|國有|独资|獨資|全资|控股|股份|有限|责任|責任|公司|集团|集團)+")
_NOT_NAMES_WORDS = (
    "哪国 哪位 本国 该国 我国 全国 外国 国外 华裔 明星 亚科 地球 太阳 月亮 宝宝 之日起 高 都 于 和 明 时 那"
)
_NOT_NAMES = frozenset(_NOT_NAMES_WORDS.split())
_LATIN_IN_CHINESE = re.compile(r"[A-Za-zÀ-ſ](?:[A-Za-zÀ-ſ0-9.+\-&' ]*[A-Za-zÀ-ſ0-9+])?")
_PERIOD = re.compile(r"(?:Q[1-4]|H[12]|FY)(?: ?\d+)?")
_SENTENCE_END = re.compile(r"[.!?:\n]\s*[\"“(]?$")
_RUN_LINKS = frozenset((" ", " of ", " of the ", " and "))
_ORDINARY_ENDINGS = (
    "ing",
    "ed",
    "ly",
    "tion",
    "sion",
    "ment",
    "ness",
    "ity",
    "ous",
    "ive",
    "ism",
    "able",
    "ible",
    "ance",
    "ence",
    "al",
    "ics",
    "ists",
)
_POSSESSIVE = re.compile(r"['’]s?$")


def extract_entities(text: str, *, domain_terms: Sequence[str] = ()) -> list[Entity]:
    """Names in ``text`` in order of appearance, without overlaps; a name that occurs twice is listed twice."""
    return entities_of_tags(text, tag(text), domain_terms=domain_terms)


def has_cjk(text: str) -> bool:
    """Whether any Chinese character occurs."""
    return _CJK.search(text) is not None


def tag(text: str) -> list[Tag]:
    """Tokens with part of speech; empty for a text without Chinese characters, where the tags would mean nothing."""
    if not has_cjk(text):
        return []
    tags, at = [], 0
    for word, part_of_speech in rjieba.tag(to_simplified(text)):
        tags.append((text[at : at + len(word)], part_of_speech))
        at += len(word)
    return tags


def entities_of_tags(text: str, tags: Sequence[Tag], *, domain_terms: Sequence[str] = ()) -> list[Entity]:
    """As :func:`extract_entities`, for a caller that needs the tags of ``tag(text)`` too."""
    taken = _Taken(text)
    taken.add(_marked(text))
    if domain_terms:
        taken.add(_domain(text, tuple(domain_terms)))
    if tags:
        taken.add(_chinese(tags))
        taken.add(_latin_in_chinese(text))
    elif is_lower_case_question(text):
        taken.add(_lower_case(text))
    else:
        taken.add(_english(text))
    return taken.in_order()


def is_lower_case_question(text: str) -> bool:
    """Whether ``text`` is short and has no capital letter that could mark a name."""
    if len(text) > _LOWER_CASE_LIMIT:
        return False
    rest = re.sub(r"\bI\b", "i", text.lstrip()[1:])
    return rest == rest.lower()


class _Taken:
    """Entities so far; one that overlaps an earlier one is left out."""

    def __init__(self, text: str) -> None:
        self._claimed = bytearray(len(text))
        self._entities: list[Entity] = []

    def add(self, found: Iterable[Entity]) -> None:
        for entity in found:
            if not any(self._claimed[entity.start : entity.end]):
                self._claimed[entity.start : entity.end] = b"\x01" * (entity.end - entity.start)
                self._entities.append(entity)

    def in_order(self) -> list[Entity]:
        return sorted(self._entities, key=lambda entity: entity.start)


def _marked(text: str) -> Iterator[Entity]:
    yield from (Entity(match[1], "title", *match.span(1)) for match in _TITLE.finditer(text))
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] is not None else 2
        yield Entity(match[group], "quoted", *match.span(group))


def _domain(text: str, terms: tuple[str, ...]) -> Iterator[Entity]:
    pattern = _domain_pattern(terms)
    if pattern is not None:
        yield from (Entity(match[0], "term", *match.span()) for match in pattern.finditer(text))


@lru_cache(maxsize=256)
def _domain_pattern(terms: tuple[str, ...]) -> re.Pattern[str] | None:
    cleaned = sorted({term.strip() for term in terms if term.strip()}, key=len, reverse=True)
    if not cleaned:
        return None
    # A Latin term must not match inside a longer word; Chinese has no such border.
    parts = [
        (r"(?<![A-Za-z0-9])" if term[0].isascii() else "")
        + re.escape(term)
        + (r"(?![A-Za-z0-9])" if term[-1].isascii() else "")
        for term in cleaned
    ]
    return re.compile("|".join(parts), re.IGNORECASE)


def _chinese(tags: Sequence[Tag]) -> Iterator[Entity]:
    """Joins name tokens (马克斯·冯·巴登) and completes organisations backwards (绿源 + 环保 + 有限公司)."""
    organisations = dict(_organisations(tags))
    index, offset = 0, 0
    while index < len(tags):
        token, part_of_speech = tags[index]
        kind = _KIND_BY_TAG.get(part_of_speech)
        if part_of_speech == "x" and len(token) > 1 and token.isalnum():
            kind = "name"  # unknown to the dictionary
        end = organisations.get(index)
        if end is not None:
            kind = "organisation"
        elif kind is not None and token not in _NOT_NAMES:
            end = _name_end(tags, index)
        else:
            offset += len(token)
            index += 1
            continue
        text = "".join([part for part, _ in tags[index:end]])
        if len(text) > 1:
            yield Entity(text, kind, offset, offset + len(text))
        offset += len(text)
        index = end


def _organisations(tags: Sequence[Tag]) -> Iterator[tuple[int, int]]:
    """Token spans ``(first, end)`` of names that end like an organisation."""
    for index, (token, _) in enumerate(tags):
        if token.endswith(_ORGANISATION_ENDS):
            first = index
            while first > 0 and index - first < _ORGANISATION_MAX_PARTS and _names_an_organisation(tags[first - 1]):
                first -= 1
            name = "".join(part for part, _ in tags[first : index + 1])
            if (first < index or len(token) > 4 or tags[index][1] == "nt") and not _LEGAL_FORM.fullmatch(name):
                yield first, index + 1


def _names_an_organisation(tagged: Tag) -> bool:
    token, part_of_speech = tagged
    if part_of_speech in _KIND_BY_TAG:
        return True
    return part_of_speech in _ORGANISATION_PART_TAGS and token not in _NEVER_IN_NAMES


def _name_end(tags: Sequence[Tag], first: int) -> int:
    """End of the name that starts at ``first``: whatever a ``·`` joins, and neighbours of the same kind."""
    end = first + 1
    kind = _KIND_BY_TAG.get(tags[first][1], "name")
    while end < len(tags):
        token, part_of_speech = tags[end]
        if token in "·・" and end + 1 < len(tags):
            end += 2
        elif _KIND_BY_TAG.get(part_of_speech) == kind and token not in _NOT_NAMES:
            end += 1
        else:
            break
    return end


def _latin_in_chinese(text: str) -> Iterator[Entity]:
    """Inside Chinese, any Latin word is a name, whatever its case."""
    for match in _LATIN_IN_CHINESE.finditer(text):
        if match[0].lower() not in FUNCTION_WORDS and len(match[0]) > 1:
            yield Entity(match[0], "name", *match.span())


def _english(text: str) -> Iterator[Entity]:
    for match in _ENGLISH_NAME.finditer(text):
        name, start = match[0], match.start()
        at_start = start == 0 or _SENTENCE_END.search(text[max(0, start - 4) : start]) is not None
        if at_start:
            name, start = _without_leading_words(name, start)
            at_start = start == match.start()
        if len(name) < 2 and not name.isupper():
            continue
        word = name.lower()
        if at_start and (word in EVERYDAY_WORDS or word.endswith("ly")):
            continue
        if name == "I" or word in FUNCTION_WORDS or _PERIOD.fullmatch(name):
            continue
        yield Entity(name, "name", start, start + len(name))


def _without_leading_words(name: str, start: int) -> tuple[str, int]:
    """Drops what only begins a sentence in front of a name: *Did Li Hua* → *Li Hua*."""
    while True:
        first, space, rest = name.partition(" ")
        if not space or first.lower() not in FUNCTION_WORDS:
            return name, start
        name, start = rest, start + len(first) + 1


def _lower_case(text: str) -> Iterator[Entity]:
    """Runs of words that are no everyday English, in a question typed without capitals; *of* may stand inside one."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0].lower())
        apart = bool(run) and text[run[-1].end() : match.start()] not in _RUN_LINKS
        rare = word not in EVERYDAY_WORDS and word not in FUNCTION_WORDS and (bool(run) or not word.isdigit())
        if run and apart and rare:
            yield from _run(text, run)
            run = []
        if rare:
            run.append(match)
            if word != match[0].lower():
                yield from _run(text, run)
                run = []
    if run:
        yield from _run(text, run)


def _run(text: str, words: Sequence[re.Match[str]]) -> Iterator[Entity]:
    start, end = words[0].start(), words[-1].end()
    name = _POSSESSIVE.sub("", text[start:end])
    if len(name) > 2 and not (len(words) == 1 and name.lower().endswith(_ORDINARY_ENDINGS)):
        yield Entity(name, "name", start, start + len(name))
