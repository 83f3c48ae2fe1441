"""How the embedded index searches and builds, and one knowledge base's part of it."""

from __future__ import annotations

import json
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import qdrant_edge as edge

from clew.errors import StorageError
from clew.storage.search.shard import GraphParameters, Shard, replace_text
from clew.types import Representation


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """How vectors are searched, and when graphs are built; chosen by ``benchmarks/search_index.py``."""

    graph: GraphParameters = field(default_factory=GraphParameters)
    ef: int = 512
    """Candidates that a walk of the graph considers; at least twice the limit."""
    oversampling: float = 2.0
    """Finds of the eight-bit vectors that are ranked anew by the stored ones, in multiples of the limit."""
    rebuild_from: int = 5_000
    """Changed points of a shard that make a rebuild worthwhile …"""
    rebuild_share: float = 0.25
    """… where they are also this share of all its points."""
    rebuild_after: float = 5.0
    """Seconds without a write before a rebuild begins in the background, so that one upload causes one rebuild."""
    rebuild_at: int = 50_000
    """Changed points of a shard with which a rebuild no longer waits for a quiet moment."""
    min_free_bytes: int = 256 * 2**20
    """Room that must be left on the device by every write; the engine takes it in pieces of 32 MB."""

    def edge_parameters(self, limit: int, *, filtered: bool, exact: bool) -> edge.SearchParams:
        """The engine's parameters of a search. Under a filter a graph is walked by ACORN (two steps at a time past what
        the filter hides), else it falls apart and half a scope costs six points of recall."""
        return edge.SearchParams(
            exact=exact,
            hnsw_ef=max(self.ef, 2 * limit),
            quantization=edge.QuantizationSearchParams(rescore=True, oversampling=self.oversampling),
            acorn=edge.AcornSearchParams(enable=filtered, max_selectivity=0.98),
        )


ABOUT = "kb.json"
"""A collection's dimension, and how its entries are made."""


def write_about(folder: Path, dimension: int, made_as: str) -> None:
    """Write :data:`ABOUT`."""
    replace_text(folder / ABOUT, json.dumps({"dimension": dimension, "made_as": made_as}))


class Collection:
    """A knowledge base's folder and its open shards."""

    def __init__(self, folder: Path, parameters: SearchParameters) -> None:
        self.folder = folder
        self._parameters = parameters
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.dimension = int(about["dimension"])
        self.made_as = str(about.get("made_as", ""))
        self._lock = threading.Lock()
        self._shards: dict[Representation, Shard] = {}
        for representation in Representation:
            if (folder / representation).is_dir():
                self._shards[representation] = self._opened(folder / representation)
        self.last_write = time.monotonic()
        self.closed = False

    def mark(self, made_as: str) -> None:
        """Keep how its entries are made."""
        with self._lock:
            write_about(self.folder, self.dimension, made_as)
            self.made_as = made_as

    def _opened(self, folder: Path) -> Shard:
        return Shard(
            folder,
            dimension=self._dimension_of(Representation(folder.name)),
            graph=self._parameters.graph,
            min_free_bytes=self._parameters.min_free_bytes,
        )

    def _dimension_of(self, representation: Representation) -> int:
        return 0 if representation is Representation.BM25 else self.dimension

    def shard(self, representation: Representation) -> Shard | None:
        """The representation's shard, where something was written to it."""
        return self._shards.get(representation)

    def shards(self) -> list[tuple[Representation, Shard]]:
        """All shards that there are."""
        return list(self._shards.items())

    def made_shard(self, representation: Representation) -> Shard:
        """The representation's shard, made where there is none."""
        with self._lock:
            if self.closed:
                raise StorageError(f"The search index in {self.folder} was closed or deleted while it was written to.")
            if representation not in self._shards:
                folder = self.folder / representation
                new = self.folder / f".new-{representation}"
                shutil.rmtree(new, ignore_errors=True)
                Shard.create(new, dimension=self._dimension_of(representation), graph=self._parameters.graph)
                new.rename(folder)
                self._shards[representation] = self._opened(folder)
            return self._shards[representation]

    def worthwhile(self, shard: Shard) -> bool:
        """Whether so much of a shard changed that building its indexes pays."""
        return shard.changes >= self._parameters.rebuild_from and (
            shard.changes >= self._parameters.rebuild_share * shard.count(exact=False)
        )

    def due(self) -> bool:
        """Whether nobody writes just now, or it cannot wait."""
        quiet = time.monotonic() - self.last_write >= self._parameters.rebuild_after
        return quiet or any(shard.changes >= self._parameters.rebuild_at for _, shard in self.shards())

    def close(self) -> None:
        """Close all shards; nothing is made any more."""
        with self._lock:
            self.closed = True
            for _, shard in self.shards():
                shard.close()
