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

from clew.answering.asked import fit
from clew.answering.pieces import Piece, pieces_of
from clew.text.tokenizing import query_terms, tokenize
from clew.types import Evidence, FloatArray

Embed = Callable[[list[str]], FloatArray]

_ENCODED = 32
# Similarities of e5 lie close together: what counts is the distance to the best, hence the large factor. What a table
# row is about stands mostly in its header and titles, so these count for it almost as much as its own words.
_SIMILAR = 4.0
_PROSE_CONTEXT, _ROW_CONTEXT = 0.35, 0.8
_RANK, _LABEL = 0.02, 0.15
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
    fits = fit(question)
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
