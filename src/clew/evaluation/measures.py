"""Measures of a ranking of passages against the passages that support the answer.

Support is given as groups; of each group one passage suffices, so a group counts as found at its best-ranked member.
All measures lie in [0, 1]; all-support@k is the one that shows whether a multi-hop question can be answered at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def group_ranks(ranking: Sequence[str], groups: Sequence[frozenset[str]]) -> list[int | None]:
    """Rank (from 1) at which each group is first met; None where it is not."""
    position: dict[str, int] = {}
    for rank, passage in enumerate(ranking, start=1):
        position.setdefault(passage, rank)
    return [min((position[p] for p in group if p in position), default=None) for group in groups]


def recall_at(ranks: Sequence[int | None], k: int) -> float:
    """Share of the groups found among the first ``k`` passages."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def all_support_at(ranks: Sequence[int | None], k: int) -> float:
    """1 where every group is found among the first ``k`` passages, else 0."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """1 / rank of the first group found; 0 where none is."""
    return 1 / min((rank for rank in ranks if rank is not None), default=math.inf)


def ndcg_at(ranks: Sequence[int | None], k: int) -> float:
    """Normalised discounted cumulative gain with gain 1 for each group at its first member (Järvelin and Kekäläinen,
    TOIS 2002)."""
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(ranks), k) + 1))
    # One passage that serves several groups is met for all of them at one rank, which the ideal order cannot do.
    return min(1.0, gain / ideal)
