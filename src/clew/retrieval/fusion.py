"""Fusion of several rankings into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clew.storage.base import Posting
from clew.types import Candidate

HYPOTHETICAL = "hyde_"
"""Prefix of the routes that look up a hypothetical answer."""


@dataclass(frozen=True, slots=True)
class Route:
    """One ranking of one look-up: its name (``bm25``, ``l2``, ``hyde_bm25`` …) and its postings, best first.

    ``ranks`` from 1 where they are not those of the list: children that were found by their parent share its rank.
    """

    name: str
    postings: Sequence[Posting]
    ranks: Sequence[int] | None = None


def reciprocal_rank_fusion(
    kb_id: str, routes: Sequence[Route], *, k: int = 60, weights: Mapping[str, float] | None = None, round: int = 1
) -> list[Candidate]:
    """Candidates by the sum of ``weight / (k + rank)`` over the routes that found them, best first.

    Reciprocal rank fusion after Cormack, Clarke and Büttcher, SIGIR 2009. The same chunk in several postings of one
    route (two versions while one replaces the other) counts once, at its best rank. Ties are broken by chunk id so
    that equal input gives equal output.
    """
    return _fused(kb_id, routes, lambda name, rank, _: weight_of(name, weights) / (k + rank), round)


def convex_combination(
    kb_id: str, routes: Sequence[Route], *, weights: Mapping[str, float] | None = None, round: int = 1
) -> list[Candidate]:
    """Candidates by the weighted mean of their normalised scores, best first, in [0, 1].

    Scores of a route are scaled to [0, 1] between the lowest and the highest of its postings; what a route did not find
    has 0 there (Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023). Otherwise as
    :func:`reciprocal_rank_fusion`.
    """
    total = sum(weight_of(route.name, weights) for route in routes if route.postings) or 1.0
    ranges = {route.name: _range(route) for route in routes}

    def gain(name: str, _: int, score: float) -> float:
        low, high = ranges[name]
        scaled = (score - low) / (high - low) if high > low else 1.0
        return weight_of(name, weights) * scaled / total

    return _fused(kb_id, routes, gain, round)


def weight_of(route: str, weights: Mapping[str, float] | None) -> float:
    """A route's weight; a hypothetical answer's route has that of the question's own unless it is named, and what is
    not named has 1."""
    known = weights or {}
    return known.get(route, known.get(route.removeprefix(HYPOTHETICAL), 1.0))


def _range(route: Route) -> tuple[float, float]:
    scores = [posting.score for posting in route.postings]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)


def _fused(
    kb_id: str, routes: Sequence[Route], gain: Callable[[str, int, float], float], round: int
) -> list[Candidate]:
    found: dict[str, _Found] = {}
    for route in routes:
        rank = 0
        for place, posting in enumerate(route.postings):
            entry = found.setdefault(posting.chunk_id, _Found(posting))
            if route.name in entry.ranks:
                continue
            rank = rank + 1 if route.ranks is None else route.ranks[place]
            entry.ranks[route.name] = rank
            entry.scores[route.name] = posting.score
            entry.fused += gain(route.name, rank, posting.score)
    candidates = [
        Candidate(
            chunk_id=chunk_id,
            parent_id=entry.posting.parent_id,
            file_id=entry.posting.file_id,
            kb_id=kb_id,
            score=entry.fused,
            representations=tuple(entry.ranks),
            ranks=entry.ranks,
            scores=entry.scores,
            round=round,
        )
        for chunk_id, entry in found.items()
    ]
    return sorted(candidates, key=lambda c: (-c.score, c.chunk_id))


def fuse_knowledge_bases(rankings: Sequence[Sequence[Candidate]], *, k: int = 60) -> list[Candidate]:
    """RRF across KBs: scores of different embedders and statistics cannot be compared, ranks can."""
    if len(rankings) == 1:
        return list(rankings[0])
    ranked = [(1.0 / (k + rank), candidate) for ranking in rankings for rank, candidate in enumerate(ranking, start=1)]
    ranked.sort(key=lambda pair: (-pair[0], -pair[1].score, pair[1].chunk_id))
    return [candidate for _, candidate in ranked]


class _Found:
    __slots__ = ("fused", "posting", "ranks", "scores")

    def __init__(self, posting: Posting) -> None:
        self.posting = posting
        self.fused = 0.0
        self.ranks: dict[str, int] = {}
        self.scores: dict[str, float] = {}
