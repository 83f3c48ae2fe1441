"""Names of things as keys that a passage and a mention of it share.

A name is *folded*: width, case, accents, punctuation and possessive endings are gone and traditional characters are
simplified, so that *Boden's Boy* and *BODEN’S BOY* are one key. :func:`find_names` finds known names in running text:
as runs of words in Latin script, as runs of characters in Chinese.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from clew.text.entities import tag
from clew.text.language import HAN
from clew.text.simplified import to_simplified

MAX_WORDS = 10
MAX_CHARACTERS = 16
"""Longest Chinese name that is looked for in running text."""

_HAN = re.compile(f"[{HAN}]")
_TOKEN = re.compile(f"([{HAN}·•]+)|(?:[^\\W_{HAN}]+(?:['’ʼ][^\\W_]+)*)")
_MIXED = re.compile(f"[{HAN}·•A-Za-z0-9]+")
_POSSESSIVE = re.compile(r"['’ʼ]s?$", re.IGNORECASE)
_NOT_WORD = re.compile(r"[\W_]+")
_BRACKETS = re.compile(r"\s*[(（\[【][^()（）\[\]【】]*[)）\]】]")
_MARKS = re.compile(r"[《》“”\"「」『』〈〉]")

# Words that stand alone in many titles and mean nothing as names.
_COMMON_WORDS = """
    a an the of in on at by for from with and or to as is was were be been who whom whose which what when where why
    how did do does has have had that this these those it its his her their he she they not also than then into over
    after before between during first last new old one two three other more most some all each film movie song album
    band series book novel introduction overview summary background contents index appendix notes references chapter
    section part table figure page general january february march april may june july august september october
    november december
"""
_COMMON_HAN_WORDS = """
    概述 概况 简介 目录 附录 前言 引言 总则 附则 说明 其他 其它 备注 摘要 背景 结论 参考文献 重要提示 释义 历史 公司
    本公司 中国 我国 全国 世界 国家 地区 城市 时间 人口 地理 经济 文化 教育 生活 工作 问题 社会 政治 科学 技术 定义
    分类 特点 影响 歷史 概況 簡介 國家 地區 時間 經濟 教育 問題 社會 世界
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_COMMON_HAN = frozenset(_COMMON_HAN_WORDS.split())


def fold_name(text: str) -> str:
    """The key of a name; empty where nothing of it is a word."""
    text = to_simplified(unicodedata.normalize("NFKD", html.unescape(text)).casefold())
    text = "".join(ch for ch in text if not unicodedata.combining(ch))
    words = (_POSSESSIVE.sub("", word) for word in text.split())
    folded = " ".join(_NOT_WORD.sub(" ", " ".join(words)).split())
    return folded.replace(" ", "") if _HAN.search(folded) and not re.search(r"[a-z]", folded) else folded


def names_of_title(title: str) -> tuple[str, ...]:
    """The folded names that a title gives to what stands under it: the title itself, and without its brackets."""
    plain = html.unescape(title)
    bare = _BRACKETS.sub("", plain)
    names = (fold_name(_MARKS.sub(" ", name)) for name in (plain, bare))
    return tuple(dict.fromkeys(name for name in names if is_name(name)))


def is_name(folded: str) -> bool:
    """Whether a folded name is worth keeping: neither a common word, nor a number, nor a single character."""
    if len(folded) < 2 or len(folded) > 120 or folded in _COMMON or folded in _COMMON_HAN:
        return False
    if _HAN.search(folded):
        return True
    words = folded.split()
    return not all(word in _COMMON or word.isdigit() for word in words) and len(folded) > 2


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A known name in a text: ``text[start:end]`` folds to ``name``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    folded: str
    start: int
    end: int
    begins: bool
    """Whether a name may begin here: a capital, a digit."""


def find_names(
    text: str, known: Callable[[str], bool], *, capitals: bool = True, begins: Callable[[str], bool] = lambda _: True
) -> list[NameSpan]:
    """Names in ``text`` for which ``known`` is true, the longest first where they overlap, in order of appearance.

    ``capitals``: a name in Latin script has to begin with a capital or a digit, as names in running text do; without
    it any run of words may be one. Single common words are never names. ``begins`` may say of two characters whether
    any Chinese name begins with them, which spares looking for longer ones.
    """
    spans = [*_latin(text, known, capitals), *_han(text, known, begins)]
    taken = bytearray(len(text))
    kept: list[NameSpan] = []
    for span in sorted(spans, key=lambda s: (s.start - s.end, s.start)):
        if not any(taken[span.start : span.end]):
            taken[span.start : span.end] = b"\x01" * (span.end - span.start)
            kept.append(span)
    return sorted(kept, key=lambda s: s.start)


def _latin(text: str, known: Callable[[str], bool], capitals: bool) -> Iterator[NameSpan]:
    tokens = [_token(match) for match in _TOKEN.finditer(text) if match[1] is None]
    tokens = [token for token in tokens if token.folded]
    for first, token in enumerate(tokens):
        if capitals and not token.begins:
            continue
        words: list[str] = []
        for other in tokens[first : first + MAX_WORDS]:
            words.append(other.folded)
            name = " ".join(words)
            if (len(words) > 1 or (token.begins and is_name(name))) and known(name):
                yield NameSpan(name, token.start, other.end)


# The same words come again and again, and each is looked at for every question whose passages hold it.
_fold_word = lru_cache(maxsize=1 << 15)(fold_name)


def _token(match: re.Match[str]) -> _Token:
    word = match[0]
    return _Token(_fold_word(word), match.start(), match.end(), word[0].isupper() or word[0].isdigit())


def _han(text: str, known: Callable[[str], bool], begins: Callable[[str], bool]) -> Iterator[NameSpan]:
    for match in _MIXED.finditer(text):
        run, offset = match[0], match.start()
        if not _HAN.search(run):
            continue
        plain = [i for i, ch in enumerate(run) if ch not in "·•"]
        letters = to_simplified("".join(run[i] for i in plain).casefold())
        for first in range(len(letters)):
            inside_word = first > 0 and letters[first].isascii() and letters[first - 1].isascii()
            if inside_word or not begins(letters[first : first + 2]):
                continue
            for length in range(2, min(MAX_CHARACTERS, len(letters) - first) + 1):
                name = letters[first : first + length]
                if known(name) and not name.isascii():
                    yield NameSpan(name, offset + plain[first], offset + plain[first + length - 1] + 1)


# --- what a passage is about, where no title says it -------------------------------------------------------------

_LEADING = re.compile(r"^(?:the|a|an|sir|dr|mr|mrs|ms|saint|st)\.?\s+", re.IGNORECASE)
_ENGLISH_SUBJECT = re.compile(
    r"^[\"“'‘]?(?P<name>[^\W\d_][^,;:()\"“”\n]{1,80}?)[\"”'’]?\s*"
    r"(?:\([^()]{0,200}\)|,[^,]{1,60},)?,?\s+(?:is|was|are|were|refers|may refer|has|had)\b"
)
_HAN_SUBJECT = re.compile(
    rf"^[《“「『]?(?P<name>[{HAN}·•A-Za-z0-9\- ]{{2,24}}?)[》”」』]?"
    r"(?P<bracket>[（(][^（）()]{0,120}[）)])?[,，]?\s*(?:是|为|為|指|又称|又稱|原名|位于|位於|亦称|简称|，)"
)
# Parts of speech of words that stand nowhere in a name (目前, 但是, 自开埠至今), and not at its end (冷战期间).
_NEVER_NOMINAL = frozenset(["p", "c", "d", "r", "t", "u", "uj", "ul", "uv", "ud", "uz", "ug", "y"])
_NEVER_LAST = frozenset(["f", "m", "v", "vg"])
_LONGEST_WITH_VERB = 6
_ALIAS = re.compile(
    r"(?:以下简称|以下簡稱|简称|簡稱|又称|又稱|亦称|亦稱|别名|別名|原名|本名)[“「『\"：:]?"
    r"([^”」』\"，。、；）)\s]{2,12})"
)
_ENGLISH_ALIAS = re.compile(
    r"(?:known as|abbreviated(?: as)?|formerly)\s+(?:the\s+)?[\"“']?([A-Z][^,;()\"”\n]{2,50}?)[\"”']?"
    r"(?=[,;.()]|\s+(?:is|was|and|or)\b)"
)
_SUBJECT_CHARACTERS = 300


def subject_names(text: str) -> tuple[str, ...]:
    """The folded names of what a passage defines in its first sentence: its subject and the aliases given there."""
    opening = text[:_SUBJECT_CHARACTERS].strip()
    names: list[str] = []
    if _HAN.match(_MARKS.sub("", opening)[:1] or " "):
        match = _HAN_SUBJECT.match(opening)
        names += [match["name"]] if match and (match["bracket"] or _nominal(match["name"])) else []
        names += _ALIAS.findall(opening)
    else:
        match = _ENGLISH_SUBJECT.match(opening)
        if match and (match["name"][0].isupper() or not match["name"][0].isascii()) and _proper(match["name"]):
            names.append(match["name"])
            names += _ENGLISH_ALIAS.findall(opening)
    folded = (fold_name(_LEADING.sub("", name)) for name in names)
    return tuple(dict.fromkeys(name for name in folded if is_name(name)))


def _nominal(name: str) -> bool:
    """Whether the beginning of a Chinese sentence can be the name of something: no adverbial, no clause."""
    tags = tag(name.strip())
    kinds = {kind for _, kind in tags}
    is_clause = bool(kinds & {"v", "vg"}) and len(name) > _LONGEST_WITH_VERB
    adverbial = len(tags) > 1 and tags[-1][1] in _NEVER_LAST and not tags[-1][0].isdigit()
    return not kinds & _NEVER_NOMINAL and not is_clause and not adverbial


def _proper(name: str) -> bool:
    """Whether a subject looks like a name: most of its words are capitalised."""
    words = _LEADING.sub("", name).split()
    return bool(words) and sum(word[0].isupper() or word[0].isdigit() for word in words) * 2 >= len(words)
