"""The composition root: Settings → Clew, the library's public class. It alone names stores, ``app_models`` models."""

from __future__ import annotations

import io
import json
import mimetypes
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from clew.answering.answer import Answerer, usage_event
from clew.answering.conversation_files import ConversationFiles
from clew.answering.runs import AnswerRuns, stored_events
from clew.answering.small_talk import small_talk
from clew.answering.titles import Titling, first_title
from clew.app_models import (
    Check,
    ModelPart,
    ModelProgress,
    checked,
    checks_of_models,
    make_chat,
    make_classifier,
    make_embedder,
    make_reranker,
    make_vision,
    try_model,
)
from clew.config import (
    Settings,
    default_data_folder,
    load_settings,
    merged,
    save_models,
    with_models,
)
from clew.errors import (
    ClewError,
    ConflictError,
    InputError,
    NotFoundError,
    SettingsError,
    StorageError,
    StorageFullError,
)
from clew.indexing.arrivals import Arrivals, bare_name
from clew.indexing.attachments import Attachments, is_attached
from clew.indexing.file_facts import corrected_facts
from clew.indexing.pipeline import PARSED_TYPE, IndexingPipeline
from clew.indexing.reconciling import Finding, Reconciler, outdated
from clew.indexing.summariser import Summariser
from clew.models.base import ChatModel, ComplexityClassifier, Embedder, Reranker, VisionModel
from clew.models.complexity_head import ComplexityHead
from clew.retrieval.attachments import SignalPackage
from clew.retrieval.bridge_planner import BridgePlanner
from clew.retrieval.complexity.cascade import decide
from clew.retrieval.file_preference import admits
from clew.retrieval.graph_walk import NameGraph
from clew.retrieval.kind import KindChoice, decide_kind
from clew.retrieval.model_planner import ModelPlanner
from clew.retrieval.pipeline import RetrievalRequest, RetrievalResult, Retriever
from clew.retrieval.planners import Planner
from clew.retrieval.recall import Searched, SearchedKb
from clew.retrieval.rewriting import Turn
from clew.retrieval.section_search import titles_in
from clew.storage.archive import unpacked, write_archive
from clew.storage.base import Attachment, Conversation, Message, NewFile
from clew.storage.originals import FolderOriginals
from clew.storage.records import SqlRecords
from clew.storage.search.memory import MemoryIndex
from clew.storage.search.qdrant import QdrantEdgeIndex
from clew.storage.search.routed import RoutedIndex
from clew.trace import ComplexityDecision, KindDecision, RetrievalTrace, to_json
from clew.types import (
    SUMMARIES_GO_ON,
    AnswerEvent,
    Block,
    ChildChunk,
    File,
    FileFilter,
    FileStatus,
    FloatArray,
    KnowledgeBase,
    ParentChunk,
    ParsedFile,
    PassageEdit,
    RetrievalMode,
    Scope,
    Section,
    SectionFilter,
    SummaryStatus,
)

if TYPE_CHECKING:
    from clew.indexing.jobs import IngestionJobs

_POLL_SECONDS = 0.1
_WATCHED = 50
_HISTORY_MESSAGES = 8


class Clew:
    """A data folder with everything that Clew does to it.

    Safe to use from several threads. One process owns a data folder's search index at a time. Use as a context
    manager, or call :meth:`close`.
    """

    def __init__(self, data: Path, settings: Settings, overrides: Mapping[str, Any] | None = None) -> None:
        self.data = data
        self.settings = settings
        self._overrides = overrides
        self.saved_models = settings.models
        """As they will be at the next start; see :meth:`save_models`."""
        self.originals = FolderOriginals(data / "originals")
        self.records = SqlRecords.open(settings.storage.records_url or data / "records.sqlite")
        self.index = RoutedIndex(QdrantEdgeIndex(data / "index"), MemoryIndex(), is_attached)
        self._runs = AnswerRuns(self.records)
        self._lock = threading.RLock()
        self._jobs: IngestionJobs | None = None
        self._arrivals = Arrivals(self.originals, self.records)

    @classmethod
    def open(
        cls,
        data: Path | str | None = None,
        *,
        settings: Settings | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Clew:
        """Open (or make) a data folder. Raises SettingsError, StorageBusyError where another process has it open,
        StorageError."""
        # Absolute, for the processes that parse files may have been started in another folder.
        folder = (Path(data) if data is not None else default_data_folder()).absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be used as the data folder ({error.strerror}); name another with --data."
            ) from error
        return cls(folder, settings or load_settings(folder, overrides), overrides)

    @classmethod
    def restore(cls, archive: Path, data: Path, *, overrides: Mapping[str, Any] | None = None) -> int:
        """Make the data folder ``data`` from an archive, with its search index; vectors come from the archive. Returns
        how many files it holds. Raises InputError where the folder holds something already, or the archive is none."""
        with (
            unpacked(archive, data, lambda folder: FolderOriginals(folder / "originals")) as folder,
            cls.open(folder, overrides=overrides) as clew,
        ):
            findings = [finding for finding in clew.examine(repair=True) if not finding.repaired]
            if wrong := [finding.detail for finding in findings if not finding.kind.endswith("original")]:
                raise StorageError(f"{archive}: the backup could not be restored: {'; '.join(wrong)}")
            return sum(sum(clew.count_files(kb.kb_id).values()) for kb in clew.list_kbs())

    def close(self) -> None:
        """Stop answers and ingestion; what is unfinished goes on when the folder is opened again."""
        self._runs.close()
        if self._jobs is not None:
            self._jobs.close()
        self.index.close()
        self.records.close()

    def __enter__(self) -> Clew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- parts -------------------------------------------------------------------------------------------------

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of new KBs, loaded (the first time: built) on first use. Raises ServiceError."""
        return make_embedder(self.settings, self.data, on_progress=self.on_model_progress)

    on_model_progress: ModelProgress | None = None
    """Set it to be told of the embedded model's first build: the share done and what is being done."""

    @cached_property
    def chat(self) -> ChatModel | None:
        """Writes answers; None where none is configured."""
        return make_chat(self.settings.models.chat)

    @cached_property
    def enrichment(self) -> ChatModel | None:
        """The small model that rewrites, decides and plans; the chat model where none is set of its own."""
        return make_chat(self.settings.models.enrichment, "models.enrichment") or self.chat

    @cached_property
    def reranker(self) -> Reranker | None:
        """Orders the final passages; None where none is configured. Raises SettingsError."""
        return make_reranker(self.settings.models.reranker)

    @cached_property
    def vision(self) -> VisionModel | None:
        """Says what images, charts and tables show while files are read; None where none is configured."""
        return make_vision(self.settings.models.vision)

    @cached_property
    def classifier(self) -> ComplexityClassifier | None:
        """The external complexity classifier; None where no URL is set."""
        return make_classifier(self.settings.complexity)

    @cached_property
    def complexity_head(self) -> ComplexityHead:
        """The in-process complexity classifier."""
        return ComplexityHead.from_package()

    @cached_property
    def pipeline(self) -> IndexingPipeline:
        """The write flow."""
        return IndexingPipeline(self.records, self.index, self.originals, self.embedder, self.settings, self.vision)

    @property
    def jobs(self) -> IngestionJobs:
        """Durable ingestion, started on first use."""
        # DBOS takes about half of the time in which a command starts, and most commands ingest nothing.
        from clew.indexing.jobs import IngestionJobs  # noqa: PLC0415

        # The server's start and its first upload may ask at the same time; there must be one.
        with self._lock:
            if self._jobs is None:
                url = self.settings.storage.records_url or f"sqlite:///{self.data / 'jobs.sqlite'}"
                workers = self.settings.indexing.workers
                self._jobs = IngestionJobs(self.pipeline, self.reconciler, self.summariser, url, workers=workers)
            return self._jobs

    @cached_property
    def summariser(self) -> Summariser:
        """Writes section summaries and questions."""
        return Summariser(self.records, self.index, self.embedder, self.settings, self.enrichment)

    @cached_property
    def reconciler(self) -> Reconciler:
        """Compares records, search index and originals."""
        return Reconciler(self.pipeline, self._arrivals, self._summarise_again)

    def _summarise_again(self, file: File) -> None:
        """Make the index entries of its summaries anew; what was written or encoded for them comes from the caches."""
        if file.summary_status is SummaryStatus.OFF:
            return
        run = self.records.begin_summaries(file.file_id)
        if self._jobs is not None:  # else they are begun when the jobs are
            self._jobs.enqueue_summaries(file.file_id, run)

    @cached_property
    def retriever(self) -> Retriever:
        """The read flow."""
        return Retriever(
            self.records,
            self.index,
            self._decide,
            self._planner,
            self._guide,
            self._decide_kind,
            self.reranker,
            self.enrichment,
        )

    def _planner(self, kbs: Sequence[SearchedKb], scope: Scope, model: ChatModel | None) -> Planner:
        recursion = kbs[0].settings.recursion
        if recursion.planner == "model" and model is None:
            raise SettingsError(
                "recursion.planner: 'model' needs a language model; set models.enrichment.url, or choose auto."
            )
        if model is not None and recursion.planner != "bridge":
            count_tokens = kbs[0].embedder.count_tokens
            return ModelPlanner(model, recursion.planner_timeout, recursion.digest_tokens, count_tokens)
        return self._guide(kbs, scope)

    def _guide(self, _: Sequence[SearchedKb], scope: Scope) -> BridgePlanner:
        return BridgePlanner(self.names.of(scope.kb_ids), self.index, self.records, scope)

    @cached_property
    def names(self) -> NameGraph:
        """The names of what chunks are about, by KB."""
        return NameGraph(self.records)

    @cached_property
    def answerer(self) -> Answerer:
        """Retrieval and answer."""
        return Answerer(self.retriever, self.chat, self.settings)

    # --- knowledge bases ---------------------------------------------------------------------------------------

    def create_kb(
        self, name: str, *, description: str = "", settings: Mapping[str, Any] | None = None
    ) -> KnowledgeBase:
        """Raises ConflictError where the name is taken, InputError for an impossible name, SettingsError."""
        name = name.strip()
        if not name or len(name) > 200 or any(ord(ch) < 32 for ch in name):
            raise InputError("A knowledge base needs a name of 1 to 200 characters without line breaks.")
        self.settings.for_kb(settings or {})
        kb = KnowledgeBase(_new_id("kb"), name, _now(), dict(settings or {}), description=description)
        self.records.create_kb(kb)
        return kb

    def kb(self, name_or_id: str) -> KnowledgeBase:
        """Raises NotFoundError."""
        kb = self.records.get_kb(name_or_id)
        if kb.conversation_id:
            raise NotFoundError(f"There is no knowledge base {name_or_id!r}; clew kb list shows all")
        return kb

    def list_kbs(self) -> list[KnowledgeBase]:
        """All knowledge bases, by name."""
        return [kb for kb in self.records.list_kbs() if not kb.conversation_id]

    def update_kb(
        self,
        name_or_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> KnowledgeBase:
        """Change what is given; ``settings`` replaces the old overlay. Raises SettingsError, NotFoundError."""
        kb = self.kb(name_or_id)
        if settings is not None:
            self.settings.for_kb(settings)
        return self.records.update_kb(kb.kb_id, settings=settings, name=name, description=description)

    def delete_kb(self, name_or_id: str) -> None:
        """Delete a KB with all its files, originals and index."""
        kb = self.kb(name_or_id)
        keys = [key for file in self.records.list_files(kb.kb_id) for key in self.records.file_keys(file.file_id)]
        # The index first: after a crash the KB is still listed and can be deleted again, so that no index is forgotten.
        self.index.drop(kb.kb_id)
        self.records.delete_kb(kb.kb_id)
        self.index.drop(kb.kb_id)  # what a job wrote meanwhile
        for key in keys:
            self.originals.delete(key)

    # --- files -------------------------------------------------------------------------------------------------

    def add_file(self, kb: str, name: str, source: BinaryIO, *, source_path: str = "") -> tuple[File, bool]:
        """Store a file and queue its ingestion; returns at once.

        The bool is False where the KB holds the same bytes already: then that file comes back. Raises InputError
        for an empty or too large file, NotFoundError for an unknown KB, ConflictError for a changed embedder.
        """
        record = self._writable_kb(kb)
        file_id = _new_id("f")
        with self._stored(file_id, record.kb_id, name, source, source_path) as new:
            file, is_new = self.records.add_file(new)
        if is_new:
            self.jobs.enqueue(file)
        return file, is_new

    def update_file(self, file_id: str, name: str, source: BinaryIO) -> File:
        """Queue a new version under the same id; the file is hidden until it is published.

        Raises ConflictError while another update of it runs.
        """
        old = self.file(file_id)
        self._writable_kb(old.kb_id)
        with self._stored(file_id, old.kb_id, name, source, old.source_path) as new:
            file = self.records.begin_update(new)
        if old.file_key not in self.records.file_keys(file_id):  # that of an update that failed
            self.originals.delete(old.file_key)
        self.jobs.enqueue(file)
        return file

    def cancel_file(self, file_id: str) -> File:
        """Stop what is being done to a file. An update leaves the previous version, a first ingestion a failed file.

        Raises ConflictError where the file is not being processed.
        """
        file = self.file(file_id)
        if file.status is not FileStatus.PROCESSING:
            raise ConflictError(f"{file.name} is not being processed; there is nothing to cancel.")
        file = self.records.fail(file_id, file.writing, "The ingestion was cancelled; upload the file again.")
        return self.restore_file(file_id) if file.version else file

    def restore_file(self, file_id: str) -> File:
        """Take a file whose update failed back to its previous version, without reading or embedding anything again.

        Raises ConflictError where the file did not fail, or has no previous version.
        """
        failed = self.file(file_id)
        restored = self.records.update_file(file_id, status=FileStatus.COMPLETED)
        if failed.file_key != restored.file_key:
            self.originals.delete(failed.file_key)
        return restored

    def edit_chunk(self, file_id: str, chunk_id: str, *, text: str | None = None, enabled: bool | None = None) -> File:
        """Change the text of a parent chunk, or hide it from every search and show it again; what is not given stays.

        The file is hidden until the new text is indexed; its old text is not found from now on. An edit is laid over
        every later version that still has the passage. Raises NotFoundError for an unknown chunk, InputError for a text
        that no passage can have, ConflictError while the file is processed.
        """
        file, before = self._passage(file_id, chunk_id)
        if text is not None:
            text = text.strip()
            limit = self.settings.for_kb(self.kb(file.kb_id).settings).indexing.parent_tokens
            if not text or self.embedder.count_tokens(text) > limit:
                raise InputError(f"A passage needs a text of 1 to {limit:,} tokens; disable it to hide it.")
        edit = replace(
            before,
            text=before.text if text is None else text,
            enabled=before.enabled if enabled is None else enabled,
        )
        return self._edited(file, chunk_id, edit)

    def reset_chunk(self, file_id: str, chunk_id: str) -> File:
        """Take back what was changed in a parent chunk. Raises as :meth:`edit_chunk`."""
        file, before = self._passage(file_id, chunk_id)
        return self._edited(file, chunk_id, PassageEdit(before.section_titles))

    def _passage(self, file_id: str, chunk_id: str) -> tuple[File, PassageEdit]:
        file = self.file(file_id)
        self.kb(file.kb_id)  # attachments are not edited
        for parent in self.records.file_parents(file_id, disabled=True):
            if parent.chunk_id == chunk_id:
                return file, file.edits.get(chunk_id, PassageEdit(parent.section_titles))
        raise NotFoundError(f"{file.name} has no passage {chunk_id!r}.")

    def _edited(self, file: File, chunk_id: str, edit: PassageEdit) -> File:
        changed = edit.text is not None or not edit.enabled
        edits = {**file.edits, chunk_id: edit} if changed else {k: e for k, e in file.edits.items() if k != chunk_id}
        locked = self.records.begin_edit(file.file_id, edits)
        self.jobs.enqueue(locked)
        return locked

    def change_file(self, file_id: str, *, enabled: bool | None = None, name: str | None = None) -> File:
        """Rename a file, or hide it from every search and show it again. Raises InputError for an impossible name."""
        if name is not None:
            name = name.strip()
            if not name or name != bare_name(name):
                raise InputError("A file needs a name of 1 to 255 characters without slashes and line breaks.")
        return self.records.update_file(file_id, enabled=enabled, name=name)

    def ingest_parsed(
        self,
        kb: str,
        name: str,
        parsed: ParsedFile,
        *,
        on_progress: Callable[[str, float], None] = lambda *_: None,
    ) -> File:
        """Index what is parsed already (blocks with sections) in this thread; for corpora that are no files.

        ``on_progress`` receives the stage and the share done. A failed ingestion leaves a ``failed`` file and raises.
        What failed, or ended with its process, is begun anew by the next call.
        """
        record = self._writable_kb(kb)
        content = json.dumps(to_json(parsed), ensure_ascii=False).encode()
        # It counts as arriving until it is published: so the jobs know that this thread is at it.
        with self._stored(_new_id("f"), record.kb_id, name, io.BytesIO(content), "") as new:
            new = replace(new, media_type=PARSED_TYPE)
            file, is_new = self.records.add_file(new)
            if not is_new and file.status is not FileStatus.COMPLETED and file.file_key not in self._arrivals:
                self.remove_file(file.file_id)
                file, is_new = self.records.add_file(new)
            if not is_new:
                return file
            pipeline, version = self.pipeline, file.writing
            try:
                staged = pipeline.stage_parsed(file, version, parsed)
                embedded = pipeline.index_version(file.file_id, version, on_progress)
                return pipeline.publish(file.file_id, version, embedded, {**staged, "undescribed": 0})
            except ClewError as error:
                pipeline.abandon(file.file_id, version, error)
                raise

    def wait(
        self,
        file_ids: Iterable[str],
        *,
        on_progress: Callable[[Sequence[File]], None] = lambda _: None,
        timeout: float | None = None,
        summaries: bool = False,
        descriptions: bool = False,
    ) -> list[File]:
        """Wait until none of the files is processing, nor (``summaries``) being summarised, nor (``descriptions``) seen
        by the vision model; ``on_progress`` sees them several times a second."""

        def is_busy(file: File) -> bool:
            return (
                file.status is FileStatus.PROCESSING
                or (summaries and file.summary_status in SUMMARIES_GO_ON)
                or (descriptions and file.describing)
            )

        files = {file_id: self.records.get_file(file_id) for file_id in file_ids}
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            on_progress(list(files.values()))
            busy = [file_id for file_id, file in files.items() if is_busy(file)]
            if not busy or (deadline is not None and time.monotonic() > deadline):
                return list(files.values())
            time.sleep(_POLL_SECONDS)
            # They are begun in the order of the queue: those far behind need not be looked at.
            files |= {file_id: self.records.get_file(file_id) for file_id in busy[:_WATCHED]}

    def backfill(self, kb: str, *, again: bool = False) -> list[File]:
        """Queue the section summaries and questions that the KB's files lack under the present settings, for example
        because a language model was configured since; ``again``: of all its files. Returns the files that are queued;
        :meth:`wait` with ``summaries`` waits for them."""
        return self.jobs.backfill(self._writable_kb(kb).kb_id, again=again)

    def describe(self, kb: str) -> list[File]:
        """Have the vision model describe what it has not described of the images, charts and tables of the KB's files,
        because it was configured since. Each file can be found meanwhile and is published again with the answers.
        Returns the files that are queued; :meth:`wait` with ``descriptions`` waits for them. Raises SettingsError."""
        if self.vision is None:
            raise SettingsError("models.vision: no vision model is set; set its url and model first.")
        return self.jobs.describe(self._writable_kb(kb).kb_id)

    def file(self, file_id: str) -> File:
        """Raises NotFoundError."""
        return self.records.get_file(file_id)

    def list_files(
        self, kb: str, *, offset: int = 0, limit: int | None = None, status: FileStatus | None = None, text: str = ""
    ) -> list[File]:
        """Files of a KB by creation, filtered by status and by a part of the name or of what is known about them."""
        return self.records.list_files(self.kb(kb).kb_id, offset=offset, limit=limit, status=status, text=text)

    def moving_files(self, kb: str, since: str = "") -> list[File]:
        """Files of a KB that are being processed or summarised, and those that changed after the time ``since`` (as
        ``updated_at`` of files; empty: all), by creation."""
        return self.records.moving_files(self.kb(kb).kb_id, since)

    def count_files(self, kb: str) -> Mapping[FileStatus, int]:
        """How many files of each status a KB has."""
        return self.records.count_files(self.kb(kb).kb_id)

    def correct_facts(self, file_id: str, changes: Mapping[str, Any]) -> File:
        """Set what is known about a file: company, aliases, period, date, type; None takes away. Corrections stay when
        the file is read again. Raises InputError, NotFoundError."""
        return self.records.update_file(file_id, facts=corrected_facts(self.file(file_id).facts, changes))

    def files_where(self, kbs: Iterable[str], wanted: FileFilter, among: Iterable[str] | None = None) -> list[str]:
        """Ids of the searchable files that the filter asks for, of all or ``among`` some: what :meth:`search` takes as
        ``files``. Raises InputError for an impossible filter."""
        ids = None if among is None else set(among)
        files = [file for kb in kbs for file in self.list_files(kb, status=FileStatus.COMPLETED)]
        return [file.file_id for file in files if (ids is None or file.file_id in ids) and admits(wanted, file)]

    def remove_file(self, file_id: str) -> None:
        """Delete a file everywhere: records first (from then on nothing finds it), then index and original."""
        file = self.file(file_id)
        self.kb(file.kb_id)  # an attachment goes with its conversation
        keys = self.records.file_keys(file_id)
        self.records.delete_file(file_id)
        self.index.delete(file.kb_id, file_id)
        for key in keys:
            self.originals.delete(key)

    def blocks(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[Block]:
        """Blocks of the published version in reading order; ``counts`` of the file says how many there are."""
        self.file(file_id)
        return self.records.blocks(file_id, offset=offset, limit=limit)

    def sections(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[Section]:
        """Sections of the published version in path order, the root first; ``counts`` says how many there are."""
        self.file(file_id)
        return self.records.sections(file_id, offset=offset, limit=limit)

    def file_parents(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[ParentChunk]:
        """Parent chunks of the published version in reading order, also disabled ones; ``counts`` says how many there
        are."""
        self.file(file_id)
        last = None if limit is None else offset + limit - 1
        return self.records.file_parents(file_id, first=offset, last=last, disabled=True)

    def file_children(self, file_id: str, *, parent_ids: Iterable[str] | None = None) -> list[ChildChunk]:
        """Child chunks of the published version in reading order, all or those of some parents."""
        self.file(file_id)
        return self.records.file_children(file_id, parent_ids=parent_ids)

    def chunks(self, chunk_ids: Iterable[str]) -> list[tuple[ChildChunk, File]]:
        """Those of the child chunks that can be searched, with their files; others are missing."""
        found = self.records.children(chunk_ids)
        files = {file_id: self.records.get_file(file_id) for file_id in {c.file_id for c in found.values()}}
        return [(chunk, files[chunk.file_id]) for chunk in found.values()]

    def open_original(self, file_id: str) -> BinaryIO:
        """The uploaded bytes of the current version."""
        return self.originals.open(self.file(file_id).file_key)

    # --- questions ---------------------------------------------------------------------------------------------

    def search(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        files: Iterable[str] | None = None,
        sections: Iterable[SectionFilter] | None = None,
        mode: RetrievalMode = "auto",
        kind: KindChoice = "auto",
        overlay: Mapping[str, Any] | None = None,
        conversation_id: str | None = None,
    ) -> RetrievalResult:
        """Ranking, evidence and trace, no answer. The first KB named gives settings; ``overlay`` changes them for
        this question only (to compare settings). The attachments of ``conversation_id`` are read, too."""
        request = self._request(question, kbs, files, sections, mode, kind, overlay or {}, conversation_id)
        if conversation_id is not None:
            request = self._files.join(request, conversation_id, self.settings.for_kb(overlay or {}))
        return self.retriever.retrieve(request)

    def routes(self, question: str, *, kbs: Sequence[str], overlay: Mapping[str, Any] | None = None) -> Searched:
        """What each route of one look-up finds, before they are fused: what ``clew tune fusion`` fits weights to."""
        return self.retriever.routes(self._request(question, kbs, None, None, "single", "fact", overlay or {}))

    def start_answer(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        conversation_id: str | None = None,
        files: Iterable[str] | None = None,
        sections: Iterable[SectionFilter] | None = None,
        mode: RetrievalMode = "auto",
        kind: KindChoice = "auto",
    ) -> str:
        """Begin an answer in the background and return the id of its (still empty) message; a conversation is made
        where none is named. Follow it with :meth:`answer_events`."""
        request = self._request(question, kbs, files, sections, mode, kind, {}, conversation_id)
        kb_ids = tuple(kb.kb.kb_id for kb in request.kbs)
        titled: Conversation | None = None
        if conversation_id is None:
            conversation_id = self.create_conversation(first_title(question), kb_ids).conversation_id
            titled = self.conversation(conversation_id)
        else:
            latest = self.messages(conversation_id, limit=_HISTORY_MESSAGES, latest_first=True)
            history = tuple(map(_turn, reversed(latest)))
            request = replace(request, history=history)
            if not history and not self.conversation(conversation_id).title:
                self.rename_conversation(conversation_id, first_title(question))
                titled = self.conversation(conversation_id)
        self.records.add_message(Message(_new_id("m"), conversation_id, "user", request.question.strip(), _now()))
        message = Message(_new_id("m"), conversation_id, "assistant", "", _now(), "streaming")
        self.records.add_message(message)
        ids = {"conversation_id": conversation_id, "message_id": message.message_id}
        trace = RetrievalTrace(request.question, request.question)
        events = _with_ids(self._answer(request, conversation_id, trace), ids)
        if titled is not None and (titling := self._titling(request)) is not None:
            events = titling.beside(events, titled, message.message_id, trace)
        self._runs.start(message.message_id, events, lambda: usage_event(trace))
        return message.message_id

    def _titling(self, request: RetrievalRequest) -> Titling | None:
        timeout = self.settings.answer.title_timeout
        if self.enrichment is None or not timeout or small_talk(request.question, request.history) is not None:
            return None
        return Titling(self.enrichment, timeout, self.records, self._runs)

    def answer_events(self, message_id: str, after: int = 0) -> Iterator[tuple[int, AnswerEvent]]:
        """The answer's events after sequence number ``after`` (the first has 1), until the terminal one. An answer
        whose run is gone is told from its message, with its text in one piece; to who has seen more pieces than that,
        its end. Raises NotFoundError for an unknown message."""
        run = self._runs.get(message_id)
        if run is not None:
            yield from run.follow(after)
            return
        stored = list(enumerate(stored_events(self.records.get_message(message_id)), start=1))
        yield from stored[after:]
        if after > len(stored):
            yield after + 1, stored[-1][1]

    def stop_answer(self, message_id: str) -> None:
        """Stop an answer that is being written; what there is stays. Raises NotFoundError for an unknown message."""
        run = self._runs.get(message_id)
        if run is None:
            self.records.get_message(message_id)
        else:
            run.stop()

    def ask(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        conversation_id: str | None = None,
        files: Iterable[str] | None = None,
        sections: Iterable[SectionFilter] | None = None,
        mode: RetrievalMode = "auto",
        kind: KindChoice = "auto",
    ) -> Iterator[AnswerEvent]:
        """The answer's events as they come, ending with ``done``, ``error`` or ``stopped``."""
        message_id = self.start_answer(
            question, kbs=kbs, conversation_id=conversation_id, files=files, sections=sections, mode=mode, kind=kind
        )
        for _, event in self.answer_events(message_id):
            yield event

    def answer(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        history: Sequence[Turn] = (),
        files: Iterable[str] | None = None,
        sections: Iterable[SectionFilter] | None = None,
        mode: RetrievalMode = "auto",
        kind: KindChoice = "auto",
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Iterator[AnswerEvent]:
        """The answer's events without a conversation: ``history`` (oldest first) stands in for it, nothing but the
        decision is stored, and closing the iterator stops the answer. No terminal event; errors are raised.

        ``max_tokens`` and ``temperature`` stand in for the settings of the chat model.
        """
        request = replace(self._request(question, kbs, files, sections, mode, kind, {}), history=tuple(history))
        return self.answerer.limited(max_tokens, temperature).answer(request)

    def route(self, question: str, *, kb: str | None = None, record: bool = True) -> ComplexityDecision:
        """Whether the question needs one look-up or several, with the settings of ``kb`` where one is named.

        Decided as in a search, and recorded unless ``record`` is false; nothing is looked up.
        """
        settings = self.settings if kb is None else self.settings.for_kb(self.kb(kb).settings)
        embed = partial(self._question_vector, question)
        return (self._decide if record else self._decision)(question, "auto", settings, embed, self.enrichment)

    def route_kind(
        self, question: str, *, kb: str | None = None, kind: KindChoice = "auto", record: bool = True
    ) -> KindDecision:
        """Whether the question asks for a fact or a summary, with the settings and the titles of ``kb`` where one is
        named. Recorded unless ``record`` is false; nothing is looked up.
        """
        found = None if kb is None else self.kb(kb)
        settings = self.settings if found is None else self.settings.for_kb(found.settings)
        scope = None if found is None else Scope((found.kb_id,))
        return self._kind(question, kind, settings, scope, self.enrichment, record=record)

    def decisions(
        self, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Mapping[str, Any]]:
        """The recorded complexity decisions as JSON, oldest first unless ``latest_first``."""
        return self.records.decisions("complexity", offset=offset, limit=limit, latest_first=latest_first)

    # --- attachments -------------------------------------------------------------------------------------------

    @cached_property
    def _attached(self) -> Attachments:
        return Attachments(
            self.records,
            self.index,
            self.originals,
            self._arrivals,
            self.settings.attachments,
            lambda file: self.jobs.enqueue(file),
            lambda: _now(),
        )

    @cached_property
    def _files(self) -> ConversationFiles:
        return ConversationFiles(self.records, lambda: self.pipeline)

    def attach(self, conversation_id: str, name: str, source: BinaryIO) -> Attachment:
        """Attach a file to a conversation and queue its reading; returns at once. One beyond a limit is noted as
        skipped, with the reason. Raises NotFoundError for an unknown conversation."""
        return self._attached.attach(conversation_id, name, source)

    def attachments(self, conversation_id: str) -> SignalPackage:
        """The conversation's attachments, the newest last, and what of them can be read how. Raises NotFoundError."""
        return self._files.package(conversation_id, self.settings)

    def wait_for_attachments(self, conversation_id: str, *, embedded: bool = False, timeout: float) -> SignalPackage:
        """Wait until all attachments are read (``embedded``: and their vectors are ready), at most ``timeout``
        seconds."""
        return self._files.wait(conversation_id, self.settings, embedded=embedded, timeout=timeout)

    def remove_attachment(self, conversation_id: str, attachment_id: str) -> None:
        """Take a file away again. Raises NotFoundError where the conversation has no such attachment."""
        self._attached.remove(conversation_id, attachment_id)

    def clean_attachments(self) -> int:
        """Remove the content of attachments whose conversations rest for ``attachments.keep_hours``; returns how
        many."""
        return self._attached.clean()

    # --- conversations -----------------------------------------------------------------------------------------

    def create_conversation(self, title: str, kb_ids: tuple[str, ...] = ()) -> Conversation:
        """A new, empty conversation."""
        conversation = Conversation(_new_id("c"), title, _now(), _now(), kb_ids)
        self.records.create_conversation(conversation)
        return conversation

    def conversation(self, conversation_id: str) -> Conversation:
        """Raises NotFoundError."""
        return self.records.get_conversation(conversation_id)

    def list_conversations(self, *, offset: int = 0, limit: int = 50) -> list[Conversation]:
        """Latest first."""
        return self.records.list_conversations(offset=offset, limit=limit)

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Raises NotFoundError."""
        self.records.rename_conversation(conversation_id, title)

    def delete_conversation(self, conversation_id: str) -> None:
        """With its messages and attachments."""
        self.records.get_conversation(conversation_id)
        for message in self.records.messages(conversation_id):
            self._runs.forget(message.message_id)
        self._attached.remove_all(conversation_id)
        self.records.delete_conversation(conversation_id)

    def messages(
        self, conversation_id: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Message]:
        """Oldest first unless ``latest_first``; all of them unless ``limit``. Raises NotFoundError."""
        self.records.get_conversation(conversation_id)
        return self.records.messages(conversation_id, offset=offset, limit=limit, latest_first=latest_first)

    def message(self, message_id: str) -> Message:
        """Raises NotFoundError."""
        return self.records.get_message(message_id)

    def set_feedback(self, conversation_id: str, message_id: str, feedback: Mapping[str, Any] | None) -> None:
        """Store what a person thinks of an answer (None: nothing any more) in the message's usage. Raises NotFoundError
        where the conversation has no such answer, ConflictError while it is being written."""
        message = self.records.get_message(message_id)
        if message.conversation_id != conversation_id or message.role != "assistant":
            raise NotFoundError(f"There is no answer {message_id!r}")
        if message.status == "streaming":
            raise ConflictError("The answer is still being written; say what you think of it when it is done.")
        usage = {key: value for key, value in message.usage.items() if key != "feedback"}
        self.records.update_message(message_id, usage=usage | ({"feedback": dict(feedback)} if feedback else {}))

    # --- health ------------------------------------------------------------------------------------------------

    def check(self) -> list[Check]:
        """Whether each part works, by name; what is wrong says what to do."""
        checks = [
            checked("records", self.records.check),
            checked("search index", self.index.check),
            checked("index entries", self._check_made_as),
            checked("originals", self.originals.check),
            checked("embedder", lambda: f"{self.embedder.name}, {self.embedder.dimension} dimensions"),
        ]
        return [*checks, *checks_of_models(self.chat, self.vision, lambda: self.reranker, self.settings)]

    def _check_made_as(self) -> str:
        if said := "; ".join(finding.detail for finding in outdated(self.records, self.index)):
            raise StorageError(said)
        return "made in the way in which questions are looked up"

    def examine(self, *, repair: bool = False) -> list[Finding]:
        """In what records, search index and originals do not agree; ``repair`` puts right what can be."""
        return self.reconciler.examine(repair=repair)

    # --- models ------------------------------------------------------------------------------------------------

    def save_models(self, changes: Mapping[str, Any]) -> None:
        """Write other models into ``clew.toml`` and use them from now on, but for the embedder: files are being
        ingested with it, so another one is used from the next start on.

        ``changes`` is nested as the section ``models``; a key that is not given stays, unless its address changes.
        Raises SettingsError.
        """
        with self._lock:
            save_models(self.data, self._saved_settings(), changes)
            self.saved_models = load_settings(self.data, self._overrides).models
            now = self.saved_models.model_copy(update={"embedder": self.settings.models.embedder})
            self.settings = self.settings.model_copy(update={"models": now})
            for name in ("chat", "enrichment", "reranker", "vision", "retriever", "answerer"):
                self.__dict__.pop(name, None)
            # Ingestion keeps its flows for as long as it runs; the next file is read with the new models.
            self.pipeline.vision = self.vision
            self.summariser.chat = self.enrichment

    def try_model(self, part: ModelPart, changes: Mapping[str, Any]) -> Check:
        """Whether one of the models would work with other settings; nothing is saved. Raises SettingsError."""
        settings = with_models(self._saved_settings(), {part: changes})
        return try_model(part, settings, self.data)

    # --- inside ------------------------------------------------------------------------------------------------

    def _saved_settings(self) -> Settings:
        return self.settings.model_copy(update={"models": self.saved_models})

    def _decide_kind(
        self, question: str, kind: KindChoice, kb: SearchedKb, scope: Scope, model: ChatModel | None
    ) -> KindDecision:
        return self._kind(question, kind, kb.settings, scope, model)

    def _kind(
        self,
        question: str,
        kind: KindChoice,
        settings: Settings,
        scope: Scope | None,
        model: ChatModel | None,
        *,
        record: bool = True,
    ) -> KindDecision:
        decision = decide_kind(
            question,
            kind=kind,
            settings=settings.kind,
            titles=None if scope is None else partial(titles_in, self.records, scope),
            chat_model=model,
        )
        if record:
            self._record("kind", decision)
        return decision

    def _question_vector(self, question: str) -> FloatArray:
        vector: FloatArray = self.embedder.embed_queries([question])[0]
        return vector

    def _decide(
        self,
        question: str,
        mode: RetrievalMode,
        settings: Settings,
        embed: Callable[[], FloatArray],
        model: ChatModel | None,
    ) -> ComplexityDecision:
        decision = self._decision(question, mode, settings, embed, model)
        self._record("complexity", decision)
        return decision

    def _record(self, kind: str, decision: KindDecision | ComplexityDecision) -> None:
        # On a full disk nothing can be added, but what is there can be searched.
        with suppress(StorageFullError):
            self.records.add_decision(kind, to_json(decision))

    def _decision(
        self,
        question: str,
        mode: RetrievalMode,
        settings: Settings,
        embed: Callable[[], FloatArray],
        model: ChatModel | None,
    ) -> ComplexityDecision:
        # The head knows the vectors of one embedder only; with another it goes by the features.
        known = self.embedder.name == self.complexity_head.embedder_name
        return decide(
            question,
            mode=mode,
            settings=settings.complexity,
            classifier=self.classifier,
            chat_model=model,
            embed_question=embed if known else None,
            head=self.complexity_head,
        )

    def _request(
        self,
        question: str,
        kbs: Sequence[str],
        files: Iterable[str] | None,
        sections: Iterable[SectionFilter] | None,
        mode: RetrievalMode,
        kind: KindChoice,
        overlay: Mapping[str, Any],
        conversation_id: str | None = None,
    ) -> RetrievalRequest:
        if not kbs and not (conversation_id and self.attachments(conversation_id).files):
            raise InputError("Name at least one knowledge base to search, or attach a file to the conversation.")
        if mode not in ("auto", "single", "multi"):
            raise InputError(f"retrieval mode {mode!r}: use auto, single or multi.")
        if kind not in ("auto", "fact", "summary"):
            raise InputError(f"kind {kind!r}: use auto, fact or summary.")
        records = list({kb.kb_id: kb for kb in map(self.kb, kbs)}.values())
        scope = Scope(
            tuple(kb.kb_id for kb in records),
            None if files is None else frozenset(files),
            None if sections is None else frozenset(sections),
        )
        searched = tuple(
            SearchedKb(kb, self.settings.for_kb(merged(kb.settings, overlay)), self._embedder_of(kb)) for kb in records
        )
        return RetrievalRequest(question, searched, scope, mode, kind)

    def _answer(self, request: RetrievalRequest, conversation_id: str, trace: RetrievalTrace) -> Iterator[AnswerEvent]:
        if small_talk(request.question, request.history) is None:
            request = self._files.join(request, conversation_id, self.settings)
        yield from self.answerer.answer(request, trace)

    def _writable_kb(self, name_or_id: str) -> KnowledgeBase:
        kb = self.kb(name_or_id)
        self._embedder_of(kb)
        return kb

    def _embedder_of(self, kb: KnowledgeBase) -> Embedder:
        if kb.embedder and kb.embedder != self.embedder.name:
            raise ConflictError(
                f"Knowledge base {kb.name!r} was built with the embedder {kb.embedder!r}, and the settings now name "
                f"{self.embedder.name!r}; their vectors cannot be compared. Set models.embedder back, or make a new "
                "knowledge base and add the files again."
            )
        return self.embedder

    @contextmanager
    def _stored(self, file_id: str, kb_id: str, name: str, source: BinaryIO, source_path: str) -> Iterator[NewFile]:
        """Store an original; what is done inside records it, else it is deleted again."""
        name = bare_name(name)
        # A first guess by the name; the parser looks at the content.
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        with self._arrivals.store(file_id, source) as stored:
            if stored.size > self.settings.indexing.max_file_bytes:
                raise InputError(
                    f"{name}: {stored.size:,} bytes is more than indexing.max_file_bytes "
                    f"({self.settings.indexing.max_file_bytes:,}); split the file or raise the setting."
                )
            yield NewFile(
                file_id, kb_id, name, media_type, stored.size, stored.file_key, stored.content_hash, source_path
            )


def back_up(data: Path, archive: Path) -> int:
    """Write a data folder's records and originals to one archive, beside a server that may have it open; returns how
    many originals it holds. Raises InputError where there is no data folder or the archive cannot be written."""
    if not (data / "records.sqlite").is_file():
        raise InputError(f"{data}: there is no data folder of Clew, or its records are in another database.")
    records = SqlRecords.open(data / "records.sqlite")
    try:
        return write_archive(archive, data, records, FolderOriginals(data / "originals"))
    finally:
        records.close()


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def _with_ids(events: Iterator[AnswerEvent], ids: Mapping[str, str]) -> Iterator[AnswerEvent]:
    """The events with the ids of conversation and message in the plan, which tells a client where to come back."""
    for event in events:
        yield AnswerEvent(event.type, {**event.data, **ids}) if event.type == "retrieval_plan" else event


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _turn(message: Message) -> Turn:
    return Turn("user" if message.role == "user" else "assistant", message.content)
