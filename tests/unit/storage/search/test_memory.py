"""What is true of the index in memory alone; the contract suite holds it to everything else."""

from __future__ import annotations

from clew.storage.base import IndexEntry, IndexFilter
from clew.storage.search.memory import MemoryIndex
from clew.types import Representation


def test_what_was_not_used_for_longest_is_forgotten() -> None:
    index = MemoryIndex(limit=2)
    entry = IndexEntry("c", "p", "f", 1, "", Representation.BM25, terms=("猫",))
    for kb in ("a", "b"):
        index.create(kb, 4)
        index.upsert(kb, [entry])
    index.search_text("a", ["猫"], IndexFilter(), 5)

    index.create("c", 4)

    assert [bool(index.files(kb)) for kb in ("a", "b", "c")] == [True, False, False]
    assert index.search_text("b", ["猫"], IndexFilter(), 5) == []
    index.create("b", 4)
    index.upsert("b", [entry])
    assert index.search_text("b", ["猫"], IndexFilter(), 5)
