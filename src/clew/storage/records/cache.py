"""Vectors and texts that were paid for once.

Vectors are stored as float16: half the space of the largest table. Rounding moves a unit vector of 384 dimensions by
about 2e-4, so a cosine by about 1e-5; the quantised encoder's own error is a hundred times larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from sqlalchemy import ColumnElement, Connection, FromClause, delete, func, not_, select

from clew.errors import ConflictError
from clew.storage.base import CacheNeed
from clew.storage.records.database import Database, in_groups, insert_rows
from clew.storage.records.tables import block_cache, cache_uses, file_versions, files
from clew.storage.records.tables import vectors as table
from clew.types import FloatArray


class SqlVectors:
    """Implements ``VectorCache``."""

    _db: Database

    def get_vectors(self, model: str, keys: Sequence[str]) -> dict[str, FloatArray]:
        query = select(table.c.key, table.c.vector).where(table.c.model == model)
        found: dict[str, FloatArray] = {}
        with self._db.read() as connection:
            for group in in_groups(keys):
                for key, vector in connection.execute(query.where(table.c.key.in_(group))):
                    found[key] = np.frombuffer(vector, dtype="<f2").astype(np.float32)
        return found

    def put_vectors(self, model: str, vectors: Mapping[str, FloatArray]) -> None:
        rows = [
            {"model": model, "key": key, "vector": vector.astype("<f2").tobytes()} for key, vector in vectors.items()
        ]
        with self._db.write() as connection:
            # In key order, so that two writers of the same keys wait for each other instead of locking each other out.
            rows.sort(key=lambda row: str(row["key"]))
            insert_rows(connection, self._db.insert(table).on_conflict_do_nothing(), rows)


class SqlCacheUses:
    """Implements ``CacheUses``."""

    _db: Database

    def use_cached(self, file_id: str, version: int, keys: Iterable[str], need: CacheNeed = "version") -> None:
        there = select(files.c.file_id).where(files.c.file_id == file_id)
        if need == "version":
            staged = select(file_versions.c.file_id).where(file_versions.c.version == version)
            there = there.where(files.c.file_id.in_(staged))
        number = _number(version, need)
        rows = [{"file_id": file_id, "version": number, "key": key} for key in dict.fromkeys(keys)]
        with self._db.write() as connection:
            if connection.execute(there).first() is None:
                raise ConflictError(f"Version {version} of file {file_id!r} is no longer there.")
            insert_rows(connection, self._db.insert(cache_uses).on_conflict_do_nothing(), rows)

    def forget_cached(self, file_id: str, version: int, need: CacheNeed) -> None:
        number = _number(version, need)
        earlier = [n for n in range(number + 1, 1) if n % 2 == number % 2]
        with self._db.write() as connection:
            drop_cached(connection, lambda uses: (uses.c.file_id == file_id) & uses.c.version.in_(earlier))

    def unneeded_cached(self, *, drop: bool = False) -> int:
        count = 0
        with self._db.write() if drop else self._db.read() as connection:
            for cache in (table, block_cache):
                unneeded = ~select(cache_uses.c.key).where(cache_uses.c.key == cache.c.key).exists()
                count += connection.execute(select(func.count()).select_from(cache).where(unneeded)).scalar_one()
                if drop:
                    connection.execute(delete(cache).where(unneeded))
        return count


def _number(version: int, need: CacheNeed) -> int:
    """How a use is told from others in ``cache_uses.version``: the version itself, or below zero an even number for
    reading it and an odd one for its summaries."""
    return version if need == "version" else -2 * version - (need == "summaries")


def drop_cached(connection: Connection, going: Callable[[FromClause], ColumnElement[bool]]) -> None:
    """Delete what the caches hold for nobody else than the uses that are ``going``, and these uses.

    ``going`` gives the condition for rows of ``cache_uses``, or of an alias of it.
    """
    others = cache_uses.alias()
    for cache in (table, block_cache):
        needed = select(others.c.key).where(others.c.key == cache.c.key, not_(going(others))).exists()
        unused = cache.c.key.in_(select(cache_uses.c.key).where(going(cache_uses)))
        connection.execute(delete(cache).where(unused, ~needed))
    connection.execute(delete(cache_uses).where(going(cache_uses)))


class SqlBlockCache:
    """Implements ``BlockCache``."""

    _db: Database

    def get_outputs(self, task: str, model: str, keys: Sequence[str]) -> dict[str, str]:
        query = select(block_cache.c.key, block_cache.c.output).where(
            block_cache.c.task == task, block_cache.c.model == model
        )
        found: dict[str, str] = {}
        with self._db.read() as connection:
            for group in in_groups(keys):
                rows = connection.execute(query.where(block_cache.c.key.in_(group)))
                found.update((key, output) for key, output in rows)
        return found

    def put_outputs(self, task: str, model: str, outputs: Mapping[str, str]) -> None:
        # In key order for the same reason as vectors.
        rows = [{"task": task, "model": model, "key": key, "output": outputs[key]} for key in sorted(outputs)]
        with self._db.write() as connection:
            insert_rows(connection, self._db.insert(block_cache).on_conflict_do_nothing(), rows)
