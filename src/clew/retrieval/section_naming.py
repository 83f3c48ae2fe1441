"""Which files and which sections a question names, by their titles, names and numbers; no model.

A file is named by the words of its title, its name or its facts that few other files of the scope have. A section is
named by its number (``第三章``, ``Item 1A``, ``3.2``) or by its title. What is left of a question after its request and
the file's name says whether it wants the whole document: nothing is left then.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.retrieval.kind_signals import normalised
from clew.retrieval.kind_titles import Parts, parts_of, shared_parts, topic_of
from clew.text.everyday_english import FUNCTION_WORDS
from clew.text.language import HAN
from clew.text.tokenizing import query_terms
from clew.types import File, Section

_ALIKE = 0.8
"""Share of the best file's score from which another one is named as well."""
_COMMON = 0.5
"""Words that more than this share of the files have name none of them."""
_TITLE_SHARE, _TOPIC_SHARE = 0.5, 0.75
"""How much of a title the question has to say, and how much of the question's topic a title has to cover."""
_SHARED_RUN = 4
_FILLER = re.compile("公司|主要|报告期内?|[的与和及之、，,（）()\\s]")
"""What titles and questions have in common without being about the same."""
_TITLE_NUMBER = re.compile(
    "^(?:第[一二三四五六七八九十百\\d]+[章节節部分篇条]+|[(（]?[一二三四五六七八九十\\d.]+[)）、.．]?)"
)
_HAN_RUN = re.compile(f"[{HAN}]+")
_LITERAL = 4
"""Characters of a title that names its section by standing in the question as it is."""
_WHOLE = re.compile(
    r"年度?报告?|[年季]报|半年度?|摘要|报告书?|文件|文档|资料|材料|文章|论文|合同|[整全](?:[份篇个本]|文|部)|书|看点|亮点|核心"
    r"|\d{4}\s*年?|\b(?:whole|entire|full|overall|annual|quarterly|files?|documents?|papers?|reports?|filings?|articles?"
    r"|10-[kq]|contracts?|texts?|pdf|fiscal|year|all|everything|highlights?|gist|this|that|these)\b|\b\d{4}\b",
    re.IGNORECASE,
)
_NUMBER_KINDS = ("章", "节", "節", "部分", "篇", "编", "編", "条", "條", "chapter", "section", "part", "article")
_CHAPTER_KINDS = ("章", "节", "節", "部分", "chapter", "section", "part")
_DECIMAL = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,3})+)(?![\d.%])")
_LEADING_DECIMAL = re.compile(r"^\s*(\d{1,3}(?:\.\d{1,3})*)(?![\d%])[.、．:\s]?")


@dataclass(frozen=True, slots=True)
class NamedSection:
    """A section that a question names; ``by`` says how: ``number``, ``title`` or ``order`` (the third of the upper
    level, where titles carry no numbers)."""

    section: Section
    by: str
    score: float


def named_files(question: str, files: Sequence[File]) -> list[File]:
    """The files that a question names, best first; none where it names no file, or there is only one."""
    if len(files) < 2:
        return []
    terms = {file.file_id: _file_terms(file) for file in files}
    frequency = Counter(term for found in terms.values() for term in found)
    asked = set(query_terms(question))
    scores = {
        file.file_id: sum(
            math.log(len(files) / frequency[term])
            for term in asked & terms[file.file_id]
            if frequency[term] <= max(1.0, _COMMON * len(files))
        )
        for file in files
    }
    best = max(scores.values())
    if best <= 0:
        return []
    named = [file for file in files if scores[file.file_id] >= _ALIKE * best]
    return sorted(named, key=lambda file: -scores[file.file_id])


def asks_for_whole(question: str, files: Iterable[File]) -> bool:
    """Whether nothing is left of the question's topic beside the names of files and words for a document."""
    topic = topic_of(question)
    names = set().union(*(_file_terms(file) for file in files))
    left = set(query_terms(_WHOLE.sub(" ", topic))) - names - FUNCTION_WORDS
    return not any(len(term) > 1 for term in left)


def named_sections(question: str, sections: Sequence[Section], file: File) -> list[NamedSection]:
    """The sections of one file that a question names, best first; sections below a named one are left out.

    A number of another kind scores so much lower that 第二章 in one file leaves out *Section 2* of another.
    """
    found = (
        _by_number(question, sections) or _by_title(question, sections, file) or _by_shared_words(question, sections)
    )
    return _without_nested(sorted(found, key=lambda named: (-named.score, named.section.level, named.section.path)))


def _by_number(question: str, sections: Sequence[Section]) -> list[NamedSection]:
    asked = parts_of(question).numbers
    decimals = set(_DECIMAL.findall(question))
    numbered = [(section, *_numbers_of(section.title)) for section in sections if section.path]
    exact = [s for s, numbers, _ in numbered if numbers & asked]
    if exact:
        return [NamedSection(section, "number", 1.0) for section in exact]
    plain = {n.split()[0] if n[0].isdigit() else n.split()[1] for n in asked if _kind(n) in _NUMBER_KINDS} | decimals
    found = [s for s, _, leading in numbered if leading and leading in plain and ("." in leading or s.level <= 2)]
    if found:
        return [NamedSection(section, "number", 0.75) for section in found]
    # A report's upper units may be called 节 where people say 章; and titles may carry no numbers at all.
    chapters = {n.split()[0] if n[0].isdigit() else n.split()[1] for n in asked if _kind(n) in _CHAPTER_KINDS}
    loose = [
        s for s, numbers, _ in numbered if any(_kind(n) in _CHAPTER_KINDS and _value(n) in chapters for n in numbers)
    ]
    if loose:
        level = min(section.level for section in loose)
        return [NamedSection(section, "number", 0.7) for section in loose if section.level == level]
    if any(numbers or leading for _, numbers, leading in numbered):
        return []
    upper = upper_sections(sections)
    places = [int(value) for value in chapters if value.isdigit()]
    return [NamedSection(upper[place - 1], "order", 0.65) for place in places if 0 < place <= len(upper)]


def _by_title(question: str, sections: Sequence[Section], file: File) -> list[NamedSection]:
    topic = parts_of(topic_of(question)).without(parts_of(f"{file.title} {file.name}"))
    whole = parts_of(topic_of(question))
    said, about = normalised(question).lower(), normalised(f"{file.title} {file.name}").lower()
    found = []
    for section in sections:
        if not section.path or not section.title.strip():
            continue
        title = normalised(section.title).lower()
        score = max(_title_score(topic, section.title), _title_score(whole, section.title))
        if len(title) >= _LITERAL and title in said and title not in about:
            score = 1.0
        if score:
            found.append(NamedSection(section, "title", score))
    best = max((named.score for named in found), default=0.0)
    return [named for named in found if named.score >= _ALIKE * best]


def _by_shared_words(question: str, sections: Sequence[Section]) -> list[NamedSection]:
    """Sections whose title shares its longest run of Chinese words with the question: 经营情况 is asked of the section
    经营情况讨论与分析."""
    asked = _FILLER.sub("", normalised(question))
    found = []
    for section in sections:
        title = _FILLER.sub("", _TITLE_NUMBER.sub("", normalised(section.title)))
        shared = _longest_run(asked, title) if section.path and len(title) >= _SHARED_RUN else 0
        if shared >= _SHARED_RUN and shared >= _TITLE_SHARE * len(title):
            found.append(NamedSection(section, "title", round(shared / len(title) * _ALIKE, 4)))
    best = max((named.score for named in found), default=0.0)
    return [named for named in found if named.score >= _ALIKE * best]


def _longest_run(text: str, title: str) -> int:
    """Han characters of the longest piece of a title that stands in a text."""
    longest = 0
    for run in _HAN_RUN.findall(title):
        for start in range(len(run)):
            while run[start : start + longest + 1] in text and start + longest < len(run):
                longest += 1
    return longest


def _title_score(topic: Parts, title: str) -> float:
    """How well a title is what the topic says, in [0, 1]; 0 where either says much that the other does not."""
    of_topic, of_title = shared_parts(topic, title)
    return of_topic * of_title if of_topic >= _TOPIC_SHARE and of_title >= _TITLE_SHARE else 0.0


def upper_sections(sections: Sequence[Section]) -> list[Section]:
    """The sections of the first level that has several: a document's title may be its only section of level 1."""
    by_level: dict[int, list[Section]] = {}
    for section in sections:
        if section.path:
            by_level.setdefault(section.level, []).append(section)
    for level in sorted(by_level):
        if len(by_level[level]) > 1:
            return by_level[level]
    return by_level[max(by_level)] if by_level else []


def _without_nested(named: Sequence[NamedSection]) -> list[NamedSection]:
    kept: list[NamedSection] = []
    for candidate in named:
        path = candidate.section.path
        if not any(path.startswith(k.section.path) or k.section.path.startswith(path) for k in kept):
            kept.append(candidate)
    return kept


def _numbers_of(title: str) -> tuple[frozenset[str], str]:
    """Numbers with their kind, and the bare number that the title begins with."""
    leading = _LEADING_DECIMAL.match(title)
    return parts_of(title).numbers, leading[1] if leading else ""


def _kind(number: str) -> str:
    """``3 章`` → ``章``; ``item 1a`` → ``item``."""
    first, _, last = number.partition(" ")
    return last if first.isdigit() else first


def _value(number: str) -> str:
    first, _, last = number.partition(" ")
    return first if first.isdigit() else last


def _file_terms(file: File) -> frozenset[str]:
    facts: Mapping[str, object] = file.facts
    text = " ".join([file.title, re.sub(r"[_\W]+", " ", file.name), *map(str, facts.values())])
    return frozenset(query_terms(text))
