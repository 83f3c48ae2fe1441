"""Names of what chunks are about, by file and version."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, insert, select

from clew.errors import NotFoundError
from clew.storage.records.database import Database
from clew.storage.records.tables import file_versions, files
from clew.storage.records.tables import names as table


class SqlNames:
    """Implements ``NameRecords``."""

    _db: Database

    def stage_names(self, file_id: str, version: int, names: Mapping[str, Sequence[str]]) -> None:
        row = {"file_id": file_id, "version": version, "data": _packed(names)}
        staged = select(file_versions.c.version).where(
            file_versions.c.file_id == file_id, file_versions.c.version == version
        )
        with self._db.write() as connection:
            if connection.execute(staged).first() is None:
                raise NotFoundError(f"Version {version} of file {file_id} is not staged, so it can have no names.")
            connection.execute(delete(table).where(table.c.file_id == file_id, table.c.version == version))
            if names:
                connection.execute(insert(table), row)

    def named_versions(self, kb_id: str) -> frozenset[tuple[str, int]]:
        query = (
            select(table.c.file_id, table.c.version)
            .join(files, (files.c.file_id == table.c.file_id) & (files.c.version == table.c.version))
            .where(files.c.kb_id == kb_id, files.c.status == "completed", files.c.enabled)
        )
        with self._db.read() as connection:
            return frozenset((file_id, version) for file_id, version in connection.execute(query))

    def names(self, file_id: str, version: int) -> dict[str, tuple[str, ...]]:
        query = select(table.c.data).where(table.c.file_id == file_id, table.c.version == version)
        with self._db.read() as connection:
            data = connection.execute(query).scalar()
        return {} if data is None else _unpacked(data)


def _packed(names: Mapping[str, Sequence[str]]) -> bytes:
    """Compressed JSON that holds each chunk id once: a chunk has several names, and ids are long."""
    place = {chunk_id: i for i, chunk_id in enumerate(dict.fromkeys(c for ids in names.values() for c in ids))}
    value = {"chunks": list(place), "names": {name: [place[c] for c in ids] for name, ids in names.items()}}
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _unpacked(data: bytes) -> dict[str, tuple[str, ...]]:
    value = json.loads(zlib.decompress(data))
    chunks = value["chunks"]
    return {name: tuple(chunks[i] for i in places) for name, places in value["names"].items()}
