"""Sentences of Chinese and English text, as spans of code points.

A line never shares a sentence with the next one: list items, table rows and headings stand on lines of their own, and
parsers have joined the lines of a paragraph already. Time is linear in the length of the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.text.language import HAN

Span = tuple[int, int]

_CLOSERS = "\"'”’」』】）)\\]〕》〉»"
# What may end a sentence, with the quotes and brackets that close after it.
_END = re.compile(f"([。｡！？!?…．.]+)([{_CLOSERS}]*)")
_WIDE = frozenset("。｡！？")
_HAN = re.compile(f"[{HAN}\u3040-\u30ff]")
# After one of these the sentence goes on: “好！”，他说.
_GOES_ON = frozenset("，、,;；:：—-~")
_OPENERS = "\"'“‘「『【（([〔《〈«"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name or a number follows.
_TITLES = _words(
    """
    mr mrs ms dr prof gen col capt lt sgt rep sen gov hon rev st mt messrs vs cf viz e.g i.e eg ie al approx
    est dept univ no nos fig figs eq eqs sec secs ch vol vols pp p para paras art arts ref refs ed eds tab
    """
)
# Often inside a sentence, sometimes its end; it is the end where a word follows that usually begins one.
_ABBREVIATIONS = _words(
    """
    inc corp co ltd plc llc bros etc jr sr u.s u.k u.n u.s.a a.m p.m d.c ph.d b.a m.a b.sc m.sc jan feb mar
    apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd rd
    """
)
_STARTERS = _words(
    """
    the a an this that these those it its he she they we you i his her their our in on at by for from with
    after before during since while when where if as although however but and so then there here no yes not
    what who why how
    """
)
_TOKEN = re.compile(r"[A-Za-z][A-Za-z.]*$")
_NEXT_WORD = re.compile(r"[A-Za-z]+")
_LIST_NUMBER = re.compile(r"[(（]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})(?:\.\d{1,3}){0,5}$")
# No abbreviation is longer; bounds the look behind each full stop.
_LOOK_BEHIND = 16


def sentence_spans(text: str) -> list[Span]:
    """Spans ``(start, end)`` of the sentences of ``text``, in order and without overlap.

    They begin and end with a non-space character and together hold every one there is. A line with cells (`` | `` or
    tabs between them) is one sentence.
    """
    spans: list[Span] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        start = 0
        for end in (*_ends(line), len(line)):
            piece = line[start:end]
            stripped = piece.strip()
            if stripped:
                left = offset + start + len(piece) - len(piece.lstrip())
                spans.append((left, left + len(stripped)))
            start = end
        offset += len(line)
    return spans


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text`` themselves."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _ends(line: str) -> Iterator[int]:
    """Offsets in ``line`` after which a new sentence begins."""
    body = line.strip()
    if " | " in body or "\t" in body or body.startswith("|"):
        return
    start = len(line) - len(line.lstrip())
    for match in _END.finditer(line):
        if _is_end(line, start, match):
            start = match.end()
            yield start


def _is_end(line: str, start: int, match: re.Match[str]) -> bool:
    marks, end = match[1], match.end()
    following = line[end : end + 1]
    if following in _GOES_ON and following:
        return False
    if _WIDE.intersection(marks):
        return True
    if following and not following.isspace() and not _HAN.match(following) and following not in _OPENERS:
        return False  # 3.14, 1.2.3, example.com, file.txt
    if not following:
        return True
    if marks == "." or marks == "．":
        return _full_stop_ends(line, start, match.start(), end)
    if "!" in marks or "?" in marks:
        return not _next_is_lower(line, end)
    # An ellipsis: a Chinese one ends a sentence, an English one where a capital follows.
    return bool(_HAN.match(following)) or not _next_is_lower(line, end)


def _full_stop_ends(line: str, start: int, stop: int, end: int) -> bool:
    before = line[max(start, stop - _LOOK_BEHIND) : stop]
    if stop - start <= _LOOK_BEHIND and _LIST_NUMBER.fullmatch(before.strip()):
        return False  # "1. First item"
    if _next_is_lower(line, end):
        return False
    token = _TOKEN.search(before)
    if not token:
        return True
    word = token[0].lower()
    following = _NEXT_WORD.match(line[end : end + 2 * _LOOK_BEHIND].lstrip().lstrip(_OPENERS))
    starts = following is not None and following[0].lower() in _STARTERS
    if word in _TITLES:
        # "No. 5" goes on, "Did he say no. The …" does not.
        return word in ("no", "p") and starts
    if word in _ABBREVIATIONS or len(word) == 1 or ("." in word and len(word) <= 6):
        return starts
    return True


def _next_is_lower(line: str, end: int) -> bool:
    return line[end : end + _LOOK_BEHIND].lstrip().lstrip(_OPENERS)[:1].islower()
