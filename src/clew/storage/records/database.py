"""One SQL database: how it is opened, and its two kinds of transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, Insert, Table, create_engine, event, inspect, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from clew.errors import SettingsError, StorageBusyError, StorageError
from clew.storage.records.failures import translate
from clew.storage.records.tables import HEAD
from clew.storage.records.values import dump_json

_BUSY_SECONDS = 10.0
_WAL_LIMIT = 64 * 1024 * 1024  # bytes that the log keeps after a large transaction
_IDS_PER_STATEMENT = 500  # well below SQLite's limit of 32,766 variables (999 before 3.32)


class Database:
    """An engine whose schema is up to date. Safe to use from several threads."""

    def __init__(self, engine: Engine, name: str, path: Path | None) -> None:
        self.engine = engine
        self.name = name
        """How messages call it; never with its password."""
        self._path = path

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Connect and bring the schema to :data:`HEAD`. ``where`` is an SQLAlchemy URL or the path of an SQLite file,
        which is made with its folder where it does not exist. Raises SettingsError and StorageError."""
        url = _url_of(where)
        path = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
        name = f"database {path}" if path else f"database {url.set(drivername='postgresql').render_as_string()}"
        database = cls(_sqlite_engine(path) if path else _postgres_engine(url), name, path)
        try:
            with database._translated():
                if path:
                    database._use_write_ahead_log()
                if database.revision() != HEAD:
                    database._upgrade()
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for one reading statement; a method that needs several must not rely on them to agree."""
        with self._translated(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that may write: committed at the end, rolled back on any error. On SQLite it takes the write
        lock at once, because a reader that wants to become a writer later is refused without waiting."""
        with (
            self._translated(),
            self.engine.connect().execution_options(write=True) as connection,
            connection.begin(),
        ):
            yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT that knows ON CONFLICT."""
        return sqlite.insert(table) if self.engine.dialect.name == "sqlite" else postgresql.insert(table)

    def revision(self) -> str | None:
        """The schema revision in the database; None for a new one."""
        with self.read() as connection:
            try:
                return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            except DBAPIError:
                connection.rollback()
                if inspect(connection).has_table("alembic_version"):
                    raise
                return None

    def copy_to(self, path: Path) -> None:
        """Copy the database in one transaction to the SQLite file ``path``. Raises StorageError on PostgreSQL."""
        if not self._path:
            raise StorageError(f"{self.name} is backed up with PostgreSQL's own tools: see pg_dump")
        with self._translated(), self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM INTO ?", (str(path),))

    def product(self) -> str:
        """Name and version of the database software."""
        if self._path:
            return f"SQLite {sqlite3.sqlite_version}"
        with self.read() as connection:
            return f"PostgreSQL {connection.execute(text('SHOW server_version')).scalar()}"

    def _upgrade(self) -> None:
        # Alembic takes longer to import than a command may take to start, and is needed once per release.
        from clew.storage.records.migrating import upgrade  # noqa: PLC0415

        upgrade(self.engine, self.name)

    def _use_write_ahead_log(self) -> None:
        """Readers and the writer then do not wait for each other. The mode stays in the file; the switch does not wait
        for other connections by itself."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                with self.read() as connection:
                    mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
                    if mode != "wal":
                        mode = connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar()
            except StorageBusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                break
        if mode != "wal":
            raise StorageError(f"The file system of {self.name} has no write-ahead log; use a folder on a local disk")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise translate(error, self.name, self._path) from error


def in_groups(ids: Iterable[str]) -> Iterator[list[str]]:
    """``ids`` without repetitions, in lists short enough for an IN clause."""
    rest = iter(dict.fromkeys(ids))
    while group := list(islice(rest, _IDS_PER_STATEMENT)):
        yield group


def insert_rows(connection: Connection, statement: Insert, rows: list[dict[str, Any]]) -> None:
    """Run ``statement`` for all rows; nothing happens without any."""
    if rows:
        connection.execute(statement, rows)


def _url_of(where: str | Path) -> URL:
    if isinstance(where, Path):
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(where.replace("postgres://", "postgresql://", 1))
    except ArgumentError as error:
        raise SettingsError(
            "storage.records_url: not a database URL; write sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"
        ) from error
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and not url.database.startswith("file:"):
            return URL.create("sqlite", database=url.database)
        case "postgresql":
            return url.set(drivername="postgresql+psycopg")
        case "sqlite":
            raise SettingsError("storage.records_url: SQLite needs the path of a file; write sqlite:///PATH")
        case other:
            raise SettingsError(f"storage.records_url: {other} is not supported; use sqlite or postgresql")


def _sqlite_engine(path: Path) -> Engine:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"The folder {path.parent} cannot be made: {error.strerror}") from error
    # isolation_level None: the driver starts no transactions of its own; ours begin in _begin.
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None},
        json_serializer=dump_json,
        max_overflow=40,
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if connection.get_execution_options().get("write"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _postgres_engine(url: URL) -> Engine:
    try:
        return create_engine(
            url,
            connect_args={"connect_timeout": 10} if "connect_timeout" not in url.query else {},
            json_serializer=dump_json,
            max_overflow=40,
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise SettingsError("storage.records_url: PostgreSQL needs its driver; pip install 'clew[postgres]'") from error
