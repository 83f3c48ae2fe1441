"""Vectors and texts that were paid for once.

Vectors are stored as float16: half the space of the largest table. Rounding moves a unit vector of 384 dimensions by
about 2e-4, so a cosine by about 1e-5; the quantised encoder's own error is a hundred times larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select

from clew.storage.records.database import Database, in_groups, insert_rows
from clew.storage.records.tables import block_cache
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
