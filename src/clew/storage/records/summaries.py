"""Section summaries and generated questions, and how far they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from clew.errors import ConflictError, NotFoundError
from clew.storage.records.database import Database, in_groups, insert_rows
from clew.storage.records.tables import files, sections
from clew.storage.records.tables import questions as table
from clew.types import FileStatus, Section, SummarySource, SummaryStatus

_GOES_ON = (SummaryStatus.PENDING.value, SummaryStatus.RUNNING.value)


class SqlSummaries:
    """Implements ``SummaryRecords``."""

    _db: Database

    def begin_summaries(self, file_id: str) -> int:
        begun = update(files).where(files.c.file_id == file_id).values(summaries_begun(wanted=True))
        with self._db.write() as connection:
            found = connection.execute(
                select(files.c.name, files.c.version).where(files.c.file_id == file_id)
            ).one_or_none()
            if found is None:
                raise NotFoundError(f"There is no file {file_id!r}")
            if not found.version:
                raise ConflictError(f"{found.name} has no published version that could be summarised; process it first")
            return int(connection.execute(begun.returning(files.c.summary_run)).scalar_one())

    def set_summary_progress(self, file_id: str, run: int, done: int, total: int) -> bool:
        progress = {"summary_status": SummaryStatus.RUNNING.value, "summary_done": done, "summary_total": total}
        with self._db.write() as connection:
            return _change(connection, file_id, run, progress)

    def put_summaries(
        self,
        file_id: str,
        run: int,
        summaries: Mapping[str, tuple[str, SummarySource]],
        questions: Mapping[str, Sequence[str]],
    ) -> bool:
        with self._db.write() as connection:
            if not _change(connection, file_id, run, {"summary_status": SummaryStatus.RUNNING.value}):
                return False
            version = connection.execute(select(files.c.version).where(files.c.file_id == file_id)).scalar_one()
            own = (sections.c.file_id == file_id) & (sections.c.version == version)
            connection.execute(update(sections).where(own).values(summary=None, summary_source=None))
            if summaries:
                connection.execute(
                    update(sections)
                    .where(own, sections.c.path == bindparam("of_path"))
                    .values(summary=bindparam("text"), summary_source=bindparam("by")),
                    [{"of_path": path, "text": text, "by": source} for path, (text, source) in summaries.items()],
                )
            connection.execute(delete(table).where(table.c.file_id == file_id, table.c.version == version))
            key = {"file_id": file_id, "version": version}
            rows = [
                key | {"parent_id": parent_id, "ordinal": ordinal, "text": text}
                for parent_id, texts in questions.items()
                for ordinal, text in enumerate(texts)
            ]
            insert_rows(connection, insert(table), rows)
        return True

    def end_summaries(self, file_id: str, run: int, *, model: str = "", failure: str = "") -> bool:
        status = SummaryStatus.FAILED if failure else SummaryStatus.COMPLETED
        changes: dict[str, Any] = {"summary_status": status.value, "summary_reason": failure}
        if not failure:
            changes |= {"summary_model": model, "summary_done": files.c.summary_total}
        with self._db.write() as connection:
            return _change(connection, file_id, run, changes)

    def questions(self, file_id: str) -> dict[str, tuple[str, ...]]:
        query = (
            select(table.c.parent_id, table.c.text)
            .join(files, (files.c.file_id == table.c.file_id) & (files.c.version == table.c.version))
            .where(table.c.file_id == file_id)
            .order_by(table.c.parent_id, table.c.ordinal)
        )
        found: dict[str, tuple[str, ...]] = {}
        with self._db.read() as connection:
            for parent_id, text in connection.execute(query):
                found[parent_id] = (*found.get(parent_id, ()), text)
        return found

    def outline(
        self, kb_id: str, *, file_ids: Iterable[str] | None = None, limit: int | None = None
    ) -> list[tuple[str, Section]]:
        columns = [sections.c[name] for name in ("path", "titles", "level", "page", "summary", "summary_source")]
        query = (
            select(files.c.file_id, *columns)
            .join(sections, (files.c.file_id == sections.c.file_id) & (files.c.version == sections.c.version))
            .where(files.c.kb_id == kb_id, files.c.status == FileStatus.COMPLETED.value, files.c.enabled)
            .order_by(sections.c.level, files.c.seq, sections.c.path)
            .limit(limit)
        )
        groups = [None] if file_ids is None else list(in_groups(file_ids))
        found: list[tuple[str, Section]] = []
        with self._db.read() as connection:
            for group in groups:
                rows = connection.execute(query if group is None else query.where(files.c.file_id.in_(group)))
                found += [(row[0], Section(row[1], tuple(row[2]), *row[3:])) for row in rows]
        if len(groups) > 1:
            found.sort(key=lambda pair: pair[1].level)
        return found[:limit]


def summaries_begun(*, wanted: bool) -> dict[str, Any]:
    """The changes of a file with which a run begins; ``wanted`` False: none is to run."""
    status = SummaryStatus.PENDING if wanted else SummaryStatus.OFF
    return {
        "summary_status": status.value,
        "summary_done": 0,
        "summary_total": 0,
        "summary_reason": "",
        "summary_run": files.c.summary_run + 1,
    }


def _change(connection: Connection, file_id: str, run: int, changes: Mapping[str, Any]) -> bool:
    """Change a file on behalf of a run that goes on; whether it does."""
    changed = update(files).where(
        files.c.file_id == file_id, files.c.summary_run == run, files.c.summary_status.in_(_GOES_ON)
    )
    return connection.execute(changed.values(dict(changes))).rowcount > 0
