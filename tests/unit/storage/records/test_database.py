from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import event, text

from clew.errors import SettingsError, StorageBusyError, StorageError, StorageFullError
from clew.storage.records import SqlRecords, database
from clew.storage.records.database import Database, in_groups
from fakes import samples


@pytest.mark.parametrize(
    "url",
    [
        "",
        "clew.db",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://localhost/clew",
        "sqlite:///file:x?mode=memory&uri=true",
    ],
)
def test_urls_that_cannot_hold_records_are_refused_with_the_settings_path(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^storage\.records_url: "):
        SqlRecords.open(url)


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20" / "数据.db"
    SqlRecords.open(path).close()
    assert path.is_file()


def test_sqlite_is_set_up_for_several_readers_and_a_writer(tmp_path: Path) -> None:
    opened = Database.open(tmp_path / "clew.db")
    with opened.read() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
    opened.close()
    assert pragma == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 10_000}


def test_an_error_in_a_transaction_takes_all_of_it_back(tmp_path: Path) -> None:
    opened = Database.open(tmp_path / "clew.db")
    insert = text("INSERT INTO decisions (kind, created_at, decision) VALUES ('x', '', '{}')")

    def fail_later() -> None:
        with opened.write() as connection:
            connection.execute(insert)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_later()
    with opened.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM decisions")).scalar() == 0
    opened.close()


def test_a_full_disk(tmp_path: Path) -> None:
    records = SqlRecords.open(tmp_path / "clew.db")
    records.create_kb(samples.kb())
    records.add_file(samples.new_file())
    records.close()
    event.listen(records._db.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=80"))
    with pytest.raises(StorageFullError, match=r"clew\.db is full; make space"):
        records.stage("f1", 1, samples.parsed("x" * 1_000_000), [], [])
    assert records.blocks("f1", 1) == []
    records.close()


def test_a_lock_of_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    records = SqlRecords.open(tmp_path / "clew.db")
    holder = sqlite3.connect(tmp_path / "clew.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusyError, match=r"clew\.db is locked"):
        records.create_kb(samples.kb())
    assert records.list_kbs() == []  # reading goes on
    holder.execute("ROLLBACK")
    records.create_kb(samples.kb())
    holder.close()
    records.close()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "clew.db").write_text("something else, long enough to be looked at as a header of a database " * 20)
    with pytest.raises(StorageError, match=r"clew\.db is damaged .* restore it from a backup"):
        SqlRecords.open(tmp_path / "clew.db")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be made"):
        SqlRecords.open(tmp_path / "file" / "clew.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageError, match=r"folder\.db cannot be written"):
        SqlRecords.open(tmp_path / "folder.db")


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(StorageError, match="cannot be reached") as caught:
        SqlRecords.open("postgres://clew:secret@127.0.0.1:1/clew")
    assert "127.0.0.1:1/clew" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_hidden_versions_are_read_from_an_index_that_holds_only_them(tmp_path: Path) -> None:
    records = SqlRecords.open(tmp_path / "clew.db")
    statements: list[tuple[str, tuple[str, ...]]] = []

    @event.listens_for(records._db.engine, "before_cursor_execute")
    def note(_: object, __: object, statement: str, parameters: tuple[str, ...], *___: object) -> None:
        statements.append((statement, parameters))

    records.hidden_versions("kb1")
    statement, parameters = statements[-1]
    with records._db.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    records.close()
    assert "USING INDEX ix_files_hidden" in str(plan)


def test_ids_come_in_groups_without_repetitions() -> None:
    groups = list(in_groups(str(i % 1100) for i in range(3000)))
    assert [len(group) for group in groups] == [500, 500, 100]
    assert list(in_groups([])) == []
