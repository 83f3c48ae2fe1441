"""One Qdrant Edge shard on disk: reads, durable writes, and a rebuild beside both.

A shard's folder holds generations and a file that names the current one::

    current        "g2"
    g2/            the Qdrant Edge folder that is read and written
    g3/            a copy whose indexes are being built by another process (``optimiser.py``)

A rebuild copies the current generation, lets the other process build the graph, brings over what was written meanwhile
and switches. It may die at any moment: the current generation is complete at all times, and others are swept when the
shard is opened.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from clew.errors import StorageError, StorageFullError
from clew.storage.search.filters import INDEXED_KEYWORDS, TERMS

_OPTIMISER = Path(__file__).with_name("optimiser.py")
# The engine holds the interpreter lock during a call; small batches keep other threads breathing.
_BATCH = 128
_CATCH_UP_BATCH = 1_000
"""As many changed points may be left to bring over while writers wait."""


@dataclass(frozen=True, slots=True)
class GraphParameters:
    """From how many vectors on there is a graph (HNSW), and how it is built."""

    scan_up_to: int = 500_000
    """Shards with no more vectors are scanned, in eight bits, and have no graph …"""
    scan_up_to_filtered: int = 150_000
    """… and in larger ones, filters that admit no more than this are scanned beside the graph."""
    m: int = 32
    """Edges per node."""
    ef_construct: int = 128
    """Candidates considered while the graph is built."""


class ReadersWriter:
    """Many readers or one writer; a waiting writer goes before new readers."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing)
            self._writing = True
            self._condition.wait_for(lambda: self._readers == 0)
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()


@dataclass(slots=True)
class _Journal:
    """What was written while a rebuild runs on a copy: touched points, and deletions by filter."""

    touched: dict[str, None] = field(default_factory=dict)
    deleted: list[edge.Filter] = field(default_factory=list)


class Shard:
    """An open shard. Reads may run in parallel with each other and with one write; writes wait for one another."""

    def __init__(self, folder: Path, *, dimension: int, graph: GraphParameters, min_free_bytes: int) -> None:
        """Open what :meth:`create` made. Sweeps what an interrupted rebuild left. ``min_free_bytes`` must be left on
        the device by writes and rebuilds."""
        self._folder = folder
        self._dimension, self._graph = dimension, graph
        self._min_free_bytes = min_free_bytes
        name = (folder / "current").read_text(encoding="ascii").strip()
        for other in folder.iterdir():
            if other.is_dir() and other.name != name:
                shutil.rmtree(other, ignore_errors=True)
        self._generation = int(name.removeprefix("g"))
        self._shard = edge.EdgeShard.load(str(folder / name))
        self._gate = ReadersWriter()
        self._write_lock = threading.Lock()
        self._rebuild_lock = threading.Lock()
        self._journal: _Journal | None = None
        self._process_lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = False
        self._closed = False
        info = self._shard.info()
        self.changes = max(0, info.points_count - info.indexed_vectors_count)
        """Points that were written or deleted since the indexes were built."""
        self.vectors_per_chunk = 1.0
        """How many times the limit the latest searches had to ask for, because chunks were found several times."""

    @staticmethod
    def create(folder: Path, *, dimension: int, graph: GraphParameters) -> None:
        """Make an empty shard: vectors of ``dimension``, or terms for BM25 where it is 0."""
        generation = folder / "g1"
        generation.mkdir(parents=True)
        shard = edge.EdgeShard.create(str(generation), configuration(dimension, graph, 0))
        for key in INDEXED_KEYWORDS:
            shard.update(edge.UpdateOperation.create_field_index(key, edge.KeywordIndexParams(enable_hnsw=False)))
        if not dimension:
            # Terms come ready from clew.text.tokenizing, joined by spaces.
            terms = edge.TextIndexParams(
                tokenizer=edge.TokenizerType.Whitespace, lowercase=False, scoring=True, enable_hnsw=False
            )
            shard.update(edge.UpdateOperation.create_field_index(TERMS, terms))
        shard.flush()
        shard.close()
        (folder / "current").write_text("g1", encoding="ascii")

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """The engine's shard, which stays open and in place for as long as the context lasts."""
        with self._gate.shared():
            if self._closed:
                raise StorageError(f"The search index {self._folder} is closed; open it again.")
            yield self._shard

    def upsert(self, points: Sequence[tuple[str, Any, dict[str, Any]]]) -> None:
        """Write points (id, vector, payload) durably."""
        with self._writing() as shard:
            for start in range(0, len(points), _BATCH):
                batch = points[start : start + _BATCH]
                if self._journal is not None:
                    self._journal.touched.update(dict.fromkeys(point[0] for point in batch))
                shard.update(edge.UpdateOperation.upsert_points([edge.Point(*point) for point in batch]))
            shard.flush()
            self.changes += len(points)

    def delete(self, filter: edge.Filter) -> int:
        """Delete the points that match, durably; returns how many there were."""
        with self._writing() as shard:
            count = int(shard.count(edge.CountRequest(exact=True, filter=filter)))
            if not count:
                return 0
            if self._journal is not None:
                self._journal.deleted.append(filter)
            shard.update(edge.UpdateOperation.delete_points_by_filter(filter))
            shard.flush()
            self.changes += count
        return count

    def points(self, filter: edge.Filter) -> Iterator[Any]:
        """The points that match, with their payload and without their vector."""
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset, limit=_CATCH_UP_BATCH, filter=filter, with_payload=True, with_vector=False
            )
            with self.reading() as shard:
                found, offset = shard.scroll(request)
            yield from found
            if offset is None:
                return

    def count(self, filter: edge.Filter | None = None, *, exact: bool = True) -> int:
        """How many points match."""
        with self.reading() as shard:
            return int(shard.count(edge.CountRequest(exact=exact, filter=filter)))

    def rebuild(self) -> None:
        """Build the indexes over all points; searches and writes go on meanwhile. Raises StorageError, and
        StorageFullError where there is no room for a copy."""
        with self._rebuild_lock:
            # The copy, and the new indexes beside it before the copy's old parts go.
            refuse_when_full(self._folder, 2 * _size(self._folder / f"g{self._generation}") + self._min_free_bytes)
            name = f"g{self._generation + 1}"
            copy = self._folder / name
            shutil.rmtree(copy, ignore_errors=True)
            try:
                with self._writing() as shard:
                    shard.flush()
                    shutil.copytree(self._folder / f"g{self._generation}", copy)
                    self._journal = _Journal()
                    changes = self.changes
                    points = int(shard.info().points_count)
                self._optimise(copy, points)
                fresh = edge.EdgeShard.load(str(copy))
                self._switch(fresh, name, changes)
            except BaseException:
                with self._write_lock:
                    self._journal = None
                if name != f"g{self._generation}":
                    shutil.rmtree(copy, ignore_errors=True)
                raise

    def close(self) -> None:
        """Wait for searches and writes that run, stop a rebuild, close."""
        with self._process_lock:
            self._closing = True
            if self._process is not None:
                self._process.kill()
        with self._rebuild_lock, self._write_lock, self._gate.exclusive():
            if not self._closed:
                self._closed = True
                self._shard.close()

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._write_lock, self.reading() as shard:
            yield shard

    def _optimise(self, copy: Path, points: int) -> None:
        shape = {"dimension": self._dimension, "graph": asdict(self._graph), "points": points}
        with self._process_lock:
            if self._closing:
                raise StorageError(f"The search index {self._folder} was closed before its indexes were built.")
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_OPTIMISER), str(copy), json.dumps(shape)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        try:
            _, stderr = self._process.communicate()
            if self._process.returncode:
                lines = stderr.decode(errors="replace").strip().splitlines() or [f"exit {self._process.returncode}"]
                raise StorageError(
                    f"The indexes of {self._folder} could not be built ({lines[-1]}); searches go on without them."
                )
        finally:
            with self._process_lock:
                self._process = None

    def _switch(self, fresh: Any, name: str, changes: int) -> None:
        """Bring over what was written since the copy, then read and write the fresh generation."""
        while not self._closing:
            with self._write_lock:
                journal = self._journal
                assert journal is not None
                if len(journal.touched) <= _CATCH_UP_BATCH:
                    self._replay(journal, fresh)
                    self._replace(fresh, name)
                    self._journal = None
                    self.changes -= changes
                    break
                self._journal = _Journal()
            self._replay(journal, fresh)
        else:
            fresh.close()
            raise StorageError(f"The search index {self._folder} was closed while its indexes were built.")
        shutil.rmtree(self._folder / f"g{self._generation - 1}", ignore_errors=True)

    def _replay(self, journal: _Journal, fresh: Any) -> None:
        """Deletions first; then each touched point as it is now, which is right in whatever order they happened."""
        for filter in journal.deleted:
            fresh.update(edge.UpdateOperation.delete_points_by_filter(filter))
        touched = list(journal.touched)
        for start in range(0, len(touched), _BATCH):
            ids = touched[start : start + _BATCH]
            with self.reading() as shard:
                records = shard.retrieve(ids, True, True)
            gone = set(ids) - {str(record.id) for record in records}
            if records:
                points = [edge.Point(record.id, record.vector, record.payload) for record in records]
                fresh.update(edge.UpdateOperation.upsert_points(points))
            if gone:
                fresh.update(edge.UpdateOperation.delete_points(sorted(gone)))
        fresh.flush()

    def _replace(self, fresh: Any, name: str) -> None:
        with self._gate.exclusive():
            replace_text(self._folder / "current", name)
            old, self._shard = self._shard, fresh
            self._generation += 1
            old.close()


def configuration(dimension: int, graph: GraphParameters, points: int) -> edge.EdgeConfig:
    """The configuration of a shard with so many points; they get a graph where there are too many to be scanned.

    Every write is flushed before it is acknowledged, so a log would only write everything twice. Text, too, gets an
    index that opens quickly only by the optimiser, which looks at vectors alone: hence one number a point.
    """
    walked = points > graph.scan_up_to and dimension > 0
    scanned = graph.scan_up_to_filtered if walked else graph.scan_up_to
    return edge.EdgeConfig(
        vectors={"": _vector_parameters(dimension)},
        hnsw_config=edge.HnswIndexConfig(
            m=graph.m if walked else 0,
            ef_construct=graph.ef_construct,
            # In kilobytes of full-precision vectors.
            full_scan_threshold=max(1, scanned * max(1, dimension) * 4 // 1024),
            payload_m=0,
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, indexing_threshold=1, deleted_threshold=0.01, vacuum_min_vector_number=1
        ),
        wal_enabled=False,
    )


def _vector_parameters(dimension: int) -> edge.EdgeVectorParams:
    """Half precision loses nothing that a ranking shows and halves what is stored; eight-bit vectors are scanned, and
    walked, three times as fast, and what they bring is ranked by the stored ones."""
    if not dimension:
        return edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot)
    return edge.EdgeVectorParams(
        size=dimension,
        distance=edge.Distance.Cosine,
        datatype=edge.VectorStorageDatatype.Float16,
        quantization_config=edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, quantile=0.995),
    )


def refuse_when_full(folder: Path, needed: int) -> None:
    """Raise StorageFullError where fewer than ``needed`` bytes are free.

    Asked beforehand, because the engine writes through memory maps: on a full device the system would end the whole
    process (SIGBUS) instead of reporting an error.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageFullError(
            f"No space left for the search index in {folder}: {free / 1e6:,.0f} MB are free and {needed / 1e6:,.0f} MB "
            "needed; make room on the device, then try again."
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def replace_text(path: Path, text: str) -> None:
    """Write a small file so that it holds either its old or its new text, whatever happens."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
