"""Which passages go on: relevant ones that say something the others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clew.trace import StageTrace
from clew.types import Candidate, FloatArray

# Cosines of many encoders lie so close together that they alone cannot tell the same text from the same topic
# (docs/retrieval.md): so much of a passage's character triples must stand in the other one, too.
_SAME_TEXT = 0.8
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class DiversityLimits:
    """``places`` that go on at most; above ``threshold`` (a cosine) two passages may be near-duplicates; ``relevance``
    is the weight of the score against the similarity to what was chosen before, in [0, 1]."""

    places: int
    threshold: float
    relevance: float


def diversify(
    candidates: Sequence[Candidate],
    vectors: Mapping[str, FloatArray],
    texts: Mapping[str, str],
    limits: DiversityLimits,
) -> tuple[list[Candidate], StageTrace]:
    """The candidates that go on, in the order given.

    Maximal marginal relevance after Carbonell and Goldstein, SIGIR 1998, decides which go on; the given order decides
    where they stand. A near-duplicate of a better candidate (its vector and most of its text) is dropped, unless it
    brings a number that the other has not: two years' reports differ in nothing else. ``vectors`` (length 1) and
    ``texts`` are by chunk id; a candidate without a vector is like no other. The best of each round always goes on.
    """
    trace = StageTrace("mmr", candidates_in=len(candidates))
    kept_rounds = _best_of_rounds(candidates)
    distinct = _without_duplicates(candidates, vectors, texts, limits.threshold, kept_rounds, trace)
    chosen = _chosen(distinct, vectors, limits, kept_rounds)
    for candidate in distinct:
        if candidate.chunk_id not in chosen:
            reason = f"not among the {limits.places} that are most relevant and least alike"
            trace.dropped.append({"chunk_id": candidate.chunk_id, "reason": reason})
    kept = [candidate for candidate in distinct if candidate.chunk_id in chosen]
    trace.candidates_out = len(kept)
    trace.ranking = [{"chunk_id": c.chunk_id, "score": c.score, "similarity": chosen[c.chunk_id]} for c in kept]
    return kept, trace


@dataclass(frozen=True, slots=True)
class _Text:
    """What a passage says: its character triples and its numbers."""

    triples: frozenset[str]
    numbers: frozenset[str]

    @staticmethod
    def of(text: str) -> _Text:
        plain = "".join(text.split())
        return _Text(frozenset(plain[i : i + 3] for i in range(len(plain) - 2)), frozenset(_NUMBER.findall(text)))

    def is_said_by(self, other: _Text) -> bool:
        """Whether the other passage holds most of this one, and all its numbers."""
        if not self.numbers <= other.numbers:
            return False
        return len(self.triples & other.triples) >= _SAME_TEXT * len(self.triples)


def _best_of_rounds(candidates: Sequence[Candidate]) -> set[str]:
    best: dict[int, str] = {}
    for candidate in candidates:
        best.setdefault(candidate.round, candidate.chunk_id)
    return set(best.values())


def _without_duplicates(
    candidates: Sequence[Candidate],
    vectors: Mapping[str, FloatArray],
    texts: Mapping[str, str],
    threshold: float,
    protected: set[str],
    trace: StageTrace,
) -> list[Candidate]:
    kept: list[Candidate] = []
    seen = {candidate.chunk_id: _Text.of(texts.get(candidate.chunk_id, "")) for candidate in candidates}
    for candidate in candidates:
        own = seen[candidate.chunk_id]
        twin = None
        if candidate.chunk_id in vectors and candidate.chunk_id not in protected:
            twin = next(
                (
                    other
                    for other in kept
                    if other.chunk_id in vectors
                    and float(vectors[other.chunk_id] @ vectors[candidate.chunk_id]) > threshold
                    and own.is_said_by(seen[other.chunk_id])
                ),
                None,
            )
        if twin is None:
            kept.append(candidate)
        else:
            reason = f"says the same as {twin.chunk_id}"
            trace.dropped.append({"chunk_id": candidate.chunk_id, "reason": reason})
    return kept


def _chosen(
    candidates: Sequence[Candidate],
    vectors: Mapping[str, FloatArray],
    limits: DiversityLimits,
    protected: set[str],
) -> dict[str, float]:
    """The chosen ones' ids, each with its similarity to those chosen before it."""
    if not candidates:
        return {}
    relevance = _scaled([candidate.score for candidate in candidates])
    dimension = next((len(vector) for vector in vectors.values()), 1)
    matrix = np.stack([vectors.get(c.chunk_id, np.zeros(dimension, np.float32)) for c in candidates])
    closest = np.zeros(len(candidates), np.float32)
    left = list(range(len(candidates)))
    chosen: dict[str, float] = {}
    while left and len(chosen) < limits.places:
        due = [i for i in left if candidates[i].chunk_id in protected]
        gains = limits.relevance * relevance - (1 - limits.relevance) * closest
        best = max(due or left, key=lambda i: (gains[i], -i))
        chosen[candidates[best].chunk_id] = round(float(closest[best]), 4)
        left.remove(best)
        closest = np.maximum(closest, matrix @ matrix[best])
    return chosen


def _scaled(scores: Sequence[float]) -> FloatArray:
    values = np.asarray(scores, np.float32)
    low, high = float(values.min()), float(values.max())
    return np.ones_like(values) if high == low else (values - low) / (high - low)
