"""The sentences that say best what a text is about, chosen without any model.

A sentence is central where it shares much with all the others: the cosine of its terms, each weighted by how few
sentences have it, with the sum over all sentences. What opens a text or one of its parts is preferred, because authors
say first what follows; what repeats a chosen sentence is not, nor a part that was chosen from already. Labels, lines
that broke off and formulas that say nothing count less. Weights: ``benchmarks/summaries.py``, ``docs/summaries.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.text.language import HAN, count_words
from clew.text.tokenizing import query_terms

_OPENING, _PART_OPENING, _REACH = 0.8, 0.2, 5.0
"""How much the first sentence of the text, and of each part, is preferred, and after how many sentences a third of that
is left."""
_REDUNDANT, _SAME = 0.5, 0.8
"""What a sentence loses that repeats a chosen one; the cosine from which it is the same again."""
_CROWDED, _FAIR = 2.0, 0.5
"""What it loses for what its part has of the whole length beyond a fair share."""
_OVER = 1.1
"""Share of the length up to which a sentence may still be added."""
_FEW_WORDS, _SHORT_WORDS, _LONG_WORDS = 3.0, 6.0, 60.0
_SHORT_SHARE = 0.3
_SAYS = re.compile(f"[^\\W\\d_{HAN}]|[{HAN}]")
_FORM = re.compile("[□☐√✓☑■]|\\.{4,}|…{3,}|…\\s*\\d*$|_{4,}")
"""Ticks of forms, and the leaders of tables of contents."""
_ENDS = re.compile("[.!?。！？；;…][\"'”’」』)）]*$")
_LABEL_SHARE, _EMPTY_SHARE = 0.4, 0.4
_SAYS_NOTHING = re.compile(
    "不存在|报告期内?，?(?:公司)?未|[未没](?:有)?(?:发生|進行|进行|出现)|不适用|无异议|保证.{0,30}(?:真实|准确|完整)|(?:本|年度)报告(?:中|所|的|摘要)"
    "|注意投资风险|敬请|实质性?承诺|详见|参见"
    r"|\b(?:not applicable|does not purport|there (?:is|are|was|were|have been) no|forward-looking statements?"
    r"|incorporated (?:herein )?by reference|refer to (?:note|item|section)|pursuant to the requirements|check mark)\b",
    re.IGNORECASE,
)
"""Sentences that say that there is nothing to say, or speak about the document instead of its matter."""


def says_something(sentence: str) -> bool:
    """Whether a line is running text: not a row of figures, a tick box, or a line of a table of contents."""
    letters = len(_SAYS.findall(sentence))
    return letters >= 4 and letters >= 0.5 * len(re.sub(r"\s", "", sentence)) and not _FORM.search(sentence)


def says_little(sentence: str) -> bool:
    """Whether a line is a label, or a formula: that there is nothing to say, or about the document itself."""
    form = not _ENDS.search(sentence) or _FORM.search(sentence) or count_words(sentence) < _FEW_WORDS
    return bool(form or _SAYS_NOTHING.search(sentence))


def central_sentences(sentences: Sequence[str], words: float, *, parts: Sequence[int] | None = None) -> list[int]:
    """Indices, in reading order, of the central sentences, together about ``words`` words long; at least one.

    ``parts`` says which part of the text each sentence is of, as ascending numbers: no part may crowd out the others.
    """
    total = len(sentences)
    lengths = np.array([count_words(sentence) for sentence in sentences])
    if lengths.sum() <= words * _OVER:
        return list(range(total))
    part = np.zeros(total, dtype=np.int64) if parts is None else np.array(parts)
    matrix = _TermMatrix.of(sentences)
    central = matrix.cosines(matrix.sum())
    first_of_part = np.searchsorted(part, part)
    order = np.arange(total)
    score = central / max(float(central.max()), 1e-9)
    score += _OPENING * np.exp(-order / _REACH) + _PART_OPENING * np.exp(-(order - first_of_part) / _REACH)
    score *= np.array([_worth(sentence) for sentence in sentences])
    score *= np.where(lengths < _SHORT_WORDS, _SHORT_SHARE, 1.0) * np.minimum(1.0, _LONG_WORDS / np.maximum(lengths, 1))
    repeated = np.zeros(total)
    crowded = np.zeros(total)
    left = np.ones(total, dtype=bool)
    chosen: list[int] = []
    length = 0.0
    while length < words and left.any():
        best = int(
            np.argmax(
                np.where(left, score - _REDUNDANT * repeated - _CROWDED * np.maximum(0.0, crowded - _FAIR), -np.inf)
            )
        )
        left[best] = False
        if chosen and length + lengths[best] > words * _OVER:
            continue
        chosen.append(best)
        length += lengths[best]
        alike = matrix.cosines(matrix.row(best))
        left &= alike < _SAME
        repeated = np.maximum(repeated, alike)
        crowded += np.where(part == part[best], lengths[best] / words, 0.0)
    return sorted(chosen)


def _worth(sentence: str) -> float:
    """The share of its score that a sentence keeps: less for labels, broken lines, and formulas that say nothing."""
    worth = 1.0 if _ENDS.search(sentence) else _LABEL_SHARE
    return worth * (_EMPTY_SHARE if _SAYS_NOTHING.search(sentence) else 1.0)


@dataclass(frozen=True, slots=True)
class _TermMatrix:
    """Sentences × terms, rows of length 1, stored sparsely: entry ``i`` is ``values[i]`` in ``rows[i], terms[i]``."""

    shape: tuple[int, int]
    rows: NDArray[np.int64]
    terms: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _TermMatrix:
        vocabulary: dict[str, int] = {}
        rows: list[int] = []
        terms: list[int] = []
        for row, text in enumerate(texts):
            for term in query_terms(text):
                rows.append(row)
                terms.append(vocabulary.setdefault(term, len(vocabulary)))
        shape = (len(texts), max(1, len(vocabulary)))
        row_of, term_of = np.array(rows, dtype=np.int64), np.array(terms, dtype=np.int64)
        frequency = np.bincount(term_of, minlength=shape[1])
        values = np.log1p(len(texts) / frequency[term_of])
        norms = np.sqrt(np.bincount(row_of, values**2, minlength=shape[0]))
        return cls(shape, row_of, term_of, values / norms[row_of])

    def sum(self) -> NDArray[np.float64]:
        """The sum of all rows, of length 1."""
        whole = np.bincount(self.terms, self.values, minlength=self.shape[1])
        return whole / max(float(np.linalg.norm(whole)), 1e-9)

    def row(self, index: int) -> NDArray[np.float64]:
        own = self.rows == index
        return np.bincount(self.terms[own], self.values[own], minlength=self.shape[1]).astype(np.float64)

    def cosines(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each row with a vector of length 1."""
        return np.bincount(self.rows, self.values * vector[self.terms], minlength=self.shape[0]).astype(np.float64)
