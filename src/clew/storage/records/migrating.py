"""Brings a database to the newest schema with Alembic.

A new revision: change ``tables.py``, write ``migrations/versions/rNNNN_name.py``, set ``tables.HEAD``. The contract
suite compares tables and migrations on both databases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, text

from clew.errors import StorageError

_LOCK = 0x636C6577  # "clew": the advisory lock that migrating processes queue for
_WAIT_MS = 120_000


def config(connection: Connection | None = None) -> Config:
    """Alembic's settings for our migrations, run on ``connection``."""
    settings = Config()
    settings.set_main_option("script_location", "clew.storage.records:migrations")
    settings.attributes["connection"] = connection
    return settings


def upgrade(engine: Engine, name: str) -> None:
    """Bring the schema to its newest revision in one transaction; of several processes that try, one does it and the
    others find it done. ``name`` is how messages call the database. Raises StorageError."""
    with engine.connect() as connection:
        # The connection's settings change; it must not go back to the pool.
        connection.detach()
        with _locked(connection):
            try:
                command.upgrade(config(connection), "head")
            except CommandError as error:
                raise StorageError(
                    f"The schema of {name} is none that this Clew knows ({error}); "
                    "it was written by a newer one: upgrade Clew"
                ) from error


@contextmanager
def _locked(connection: Connection) -> Iterator[None]:
    if connection.dialect.name == "sqlite":
        # Tables that are rebuilt would otherwise take the rows that refer to them along; cannot change inside.
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql(f"PRAGMA busy_timeout={_WAIT_MS}")
        connection.rollback()
        with connection.execution_options(write=True).begin():
            yield
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise StorageError(f"The migration would leave rows of {broken[0]} without their {broken[2]}")
    else:
        with connection.begin():
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield
