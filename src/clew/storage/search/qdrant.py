"""The embedded search index: Qdrant Edge in this process, a folder per knowledge base.

::

    ROOT/lock                  held by the one process that may use the index
    ROOT/<kb>/kb.json          {"dimension": 384, "made_as": "terms 1, entries 1"}
    ROOT/<kb>/bm25/ l1/ l2/ …  one shard per representation, made when it is first written

A shard per representation, because a point takes the room of every vector that its shard knows, whether it has it or
not, and because each graph is then built over its own vectors alone. BM25's statistics are those of the KB's own shard.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import math
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

import numpy as np
import qdrant_edge as edge

from clew.errors import ClewError, StorageBusyError, StorageError, StorageFullError
from clew.storage.base import IndexEntry, IndexFilter, Posting
from clew.storage.search import filters
from clew.storage.search.checking import check_entry, check_vector
from clew.storage.search.collection import ABOUT, Collection, SearchParameters, write_about
from clew.storage.search.shard import Shard, refuse_when_full
from clew.types import FloatArray, Representation

logger = logging.getLogger(__name__)

_PATIENCE = 0.5
"""Seconds between two looks at a collection that is being written to."""


class QdrantEdgeIndex:
    """:class:`clew.storage.base.SearchIndex` on Qdrant Edge. One process at a time; any number of threads."""

    def __init__(self, root: Path, parameters: SearchParameters | None = None, *, background: bool = True) -> None:
        """Open or make the index in the folder ``root``. ``background`` False: graphs are built by :meth:`optimise`
        alone. Raises StorageBusyError where another process has it open, StorageError where it cannot be read."""
        self._root = root
        self._parameters = parameters or SearchParameters()
        self._lock = threading.Lock()
        self._collections: dict[str, Collection] = {}
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._lock_file = _locked(root / "lock")
        except OSError as error:
            raise _translated(error, f"open the search index in {root}") from error
        for leftover in (*root.glob(".new-*"), *root.glob(".drop-*")):
            shutil.rmtree(leftover, ignore_errors=True)
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._build_in_background, name="clew-search-index", daemon=True)
        if background:
            self._thread.start()

    # --- collections ---------------------------------------------------------------------------------------

    def create(self, kb_id: str, dimension: int, made_as: str = "") -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        if dimension < 1:
            raise StorageError(f"The search index of {kb_id} cannot hold vectors of dimension {dimension}.")
        with self._guarded(f"create the search index of {kb_id}"), self._lock:
            collection = self._opened(kb_id)
            if collection is None:
                refuse_when_full(self._root, self._parameters.min_free_bytes)
                new = self._root / f".new-{_folder_name(kb_id)}"
                shutil.rmtree(new, ignore_errors=True)
                new.mkdir()
                write_about(new, dimension, made_as)
                new.rename(self._folder(kb_id))
            elif collection.dimension != dimension:
                raise StorageError(
                    f"The search index of {kb_id} holds vectors of dimension {collection.dimension}, not {dimension}; "
                    "index its files again with the new embedder in a new knowledge base."
                )

    def made_as(self, kb_id: str) -> str | None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        return None if collection is None else collection.made_as

    def mark(self, kb_id: str, made_as: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is not None:
            with self._guarded(f"mark the search index of {kb_id}"):
                collection.mark(made_as)

    def drop(self, kb_id: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`."""
        folder = self._folder(kb_id)
        dropped = self._root / f".drop-{folder.name}-{uuid.uuid4().hex}"
        with self._guarded(f"delete the search index of {kb_id}"):
            with self._lock:
                collection = self._collections.pop(kb_id, None)
                if collection is not None:
                    collection.close()
                if not folder.exists():
                    return
                folder.rename(dropped)
            shutil.rmtree(dropped)

    # --- writing -------------------------------------------------------------------------------------------

    def upsert(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        """See :class:`~clew.storage.base.SearchIndex`. Terms always serve BM25, whichever entry carries them."""
        if not entries:
            return
        collection = self._collection(kb_id)
        if collection is None:
            raise StorageError(f"{kb_id} has no search index; create it before writing to it.")
        refuse_when_full(self._root, self._parameters.min_free_bytes)
        with self._guarded(f"write to the search index of {kb_id}"):
            points: dict[Representation, dict[str, tuple[str, Any, dict[str, Any]]]] = {}
            for entry in entries:
                check_entry(kb_id, entry, collection.dimension)
                for representation, point in _points(entry):
                    points.setdefault(representation, {})[point[0]] = point
            for representation, by_id in points.items():
                collection.made_shard(representation).upsert(list(by_id.values()))
        collection.last_write = time.monotonic()
        self._wake.set()

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
        with self._guarded(f"delete entries of the search index of {kb_id}"):
            for representation, shard in collection.shards():
                if representations is not None and representation not in representations:
                    continue
                shard.delete(filters.file_filter(file_id, version=version, keep_version=keep_version))
        collection.last_write = time.monotonic()
        self._wake.set()

    # --- searching -----------------------------------------------------------------------------------------

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
        """See :class:`~clew.storage.base.SearchIndex`. A term that is given twice counts once."""
        shard = self._shard(kb_id, Representation.BM25)
        text = " ".join(dict.fromkeys(terms))
        if shard is None or not text.strip() or limit < 1 or filters.admits_nothing(filter):
            return []
        with self._guarded(f"search the text of {kb_id}"), shard.reading() as reader:
            request = edge.QueryRequest(
                limit=limit,
                query=edge.TextQuery(filters.TERMS, text, edge.Bm25Params(k=k1, b=b)),
                filter=filters.edge_filter(filter),
                with_payload=filters.POSTING_FIELDS,
            )
            return [filters.posting(point) for point in reader.query(request)]

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
        """See :class:`~clew.storage.base.SearchIndex`. A chunk with several vectors counts with its best one."""
        collection = self._collection(kb_id)
        shard = None if collection is None else collection.shard(representation)
        if collection is None or shard is None or representation is Representation.BM25:
            return []
        check_vector(kb_id, vector, collection.dimension)
        query = edge.Query.Nearest(vector.tolist())
        if limit < 1 or filters.admits_nothing(filter):
            return []
        with self._guarded(f"search the vectors of {kb_id}"):
            engine_filter = filters.edge_filter(filter)
            filtered = engine_filter is not None
            wanted = math.ceil(limit * shard.vectors_per_chunk)
            while True:
                request = edge.QueryRequest(
                    limit=wanted,
                    query=query,
                    filter=engine_filter,
                    params=self._parameters.edge_parameters(wanted, filtered=filtered, exact=exact),
                    with_payload=filters.POSTING_FIELDS,
                )
                with shard.reading() as reader:
                    found = [filters.posting(point) for point in reader.query(request)]
                best: dict[tuple[str, int], Posting] = {}
                for posting in found:
                    best.setdefault((posting.chunk_id, posting.version), posting)
                if len(best) >= limit or len(found) < wanted:
                    shard.vectors_per_chunk = max(1.0, len(found) / max(1, len(best)))
                    return list(best.values())[:limit]
                wanted *= 2

    def vectors(
        self, kb_id: str, representation: Representation, keys: Sequence[tuple[str, int]]
    ) -> dict[str, FloatArray]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        shard = self._shard(kb_id, representation)
        if shard is None or representation is Representation.BM25 or not keys:
            return {}
        chunk_ids = {filters.point_id(chunk, version, representation): chunk for chunk, version in keys}
        with self._guarded(f"read vectors of {kb_id}"), shard.reading() as reader:
            records = reader.retrieve(list(chunk_ids), False, True)
            return {chunk_ids[str(record.id)]: np.asarray(record.vector, dtype=np.float32) for record in records}

    # --- upkeep --------------------------------------------------------------------------------------------

    def files(self, kb_id: str) -> dict[tuple[str, int], int]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        counts: dict[tuple[str, int], int] = {}
        collection = self._collection(kb_id)
        if collection is None:
            return counts
        everything = IndexFilter()
        with self._guarded(f"count the entries of {kb_id}"):
            for representation, shard in collection.shards():
                with shard.reading() as reader:
                    # Terms that came with another representation's entry were counted with that one.
                    request = edge.FacetRequest(
                        filters.FILE_VERSION,
                        limit=reader.info().points_count + 1,
                        exact=True,
                        filter=filters.edge_filter(everything, representation),
                    )
                    for hit in reader.facet(request).hits:
                        key = filters.split_file_version(str(hit.value))
                        counts[key] = counts.get(key, 0) + hit.count
        return counts

    def chunks(self, kb_id: str, file_id: str, version: int) -> dict[Representation, frozenset[str]]:
        """See :class:`~clew.storage.base.SearchIndex`."""
        collection = self._collection(kb_id)
        if collection is None:
            return {}
        own = filters.file_filter(file_id, version=version)
        found: dict[Representation, frozenset[str]] = {}
        with self._guarded(f"list the entries of {kb_id}"):
            for representation, shard in collection.shards():
                ids = frozenset(filters.chunk_id(point) for point in shard.points(own))
                if ids:
                    found[representation] = ids
        return found

    def optimise(self, kb_id: str) -> None:
        """See :class:`~clew.storage.base.SearchIndex`. Searches and writes go on meanwhile."""
        collection = self._collection(kb_id)
        if collection is not None:
            self._rebuild(collection, lambda shard: shard.changes > 0)

    def check(self) -> str:
        """See :class:`~clew.storage.base.SearchIndex`."""
        names = [path for path in self._root.iterdir() if (path / ABOUT).is_file()]
        points = 0
        for path in names:
            collection = self._collection(_kb_id(path.name))
            points += sum(shard.count(exact=False) for _, shard in collection.shards()) if collection else 0
        return f"Qdrant Edge in {self._root}: {len(names)} knowledge bases, {points} entries"

    def close(self) -> None:
        """Stop building, close all shards, let other processes in."""
        self._stop.set()
        self._wake.set()
        with self._lock:
            for collection in self._collections.values():
                collection.close()
            self._collections.clear()
        if self._thread.is_alive():
            self._thread.join()
        self._lock_file.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _folder(self, kb_id: str) -> Path:
        return self._root / _folder_name(kb_id)

    def _opened(self, kb_id: str) -> Collection | None:
        if self._lock_file.closed or self._stop.is_set():
            raise StorageError(f"The search index in {self._root} is closed; open it again.")
        if kb_id not in self._collections:
            folder = self._folder(kb_id)
            if not (folder / ABOUT).is_file():
                return None
            self._collections[kb_id] = Collection(folder, self._parameters)
            self._wake.set()
        return self._collections[kb_id]

    def _collection(self, kb_id: str) -> Collection | None:
        with self._guarded(f"open the search index of {kb_id}"), self._lock:
            return self._opened(kb_id)

    def _shard(self, kb_id: str, representation: Representation) -> Shard | None:
        collection = self._collection(kb_id)
        return None if collection is None else collection.shard(representation)

    @contextmanager
    def _guarded(self, action: str) -> Iterator[None]:
        """Translate what the engine and the file system raise."""
        try:
            yield
        except ClewError:
            raise
        except BaseException as error:
            if not _foreign(error):
                raise
            raise _translated(error, action) from error

    def _rebuild(self, collection: Collection, wanted: Callable[[Shard], bool]) -> None:
        for representation, shard in collection.shards():
            if wanted(shard):
                with self._guarded(f"build the {representation} index in {collection.folder}"):
                    shard.rebuild()

    def _build_in_background(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                collections = list(self._collections.values())
            for collection in collections:
                try:
                    if not any(collection.worthwhile(shard) for _, shard in collection.shards()):
                        continue
                    if collection.due():
                        self._rebuild(collection, collection.worthwhile)
                    elif not self._stop.wait(_PATIENCE):
                        self._wake.set()
                except ClewError as error:
                    if not (self._stop.is_set() or collection.closed):
                        logger.warning("%s", error)


def _points(entry: IndexEntry) -> Iterator[tuple[Representation, tuple[str, Any, dict[str, Any]]]]:
    stored = filters.payload(entry)
    if entry.vector is not None:
        key = filters.point_id(entry.chunk_id, entry.version, entry.representation, entry.part)
        yield entry.representation, (key, entry.vector.tolist(), stored)
    if entry.terms or entry.representation is Representation.BM25:
        key = filters.point_id(entry.chunk_id, entry.version, Representation.BM25)
        yield Representation.BM25, (key, [1.0], stored | {filters.TERMS: " ".join(entry.terms)})


def _folder_name(kb_id: str) -> str:
    return quote(kb_id, safe="").replace(".", "%2E")


def _kb_id(folder_name: str) -> str:
    return unquote(folder_name)


def _locked(path: Path) -> IO[str]:
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise StorageBusyError(
            f"The search index in {path.parent} is in use by another process{f' ({holder})' if holder else ''}: "
            "stop it, or let it do the work."
        ) from None
    file.truncate(0)
    file.write(f"pid {os.getpid()}")
    file.flush()
    return file


def _foreign(error: BaseException) -> bool:
    # The engine raises bare Exception, and where it panics a BaseException that cannot be imported.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _translated(error: BaseException, action: str) -> StorageError:
    text = str(error)
    if (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)) or "No space left" in text:
        return StorageFullError(f"No space left to {action}: make room on the device, then try again.")
    return StorageError(f"Could not {action}: {text or type(error).__name__}.")
