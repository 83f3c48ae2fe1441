"""Which passages go on: relevant ones that say something the others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clew.trace import StageTrace
from clew.types import Candidate, FloatArray

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class DiversityLimits:
    """``places`` that go on at most; above ``threshold`` (a cosine) two passages are near-duplicates; ``relevance`` is
    the weight of the score against the similarity to what was chosen before, in [0, 1]."""

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
    where they stand. A near-duplicate of a better candidate is dropped, unless it brings a number that the other has
    not: two years' reports differ in nothing else. ``vectors`` (length 1) and ``texts`` are by chunk id; a candidate
    without a vector is like no other. The best of each round always goes on.
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
    numbers = {candidate.chunk_id: set(_NUMBER.findall(texts.get(candidate.chunk_id, ""))) for candidate in candidates}
    for candidate in candidates:
        twin = None
        if candidate.chunk_id in vectors and candidate.chunk_id not in protected:
            twin = next(
                (
                    other
                    for other in kept
                    if other.chunk_id in vectors
                    and float(vectors[other.chunk_id] @ vectors[candidate.chunk_id]) > threshold
                    and numbers[candidate.chunk_id] <= numbers[other.chunk_id]
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
