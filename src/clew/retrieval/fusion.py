"""Fusion of several rankings into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.storage.base import Posting
from clew.types import Candidate


@dataclass(frozen=True, slots=True)
class Route:
    """One ranking of one look-up: its name (``bm25``, ``l2``, ``hyde_bm25`` …) and its postings, best first."""

    name: str
    postings: Sequence[Posting]


def reciprocal_rank_fusion(
    kb_id: str, routes: Sequence[Route], *, k: int = 60, weights: Mapping[str, float] | None = None, round: int = 1
) -> list[Candidate]:
    """Candidates by the sum of ``weight / (k + rank)`` over the routes that found them, best first.

    Reciprocal rank fusion after Cormack, Clarke and Büttcher, SIGIR 2009. The same chunk in several postings of one
    route (two versions while one replaces the other) counts once, at its best rank. Ties are broken by chunk id so
    that equal input gives equal output.
    """
    found: dict[str, _Found] = {}
    for route in routes:
        weight = 1.0 if weights is None else weights.get(route.name, 1.0)
        rank = 0
        for posting in route.postings:
            entry = found.setdefault(posting.chunk_id, _Found(posting))
            if route.name in entry.ranks:
                continue
            rank += 1
            entry.ranks[route.name] = rank
            entry.scores[route.name] = posting.score
            entry.fused += weight / (k + rank)
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
