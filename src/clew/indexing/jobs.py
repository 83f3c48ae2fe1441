"""Durable ingestion: every file is one DBOS workflow whose steps survive a crash.

The workflow is named after the file and the version it writes, so asking twice starts it once. Its steps return only
small values; what they produce is staged in the records, the vector cache and the search index, all of which a
repeated step overwrites. DBOS keeps one instance a process, hence one data folder a process can ingest at a time.
"""

from __future__ import annotations

import dataclasses
import logging
import sqlite3
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dbos import DBOS, DBOSConfig, Queue, SetWorkflowID
from dbos import error as dbos_error
from sqlalchemy.exc import SQLAlchemyError

from clew.errors import ClewError, ConflictError, InputError, NotFoundError, StorageError
from clew.indexing.attaching import embed_attached, stage_attached
from clew.indexing.embedding import EmbeddingReport
from clew.indexing.pipeline import PARSED_TYPE, IndexingPipeline, Progress
from clew.indexing.reconciling import Reconciler, outdated
from clew.indexing.summariser import RunOverError, Summariser
from clew.types import SUMMARIES_GO_ON, File, FileStatus, SummaryStatus

_QUEUE = "ingest"
# Of its own, because somebody waits with a question while it is read.
_ATTACHMENTS = "attach"
_SUMMARIES = "summarise"
_DESCRIPTIONS = "describe"
# Recovery looks only at workflows of the same version: raise it when the steps change in an incompatible way.
_STEPS_VERSION = "2"
_GOES_ON = {"PENDING", "ENQUEUED", "DELAYED"}
_GIVEN_UP = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"
# How often the queues are looked at while there is something in them, and else: an idle server should cost nothing.
_POLL_SECONDS = 0.1
_IDLE_POLL_SECONDS = 0.5
# Files taken from the queue that wait for a worker, so that small ones need not wait for the next look.
_AHEAD = 4
_MIN_PROGRESS_SECONDS = 0.2
_TRY_AGAIN_SECONDS = 30.0
_CLOSE_SECONDS = 5
_dbos_log = logging.getLogger("dbos")
_log = logging.getLogger(__name__)

_running: IngestionJobs | None = None
_start_lock = threading.Lock()


class IngestionJobs:
    """Runs ingestion workflows for one data folder until closed.

    ``database_url`` is the SQLAlchemy URL of DBOS's own tables; ``workers`` files are ingested at the same time.
    Raises ConflictError where this process already ingests into another data folder.
    """

    def __init__(
        self,
        pipeline: IndexingPipeline,
        reconciler: Reconciler,
        summariser: Summariser,
        database_url: str,
        *,
        workers: int = 1,
    ) -> None:
        self.pipeline = pipeline
        self.summariser = summariser
        self._reconciler = reconciler
        self._database_url = database_url
        self._workers = workers
        self._free = threading.Semaphore(workers)
        self._started = False
        self._closing = False
        self._summarising = 0
        self._last_progress: dict[str, float] = {}
        self._queues: list[Queue] = []
        self._queued: set[str] = set()
        self._pace = _IDLE_POLL_SECONDS
        self._pace_lock = threading.Lock()

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
        self._reconciler.sweep()
        for finding in outdated(self.pipeline.records, self.pipeline.index):
            _log.warning("%s", finding.detail)
        self._queue_what_is_unfinished()

    def enqueue(self, file: File) -> None:
        """Queue the version of the file that is to be written; nothing happens where it is queued already. What cannot
        be queued now (the disk is full) is queued later: it is recorded."""
        self.start()
        attached = bool(self.pipeline.records.get_kb(file.kb_id).conversation_id)
        queue, workflow = (_ATTACHMENTS, _attach) if attached else (_QUEUE, _ingest)
        workflow_id = _workflow_id(file.file_id, file.writing)
        try:
            self._enqueue(workflow_id, queue, workflow, file.kb_id, file.file_id, file.writing)
        except SQLAlchemyError:
            self.ended(workflow_id)
            self.try_again_later(file.file_id, file.writing)

    def try_again_later(self, file_id: str, version: int) -> None:
        """An attempt is over and could not say so: begin another one when that may be possible."""
        if self._closing:
            return
        timer = threading.Timer(_TRY_AGAIN_SECONDS, self._try_again, (file_id, version))
        timer.daemon = True
        timer.start()

    def _try_again(self, file_id: str, version: int) -> None:
        try:
            self.check_open()
            self.enqueue(self.pipeline.records.begin_again(file_id, version))
        except StorageError:
            self.try_again_later(file_id, version)
        except (RunOverError, ConflictError, NotFoundError):
            pass  # Clew is closed, or the file went on in another way

    def enqueue_summaries(self, file_id: str, run: int) -> None:
        """Queue a run that the records have begun, or leave it to the next start where Clew is being closed."""
        if self._closing:
            return
        self.start()
        self._enqueue(_summaries_id(file_id, run), _SUMMARIES, _summarise, file_id, run)

    def backfill(self, kb_id: str, *, again: bool = False) -> list[File]:
        """Queue the summaries of the KB's files that lack those which the present settings give, or of all of them
        (``again``); returns these files with those that are queued already."""
        self.start()
        records = self.pipeline.records
        found = []
        for file in records.list_files(kb_id):
            goes_on = file.summary_status in SUMMARIES_GO_ON
            if not goes_on and file.version and (again or self.summariser.lacks(file)):
                self.enqueue_summaries(file.file_id, records.begin_summaries(file.file_id))
                goes_on = True
            if goes_on:
                found.append(records.get_file(file.file_id))
        return found

    def describe(self, kb_id: str) -> list[File]:
        """Queue the KB's files that show something which the vision model has not described; returns these with those
        that are queued already."""
        self.start()
        records = self.pipeline.records
        found = []
        for file in records.list_files(kb_id, status=FileStatus.COMPLETED):
            if file.undescribed != 0 and not file.describing:
                file = records.update_file(file.file_id, describing=True)
                self._enqueue_description(file.file_id)
            if file.describing:
                found.append(file)
        return found

    def _enqueue_description(self, file_id: str) -> None:
        # Twice does no harm: one works at a time, and the second finds every answer.
        self._enqueue(f"{file_id}-describe-{uuid.uuid4().hex[:12]}", _DESCRIPTIONS, _describe, file_id)

    @contextmanager
    def worker(self) -> Iterator[None]:
        """One of the workers; waits until one is free."""
        with self._free:
            yield

    @contextmanager
    def summarising(self) -> Iterator[None]:
        """Counts the runs that :meth:`close` has to wait for; one works at a time."""
        self._summarising += 1
        try:
            yield
        finally:
            self._summarising -= 1

    def check_open(self) -> None:
        """Raises RunOverError once Clew is being closed."""
        if self._closing:
            raise RunOverError

    def close(self) -> None:
        """Stop the workers; what is unfinished goes on at the next start."""
        global _running
        self._closing = True
        with _start_lock:
            if self._started:
                # What its queue threads still begin while it stops fails with an error and is done at the next start.
                _dbos_log.disabled = True
                # A run that is asked to stop does so at once, but has to write down that it did.
                DBOS.destroy(workflow_completion_timeout_sec=_CLOSE_SECONDS if self._summarising else 0)
                self._started = False
                _running = None

    def report_progress(self, file_id: str, version: int, stage: str, share: float) -> None:
        """Record progress, at most a few times a second for each file. Raises ConflictError where the version is not
        wanted any more, which ends the work on it."""
        now = time.monotonic()
        if share < 1 and now - self._last_progress.get(file_id, 0.0) < _MIN_PROGRESS_SECONDS:
            return
        self._last_progress[file_id] = now
        if not self.pipeline.records.set_progress(file_id, version, stage, share):
            raise ConflictError(f"Version {version} of file {file_id!r} is no longer being written.")

    def forget_progress(self, file_id: str) -> None:
        """Called when the work on a file ends."""
        self._last_progress.pop(file_id, None)

    def wanted(self, file_id: str, version: int) -> bool:
        """Whether this version is still to be written: the file exists, is processing, and no later one was begun."""
        try:
            file = self.pipeline.records.get_file(file_id)
        except NotFoundError:
            return False
        return file.status is FileStatus.PROCESSING and file.writing == version

    def _launch(self) -> None:
        config = DBOSConfig(
            name="clew",
            system_database_url=self._database_url,
            application_version=_STEPS_VERSION,
            executor_id="clew",
            log_level="ERROR",
            # For messages between workflows, of which there are none; closing waits so long.
            notification_listener_polling_interval_sec=_IDLE_POLL_SECONDS,
        )
        if self._database_url.startswith("sqlite"):
            config["db_engine_kwargs"] = {"connect_args": {"factory": _SqliteConnection}}
        _dbos_log.disabled = False
        DBOS(config=config)
        DBOS.launch()
        workers = {_QUEUE: self._workers + _AHEAD, _ATTACHMENTS: self._workers, _SUMMARIES: 1, _DESCRIPTIONS: 1}
        self._queues = [
            DBOS.register_queue(queue, worker_concurrency=number, polling_interval_sec=_IDLE_POLL_SECONDS)
            for queue, number in workers.items()
        ]
        self._pace = _IDLE_POLL_SECONDS

    def _enqueue(self, workflow_id: str, queue: str, workflow: Callable[..., str], *arguments: Any) -> None:
        with self._pace_lock:
            self._queued.add(workflow_id)
            self._set_pace(_POLL_SECONDS)
        with SetWorkflowID(workflow_id):
            DBOS.enqueue_workflow(queue, workflow, *arguments)

    def ended(self, workflow_id: str) -> None:
        """Called by a workflow at its end."""
        with self._pace_lock:
            self._queued.discard(workflow_id)
            if not self._queued and self._started:
                self._set_pace(_IDLE_POLL_SECONDS)

    def _set_pace(self, seconds: float) -> None:
        if seconds != self._pace:
            for queue in self._queues:
                queue.set_polling_interval_sec(seconds)
            self._pace = seconds

    def _queue_what_is_unfinished(self) -> None:
        """Queue the files whose upload was recorded, but not queued before a crash, interrupted summaries and
        descriptions."""
        records = self.pipeline.records
        for kb in records.list_kbs():
            for file in records.list_files(kb.kb_id):
                if file.status is FileStatus.PROCESSING:
                    self._go_on(file)
                if file.summary_status in SUMMARIES_GO_ON:
                    # A new run: the interrupted one may have ended in any way, and its workflow's id is taken.
                    self.enqueue_summaries(file.file_id, records.begin_summaries(file.file_id))
                if file.describing:
                    self._enqueue_description(file.file_id)

    def _go_on(self, file: File) -> None:
        if file.file_key in self._reconciler.arrivals:
            return  # a thread of this process is at it
        if file.media_type == PARSED_TYPE:
            with suppress(ConflictError, NotFoundError):
                reason = "Its ingestion ended with the process that had begun it; begin it again."
                self.pipeline.abandon(file.file_id, file.writing, ClewError(reason))
            return
        workflow = DBOS.get_workflow_status(_workflow_id(file.file_id, file.writing))
        if workflow is None or workflow.status in _GOES_ON:
            self.enqueue(file)
            return
        with suppress(ConflictError, NotFoundError):  # it ended well in this moment, or the file was deleted
            if workflow.status == _GIVEN_UP:
                reason = (
                    "The ingestion ended the process again and again; split the file, or save it in another format."
                )
                self.pipeline.abandon(file.file_id, file.writing, ClewError(reason))
            else:  # it was closed, or could not even say that it failed (a full disk)
                self.enqueue(self.pipeline.records.begin_again(file.file_id, file.writing))


class _SqliteConnection(sqlite3.Connection):
    """DBOS's tables call ``unixepoch('subsec')``, which gives NULL before SQLite 3.42 (Debian 12, Ubuntu 22.04)."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if sqlite3.sqlite_version_info < (3, 42):
            self.create_function("unixepoch", 1, lambda _: time.time())


def _workflow_id(file_id: str, version: int) -> str:
    return f"{file_id}-{version}"


def _summaries_id(file_id: str, run: int) -> str:
    return f"{file_id}-summaries-{run}"


def _tell_the_end(workflow_id: str) -> None:
    if _running is not None:
        _running.ended(workflow_id)


def _jobs() -> IngestionJobs:
    if _running is None:
        raise StorageError("No ingestion is running in this process.")
    return _running


@DBOS.workflow(name="ingest")
def _ingest(kb_id: str, file_id: str, version: int) -> str:
    """The steps of one version."""
    with _cleared_at_the_end(kb_id, file_id, version), _jobs().worker():
        staged = _stage(file_id, version)
        embedded = _index(file_id, version)
        _summarise_next(file_id, _publish(file_id, version, embedded, staged))
    return file_id


@DBOS.workflow(name="attach")
def _attach(kb_id: str, file_id: str, version: int) -> str:
    """The steps of a file attached to a conversation: it is published before it is embedded."""
    with _cleared_at_the_end(kb_id, file_id, version):
        tokens = _stage_attached(file_id, version)
        # What is read whole needs no summaries.
        whole = tokens <= _jobs().pipeline.settings.retrieval.attachment_context_tokens
        run = _publish(file_id, version, {"encoded": 0, "reused": 0}, None, not whole)
        _embed_attached(file_id, version)
        _summarise_next(file_id, run)
    return file_id


@contextmanager
def _cleared_at_the_end(kb_id: str, file_id: str, version: int) -> Iterator[None]:
    """Whatever happens, the file does not stay locked and nothing of a failure is left."""
    try:
        try:
            yield
        except ClewError as error:
            _abandon(kb_id, file_id, version, str(error))
        except dbos_error.DBOSMaxStepRetriesExceeded as error:
            _abandon(kb_id, file_id, version, str(error.errors[-1]))
        except SQLAlchemyError as error:
            reason = f"The ingestion's progress cannot be written ({error}); make space on the disk, then try again."
            _abandon(kb_id, file_id, version, reason)
        except Exception as error:  # noqa: BLE001 - a fault of ours must end as a failed file, not as a locked one
            traceback.print_exc()
            reason = f"An internal error stopped the ingestion ({type(error).__name__}: {error}); please report it."
            _abandon(kb_id, file_id, version, reason)
    except Exception:
        if _running is not None:
            _running.try_again_later(file_id, version)
        raise
    finally:
        _tell_the_end(_workflow_id(file_id, version))


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, ClewError) and error.transient


_RETRIED: dict[str, Any] = {
    "retries_allowed": True,
    "max_attempts": 5,
    "interval_seconds": 1.0,
    "should_retry": _is_transient,
}


@DBOS.step(name="stage", **_RETRIED)
def _stage(file_id: str, version: int) -> dict[str, int]:
    jobs = _jobs()
    return dict(jobs.pipeline.stage(file_id, version, _progress_of(jobs, file_id, version)))


@DBOS.step(name="index", **_RETRIED)
def _index(file_id: str, version: int) -> dict[str, int]:
    jobs = _jobs()
    return dataclasses.asdict(jobs.pipeline.index_version(file_id, version, _progress_of(jobs, file_id, version)))


@DBOS.step(name="publish", **_RETRIED)
def _publish(
    file_id: str,
    version: int,
    embedded: dict[str, int],
    staged: dict[str, int] | None = None,
    summaries: bool = True,
) -> int:
    """Returns the run of summaries that is to follow; 0 for none."""
    jobs = _jobs()
    file = jobs.pipeline.publish(file_id, version, EmbeddingReport(**embedded), staged, summaries=summaries)
    jobs.forget_progress(file_id)
    return file.summary_run if file.summary_status is SummaryStatus.PENDING else 0


@DBOS.step(name="stage_attached", **_RETRIED)
def _stage_attached(file_id: str, version: int) -> int:
    """Returns the tokens of the file's text."""
    jobs = _jobs()
    records = jobs.pipeline.records
    try:
        tokens = stage_attached(jobs.pipeline, file_id, version, _progress_of(jobs, file_id, version))
    except InputError as error:
        if jobs.wanted(file_id, version):
            records.update_attachment(file_id, skipped=str(error))
        raise
    records.update_attachment(file_id, tokens=tokens)
    return tokens


@DBOS.step(name="embed_attached", **_RETRIED)
def _embed_attached(file_id: str, version: int) -> None:
    jobs = _jobs()
    try:
        file = jobs.pipeline.records.get_file(file_id)
    except NotFoundError:
        return
    if file.status is FileStatus.COMPLETED and file.version == version:
        embed_attached(jobs.pipeline, file_id)


@DBOS.step(name="abandon", **_RETRIED)
def _abandon(kb_id: str, file_id: str, version: int, reason: str) -> None:
    jobs = _jobs()
    if jobs.wanted(file_id, version):
        jobs.pipeline.abandon(file_id, version, ClewError(reason))
    else:
        jobs.pipeline.discard(kb_id, file_id, version)
    jobs.forget_progress(file_id)


def _summarise_next(file_id: str, run: int) -> None:
    if run and _running is not None:
        _running.enqueue_summaries(file_id, run)


@DBOS.workflow(name="summarise")
def _summarise(file_id: str, run: int) -> str:
    """The summaries and questions of one published file."""
    try:
        with _jobs().summarising():
            _write_summaries(file_id, run)
    except (ClewError, dbos_error.DBOSMaxStepRetriesExceeded) as error:
        reason = error.errors[-1] if isinstance(error, dbos_error.DBOSMaxStepRetriesExceeded) else error
        _end_summaries(file_id, run, str(reason))
    except Exception as error:  # noqa: BLE001 - a fault of ours must end as a failed run, not as an endless one
        traceback.print_exc()
        _end_summaries(file_id, run, f"An internal error stopped it ({type(error).__name__}: {error}).")
    finally:
        _tell_the_end(_summaries_id(file_id, run))
    return file_id


@DBOS.step(name="summaries", **_RETRIED)
def _write_summaries(file_id: str, run: int) -> None:
    jobs = _jobs()
    with suppress(RunOverError, NotFoundError):
        jobs.summariser.summarise(file_id, run, jobs.check_open)


@DBOS.step(name="end summaries", **_RETRIED)
def _end_summaries(file_id: str, run: int, reason: str) -> None:
    _jobs().pipeline.records.end_summaries(file_id, run, failure=reason)


@DBOS.workflow(name="describe")
def _describe(file_id: str) -> str:
    """Asks the vision model about a published file, which stays as it is meanwhile, then publishes the answers."""
    try:
        with _jobs().summarising():
            version = _end_description(file_id, answered=_ask_about(file_id))
            if version and _running is not None:
                _running.enqueue(_running.pipeline.records.get_file(file_id))
    except RunOverError:
        pass  # Clew is being closed: it goes on at the next start
    except (ClewError, dbos_error.DBOSMaxStepRetriesExceeded):
        _end_description(file_id, answered=False)
    except Exception:  # noqa: BLE001 - a fault of ours must not leave the file waiting for ever
        traceback.print_exc()
        _end_description(file_id, answered=False)
    finally:
        _tell_the_end(DBOS.workflow_id or "")
    return file_id


@DBOS.step(name="ask about", **_RETRIED)
def _ask_about(file_id: str) -> bool:
    jobs = _jobs()
    return jobs.pipeline.describe(file_id, jobs.check_open)


@DBOS.step(name="end description", **_RETRIED)
def _end_description(file_id: str, *, answered: bool) -> int:
    """Locks the file to publish what was answered; returns the version that is to be written, 0 for none."""
    records = _jobs().pipeline.records
    version = 0
    with suppress(NotFoundError):
        if answered:
            with suppress(ConflictError):  # it is being updated, and described with that
                version = records.begin_edit(file_id).writing
        records.update_file(file_id, describing=False)
    return version


def _progress_of(jobs: IngestionJobs, file_id: str, version: int) -> Progress:
    return lambda stage, share: jobs.report_progress(file_id, version, stage, share)
