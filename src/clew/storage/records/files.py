"""Files, their lock and their versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, text, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import IntegrityError

from clew.errors import ConflictError, NotFoundError, StorageBusyError
from clew.storage.base import NewFile
from clew.storage.records.cache import drop_cached
from clew.storage.records.chunks import edit_of, edits_of, edits_row
from clew.storage.records.database import Database
from clew.storage.records.summaries import summaries_begun
from clew.storage.records.tables import HIDDEN, file_versions, files, kbs
from clew.storage.records.values import now
from clew.types import SUMMARIES_GO_ON, ChangeReport, File, FileStatus, PassageEdit, SummaryStatus, TokenUsage

_UPLOADED = ("name", "media_type", "size", "file_key", "content_hash", "edits")
_READ = ("title", "language", "pages", "counts", "warnings", "changes")

# What a file is also known by in a list; the rest of its facts are no texts.
_SEARCHED_FACTS = ("company", "period", "date", "type")


class SqlFiles:
    """Implements ``FileRecords``."""

    _db: Database

    def add_file(self, new: NewFile) -> tuple[File, bool]:
        time = now()
        row = {
            "file_id": new.file_id,
            "kb_id": new.kb_id,
            "name": new.name,
            "media_type": new.media_type,
            "size": new.size,
            "file_key": new.file_key,
            "content_hash": new.content_hash,
            "source_path": new.source_path,
            "status": FileStatus.PROCESSING.value,
            "writing": 1,
            "created_at": time,
            "updated_at": time,
        }
        # A row that was in the way may be gone when it is looked for; then there is room for ours.
        for _ in range(5):
            with self._db.write() as connection:
                if connection.execute(select(kbs.c.kb_id).where(kbs.c.kb_id == new.kb_id)).first() is None:
                    raise NotFoundError(f"There is no knowledge base {new.kb_id!r}; clew kb list shows all")
                try:
                    added = (
                        connection.execute(self._db.insert(files).values(row).on_conflict_do_nothing().returning(files))
                        .mappings()
                        .one_or_none()
                    )
                except IntegrityError as error:  # the KB was deleted in this moment
                    raise NotFoundError(f"There is no knowledge base {new.kb_id!r}; clew kb list shows all") from error
                if added is not None:
                    return _file(added), True
                same = (
                    connection.execute(
                        select(files).where(files.c.kb_id == new.kb_id, files.c.content_hash == new.content_hash)
                    )
                    .mappings()
                    .one_or_none()
                )
                if same is not None:
                    return _file(same), same["file_id"] == new.file_id
                if _row(connection, new.file_id) is not None:
                    raise ConflictError(f"The file id {new.file_id!r} is taken by other content; update that file")
        raise StorageBusyError(f"{new.name} is being added and deleted at the same time; try again")

    def get_file(self, file_id: str) -> File:
        with self._db.read() as connection:
            return _file(_existing(connection, file_id))

    def list_files(
        self,
        kb_id: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        status: FileStatus | None = None,
        text: str = "",
    ) -> list[File]:
        query = select(files).where(files.c.kb_id == kb_id).order_by(files.c.seq).offset(offset).limit(limit)
        if status is not None:
            query = query.where(files.c.status == status.value)
        if text:
            facts = (files.c.facts[name].as_string() for name in _SEARCHED_FACTS)
            query = query.where(or_(*(column.icontains(text, autoescape=True) for column in (files.c.name, *facts))))
        with self._db.read() as connection:
            return [_file(row) for row in connection.execute(query).mappings()]

    def moving_files(self, kb_id: str, since: str) -> list[File]:
        moving = or_(
            files.c.status == FileStatus.PROCESSING.value,
            files.c.summary_status.in_([status.value for status in SUMMARIES_GO_ON]),
            files.c.updated_at > since,
        )
        query = select(files).where(files.c.kb_id == kb_id, moving).order_by(files.c.seq)
        with self._db.read() as connection:
            return [_file(row) for row in connection.execute(query).mappings()]

    def begin_update(self, new: NewFile) -> File:
        changes = {
            "name": new.name,
            "media_type": new.media_type,
            "size": new.size,
            "file_key": new.file_key,
            "content_hash": new.content_hash,
            "status": FileStatus.PROCESSING.value,
            "writing": files.c.writing + 1,
            "updated_at": now(),
            "reason": "",
            "stage": "",
            "progress": 0.0,
        }
        if new.source_path:
            changes["source_path"] = new.source_path
        lock = (
            update(files)
            .where(
                files.c.file_id == new.file_id,
                files.c.kb_id == new.kb_id,
                files.c.status != FileStatus.PROCESSING.value,
            )
            .values(changes)
            .returning(files)
        )
        with self._db.write() as connection:
            try:
                locked = connection.execute(lock).mappings().one_or_none()
            except IntegrityError as error:
                raise _same_content(new.name) from error
            if locked is not None:
                return _file(locked)
            current = _existing(connection, new.file_id)
        if current["kb_id"] != new.kb_id:
            raise _missing(new.file_id)
        raise ConflictError(f"{current['name']} is being processed; update it when that is done")

    def begin_edit(self, file_id: str, edits: Mapping[str, PassageEdit] | None = None) -> File:
        changes = {
            "status": FileStatus.PROCESSING.value,
            "writing": files.c.writing + 1,
            "updated_at": now(),
            "stage": "",
            "progress": 0.0,
        } | ({} if edits is None else {"edits": edits_row(edits)})
        lock = update(files).where(files.c.file_id == file_id, files.c.status == FileStatus.COMPLETED.value)
        with self._db.write() as connection:
            locked = connection.execute(lock.values(changes).returning(files)).mappings().one_or_none()
            if locked is not None:
                return _file(locked)
            current = _existing(connection, file_id)
        raise ConflictError(f"{current['name']} is {current['status']}; edit it when it is completed")

    def begin_again(self, file_id: str, version: int) -> File:
        again = update(files).where(*_being_written(file_id, version)).values(writing=files.c.writing + 1, stage="")
        with self._db.write() as connection:
            locked = connection.execute(again.returning(files)).mappings().one_or_none()
            if locked is None:
                _existing(connection, file_id)
                raise outdated(file_id, version)
        return _file(locked)

    def set_progress(self, file_id: str, version: int, stage: str, progress: float) -> bool:
        with self._db.write() as connection:
            changed = connection.execute(
                update(files)
                .where(*_being_written(file_id, version))
                .values(stage=stage, progress=min(1.0, max(0.0, progress)))
            )
        return changed.rowcount > 0

    def publish(
        self,
        file_id: str,
        version: int,
        *,
        changes: ChangeReport | None = None,
        summaries: bool = False,
        undescribed: int | None = None,
    ) -> File:
        with self._db.write() as connection:
            staged = _version(connection, file_id, version)
            if staged is None:
                _existing(connection, file_id)
                raise NotFoundError(f"Version {version} of file {file_id!r} is not staged; process the file again")
            current = _existing(connection, file_id)
            if current["version"] == version:
                return _file(current)
            read = {name: staged[name] for name in (*_READ, "edits")} | {"changes": _changes_row(changes)}
            published = (
                connection.execute(
                    update(files)
                    .where(*_being_written(file_id, version))
                    .values(
                        **read,
                        **summaries_begun(wanted=summaries),
                        summary_model="",
                        undescribed=undescribed,
                        version=version,
                        status=FileStatus.COMPLETED.value,
                        reason="",
                        stage="",
                        progress=1.0,
                        updated_at=now(),
                    )
                    .returning(files)
                )
                .mappings()
                .one_or_none()
            )
            if published is None:
                raise outdated(file_id, version)
            connection.execute(
                update(file_versions)
                .where(file_versions.c.file_id == file_id, file_versions.c.version == version)
                .values(changes=read["changes"])
            )
            _keep_only(connection, file_id, version)
        return _file(published)

    def fail(self, file_id: str, version: int, reason: str) -> File:
        with self._db.write() as connection:
            failed = (
                connection.execute(
                    update(files)
                    .where(*_being_written(file_id, version))
                    .values(status=FileStatus.FAILED.value, reason=reason, stage="", progress=0.0, updated_at=now())
                    .returning(files)
                )
                .mappings()
                .one_or_none()
            )
            if failed is None:
                _existing(connection, file_id)
                raise outdated(file_id, version)
            _keep_only(connection, file_id, failed["version"])
        return _file(failed)

    def update_file(
        self,
        file_id: str,
        *,
        enabled: bool | None = None,
        name: str | None = None,
        facts: Mapping[str, Any] | None = None,
        status: FileStatus | None = None,
        undescribed: int | None = None,
        describing: bool | None = None,
    ) -> File:
        given = {
            "enabled": enabled,
            "name": name,
            "facts": None if facts is None else dict(facts),
            "undescribed": undescribed,
            "describing": describing,
        }
        changes = {key: value for key, value in given.items() if value is not None}
        with self._db.write() as connection:
            if status is not None:
                _restore(connection, file_id, status)
            if changes:
                changes["updated_at"] = now()
                connection.execute(update(files).where(files.c.file_id == file_id).values(changes))
            return _file(_existing(connection, file_id))

    def add_usage(self, file_id: str, part: str, usage: TokenUsage) -> None:
        own = files.c.file_id == file_id
        with self._db.write() as connection:
            spent = connection.execute(select(files.c.usage).where(own).with_for_update()).scalar_one_or_none() or {}
            spent[part] = asdict(TokenUsage(**spent.get(part, {})) + usage)
            connection.execute(update(files).where(own).values(usage=spent))

    def delete_file(self, file_id: str) -> None:
        with self._db.write() as connection:
            drop_cached(connection, lambda uses: uses.c.file_id == file_id)
            connection.execute(delete(files).where(files.c.file_id == file_id))

    def hidden_versions(self, kb_id: str) -> frozenset[tuple[str, int]]:
        query = select(files.c.file_id, files.c.version, files.c.writing).where(files.c.kb_id == kb_id, text(HIDDEN))
        with self._db.read() as connection:
            hidden = connection.execute(query).all()
        return frozenset((file_id, version) for file_id, *versions in hidden for version in versions)

    def count_files(self, kb_id: str) -> Mapping[FileStatus, int]:
        query = select(files.c.status, func.count()).where(files.c.kb_id == kb_id).group_by(files.c.status)
        with self._db.read() as connection:
            found = {FileStatus(status): number for status, number in connection.execute(query)}
        return {status: found.get(status, 0) for status in FileStatus}

    def file_keys(self, file_id: str | None = None) -> set[str]:
        uploaded, stored = select(files.c.file_key), select(file_versions.c.file_key)
        if file_id is not None:
            uploaded = uploaded.where(files.c.file_id == file_id)
            stored = stored.where(file_versions.c.file_id == file_id)
        query = uploaded.union(stored)
        with self._db.read() as connection:
            return set(connection.execute(query).scalars())


def _restore(connection: Connection, file_id: str, status: FileStatus) -> None:
    """Take a failed file back to its published version."""
    current = _existing(connection, file_id)
    if status is not FileStatus.COMPLETED:
        raise ConflictError(f"A file becomes {status} by begin_update or fail, not by update_file")
    stored = _version(connection, file_id, current["version"])
    if stored is None:
        raise ConflictError(f"{current['name']} has no earlier version; upload it again")
    restored = (
        update(files)
        .where(files.c.file_id == file_id, files.c.status == FileStatus.FAILED.value)
        .values(
            **{name: stored[name] for name in (*_UPLOADED, *_READ)},
            status=FileStatus.COMPLETED.value,
            reason="",
            stage="",
            progress=1.0,
            updated_at=now(),
        )
    )
    try:
        done = connection.execute(restored).rowcount
    except IntegrityError as error:
        raise _same_content(stored["name"]) from error
    if not done:
        raise ConflictError(f"{current['name']} is {current['status']}; only a failed file can be restored")


def _being_written(file_id: str, version: int) -> tuple[ColumnElement[bool], ...]:
    """Where this attempt holds the file's lock: it was not cancelled, and no later one began."""
    return (
        files.c.file_id == file_id,
        files.c.writing == version,
        files.c.status == FileStatus.PROCESSING.value,
    )


def outdated(file_id: str, version: int) -> ConflictError:
    """What an attempt is told that no longer holds the lock."""
    return ConflictError(
        f"Version {version} of file {file_id!r} is no longer being written: it ended, or a newer began"
    )


def _row(connection: Connection, file_id: str) -> RowMapping | None:
    return connection.execute(select(files).where(files.c.file_id == file_id)).mappings().one_or_none()


def _existing(connection: Connection, file_id: str) -> RowMapping:
    row = _row(connection, file_id)
    if row is None:
        raise _missing(file_id)
    return row


def _version(connection: Connection, file_id: str, version: int) -> RowMapping | None:
    query = select(file_versions).where(file_versions.c.file_id == file_id, file_versions.c.version == version)
    return connection.execute(query).mappings().one_or_none()


def _keep_only(connection: Connection, file_id: str, version: int) -> None:
    """Drop all other versions; their blocks, sections, parents and children go with them, and what was cached for them
    alone."""
    drop_cached(
        connection, lambda uses: (uses.c.file_id == file_id) & (uses.c.version > 0) & (uses.c.version != version)
    )
    connection.execute(
        delete(file_versions).where(file_versions.c.file_id == file_id, file_versions.c.version != version)
    )


def _missing(file_id: str) -> NotFoundError:
    return NotFoundError(f"There is no file {file_id!r}")


def _same_content(name: str) -> ConflictError:
    return ConflictError(f"Another file of this knowledge base has the same content as {name}; remove one of them")


def _changes_row(changes: ChangeReport | None) -> dict[str, Any] | None:
    return None if changes is None else asdict(changes)


def _changes(value: dict[str, Any] | None) -> ChangeReport | None:
    if value is None:
        return None
    return ChangeReport(**value | {"edits_lost": tuple(edit_of(edit) for edit in value.get("edits_lost", ()))})


def _file(row: RowMapping) -> File:
    return File(
        file_id=row["file_id"],
        kb_id=row["kb_id"],
        name=row["name"],
        media_type=row["media_type"],
        size=row["size"],
        file_key=row["file_key"],
        content_hash=row["content_hash"],
        status=FileStatus(row["status"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        title=row["title"],
        language=row["language"],
        pages=row["pages"],
        reason=row["reason"],
        source_path=row["source_path"],
        enabled=row["enabled"],
        progress=row["progress"],
        stage=row["stage"],
        facts=row["facts"],
        counts=row["counts"],
        warnings=tuple(row["warnings"]),
        writing=row["writing"],
        edits=edits_of(row["edits"]),
        changes=_changes(row["changes"]),
        summary_status=SummaryStatus(row["summary_status"]),
        summary_done=row["summary_done"],
        summary_total=row["summary_total"],
        summary_model=row["summary_model"],
        summary_reason=row["summary_reason"],
        summary_run=row["summary_run"],
        usage={part: TokenUsage(**usage) for part, usage in (row["usage"] or {}).items()},
        undescribed=row["undescribed"],
        describing=row["describing"],
    )
