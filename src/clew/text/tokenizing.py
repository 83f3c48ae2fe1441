"""Terms for BM25: the same segmentation for what is indexed and for what is asked.

``tokenize`` gives everything by which a passage may be found; ``query_terms`` gives those of a question's terms that
say something, and nothing that ``tokenize`` would not give for the same text.

Chinese is cut into dictionary words (rjieba, search mode), traditional characters counting as their simplified ones.
Beside them stand the pairs of neighbouring characters, so that names and words in no dictionary and cuts that differ
between question and passage are found, and the single characters. Codes and numbers are kept whole beside their parts,
also in unspaced Chinese.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

import rjieba

from clew.text.language import HAN
from clew.text.simplified import to_simplified

VERSION = 1
"""Raise it whenever :func:`tokenize` gives something else for a text: indexes that were built before do not match what
is asked since, and are built again (``clew doctor --deep --repair``)."""

_MAX_TERM = 64
"""Longer terms are cut off; nobody asks for them in full."""
_MAX_RUN = 2_000
"""Han characters that are segmented at once; real text has punctuation long before."""

_LETTER = f"[^\\W_{HAN}]"
_RUN = re.compile(f"([{HAN}]+)|{_LETTER}+(?:[._/\\-+&'@#,:]{_LETTER}+)*(?:%|\\+\\+|#)?")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?%?")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_ACRONYM = re.compile(r"[a-z](?:\.[a-z])+")
_CONNECTOR = re.compile(r"[._/\-+&@#:]")
_PART = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_DIGIT = re.compile(r"\d")
_ACCENTED = re.compile("[\u00c0-\u052f\u1e00-\u1fff]")
_ACCENT = re.compile("[\u0300-\u036f]+")
# The full-width comma separates numbers in Chinese text; NFKC would make thousands of them. Other characters here are
# apostrophes and hyphens that NFKC leaves apart.
_BEFORE_NFKC = str.maketrans({"，": " ", "’": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-", "−": "-", "\u00ad": None})

# As the stemmer leaves them: "does" becomes "doe".
_ENGLISH_STOPWORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could did do
    doe during each for from had has have he her here hers him his how i if in into is it its itself may me might more
    most must my no not of on or other our out over own shall she should so some such than that the their them then
    there these they this those through to too under up very was we were what when where which while who whom whose why
    will with would you your
    """.split()  # noqa: SIM905
)


_HAN_STOPWORDS = frozenset("什么 多少 哪些 哪个 哪里 哪年 如何 怎么 怎样 为何 何时 是否 以及 几个".split())  # noqa: SIM905
_HAN_FUNCTION = frozenset("的是了在和与及或等之为以于吗呢么而且也都就还又这那其该")
"""Characters that say nothing on their own, nor in a pair that is no word."""
_CONNECTING_HAN = _HAN_FUNCTION | frozenset("由被所曾个")


def tokenize(text: str) -> list[str]:
    """Terms of ``text``, lower case, without white space, each at most 64 characters; a term occurs as often as the
    text has it. Never raises."""
    terms: list[str] = []
    for han, other in _runs(text):
        if han:
            words = _words(han)
            terms += words
            terms += _pairs(han, words)
            terms += han
        else:
            terms += _other_terms(other)
    return terms


def query_terms(text: str) -> list[str]:
    """Distinct terms to search with: those of :func:`content_terms`, unless there are none. Never raises."""
    return content_terms(text) or list(dict.fromkeys(tokenize(text)))


def content_terms(text: str) -> list[str]:
    """``tokenize`` without function words, question words and the single characters inside words, each term once."""
    terms: dict[str, None] = {}
    for han, other in _runs(text):
        if han:
            words = [word for word in rjieba.cut(han) if len(word) > 1 or word not in _HAN_FUNCTION]
            words += _words(han)
            terms.update((word, None) for word in words if word not in _HAN_STOPWORDS)
            terms.update((pair, None) for pair in _pairs(han, words) if _HAN_FUNCTION.isdisjoint(pair))
        else:
            terms.update((term, None) for term in _other_terms(other) if term not in _ENGLISH_STOPWORDS)
    return list(terms)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of ``text`` stand, in order: dictionary words of Chinese, runs of letters and digits."""
    spans: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        if match[1] is None:
            spans.append(match.span())
            continue
        at = match.start()
        for word in rjieba.cut(to_simplified(match[1])):
            spans.append((at, at + len(word)))
            at += len(word)
    return spans


def only_connects(word: str) -> bool:
    """Whether a Chinese word says nothing but how others belong together (的, 由, 以及)."""
    return _CONNECTING_HAN.issuperset(to_simplified(word))


def _runs(text: str) -> Iterator[tuple[str, str]]:
    """Runs of Han characters (first place) and runs of letters and digits with connectors (second place)."""
    for match in _RUN.finditer(_normalised(text)):
        han = match[1]
        if han:
            for start in range(0, len(han), _MAX_RUN):
                yield han[start : start + _MAX_RUN], ""
        else:
            yield "", match[0]


def _normalised(text: str) -> str:
    text = to_simplified(unicodedata.normalize("NFKC", text.translate(_BEFORE_NFKC)).lower())
    if _ACCENTED.search(text):
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    return text


def _words(han: str) -> list[str]:
    """Words of two and more characters, and the shorter words inside long ones."""
    return [word[:_MAX_TERM] for word in rjieba.cut_for_search(han) if len(word) > 1]


def _pairs(han: str, words: Iterable[str]) -> list[str]:
    """Pairs of neighbours that are none of the words."""
    known = set(words)
    return [pair for pair in map("".join, pairwise(han)) if pair not in known]


def _other_terms(run: str) -> Iterable[str]:
    """Terms of a run of letters and digits with connectors: a word, a number, a code."""
    if run.isalpha():
        return (stem(run[:_MAX_TERM]),)
    if _THOUSANDS.fullmatch(run):
        run = run.replace(",", "")
    terms: list[str] = []
    for piece in run.split(","):
        _add_piece(piece, terms)
    return [term[:_MAX_TERM] for term in terms]


def _add_piece(piece: str, terms: list[str]) -> None:
    bare = piece.rstrip("%+#")
    if bare != piece:
        terms.append(piece)
    bare = bare.removesuffix("'s").replace("'", "")
    if not bare:
        return
    if _NUMBER.fullmatch(bare):
        terms.append(bare)
        return
    if _ACRONYM.fullmatch(bare):
        terms.append(bare.replace(".", ""))
        return
    parts = [part for part in _CONNECTOR.split(bare) if part]
    if len(parts) > 1 and (_DIGIT.search(bare) or min(map(len, parts)) <= 2):
        terms.append(bare)
    for part in parts:
        if part.isalpha():
            terms.append(stem(part))
        elif part.isdigit():
            terms.append(part[1:] if len(part) == 2 and part[0] == "0" and len(parts) > 1 else part)
        else:
            terms.append(part)
            terms.extend(_PART.findall(part))


def stem(word: str) -> str:
    """An English word without its plural ending; other words as they are."""
    if len(word) <= 3 or word[-1] != "s" or word[-2] in "sui":
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
