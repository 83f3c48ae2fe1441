"""Errors of SQLAlchemy, SQLite and psycopg in Clew's own words."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from clew.errors import StorageBusyError, StorageError, StorageFullError

_FULL_BELOW = 1_000_000  # bytes: SQLite reports some writes to a full disk as plain I/O errors


def translate(error: SQLAlchemyError, database: str, path: Path | None) -> StorageError:
    """The storage error that ``error`` means; ``database`` names the database, ``path`` is SQLite's file."""
    if isinstance(error, PoolTimeoutError):
        return StorageBusyError(f"Too many requests at once wait for {database}; try again")
    if not isinstance(error, DBAPIError):
        return StorageError(f"{database} cannot be used: {error}")
    original = error.orig
    detail = str(original).strip()
    if isinstance(original, sqlite3.Error):
        return _of_sqlite(original, detail, database, path)
    state = getattr(original, "sqlstate", None) or ""
    if state == "53100":
        return StorageFullError(f"The disk of {database} is full; make space and try again")
    if state in {"55P03", "40001", "40P01"} or state.startswith("53"):
        return StorageBusyError(f"{database} is busy ({detail}); try again")
    if not state or state.startswith(("08", "28", "3D", "57P")):
        return StorageError(
            f"{database} cannot be reached ({detail}); check that the server runs and that storage.records_url is right"
        )
    return StorageError(f"{database} refused a statement: {detail}")


def _of_sqlite(original: sqlite3.Error, detail: str, database: str, path: Path | None) -> StorageError:
    code = getattr(original, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and path is not None and _is_full(path):
        code = sqlite3.SQLITE_FULL
    match code:
        case sqlite3.SQLITE_FULL:
            return StorageFullError(f"The disk of {database} is full; make space and try again")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageBusyError(f"{database} is locked by another process; try again when that is done")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StorageError(f"{database} is damaged ({detail}); restore it from a backup")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StorageError(f"{database} cannot be written ({detail}); check its folder and permissions")
        case _:
            return StorageError(f"{database} failed: {detail}")


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BELOW
    except OSError:
        return False
