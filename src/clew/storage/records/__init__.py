"""Records in SQLite or PostgreSQL through SQLAlchemy, the same code for both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.storage.records.attachments import SqlAttachments
from clew.storage.records.cache import SqlBlockCache, SqlCacheUses, SqlVectors
from clew.storage.records.chunks import SqlChunks
from clew.storage.records.conversations import SqlConversations
from clew.storage.records.database import Database
from clew.storage.records.decisions import SqlDecisions
from clew.storage.records.facts import SqlFacts
from clew.storage.records.files import SqlFiles
from clew.storage.records.kbs import SqlKbs
from clew.storage.records.names import SqlNames
from clew.storage.records.summaries import SqlSummaries

if TYPE_CHECKING:
    from clew.storage.base import Records

__all__ = ["SqlRecords"]


class SqlRecords(
    SqlKbs,
    SqlFiles,
    SqlFacts,
    SqlChunks,
    SqlNames,
    SqlSummaries,
    SqlConversations,
    SqlAttachments,
    SqlVectors,
    SqlBlockCache,
    SqlCacheUses,
    SqlDecisions,
):
    """Implements ``Records``. Safe to use from several threads; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @classmethod
    def open(cls, where: str | Path) -> SqlRecords:
        """Open the records and bring their schema up to date.

        ``where`` is an SQLAlchemy URL (``sqlite:///PATH``, ``postgresql://USER:PASSWORD@HOST/NAME``) or the path of an
        SQLite file; a missing file is made with its folder. Raises SettingsError for another URL and StorageError
        where the database cannot be reached, is damaged or was written by a newer Clew.
        """
        return cls(Database.open(where))

    def close(self) -> None:
        self._db.close()

    def snapshot(self, path: Path) -> set[str]:
        self._db.copy_to(path)
        copy = type(self).open(path)
        try:
            return copy.file_keys()
        finally:
            copy.close()

    def check(self) -> str:
        return f"{self._db.product()}, {self._db.name}, schema revision {self._db.revision()}"


if TYPE_CHECKING:
    _implements: type[Records] = SqlRecords
