"""Headings that are recognised by their numbering and wording, where a format marks none (TXT, PDF, plain HTML).

``numbering_level`` ranks the usual schemes of Chinese and English documents. The ranks are absolute, so that
``第三章`` is always above ``一、``; a document rarely uses them all, so :func:`dense_levels` makes 1, 2, 3 … of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CN = "[〇○零一二三四五六七八九十百千两壹贰叁肆伍陆柒捌玖拾0-9０-９]"
_SPACE = r"[\s\u3000]*"

# Rank, pattern. What follows the number must not turn it into prose: "第三章规定…" is judged by its length and end.
_SCHEMES: Sequence[tuple[int, re.Pattern[str]]] = tuple(
    (rank, re.compile(pattern))
    for rank, pattern in (
        (1, rf"第{_SPACE}{_CN}{{1,6}}{_SPACE}(?:编|篇|部分|卷)(?![^\s\u3000：:]?[以的之为])"),
        (1, r"(?:PART|Part)\s+(?:[IVX]{1,6}|\d{1,2}|[A-Z])\b(?=[\s.:\u2013\u2014-]|$)"),
        (2, rf"第{_SPACE}{_CN}{{1,6}}{_SPACE}[章回](?![的之])"),
        (2, r"(?:CHAPTER|Chapter)\s+(?:[IVXLC]{1,7}|\d{1,3}|[A-Z])\b"),
        (2, r"(?:APPENDIX|Appendix|ANNEX|Annex)\s+(?:[IVX]{1,5}|\d{1,2}|[A-Z])\b(?=[\s.:\u2013\u2014-]|$)"),
        (2, rf"附{_SPACE}[录件](?:{_SPACE}{_CN}{{1,3}}|{_SPACE}[A-Z])?(?=[\s\u3000：:]|$)"),
        (3, rf"第{_SPACE}{_CN}{{1,6}}{_SPACE}节(?![的之])"),
        (3, r"(?:ITEM|Item)\s+\d{1,2}[A-C]?\b(?=[\s.:\u2013\u2014-]|$)"),
        (3, r"(?:SECTION|Section)\s+(?:\d{1,2}|[IVX]{1,5})\b(?=[\s.:\u2013\u2014-]|$)(?!\.\d)"),
        (4, r"(?:NOTE|Note)\s+\d{1,2}\s*[.:\u2013\u2014-](?=\s)"),
        (4, r"[一二三四五六七八九十〇零百]{1,4}[、．.](?![\d])"),
        (5, r"[（(][一二三四五六七八九十〇零百]{1,4}[）)]"),
        (9, r"\d{1,3}(?:[.．]\d{1,3}){3,5}(?!\d)(?![.．]\d)[.．、]?(?=[\s\u3000]|[^\W\d_a-z]|[《（(“\"])"),
        (8, r"\d{1,3}[.．]\d{1,3}[.．]\d{1,3}(?!\d)(?![.．]\d)[.．、]?(?=[\s\u3000]|[^\W\d_a-z]|[《（(“\"])"),
        (7, r"\d{1,2}[.．]\d{1,3}(?!\d)(?![.．]\d)[.．、]?(?=[\s\u3000]|[^\W\d_a-zA-Z%％]|[《（(“\"])"),
        (6, r"\d{1,3}(?:[、．]|\.(?!\d))(?![\d])"),
        (6, r"[0-9０-９]{1,2}[\s\u3000]+(?=[^\W\d_]{2})"),
        (10, r"[（(]\d{1,3}[）)]"),
        (10, r"\d{1,3}[）)]"),
        (11, r"[①-⑳⑴-⒇⒈-⒛㈠-㈩]"),
        (12, r"[（(]?[a-zA-Z][）)](?=[\s\u3000]|[^\W\da-z_])"),
        (12, r"[A-Z][.．、](?=[\s\u3000]|[^\W\da-zA-Z_])"),
    )
)

_ENDS_LIKE_SENTENCE = re.compile(r"[。；;！!，,、…]$|[^\W\d_]{2,}\.$")
_ENDS_OPEN = re.compile(r"[：:]$")
_SENTENCE_INSIDE = re.compile(r"[。；！？][^”」』）)\"]|[a-z]{2,}[.;!?]\s+[A-Z]")
_REFERENCE = re.compile(
    r"^(?:[详请参另如]?见|参照|依照|根据|按照|按|如|依据|see|refer to|as described in)"
    r"[\s\u3000]*[“”《「第\d一二三四五六七八九十]",
    re.I,
)
_UNITS_AFTER_NUMBER = re.compile(
    r"^[0-9０-９.,，]+[\s\u3000]*(?:年|月|日|时|分|秒|元|万|亿|千|百|个|名|人|股|次|家|项|倍|度|米|公里|吨|％|%"
    r"|million|billion|thousand|percent|years?|months?|days?)"
)
_TOC_LINE = re.compile(
    r"(?:[.．·…\u2026]{2,}|(?:[.．·…][\s\u3000]){3,}|-{4,}|_{4,})[\s\u3000.．·…]*[\divxIVX\-－—]{1,8}[\s\u3000]*$"
)
_TOC_TITLE = re.compile(r"^(?:目[\s\u3000]*[录錄次]|table of contents|contents|index)[\s\u3000]*$", re.I)

MAX_HEADING_CHARS = 120
# Leaders are looked for at the end of a line only: over a line of nothing but dots the pattern takes squared time.
_MAX_TOC_CHARS = 300


def numbering_level(text: str) -> int | None:
    """The rank of a line's numbering from 1 (``第一编``) to 12 (``a)``), or ``None`` where it has none.

    1 part · 2 chapter · 3 section, item · 4 ``一、`` · 5 ``（一）`` · 6 ``1.`` · 7 ``1.1`` · 8 ``1.1.1`` ·
    9 deeper · 10 ``（1）`` · 11 ``①`` · 12 ``a)``. Says nothing about whether the line is a heading: a numbered
    sentence has a rank too (:func:`is_heading_like`).
    """
    text = text.strip()
    if not text or _UNITS_AFTER_NUMBER.match(text):
        return None
    for rank, pattern in _SCHEMES:
        if pattern.match(text):
            return rank
    return None


def is_heading_like(text: str, *, numbered: bool | None = None) -> bool:
    """Whether a line may be a heading: short, one line, and not worded or ended like a sentence or a reference.

    ``numbered`` (default: looked up) allows a colon at the end and ``见`` inside.
    """
    text = text.strip()
    if not text or is_toc_line(text) or is_too_long_for_heading(text):
        return False
    if _ENDS_LIKE_SENTENCE.search(text) or _SENTENCE_INSIDE.search(text) or _REFERENCE.match(text):
        return False
    if numbered is None:
        numbered = numbering_level(text) is not None
    return numbered or not _ENDS_OPEN.search(text)


def is_sentence_like(text: str) -> bool:
    """Whether a text that is marked as a heading cannot be one: far too long, or long and ended like a sentence."""
    text = text.strip()
    weight = _weight(text)
    if weight > 2 * MAX_HEADING_CHARS:
        return True
    return weight > MAX_HEADING_CHARS / 2 and bool(re.search(r"[。；;，,]$|[^\W\d_]{2,}\.$", text))


def is_too_long_for_heading(text: str) -> bool:
    """Whether a line is longer than headings are (a Chinese character weighs two)."""
    return _weight(text) > MAX_HEADING_CHARS


def is_toc_line(text: str) -> bool:
    """Whether a line is an entry of a printed table of contents: dot leaders and a page number at its end."""
    return bool(_TOC_LINE.search(text[-_MAX_TOC_CHARS:]))


def is_toc_title(text: str) -> bool:
    """Whether a line is the title of a table of contents (``目录``, ``Contents``)."""
    return bool(_TOC_TITLE.match(text.strip()))


def dense_levels(ranks: Iterable[int]) -> dict[int, int]:
    """The ranks that occur, highest first, as heading levels 1, 2, 3 …"""
    return {rank: level for level, rank in enumerate(sorted(set(ranks)), start=1)}


def _weight(text: str) -> int:
    return sum(2 if ord(character) >= 0x2E80 else 1 for character in text[: 4 * MAX_HEADING_CHARS])
