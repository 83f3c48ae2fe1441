"""Opening, migrating and crashing, on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from clew.errors import StorageError
from clew.storage.records import SqlRecords
from clew.storage.records.database import Database
from clew.storage.records.migrating import config
from clew.storage.records.tables import HEAD, metadata
from clew.types import FileStatus
from fakes import samples

TESTS = Path(__file__).parents[1]


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python process that runs ``code``."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_migrations_make_exactly_the_tables(new_url: str) -> None:
    database = Database.open(new_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    database.close()


def test_the_newest_migration_is_the_one_that_the_tables_describe() -> None:
    assert ScriptDirectory.from_config(config()).get_heads() == [HEAD]


def test_processes_that_open_a_new_place_at_once_all_succeed(new_url: str) -> None:
    code = "import sys; from clew.storage.records import SqlRecords; print(SqlRecords.open(sys.argv[1]).check())"
    openers = [python(code, new_url) for _ in range(2)]
    for opener in openers:
        out, err = opener.communicate(timeout=120)
        assert opener.returncode == 0, err
        assert f"revision {HEAD}" in out


def test_opening_what_is_up_to_date_does_not_load_alembic(url: str) -> None:
    SqlRecords.open(url).close()
    code = (
        "import sys; from clew.storage.records import SqlRecords; SqlRecords.open(sys.argv[1]); "
        "print('alembic' in sys.modules)"
    )
    out, err = python(code, url).communicate(timeout=120)
    assert out.strip() == "False", err


def test_records_of_a_newer_clew_are_refused(url: str) -> None:
    database = Database.open(url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(StorageError, match="newer one: upgrade Clew"):
        SqlRecords.open(url)


_DIE = """
import os, signal, sys
from sqlalchemy import event
from clew.storage.records import SqlRecords
from fakes import samples

records = SqlRecords.open(sys.argv[1])

@event.listens_for(records._db.engine, "after_cursor_execute")
def die(connection, cursor, statement, *_):
    if sys.argv[2] in statement:
        os.kill(os.getpid(), signal.SIGKILL)

records.stage("f1", 2, samples.parsed("New."), samples.parents(number=500), samples.children(number=500, text="New"))
records.publish("f1", 2)
"""


@pytest.mark.parametrize("statement", ["INSERT INTO blocks", "INSERT INTO children", "file_versions.version != "])
def test_killed_while_writing_a_version_the_old_one_stays_and_work_goes_on(url: str, statement: str) -> None:
    records = SqlRecords.open(url)
    records.create_kb(samples.kb())
    records.add_file(samples.new_file())
    records.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
    records.publish("f1", 1)
    records.begin_update(samples.new_file(content="v2"))
    records.close()

    child = python(_DIE, url, statement)
    _, err = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL, err

    records = SqlRecords.open(url)
    file = records.get_file("f1")
    assert (file.status, file.version) == (FileStatus.PROCESSING, 1)
    assert [c.text for c in records.file_children("f1")] == ["Child 0", "Child 1", "Child 2"]
    assert len(records.blocks("f1", 1)) == 4
    # Staging is one transaction: all of it was committed before the publish, else nothing.
    staged = 500 if "!=" in statement else 0
    assert len(records.file_children("f1", version=2)) == staged
    records.stage("f1", 2, samples.parsed("New."), samples.parents(), samples.children(text="New"))
    records.publish("f1", 2)
    assert [c.text for c in records.file_children("f1")] == ["New 0", "New 1", "New 2"]
    assert records.file_children("f1", version=1) == []
    records.close()
