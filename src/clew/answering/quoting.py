"""The answer without a language model: the sentences and table rows that answer best, quoted and cited.

Each sentence or row of the evidence is scored by the share of the question's rare terms that it and its context
(table header, section title) cover, by its similarity to the question, and by whether it holds a figure where one
is asked for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from clew.answering.pieces import Piece, cells_of, has_figure, pieces_of
from clew.text.tokenizing import query_terms, tokenize
from clew.types import Evidence, FloatArray

Embed = Callable[[list[str]], FloatArray]

_ASKS_SHARE = re.compile(
    r"百分|比例|比重|占比|[^频效机概]率|多大比|\b(?:percent(?:age)?|share|proportion|ratio|margin|rate)\b", re.I
)
_ASKS_DATE = re.compile(
    r"何时|何年|哪[一]?[年天日月]|什么时[候间]|几[年月日号]|\b(?:when|what (?:year|date|day|month)|which year)\b", re.I
)
_ASKS_FIGURE = re.compile(
    r"多少|几[个家名人次位项]|多[大高长重]|第几|金额|总额"
    r"|\bhow (?:much|many|large|high|old|long)\b|\bwhat (?:amount|number)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\d\s*[%％‰]|百分之|\d (?:percent|per cent)\b")
_DATE = re.compile(
    r"(?:19|20)\d\d\s*(?:年|[./-]\s*\d{1,2})|\b(?:1\d|20)\d\d\b|\d\s*[月日]"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.I,
)
_ASKS_RANK = re.compile(
    r"第([一二三四五1-5])(?=大|名|位)|最大|首位|\b(?:the )?(second|third|fourth|fifth)?[ -]?(?:largest|biggest)\b", re.I
)
_RANKS = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_TOTAL_ROW = re.compile(r"^\W*(?:total\b|sum\b|合\s*计|总\s*计|总\s*额)", re.IGNORECASE)
_ASKS_TOTAL = re.compile(r"总共|一共|总计|合计|总数|\b(?:in total|altogether|total)\b", re.IGNORECASE)
_NAMES_TOTAL = re.compile(r"合计|总计|总数|总额|共计|\btotal\b", re.IGNORECASE)
_ENCODED = 32
# Similarities of e5 lie close together: what counts is the distance to the best, hence the large factor. What a table
# row is about stands mostly in its header and title, so these count for it almost as much as its own words.
_SIMILAR = 4.0
_PROSE_CONTEXT, _ROW_CONTEXT = 0.35, 0.8
_FIGURE_BONUS, _TOTAL_BONUS, _RANK_BONUS, _RANK = 0.12, 0.1, 0.15, 0.03
_LABEL = 0.15
_MAX_QUOTE_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence or table row of the evidence, with the header of its table where it has one."""

    number: int
    text: str
    header: str
    score: float

    def __str__(self) -> str:
        return f"{self.header}\n{self.text}" if self.header else self.text


def best_quotes(
    question: str, query_vector: FloatArray | None, evidence: Sequence[Evidence], embed: Embed, *, limit: int = 3
) -> list[Quote]:
    """The ``limit`` best sentences or rows, best first; [] where the evidence is empty.

    ``query_vector`` has shape ``(dimension,)``; without it only words count. ``embed`` gives vectors of shape
    ``(n, dimension)`` for passages.
    """
    pieces = [piece for i, e in enumerate(evidence) for piece in pieces_of(i, e.text)]
    if not pieces:
        return []
    fits = _fits(question)
    lexical = _lexical_scores(question, pieces, evidence)
    before = [score + fits(piece) - _RANK * piece.evidence for score, piece in zip(lexical, pieces, strict=True)]
    order = sorted(range(len(pieces)), key=lambda i: -before[i])[:_ENCODED]
    scores = {i: before[i] for i in order}
    if query_vector is not None:
        texts = [_with_context(pieces[i], evidence[pieces[i].evidence]) for i in order]
        similarity = embed(texts) @ query_vector
        for i, value in zip(order, similarity - np.max(similarity), strict=True):
            scores[i] += _SIMILAR * float(value)
    return _distinct(sorted(order, key=lambda i: (-scores[i], i)), pieces, scores, evidence, limit)


def _distinct(
    order: Sequence[int], pieces: Sequence[Piece], scores: dict[int, float], evidence: Sequence[Evidence], limit: int
) -> list[Quote]:
    quotes: list[Quote] = []
    seen: set[str] = set()
    for i in order:
        piece = pieces[i]
        key = re.sub(r"\W+", "", piece.text)
        if key in seen:
            continue
        seen.add(key)
        text = piece.text[:_MAX_QUOTE_CHARACTERS]
        quotes.append(Quote(evidence[piece.evidence].number, text, piece.header, scores[i]))
        if len(quotes) == limit:
            break
    return quotes


def _fits(question: str) -> Callable[[Piece], float]:
    """How well the form of a piece fits what is asked for: a share, a date, a figure, a place in a ranking."""
    share, date = bool(_ASKS_SHARE.search(question)), bool(_ASKS_DATE.search(question))
    figure = not share and not date and bool(_ASKS_FIGURE.search(question))
    rank, total = _rank_asked(question), bool(_ASKS_TOTAL.search(question))

    def score(piece: Piece) -> float:
        value = 0.0
        if (
            (share and _holds_share(piece))
            or (date and _DATE.search(piece.text))
            or (figure and has_figure(piece.text))
        ):
            value += _FIGURE_BONUS
        if (share or figure) and piece.is_row and _TOTAL_ROW.search(piece.text):
            value += _TOTAL_BONUS
        if total and _NAMES_TOTAL.search(piece.label or piece.text):
            value += _TOTAL_BONUS
        if rank and piece.is_row and cells_of(piece.text)[0] == str(rank):
            value += _RANK_BONUS
        return value

    return score


def _holds_share(piece: Piece) -> bool:
    """Whether a piece holds a percentage, or is a row whose header or caption says that its figures are some."""
    around = f"{piece.header}\n{piece.caption}\n{piece.label}"
    return bool(_SHARE.search(piece.text)) or (
        piece.is_row and bool(re.search(r"[%％]", around)) and has_figure(piece.text)
    )


def _rank_asked(question: str) -> int:
    """1 for the largest, 2 for the second largest …; 0 where no place in a ranking is asked for."""
    match = _ASKS_RANK.search(question)
    if not match:
        return 0
    name = (match[1] or match[2] or "").lower()
    return int(name) if name.isdigit() else _RANKS.get(name, 1)


def _with_context(piece: Piece, evidence: Evidence) -> str:
    titles = " > ".join(evidence.section_titles[-2:])
    return "\n".join(part for part in (titles, piece.caption, piece.header, piece.text) if part)


def _lexical_scores(question: str, pieces: Sequence[Piece], evidence: Sequence[Evidence]) -> list[float]:
    terms = set(query_terms(question))
    token_sets = [set(tokenize(p.text)) for p in pieces]
    frequency = Counter(term for tokens in token_sets for term in tokens & terms)
    n = len(pieces)
    weight = {term: math.log(1 + (n - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in terms}
    total = sum(weight.values()) or 1.0
    # What names the file was said by the choice of the file: a sentence that repeats it does not answer better.
    files = [set(tokenize(f"{e.file_title} {e.file_name}")) & terms for e in evidence]
    titles = [set(tokenize(" ".join(e.section_titles))) & terms for e in evidence]
    scores = []
    for piece, tokens in zip(pieces, token_sets, strict=True):
        named = files[piece.evidence]
        own = sum(weight[t] for t in (terms & tokens) - named)
        around = titles[piece.evidence] | (terms & set(tokenize(f"{piece.caption} {piece.header}")))
        context = sum(weight[t] for t in around - tokens - named)
        # A long sentence covers terms by chance.
        length = 1.0 / (1.0 + max(0, len(piece.text) - 200) / 600)
        share = _ROW_CONTEXT if piece.is_row else _PROSE_CONTEXT
        score = (own * length + share * context + sum(weight[t] for t in named)) / total
        scores.append(score + _LABEL * _label_precision(piece, terms | named))
    return scores


def _label_precision(piece: Piece, terms: set[str]) -> float:
    """The share of a row's label that the question names: of two rows that both hold the question's words, the one
    that says nothing else is meant."""
    label = set(query_terms(piece.label)) if piece.is_row else set()
    return len(label & terms) / len(label) if label else 0.0
