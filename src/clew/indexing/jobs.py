"""Durable ingestion: every file is one DBOS workflow whose steps survive a crash.

The workflow's id is the ``file_key`` of the version it writes, so asking twice starts it once. Its steps return only
small values; what they produce is staged in the records, the vector cache and the search index, all of which a
repeated step overwrites. DBOS keeps one instance a process, hence one data folder a process can ingest at a time.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from dbos import error as dbos_error

from clew.errors import ClewError, ConflictError, InputError, NotFoundError, StorageError
from clew.indexing.attaching import embed_attached, stage_attached
from clew.indexing.pipeline import IndexingPipeline
from clew.types import File, FileStatus

_QUEUE = "ingest"
# Of its own, because somebody waits with a question while it is read.
_ATTACHMENTS = "attach"
# Recovery looks only at workflows of the same version: raise it when the steps change in an incompatible way.
_STEPS_VERSION = "1"
_POLL_SECONDS = 0.1
_MIN_PROGRESS_SECONDS = 0.2

_running: IngestionJobs | None = None
_start_lock = threading.Lock()


class IngestionJobs:
    """Runs ingestion workflows for one data folder until closed.

    ``database_url`` is the SQLAlchemy URL of DBOS's own tables; ``workers`` files are ingested at the same time.
    Raises ConflictError where this process already ingests into another data folder.
    """

    def __init__(self, pipeline: IndexingPipeline, database_url: str, *, workers: int = 1) -> None:
        self.pipeline = pipeline
        self._database_url = database_url
        self._workers = workers
        self._started = False
        self._last_progress: dict[str, float] = {}

    def start(self) -> None:
        """Start the workers, go on with what a crash interrupted, and sweep what it left behind."""
        global _running
        with _start_lock:
            if self._started:
                return
            if _running is not None:
                raise ConflictError(
                    "This process already ingests files into another data folder; close that Clew first, "
                    "or use a second process."
                )
            _running = self
            try:
                self._launch()
            except Exception as error:
                _running = None
                DBOS.destroy()
                raise StorageError(
                    f"{self._database_url}: the ingestion queue could not be started ({error}); "
                    "check that the data folder is writable."
                ) from error
            self._started = True
        self._reconcile()

    def enqueue(self, file: File) -> None:
        """Queue the ingestion of the file's current ``file_key``; nothing happens where it is queued already."""
        self.start()
        attached = bool(self.pipeline.records.get_kb(file.kb_id).conversation_id)
        queue, workflow = (_ATTACHMENTS, _attach) if attached else (_QUEUE, _ingest)
        with SetWorkflowID(file.file_key):
            DBOS.enqueue_workflow(queue, workflow, file.file_id, file.file_key)

    def close(self) -> None:
        """Stop the workers; what is unfinished goes on at the next start."""
        global _running
        with _start_lock:
            if self._started:
                DBOS.destroy()
                self._started = False
                _running = None

    def report_progress(self, file_id: str, stage: str, share: float) -> None:
        """Record progress, at most a few times a second for each file."""
        now = time.monotonic()
        if share < 1 and now - self._last_progress.get(file_id, 0.0) < _MIN_PROGRESS_SECONDS:
            return
        self._last_progress[file_id] = now
        self.pipeline.records.set_progress(file_id, stage, share)

    def wanted(self, file_id: str, file_key: str) -> bool:
        """Whether this version is still to be written: the file exists, is processing, and was not superseded."""
        try:
            file = self.pipeline.records.get_file(file_id)
        except NotFoundError:
            return False
        return file.status is FileStatus.PROCESSING and file.file_key == file_key

    def _launch(self) -> None:
        config = DBOSConfig(
            name="clew",
            system_database_url=self._database_url,
            application_version=_STEPS_VERSION,
            executor_id="clew",
            log_level="ERROR",
            notification_listener_polling_interval_sec=_POLL_SECONDS,
        )
        if self._database_url.startswith("sqlite"):
            config["db_engine_kwargs"] = {"connect_args": {"factory": _SqliteConnection}}
        DBOS(config=config)
        DBOS.launch()
        for queue in (_QUEUE, _ATTACHMENTS):
            DBOS.register_queue(queue, worker_concurrency=self._workers, polling_interval_sec=_POLL_SECONDS)

    def _reconcile(self) -> None:
        """Queue files whose upload was recorded but not queued; drop index entries and originals of no file."""
        pipeline = self.pipeline
        keys: set[str] = set()
        for kb in pipeline.records.list_kbs():
            files = pipeline.records.list_files(kb.kb_id)
            keys.update(file.file_key for file in files)
            current = {(file.file_id, file.version) for file in files}
            processing = {file.file_id for file in files if file.status is FileStatus.PROCESSING}
            for file_id, version in pipeline.index.files(kb.kb_id):
                if (file_id, version) not in current and file_id not in processing:
                    versions = dict(current)
                    pipeline.index.delete(kb.kb_id, file_id, keep_version=versions.get(file_id))
            for file in files:
                if file.status is FileStatus.PROCESSING:
                    self.enqueue(file)


class _SqliteConnection(sqlite3.Connection):
    """DBOS's tables call ``unixepoch('subsec')``, which gives NULL before SQLite 3.42 (Debian 12, Ubuntu 22.04)."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if sqlite3.sqlite_version_info < (3, 42):
            self.create_function("unixepoch", 1, lambda _: time.time())


def _jobs() -> IngestionJobs:
    if _running is None:
        raise StorageError("No ingestion is running in this process.")
    return _running


@DBOS.workflow(name="ingest")
def _ingest(file_id: str, file_key: str) -> str:
    """The steps of one file."""
    with _unlocked_at_the_end(file_id, file_key):
        _stage(file_id, file_key)
        _index(file_id, file_key)
        _publish(file_id, file_key)
    return file_id


@DBOS.workflow(name="attach")
def _attach(file_id: str, file_key: str) -> str:
    """The steps of a file attached to a conversation: it is published before it is embedded."""
    with _unlocked_at_the_end(file_id, file_key):
        _stage_attached(file_id, file_key)
        _publish(file_id, file_key)
        _embed_attached(file_id, file_key)
    return file_id


@contextmanager
def _unlocked_at_the_end(file_id: str, file_key: str) -> Iterator[None]:
    """Whatever happens, the file does not stay locked."""
    try:
        yield
    except ClewError as error:
        _abandon(file_id, file_key, str(error))
    except dbos_error.DBOSMaxStepRetriesExceeded as error:
        _abandon(file_id, file_key, str(error.errors[-1]))
    except Exception as error:  # noqa: BLE001 - a fault of ours must end as a failed file, not as a locked one
        traceback.print_exc()
        _abandon(
            file_id,
            file_key,
            f"An internal error stopped the ingestion ({type(error).__name__}: {error}); please report it.",
        )


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, ClewError) and error.transient


@DBOS.step(name="stage")
def _stage(file_id: str, file_key: str) -> Mapping[str, int]:
    jobs = _jobs()
    if not jobs.wanted(file_id, file_key):
        return {}
    return dict(jobs.pipeline.stage(file_id, _progress_of(jobs, file_id)))


@DBOS.step(name="index", retries_allowed=True, max_attempts=5, interval_seconds=1.0, should_retry=_is_transient)
def _index(file_id: str, file_key: str) -> dict[str, Any]:
    jobs = _jobs()
    if not jobs.wanted(file_id, file_key):
        return {}
    return dataclasses.asdict(jobs.pipeline.index_version(file_id, _progress_of(jobs, file_id)))


@DBOS.step(name="publish", retries_allowed=True, max_attempts=5, interval_seconds=1.0, should_retry=_is_transient)
def _publish(file_id: str, file_key: str) -> None:
    jobs = _jobs()
    if jobs.wanted(file_id, file_key):
        jobs.pipeline.publish(file_id)


@DBOS.step(name="stage_attached")
def _stage_attached(file_id: str, file_key: str) -> None:
    jobs = _jobs()
    if not jobs.wanted(file_id, file_key):
        return
    records = jobs.pipeline.records
    try:
        tokens = stage_attached(jobs.pipeline, file_id, _progress_of(jobs, file_id))
    except InputError as error:
        records.update_attachment(file_id, skipped=str(error))
        raise
    records.update_attachment(file_id, tokens=tokens)


@DBOS.step(
    name="embed_attached", retries_allowed=True, max_attempts=5, interval_seconds=1.0, should_retry=_is_transient
)
def _embed_attached(file_id: str, file_key: str) -> None:
    jobs = _jobs()
    try:
        file = jobs.pipeline.records.get_file(file_id)
    except NotFoundError:
        return
    if file.status is FileStatus.COMPLETED and file.file_key == file_key:
        embed_attached(jobs.pipeline, file_id)


@DBOS.step(name="abandon", retries_allowed=True, max_attempts=5, interval_seconds=1.0, should_retry=_is_transient)
def _abandon(file_id: str, file_key: str, reason: str) -> None:
    jobs = _jobs()
    if jobs.wanted(file_id, file_key):
        jobs.pipeline.abandon(file_id, ClewError(reason))


def _progress_of(jobs: IngestionJobs, file_id: str) -> Any:
    return lambda stage, share: jobs.report_progress(file_id, stage, share)
