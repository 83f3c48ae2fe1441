"""What is known about files, as a search asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select

from clew.storage.records.database import Database
from clew.storage.records.tables import files
from clew.types import FileStatus


class SqlFacts:
    """Implements ``FactRecords``."""

    _db: Database

    def facts_stamp(self, kb_id: str) -> str:
        query = select(func.count(), func.max(files.c.updated_at)).where(files.c.kb_id == kb_id)
        with self._db.read() as connection:
            count, last = connection.execute(query).one()
        return f"{count} {last}"

    def file_facts(self, kb_id: str) -> dict[str, Mapping[str, Any]]:
        query = select(files.c.file_id, files.c.facts).where(
            files.c.kb_id == kb_id, files.c.status == FileStatus.COMPLETED.value, files.c.enabled
        )
        with self._db.read() as connection:
            return {file_id: facts for file_id, facts in connection.execute(query) if facts}
