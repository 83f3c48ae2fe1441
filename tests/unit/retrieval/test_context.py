"""The context: places, budget, order."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.retrieval.context import ContextLimits, build_context, u_shaped
from clew.storage.base import Records
from clew.types import Candidate, ChildChunk, Evidence, File, FileStatus, ParentChunk

FILE = File("f", "kb", "a.txt", "text/plain", 1, "k", "h", FileStatus.COMPLETED, 1, "", "")


def count(text: str) -> int:
    return len(text.split())


class Stored:
    """Parents of one file in memory."""

    def __init__(self, parents: list[ParentChunk]) -> None:
        self.all = parents

    def parents(self, ids: Any) -> dict[str, ParentChunk]:
        return {parent.chunk_id: parent for parent in self.all if parent.chunk_id in set(ids)}

    def file_parents(self, file_id: str, *, first: int, last: int) -> list[ParentChunk]:
        return [parent for parent in self.all if first <= parent.ordinal <= last]

    def get_file(self, file_id: str) -> File:
        return FILE


def passages(sizes: list[tuple[int, int]]) -> tuple[list[Candidate], dict[str, ChildChunk], Stored]:
    """Parents of so many words, each with one child of so many words in its middle."""
    candidates, chunks, parents = [], {}, []
    for number, (parent_words, child_words) in enumerate(sizes):
        words = [f"w{number}-{i}" for i in range(parent_words)]
        first = (parent_words - min(child_words, parent_words)) // 2
        child = " ".join(words[first : first + child_words])
        text = " ".join(words)
        start = text.index(child)
        parents.append(ParentChunk(f"p{number}", "f", number, "0001/", ("T",), text, parent_words))
        chunks[f"c{number}"] = ChildChunk(
            f"c{number}", f"p{number}", "f", number, "0001/", ("T",), child, count(child), start, start + len(child)
        )
        candidates.append(Candidate(f"c{number}", f"p{number}", "f", "kb", 1 / (1 + number), ("l2",)))
    return candidates, chunks, Stored(parents)


def context(sizes: list[tuple[int, int]], places: int, budget: int, neighbours: int = 1) -> list[Evidence]:
    candidates, chunks, records = passages(sizes)
    evidence, _ = build_context(
        candidates, chunks, cast(Records, records), ContextLimits(places, budget, neighbours), count
    )
    return evidence


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 30)), min_size=1, max_size=8),
    st.integers(1, 6),
    st.integers(1, 120),
    st.integers(0, 2),
)
def test_the_budget_never_overflows_and_the_context_is_never_empty(
    sizes: list[tuple[int, int]], places: int, budget: int, neighbours: int
) -> None:
    evidence = context(sizes, places, budget, neighbours)
    assert 1 <= len(evidence) <= places
    assert sum(count(e.text) for e in evidence) <= budget
    assert all(e.text.strip() for e in evidence)
    assert evidence[0].candidate.chunk_id == "c0"
    assert [e.number for e in evidence] == list(range(1, len(evidence) + 1))


def test_windows_grow_into_what_is_left_the_best_first() -> None:
    sizes = [(40, 10), (40, 10)]
    first, second = context(sizes, places=2, budget=60, neighbours=0)
    assert count(first.text) == 40
    assert 10 <= count(second.text) <= 20
    assert second.passage in second.text


def test_neighbours_come_in_where_the_budget_allows() -> None:
    [alone] = context([(10, 5), (10, 5)], places=1, budget=12)
    [wide] = context([(10, 5), (10, 5)], places=1, budget=40)
    assert count(alone.text) == 10
    assert wide.text.startswith("w0-0")
    assert "w1-9" in wide.text


@pytest.mark.parametrize(
    ("n", "order"), [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 3, 2]), (4, [1, 3, 4, 2]), (5, [1, 3, 5, 4, 2])]
)
def test_the_best_stand_first_and_last(n: int, order: list[int]) -> None:
    evidence = context([(5, 5)] * n, places=5, budget=500, neighbours=0) if n else []
    assert [e.number for e in u_shaped(evidence)] == order
