"""Databases for the contract suites of the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.storage.records import SqlRecords
from fakes.postgres import Postgres, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgres: Postgres) -> str:
    """An empty database with the newest schema, to copy: quicker than migrating one for each test."""
    name = postgres.new_database()
    SqlRecords.open(postgres.url(name)).close()
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a test may keep records; PostgreSQL has the newest schema already."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/data/clew.db"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    name = postgres.new_database(request.getfixturevalue("migrated"))
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/data/clew.db"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop_database(name)
