"""A search index in memory, for small sets of files that do not last: the attachments of conversations.

A collection of the stored index costs tens of megabytes and half a second, whatever it holds; one here costs what it
holds. It is scanned exactly. What it held is gone when the process ends and is built again from the records.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clew.errors import StorageError
from clew.storage.base import IndexEntry, IndexFilter, Posting
from clew.storage.search.checking import check_entry, check_vector
from clew.types import FloatArray, Representation

_Key = tuple[str, int, int]
"""Chunk, version and part: what tells apart the entries of one representation."""


@dataclass(slots=True)
class _Terms:
    """An entry as BM25 sees it."""

    entry: IndexEntry
    counts: Mapping[str, int]
    length: int


@dataclass(slots=True)
class _Collection:
    dimension: int
    made_as: str
    terms: dict[_Key, _Terms] = field(default_factory=dict)
    vectors: dict[Representation, dict[_Key, IndexEntry]] = field(default_factory=lambda: defaultdict(dict))
    lock: threading.Lock = field(default_factory=threading.Lock)


class MemoryIndex:
    """:class:`clew.storage.base.SearchIndex` in this process's memory; nothing outlives it.

    Of more than ``limit`` collections the one that was not used for longest is forgotten.
    """

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._collections: OrderedDict[str, _Collection] = OrderedDict()
        self._lock = threading.Lock()

    def _collection(self, kb_id: str) -> _Collection | None:
        with self._lock:
            collection = self._collections.get(kb_id)
            if collection is not None:
                self._collections.move_to_end(kb_id)
            return collection

    def create(self, kb_id: str, dimension: int, made_as: str = "") -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        if dimension < 1:
            raise StorageError(f"The search index of {kb_id} cannot hold vectors of dimension {dimension}.")
        with self._lock:
            known = self._collections.setdefault(kb_id, _Collection(dimension, made_as))
            self._collections.move_to_end(kb_id)
            while len(self._collections) > self._limit:
                self._collections.popitem(last=False)
        if known.dimension != dimension:
            raise StorageError(f"The search index of {kb_id} holds vectors of dimension {known.dimension}.")

    def made_as(self, kb_id: str) -> str | None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        return None if collection is None else collection.made_as

    def mark(self, kb_id: str, made_as: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is not None:
            collection.made_as = made_as

    def drop(self, kb_id: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        with self._lock:
            self._collections.pop(kb_id, None)

    def upsert(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None and entries:
            raise StorageError(f"{kb_id} has no search index; create it before writing to it.")
        if collection is None:
            return
        for entry in entries:
            check_entry(kb_id, entry, collection.dimension)
        with collection.lock:
            for entry in entries:
                if entry.vector is not None:
                    key = (entry.chunk_id, entry.version, entry.part)
                    collection.vectors[entry.representation][key] = entry
                if entry.terms or entry.representation is Representation.BM25:
                    counts = Counter(entry.terms)
                    collection.terms[entry.chunk_id, entry.version, 0] = _Terms(entry, counts, len(entry.terms))

    def search_text(
        self,
        kb_id: str,
        terms: Sequence[str],
        filter: IndexFilter,
        limit: int,
        *,
        k1: float = 1.2,
        b: float = 0.5,
    ) -> list[Posting]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None or limit < 1:
            return []
        with collection.lock:
            documents = list(collection.terms.values())
        wanted = dict.fromkeys(terms)
        found = {term: [document for document in documents if term in document.counts] for term in wanted}
        average = sum(document.length for document in documents) / max(1, len(documents)) or 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        entries: dict[int, IndexEntry] = {}
        for term, holding in found.items():
            weight = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
            for document in holding:
                if _admits(filter, document.entry):
                    frequency = document.counts[term]
                    norm = k1 * (1 - b + b * document.length / average)
                    entries[id(document)] = document.entry
                    scores[id(document)] += weight * frequency * (k1 + 1) / (frequency + norm)
        return _best(((scores[key], entry) for key, entry in entries.items()), limit)

    def search_vector(
        self,
        kb_id: str,
        representation: Representation,
        vector: FloatArray,
        filter: IndexFilter,
        limit: int,
        *,
        exact: bool = False,
    ) -> list[Posting]:
        """See :class:`~clew.storage.base.SearchIndex`; always exact."""
        collection = self._collection(kb_id)
        if collection is None or limit < 1:
            return []
        check_vector(kb_id, vector, collection.dimension)
        with collection.lock:
            held = collection.vectors.get(representation, {})
            entries = [entry for entry in held.values() if _admits(filter, entry)]
        if not entries:
            return []
        scores = np.stack([_vector(entry) for entry in entries]) @ vector
        best: dict[tuple[str, int], tuple[float, IndexEntry]] = {}
        for score, entry in zip(scores.tolist(), entries, strict=True):
            key = (entry.chunk_id, entry.version)
            if key not in best or score > best[key][0]:
                best[key] = (score, entry)
        return _best(best.values(), limit)

    def vectors(
        self, kb_id: str, representation: Representation, keys: Sequence[tuple[str, int]]
    ) -> dict[str, FloatArray]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None:
            return {}
        with collection.lock:
            held = collection.vectors.get(representation, {})
            found = [held[chunk, version, 0] for chunk, version in keys if (chunk, version, 0) in held]
        return {entry.chunk_id: _vector(entry) for entry in found}

    def delete(
        self,
        kb_id: str,
        file_id: str,
        *,
        version: int | None = None,
        keep_version: int | None = None,
        representations: Sequence[Representation] | None = None,
    ) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None:
            return

        def goes(entry: IndexEntry) -> bool:
            return entry.file_id == file_id and entry.version != keep_version and version in (None, entry.version)

        with collection.lock:
            if representations is None or Representation.BM25 in representations:
                collection.terms = {key: held for key, held in collection.terms.items() if not goes(held.entry)}
            for representation, held in collection.vectors.items():
                if representations is None or representation in representations:
                    collection.vectors[representation] = {k: entry for k, entry in held.items() if not goes(entry)}

    def files(self, kb_id: str) -> dict[tuple[str, int], int]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None:
            return {}
        counts: Counter[tuple[str, int]] = Counter()
        with collection.lock:
            for held in collection.vectors.values():
                counts.update((entry.file_id, entry.version) for entry in held.values())
            # Terms that came with a vector were counted with it.
            alone = (t.entry for t in collection.terms.values() if t.entry.representation is Representation.BM25)
            counts.update((entry.file_id, entry.version) for entry in alone)
        return dict(counts)

    def chunks(self, kb_id: str, file_id: str, version: int) -> dict[Representation, frozenset[str]]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None:
            return {}
        with collection.lock:
            held = {kind: list(entries.values()) for kind, entries in collection.vectors.items()}
            held[Representation.BM25] = [terms.entry for terms in collection.terms.values()]
        own = {
            kind: frozenset(e.chunk_id for e in entries if (e.file_id, e.version) == (file_id, version))
            for kind, entries in held.items()
        }
        return {kind: ids for kind, ids in own.items() if ids}

    def optimise(self, kb_id: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`; there is nothing to build."""

    def check(self) -> str:
        """See :class:`~clew.storage.base.SearchIndex`."""
        return f"in memory: {len(self._collections)} collections"

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._collections.clear()


def _vector(entry: IndexEntry) -> FloatArray:
    assert entry.vector is not None
    return entry.vector


def _admits(filter: IndexFilter, entry: IndexEntry) -> bool:
    if (entry.file_id, entry.version) in filter.excluded:
        return False
    if filter.file_ids is not None and entry.file_id not in filter.file_ids:
        return False
    return filter.sections is None or any(
        file_id == entry.file_id and entry.section_path.startswith(_whole_parts(path))
        for file_id, path in filter.sections
    )


def _whole_parts(path: str) -> str:
    return path if not path or path.endswith("/") else path + "/"


def _best(scored: Iterable[tuple[float, IndexEntry]], limit: int) -> list[Posting]:
    best = heapq.nsmallest(limit, scored, key=lambda pair: (-pair[0], pair[1].chunk_id))
    return [Posting(e.chunk_id, e.parent_id, e.file_id, e.version, score) for score, e in best]
