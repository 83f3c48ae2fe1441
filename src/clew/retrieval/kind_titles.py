"""How far a question's topic is the title of a file or of a section in its scope (spec 3.3, step r2).

A question that, besides its request, names nothing but titles ("risk factors", "华锦股份 研发投入") wants what stands
under them. Containment is compared first: pairs of neighbouring Han characters, stems of other words, and section
numbers (``第三章``, ``Item 1A``). Vectors are compared only where the caller gives an embedder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import rjieba

from clew.retrieval.kind_signals import normalised
from clew.text.everyday_english import FUNCTION_WORDS
from clew.text.language import HAN
from clew.text.tokenizing import stem
from clew.types import FloatArray

EmbedTexts = Callable[[Sequence[str]], FloatArray]
"""Texts → L2-normalised vectors, shape ``(len(texts), dimension)``."""

MAX_TITLES = 5000
"""Of more titles only the first are compared: the files' own and the upper levels come first."""
MAX_VECTOR_TITLES = 64
"""Titles whose vectors are compared: those nearest by containment, then the first."""

_REQUEST_WORDS = re.compile(
    r"概括|[总總][结結]|概述|[归歸][纳納]|梳理|[综綜]述|[简簡]述|提[炼煉]|介[绍紹]|描述|[阐闡]述|[说說]明|[讲講]讲|说说|谈谈"
    r"|聊聊|分析|[评評][价價]|解[读讀]|列出|列举|汇总|主要[内內]容|[内內]容|大意|要点|重点|大概|大致|大体"
    r"|[讲講说說写寫谈談]了?(?:些|一些)?(?:什[么麼]|啥)|什[么麼]|哪些|如何|怎[么麼]样?|怎样|多少|情[况況]|状况|概况|详情"
    r"|方面|部分|章节|请问?|麻烦|能否|可以|帮我|给我|一下|简要|简单|具体|[这這](?:份|个|本)|本|该|其|[关關]于|[对對]于?|有"
    r"|没有|公司|的|了|是|在|和|与|及|以及|都|也|就|把|将|里面?|中|上|下|吗|呢|啊|吧|些|用|几|句话"
    r"|\b(?:summari[sz]e|summary|sum up|recap|overview|gist|outline|describe|description|explain|analy[sz]e|assess"
    r"|review|discuss(?:ed)?|list|give|tell|show|please|brief(?:ly)?|short|quick|key|main|major|points?|takeaways?"
    r"|contents?|document|report|section|chapter|part|says?|said|covers?|let|know|help|want|like|need|walk|talk|company|firm)\b",
    re.IGNORECASE,
)
"""What a question says beside its topic."""
_DIGIT = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_CHINESE_NUMBER = re.compile(
    r"第\s?([零〇一二两三四五六七八九十百\d]{1,6})\s?(章|节|節|部分|篇|编|編|卷|讲|講|回|条|條)"
)
_ENGLISH_NUMBER = re.compile(
    r"\b(item|chapter|section|part|appendix|annex|article|schedule|exhibit)\s+(\d+(?:\.\d+)*[a-c]?|[ivxl]+|[a-h])\b",
    re.IGNORECASE,
)
_LEADING_NUMBER = re.compile(r"^\s*(?:[(（]?[一二三四五六七八九十\d]{1,3}[)）、.．]|\d+(?:\.\d+)*\.?)\s*")
_HAN_RUN = re.compile(f"[{HAN}]+")
_WORD = re.compile(f"[^\\W_{HAN}]+")


@dataclass(frozen=True, slots=True)
class Parts:
    """A text for comparison: its section numbers, runs of Han characters, and stems of other words."""

    numbers: frozenset[str]
    runs: tuple[str, ...]
    stems: frozenset[str]

    @property
    def size(self) -> int:
        """In characters; a stem and a number count as two."""
        return 2 * len(self.numbers) + sum(map(len, self.runs)) + 2 * len(self.stems)

    @property
    def pairs(self) -> frozenset[str]:
        """Neighbouring Han characters."""
        return frozenset("".join(pair) for run in self.runs for pair in pairwise(run))

    def without(self, other: Parts) -> Parts:
        """What the other one has not: its stems, and runs without the characters that lie in its pairs."""
        marked = _marked(self.runs, other.pairs)
        runs = [
            "".join(" " if f"@{number}.{place}" in marked else character for place, character in enumerate(run))
            for number, run in enumerate(self.runs)
        ]
        return Parts(self.numbers, tuple(part for run in runs for part in run.split()), self.stems - other.stems)


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """``similarity``: share of the topic that ``titles`` cover together; ``vector``: the highest cosine, or None."""

    similarity: float = 0.0
    titles: tuple[str, ...] = ()
    vector: float | None = None


def is_one_term(question: str) -> bool:
    """Whether the question is one word or name and nothing else ("Danube", "多瑙河"): it asks for no summary, so it is
    looked up, also where a section bears the name."""
    words = [word for word in _WORD.findall(question) if word.lower() not in FUNCTION_WORDS]
    return len(words) + sum(len(rjieba.cut(run)) for run in _HAN_RUN.findall(question)) == 1


def topic_of(question: str) -> str:
    """What a question is about, without its request and without section numbers."""
    return _REQUEST_WORDS.sub(" ", _numbers_kept_apart(normalised(question)))


def parts_of(text: str) -> Parts:
    """A text with its section numbers, for comparison."""
    whole = normalised(text)
    return _parts(_numbers_kept_apart(whole), whole)


def shared_parts(topic: Parts, title: str) -> tuple[float, float]:
    """Beside their numbers: the share of the topic that the title covers, and of the title that the topic covers."""
    parts = _title_parts(title)
    stems = 2 * len(topic.stems & parts.stems)
    of_topic = stems + len(_marked(topic.runs, parts.pairs))
    of_title = stems + len(_marked(parts.runs, topic.pairs))
    size, title_size = topic.size - 2 * len(topic.numbers), parts.size - 2 * len(parts.numbers)
    return (of_topic / size if size else 0.0), (of_title / title_size if title_size else 0.0)


def match_titles(question: str, titles: Sequence[str], *, embed: EmbedTexts | None = None) -> TitleMatch:
    """How far the question's topic is the title of something. Raises what ``embed`` raises."""
    topic = _parts(_REQUEST_WORDS.sub(" ", _numbers_kept_apart(normalised(question))), normalised(question))
    scored = sorted(
        ((covered, title) for title in dict.fromkeys(titles[:MAX_TITLES]) if (covered := _covered(topic, title))),
        key=lambda item: -len(item[0]),
    )
    similarity, best = _best_pair(topic, scored[:50])
    if embed is None or not titles:
        return TitleMatch(similarity, best)
    nearest = list(dict.fromkeys([*(title for _, title in scored), *titles]))[:MAX_VECTOR_TITLES]
    vectors = embed([question, *nearest])
    cosines = vectors[1:] @ vectors[0]
    first = int(np.argmax(cosines))
    return TitleMatch(similarity, best or (nearest[first],), round(float(np.clip(cosines[first], 0.0, 1.0)), 6))


def _best_pair(topic: Parts, scored: Sequence[tuple[frozenset[str], str]]) -> tuple[float, tuple[str, ...]]:
    """The share of the topic that one title, or two (a file's and a section's), cover; the fewest titles that do."""
    if not topic.size or not scored:
        return 0.0, ()
    best = _share(topic, scored[0][0])
    chosen: tuple[str, ...] = (scored[0][1],)
    for index, (covered, title) in enumerate(scored[:20]):
        for other, second in scored[index + 1 :]:
            share = _share(topic, covered | other)
            if share > best + 1e-9:
                best, chosen = share, (title, second)
    return round(best, 6), chosen


def _share(topic: Parts, covered: frozenset[str]) -> float:
    return sum(1 if unit.startswith("@") else 2 for unit in covered) / topic.size


def _covered(topic: Parts, title: str) -> frozenset[str]:
    """The units of the topic that the title has; empty where the topic has less than a third of the title."""
    parts = _title_parts(title)
    numbers = topic.numbers & parts.numbers
    stems = topic.stems & parts.stems
    characters = _marked(topic.runs, parts.pairs)
    if not numbers:
        back = 2 * len(stems) + len(_marked(parts.runs, topic.pairs))
        if not back or back < (parts.size - 2 * len(parts.numbers)) / 3:
            return frozenset()
    return frozenset(numbers | stems | characters)


def _marked(runs: Sequence[str], pairs: frozenset[str]) -> set[str]:
    """The positions, as ``@run.character``, that lie in one of the pairs."""
    marked: set[str] = set()
    for number, run in enumerate(runs):
        for position in range(len(run) - 1):
            if run[position : position + 2] in pairs:
                marked |= {f"@{number}.{position}", f"@{number}.{position + 1}"}
    return marked


@lru_cache(maxsize=20_000)
def _title_parts(title: str) -> Parts:
    text = normalised(title)
    return _parts(_numbers_kept_apart(_LEADING_NUMBER.sub("", text)), text)


def _numbers_kept_apart(text: str) -> str:
    return _ENGLISH_NUMBER.sub(" ", _CHINESE_NUMBER.sub(" ", text))


def _parts(rest: str, whole: str) -> Parts:
    numbers = {f"{_chinese_number(match[1])} {match[2]}" for match in _CHINESE_NUMBER.finditer(whole)}
    numbers |= {f"{match[1]} {match[2]}".lower() for match in _ENGLISH_NUMBER.finditer(whole)}
    words = (word.lower() for word in _WORD.findall(rest))
    stems = {stem(word) for word in words if word not in FUNCTION_WORDS and len(word) > 1}
    return Parts(frozenset(numbers), tuple(_HAN_RUN.findall(rest)), frozenset(stems))


def _chinese_number(text: str) -> int:
    """``12`` and ``十二`` alike; up to 999."""
    if text.isdigit():
        return int(text)
    total = current = 0
    for character in text:
        if character in "十百":
            total += (current or 1) * (10 if character == "十" else 100)
            current = 0
        else:
            current = current * 10 + _DIGIT.get(character, int(character) if character.isdigit() else 0)
    return total + current
