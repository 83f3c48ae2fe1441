"""Knowledge bases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import IntegrityError

from clew.errors import ConflictError, NotFoundError
from clew.storage.records.cache import drop_cached
from clew.storage.records.database import Database
from clew.storage.records.tables import files, kbs
from clew.types import KnowledgeBase


class SqlKbs:
    """Implements ``KbRecords``."""

    _db: Database

    def create_kb(self, kb: KnowledgeBase) -> None:
        row = {
            "kb_id": kb.kb_id,
            "name": kb.name,
            "created_at": kb.created_at,
            "settings": dict(kb.settings),
            "embedder": kb.embedder,
            "description": kb.description,
            "conversation_id": kb.conversation_id or None,
        }
        with self._db.write() as connection:
            try:
                connection.execute(insert(kbs), row)
            except IntegrityError as error:
                raise _taken(kb.name) from error

    def get_kb(self, name_or_id: str) -> KnowledgeBase:
        query = select(kbs).where((kbs.c.kb_id == name_or_id) | (kbs.c.name == name_or_id))
        with self._db.read() as connection:
            found = [_kb(row) for row in connection.execute(query).mappings()]
        if not found:
            raise NotFoundError(f"There is no knowledge base {name_or_id!r}; clew kb list shows all")
        return next((kb for kb in found if kb.kb_id == name_or_id), found[0])

    def list_kbs(self) -> list[KnowledgeBase]:
        with self._db.read() as connection:
            return [_kb(row) for row in connection.execute(select(kbs).order_by(kbs.c.name)).mappings()]

    def update_kb(
        self,
        kb_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        embedder: str | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> KnowledgeBase:
        given = {
            "settings": None if settings is None else dict(settings),
            "embedder": embedder,
            "name": name,
            "description": description,
        }
        changes = {key: value for key, value in given.items() if value is not None}
        if not changes:
            return self.get_kb(kb_id)
        with self._db.write() as connection:
            try:
                row = (
                    connection.execute(update(kbs).where(kbs.c.kb_id == kb_id).values(changes).returning(kbs))
                    .mappings()
                    .one_or_none()
                )
            except IntegrityError as error:
                raise _taken(str(name)) from error
        if row is None:
            raise NotFoundError(f"There is no knowledge base {kb_id!r}; clew kb list shows all")
        return _kb(row)

    def delete_kb(self, kb_id: str) -> None:
        own = select(files.c.file_id).where(files.c.kb_id == kb_id)
        with self._db.write() as connection:
            drop_cached(connection, lambda uses: uses.c.file_id.in_(own))
            connection.execute(delete(kbs).where(kbs.c.kb_id == kb_id))


def _taken(name: str) -> ConflictError:
    return ConflictError(f"There is a knowledge base {name!r} already; choose another name")


def _kb(row: RowMapping) -> KnowledgeBase:
    return KnowledgeBase(
        kb_id=row["kb_id"],
        name=row["name"],
        created_at=row["created_at"],
        settings=row["settings"],
        embedder=row["embedder"],
        description=row["description"],
        conversation_id=row["conversation_id"] or "",
    )
