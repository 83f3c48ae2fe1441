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

from clew.text.sentences import sentence_spans
from clew.text.tokenizing import query_terms, tokenize
from clew.types import Evidence, FloatArray

Embed = Callable[[list[str]], FloatArray]

_ASKS_FIGURE = re.compile(
    r"多少|几[个家名人次年月位项]|多大|多高|何时|哪[一]?[年天日]|比例|占比|金额|增长率|率是|"
    r"\b(?:how (?:much|many|large|high|old|long)|what (?:percentage|share|amount|year|date)|when)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")
_TOTAL_ROW = re.compile(r"^\W*(?:total\b|sum\b|合\s*计|总\s*计|总\s*额)", re.IGNORECASE)
_ENCODED = 32
# Similarities of e5 lie close together: what counts is the distance to the best, hence the large factor. What a table
# row is about stands mostly in its header and title, so these count for it almost as much as its own words.
_SIMILAR = 4.0
_PROSE_CONTEXT, _ROW_CONTEXT = 0.35, 0.8
_FIGURE_BONUS, _TOTAL_BONUS, _RANK = 0.12, 0.1, 0.03
_YEAR = re.compile(r"(?:19|20)\d\d\s*年?(?:度)?")
_MAX_HEADER_ROWS = 3
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


@dataclass(frozen=True, slots=True)
class _Piece:
    evidence: int
    text: str
    header: str
    position: int


def best_quotes(
    question: str, query_vector: FloatArray | None, evidence: Sequence[Evidence], embed: Embed, *, limit: int = 3
) -> list[Quote]:
    """The ``limit`` best sentences or rows, best first; [] where the evidence is empty.

    ``query_vector`` has shape ``(dimension,)``; without it only words count. ``embed`` gives vectors of shape
    ``(n, dimension)`` for passages.
    """
    pieces = [piece for i, e in enumerate(evidence) for piece in _pieces(i, e)]
    if not pieces:
        return []
    lexical = _lexical_scores(question, pieces, evidence)
    order = sorted(range(len(pieces)), key=lambda i: -lexical[i])[:_ENCODED]
    scores = {i: lexical[i] - _RANK * pieces[i].evidence for i in order}
    if query_vector is not None:
        texts = [_with_context(pieces[i], evidence[pieces[i].evidence]) for i in order]
        similarity = embed(texts) @ query_vector
        for i, value in zip(order, similarity - np.max(similarity), strict=True):
            scores[i] += _SIMILAR * float(value)
    if _ASKS_FIGURE.search(question):
        for i in order:
            scores[i] += _FIGURE_BONUS if _FIGURE.search(pieces[i].text) else 0.0
            scores[i] += _TOTAL_BONUS if pieces[i].header and _TOTAL_ROW.search(pieces[i].text) else 0.0
    return _distinct(sorted(order, key=lambda i: (-scores[i], i)), pieces, scores, evidence, limit)


def _distinct(
    order: Sequence[int], pieces: Sequence[_Piece], scores: dict[int, float], evidence: Sequence[Evidence], limit: int
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


def _pieces(index: int, evidence: Evidence) -> list[_Piece]:
    pieces = []
    header, in_table = "", False
    for position, (start, end) in enumerate(sentence_spans(evidence.text)):
        text = evidence.text[start:end].strip()
        is_row = " | " in text
        if is_row and not in_table:
            header, in_table = text, True
            continue
        if is_row and header.count("\n") < _MAX_HEADER_ROWS - 1 and not _is_data_row(text):
            header += f"\n{text}"
            continue
        in_table = is_row
        if _tokens_of_interest(text):
            pieces.append(_Piece(index, text, header if is_row else "", position))
    return pieces


def _is_data_row(row: str) -> bool:
    """Whether a table row holds figures other than years: the rows above the first such one are headers."""
    return any(_FIGURE.search(cell) and not _YEAR.fullmatch(cell.strip()) for cell in row.split(" | ")[1:])


def _tokens_of_interest(text: str) -> bool:
    return sum(ch.isalnum() for ch in text) >= 2


def _with_context(piece: _Piece, evidence: Evidence) -> str:
    titles = " > ".join(evidence.section_titles[-2:])
    return "\n".join(part for part in (titles, piece.header, piece.text) if part)


def _lexical_scores(question: str, pieces: Sequence[_Piece], evidence: Sequence[Evidence]) -> list[float]:
    terms = set(query_terms(question))
    token_sets = [set(tokenize(p.text)) for p in pieces]
    frequency = Counter(term for tokens in token_sets for term in tokens & terms)
    n = len(pieces)
    weight = {term: math.log(1 + (n - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in terms}
    total = sum(weight.values()) or 1.0
    contexts = [set(tokenize(" ".join([*e.section_titles, e.file_title]))) for e in evidence]
    scores = []
    for piece, tokens in zip(pieces, token_sets, strict=True):
        around = (contexts[piece.evidence] | set(tokenize(piece.header))) if piece.header else contexts[piece.evidence]
        own = sum(weight[t] for t in terms & tokens)
        context = sum(weight[t] for t in (terms & around) - tokens)
        # A long sentence covers terms by chance.
        length = 1.0 / (1.0 + max(0, len(piece.text) - 200) / 600)
        share = _ROW_CONTEXT if piece.header else _PROSE_CONTEXT
        scores.append((own * length + share * context) / total)
    return scores
