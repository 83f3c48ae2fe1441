"""Fits the weights of a convex combination to labelled questions, and says whether it beats fusion by ranks.

What is compared is nDCG@10 of the ranking of parents. A question's gain is measured with weights that were fitted to
the other half of the questions, both ways, so that every difference is a held-out one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError
from clew.evaluation.measures import group_ranks, ndcg_at
from clew.retrieval.fusion import Route, convex_combination, reciprocal_rank_fusion

NDCG_K = 10
MIN_QUESTIONS = 20
_BOOTSTRAP = 2000
_STARTS = 3
_STEPS = (0.2, 0.1, 0.05)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedRoutes:
    """One question: what each route found, and the groups of parents of each of which one has to be found."""

    routes: Sequence[Route]
    groups: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class FusionFit:
    """The outcome. ``weights`` are fitted to all questions; the measures are held-out means in [0, 1]."""

    weights: Mapping[str, float]
    questions: int
    rrf: float
    convex: float
    gain: float
    low: float
    """Lower end of the gain's 95 % interval (bootstrap over questions) …"""
    high: float
    """… and the upper one."""

    @property
    def is_better(self) -> bool:
        """Whether the gain is above zero beyond chance."""
        return self.low > 0


def fit_fusion(judged: Sequence[JudgedRoutes], *, rrf_k: int = 60, seed: int = 0) -> FusionFit:
    """Raises InputError for fewer than 20 questions."""
    if len(judged) < MIN_QUESTIONS:
        raise InputError(
            f"{len(judged)} labelled questions are too few to fit weights to and to check them; give at least "
            f"{MIN_QUESTIONS}."
        )
    random = np.random.default_rng(seed)
    first_half = random.permutation(len(judged)) % 2 == 0
    by_rank = np.array([_gain_of_ranks(each, rrf_k) for each in judged])
    names = list(dict.fromkeys(route.name for each in judged for route in each.routes if route.postings))
    tables = [_Table.of(each, names) for each in judged]
    combined = np.zeros(len(judged))
    for held_out in (first_half, ~first_half):
        known = [table for table, out in zip(tables, held_out, strict=True) if not out]
        weights = _fitted(known, len(names))
        for i, out in enumerate(held_out):
            if out:
                combined[i] = tables[i].gain(weights)
    low, high = _interval(combined - by_rank, random)
    return FusionFit(
        weights={name: round(w, 3) for name, w in zip(names, _fitted(tables, len(names)), strict=True)},
        questions=len(judged),
        rrf=float(by_rank.mean()),
        convex=float(combined.mean()),
        gain=float((combined - by_rank).mean()),
        low=low,
        high=high,
    )


def _gain_of_ranks(judged: JudgedRoutes, k: int) -> float:
    ranking = list(dict.fromkeys(c.parent_id for c in reciprocal_rank_fusion("", judged.routes, k=k)))
    return ndcg_at(group_ranks(ranking, judged.groups), NDCG_K)


@dataclass(frozen=True, slots=True)
class _Table:
    """A question's candidates as numbers: normalised scores (children, routes), each child's parent, and the groups as
    numbers of parents; a group that no route found is empty."""

    scores: Floats
    parents: NDArray[np.int64]
    groups: list[list[int]]

    @staticmethod
    def of(judged: JudgedRoutes, names: Sequence[str]) -> _Table:
        children: dict[str, int] = {}
        parents: dict[str, int] = {}
        parent_of: list[int] = []
        cells: list[tuple[int, int, float]] = []
        for column, name in enumerate(names):
            # Alone with all the weight, a route's combination is its normalised score.
            alone = {other: float(other == name) for other in names}
            for candidate in convex_combination("", judged.routes, weights=alone):
                if candidate.chunk_id not in children:
                    children[candidate.chunk_id] = len(children)
                    parent_of.append(parents.setdefault(candidate.parent_id, len(parents)))
                cells.append((children[candidate.chunk_id], column, candidate.score))
        scores = np.zeros((len(children), len(names)))
        for row, column, score in cells:
            scores[row, column] = score
        groups = [[parents[each] for each in group if each in parents] for group in judged.groups]
        return _Table(scores, np.array(parent_of, np.int64), groups)

    def gain(self, weights: Sequence[float]) -> float:
        """nDCG@10 of the parents, each at its best child."""
        best = np.zeros(int(self.parents.max(initial=-1)) + 1)
        np.maximum.at(best, self.parents, self.scores @ np.asarray(weights))
        ranks = [1 + int((best > best[group].max()).sum()) if group else None for group in self.groups]
        return ndcg_at(ranks, NDCG_K)


def _fitted(tables: Sequence[_Table], routes: int) -> tuple[float, ...]:
    """Weights, summing to 1, with the best mean nDCG@10: pattern search on the simplex from equal weights and from each
    route nearly alone, in steps that end at 0.05."""
    known: dict[tuple[float, ...], float] = {}

    def value(point: tuple[float, ...]) -> float:
        if point not in known:
            known[point] = float(np.mean([table.gain(point) for table in tables]))
        return known[point]

    starts = [_on_simplex([8.0 if i == chosen else 1.0 for i in range(routes)]) for chosen in range(routes)]
    starts = [_on_simplex([1.0] * routes), *sorted(starts, key=value, reverse=True)[:_STARTS]]
    return max((_climbed(start, value) for start in starts), key=value)


def _climbed(start: tuple[float, ...], value: Callable[[tuple[float, ...]], float]) -> tuple[float, ...]:
    best = start
    for step in _STEPS:
        while True:
            moves = [(up, down) for up in range(len(best)) for down in range(len(best)) if up != down]
            challenger = max((_moved(best, up, down, step) for up, down in moves), key=value, default=best)
            if value(challenger) <= value(best):
                break
            best = challenger
    return best


def _moved(point: Sequence[float], up: int, down: int, step: float) -> tuple[float, ...]:
    step = min(step, point[down])
    return _on_simplex([w + step if i == up else w - step if i == down else w for i, w in enumerate(point)])


def _on_simplex(weights: Sequence[float]) -> tuple[float, ...]:
    total = sum(weights) or 1.0
    return tuple(round(weight / total, 4) for weight in weights)


def _interval(differences: Floats, random: np.random.Generator) -> tuple[float, float]:
    picks = random.integers(0, len(differences), size=(_BOOTSTRAP, len(differences)))
    means = differences[picks].mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))
