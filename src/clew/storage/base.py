"""Protocols of the three stores. ``app.py`` chooses the implementations; contract suites hold them to these words.

Records are the truth and the search index can be rebuilt from them. Rows of blocks, sections, parents and
children carry the version they belong to, so a new version is staged beside the old one and becomes visible in
one transaction (:meth:`FileRecords.publish`).

All stores may be used from several threads. Any method may raise StorageError (StorageFullError, StorageBusyError).
Times are ISO 8601 in UTC with microseconds, so that their text order is their time order. Records keep every text as
it is but for NUL characters and lone surrogates, which come back as U+FFFD (offsets hold); JSON values (settings,
facts, usage, decisions) come back as JSON has them: tuples as lists, NaN and infinity as None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from clew.types import (
    Block,
    ChangeReport,
    ChildChunk,
    File,
    FileStatus,
    FloatArray,
    KnowledgeBase,
    ParentChunk,
    ParsedFile,
    PassageEdit,
    Representation,
    Section,
    SummarySource,
    TokenUsage,
)

# --- records -----------------------------------------------------------------------------------------------


class KbRecords(Protocol):
    """Knowledge bases."""

    def create_kb(self, kb: KnowledgeBase) -> None:
        """Raises ConflictError where the name is taken."""
        ...

    def get_kb(self, name_or_id: str) -> KnowledgeBase:
        """By id, else by name. Raises NotFoundError."""
        ...

    def list_kbs(self) -> list[KnowledgeBase]:
        """All, by name."""
        ...

    def update_kb(
        self,
        kb_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        embedder: str | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> KnowledgeBase:
        """Changes what is given; settings replace the old overlay as a whole. Raises NotFoundError, and ConflictError
        where the name is taken."""
        ...

    def delete_kb(self, kb_id: str) -> None:
        """With all its files and their rows; nothing happens where there is none. Index and originals are the
        caller's."""
        ...


@dataclass(frozen=True, slots=True)
class NewFile:
    """What is known of a file when it arrives."""

    file_id: str
    kb_id: str
    name: str
    media_type: str
    size: int
    file_key: str
    content_hash: str
    source_path: str = ""


class FileRecords(Protocol):
    """Files and their lock.

    A file's ``status = processing`` is the lock, taken by one conditional update that also counts ``writing`` up: the
    number of the version that this attempt writes. All that an attempt does names this number, and is refused with
    ConflictError once the attempt was cancelled or a later one began, so that two attempts never interleave.
    """

    def add_file(self, new: NewFile) -> tuple[File, bool]:
        """Insert as ``processing``, version 0, writing version 1. Where the KB holds the same bytes already (unique on
        kb and content hash; whatever that file's status), returns that file and False, also when two callers race.
        Repeated with the same ``file_id`` and bytes (a resumed job), returns the file as it is now and True. Raises
        NotFoundError for an unknown KB, ConflictError where the ``file_id`` belongs to other bytes."""
        ...

    def get_file(self, file_id: str) -> File:
        """Raises NotFoundError."""
        ...

    def list_files(
        self,
        kb_id: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        status: FileStatus | None = None,
        text: str = "",
    ) -> list[File]:
        """In the order they were added; ``text`` is a part of the name, or of company, period, date or type where they
        are known (ASCII letters of either case)."""
        ...

    def moving_files(self, kb_id: str, since: str) -> list[File]:
        """Those that are being processed or summarised, and those that changed after the time ``since``, in the order
        they were added."""
        ...

    def begin_update(self, new: NewFile) -> File:
        """Take the document lock for a new version under an existing ``file_id``: one conditional update to
        ``processing`` with the new name, type, key, size and hash (``source_path`` where it is given); ``version``
        stays, the new one is staged as ``writing``, which no attempt had before. The same bytes again are allowed
        (process anew). Raises ConflictError while another update runs or where another file of the KB has these bytes,
        NotFoundError where the KB has no such file."""
        ...

    def begin_edit(self, file_id: str, edits: Mapping[str, PassageEdit] | None = None) -> File:
        """Take the lock of a completed file to lay other edits (None: those it has) over what was read: as
        ``begin_update``, with the same original. Raises ConflictError where the file is processing or failed, and
        NotFoundError."""
        ...

    def begin_again(self, file_id: str, version: int) -> File:
        """Hand the lock of an attempt that is over without saying so to a new one. Raises NotFoundError, and
        ConflictError where the version is not being written."""
        ...

    def set_progress(self, file_id: str, version: int, stage: str, progress: float) -> bool:
        """``progress`` from 0 to 1. False, and nothing happens, where this version is not being written."""
        ...

    def publish(
        self,
        file_id: str,
        version: int,
        *,
        changes: ChangeReport | None = None,
        summaries: bool = False,
        undescribed: int | None = None,
    ) -> File:
        """One transaction: drop every other version's blocks, sections, parents and children, switch ``version``,
        set ``completed`` (which releases the lock) and take title, language, pages, counts and warnings from what was
        staged, and ``changes`` and ``undescribed``; ``summary_status`` becomes ``pending`` where ``summaries`` are to
        follow, else ``off``.
        Repeated (a resumed job), it changes nothing more. Raises NotFoundError where the version is not staged,
        ConflictError where it is no longer being written."""
        ...

    def fail(self, file_id: str, version: int, reason: str) -> File:
        """Set ``failed`` with its reason (releases the lock) and drop staged rows of the unpublished version; the
        published one stays stored, but is not searched. Raises NotFoundError, and ConflictError where the version is
        not being written."""
        ...

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
        """Changes what is given. ``status`` can only be ``COMPLETED``: it takes a failed file back to its published
        version, with the name, type, key, size and hash that it had; ConflictError where the file is not failed, has
        no published version, or its bytes were added as another file since. Raises NotFoundError."""
        ...

    def add_usage(self, file_id: str, part: str, usage: TokenUsage) -> None:
        """Add what a model call about the file cost to its ``usage``; nothing happens where the file is gone."""
        ...

    def delete_file(self, file_id: str) -> None:
        """With all its rows, all versions; nothing happens where there is none. A job that still works on the file
        meets NotFoundError."""
        ...

    def hidden_versions(self, kb_id: str) -> frozenset[tuple[str, int]]:
        """What the index may hold and search must not see: for every file of the KB that is processing, failed or
        disabled the pairs (file_id, version) and (file_id, writing). Asked before every look-up: keep it cheap."""
        ...

    def count_files(self, kb_id: str) -> Mapping[FileStatus, int]:
        """How many files of each status; 0 where there is none."""
        ...

    def file_keys(self, file_id: str | None = None) -> set[str]:
        """Keys of all originals that a file needs, or this one: of its current upload and of its published version
        (for a restore). Other originals may be swept."""
        ...


class FactRecords(Protocol):
    """What is known about files (``File.facts``), as a search asks for it."""

    def facts_stamp(self, kb_id: str) -> str:
        """Changes when a file of the KB comes, goes or changes. Asked before every look-up: keep it cheap."""
        ...

    def file_facts(self, kb_id: str) -> dict[str, Mapping[str, Any]]:
        """Facts by file id, of completed, enabled files that have some."""
        ...


class ChunkRecords(Protocol):
    """Blocks, sections and chunks, by file and version.

    A chunk id is unique within a file and version, and must be made from the ``file_id``, so that no two files share
    one; two versions of a file share the ids of what did not change. An unknown file or version has no rows.
    """

    def stage(
        self,
        file_id: str,
        version: int,
        parsed: ParsedFile,
        parents: Sequence[ParentChunk],
        children: Sequence[ChildChunk],
        edits: Mapping[str, PassageEdit] | None = None,
    ) -> None:
        """Write all rows of an unpublished version, replacing what an interrupted attempt left of it; also the file's
        title, language, pages, counts and warnings, and those of its edits that the chunks have, which become visible
        with the publish. One transaction.
        Raises NotFoundError for an unknown file, ConflictError for a version that is not being written."""
        ...

    def blocks(
        self, file_id: str, version: int | None = None, *, offset: int = 0, limit: int | None = None
    ) -> list[Block]:
        """In reading order; ``version`` None is the published one."""
        ...

    def parsed(self, file_id: str) -> ParsedFile | None:
        """What was read for the published version; None where there is none, or it was made of another original than
        the file has now."""
        ...

    def sections(
        self,
        file_id: str,
        *,
        prefix: str = "",
        version: int | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> list[Section]:
        """In path order (the root with its empty path first), those whose path starts with ``prefix``."""
        ...

    def parents(self, chunk_ids: Iterable[str]) -> dict[str, ParentChunk]:
        """Parents of published versions of completed, enabled files by id; others are missing from the result."""
        ...

    def children(self, chunk_ids: Iterable[str]) -> dict[str, ChildChunk]:
        """Children of published versions of completed, enabled files by id; others are missing: this is what makes
        half a write invisible, whatever the search index still holds."""
        ...

    def file_parents(
        self,
        file_id: str,
        *,
        version: int | None = None,
        prefix: str = "",
        first: int = 0,
        last: int | None = None,
        disabled: bool = False,
    ) -> list[ParentChunk]:
        """Parents of a file in reading order, by section prefix and by ordinal range (both ends included); those that
        a person disabled only where they are asked for."""
        ...

    def file_children(
        self, file_id: str, *, version: int | None = None, parent_ids: Iterable[str] | None = None
    ) -> list[ChildChunk]:
        """Children of a file in reading order, all or those of some parents."""
        ...


class NameRecords(Protocol):
    """Folded names (``clew.text.names``) and the chunks that are about what they name, by file and version.

    They belong to a version as its chunks do: staged with it, visible with its publish, dropped with it.
    """

    def stage_names(self, file_id: str, version: int, names: Mapping[str, Sequence[str]]) -> None:
        """Write the names of a staged version with the ids of their chunks, replacing what was written before. Raises
        NotFoundError where the version is not staged."""
        ...

    def named_versions(self, kb_id: str) -> frozenset[tuple[str, int]]:
        """Pairs (file_id, version) that are published, of completed, enabled files, and have names. Asked for every
        question of several hops: keep it cheap."""
        ...

    def names(self, file_id: str, version: int) -> dict[str, tuple[str, ...]]:
        """Chunk ids by folded name; empty for an unknown file or version."""
        ...


class SummaryRecords(Protocol):
    """Section summaries and generated questions of published versions, and how far they are.

    A run writes them: it is begun by the publish or by ``begin_summaries``, which count ``summary_run`` up; what an
    older run still writes is ignored. A version that is dropped takes its summaries and questions along.
    """

    def begin_summaries(self, file_id: str) -> int:
        """A new run for the published version, and its number: ``pending``, nothing done. What an earlier run wrote
        stays until it is replaced. Raises NotFoundError, and ConflictError where nothing is published."""
        ...

    def set_summary_progress(self, file_id: str, run: int, done: int, total: int) -> bool:
        """The run is ``running``; False where it is over or not the newest."""
        ...

    def put_summaries(
        self,
        file_id: str,
        run: int,
        summaries: Mapping[str, tuple[str, SummarySource]],
        questions: Mapping[str, Sequence[str]],
    ) -> bool:
        """One transaction: replace all summaries (by section path) and all questions (by parent id) of the published
        version. False where the run is over or not the newest: then nothing is written."""
        ...

    def end_summaries(self, file_id: str, run: int, *, model: str = "", failure: str = "") -> bool:
        """The run is ``completed``, its summaries by ``model`` (empty: extractive), or ``failed`` where there is a
        ``failure``. False where the run is over or not the newest."""
        ...

    def questions(self, file_id: str) -> dict[str, tuple[str, ...]]:
        """Questions of the published version by parent id."""
        ...

    def outline(
        self, kb_id: str, *, file_ids: Iterable[str] | None = None, limit: int | None = None
    ) -> list[tuple[str, Section]]:
        """Sections of completed, enabled files with their file's id: upper levels first, then by file and path."""
        ...


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation and which KBs it asks by default."""

    conversation_id: str
    title: str
    created_at: str
    updated_at: str
    kb_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A message; ``usage`` of an answer holds the whole retrieval trace, citations, notice and token counts."""

    message_id: str
    conversation_id: str
    role: str
    content: str
    created_at: str
    status: str = "done"
    """``streaming``, ``done``, ``stopped`` or ``error``."""
    usage: Mapping[str, Any] = field(default_factory=dict)


class ConversationRecords(Protocol):
    """Conversations and messages."""

    def create_conversation(self, conversation: Conversation) -> None:
        """Raises ConflictError where the id is taken."""
        ...

    def get_conversation(self, conversation_id: str) -> Conversation:
        """Raises NotFoundError."""
        ...

    def list_conversations(self, *, offset: int = 0, limit: int = 50) -> list[Conversation]:
        """Last changed first; a new message changes its conversation."""
        ...

    def rename_conversation(self, conversation_id: str, title: str, *, instead_of: str | None = None) -> None:
        """Raises NotFoundError. Where the title is not ``instead_of`` any more, nothing happens."""
        ...

    def delete_conversation(self, conversation_id: str) -> None:
        """With its messages; nothing happens where there is none."""
        ...

    def add_message(self, message: Message) -> None:
        """Raises NotFoundError for an unknown conversation, ConflictError where the message's id is taken."""
        ...

    def update_message(
        self,
        message_id: str,
        *,
        content: str | None = None,
        status: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        """Changes what is given. Raises NotFoundError."""
        ...

    def get_message(self, message_id: str) -> Message:
        """Raises NotFoundError."""
        ...

    def messages(
        self, conversation_id: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Message]:
        """In the order they were added, or the other way round."""
        ...


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a conversation. Its content is a file with the same id in the conversation's own KB."""

    attachment_id: str
    conversation_id: str
    name: str
    media_type: str
    size: int
    created_at: str
    tokens: int = 0
    """Of its whole text; 0 until it is read."""
    embedded: bool = False
    """Whether its vectors are ready."""
    skipped: str = ""
    """Why it is not read at all, in words a person understands; there is no file then."""


class AttachmentRecords(Protocol):
    """Which files are attached to which conversation. They go with the conversation."""

    def add_attachment(self, attachment: Attachment) -> None:
        """Also counts as a change of the conversation. Raises NotFoundError for an unknown conversation, ConflictError
        where the id is taken."""
        ...

    def attachments(self, conversation_id: str) -> list[Attachment]:
        """The newest last."""
        ...

    def get_attachment(self, attachment_id: str) -> Attachment:
        """Raises NotFoundError."""
        ...

    def update_attachment(
        self,
        attachment_id: str,
        *,
        tokens: int | None = None,
        embedded: bool | None = None,
        skipped: str | None = None,
    ) -> None:
        """Changes what is given; nothing happens where there is none."""
        ...

    def delete_attachment(self, attachment_id: str) -> None:
        """Nothing happens where there is none. The file is the caller's."""
        ...

    def attachments_unused_since(self, time: str) -> list[Attachment]:
        """Those that are not skipped, of conversations that have not changed since ``time``."""
        ...


class VectorCache(Protocol):
    """L2-normalised vectors by (embedder name, hash of all that the encoder saw).

    They may be kept at half precision: what comes back differs from what was put in by less than 0.0005 in any
    component and by about 1e-5 in a cosine.
    """

    def get_vectors(self, model: str, keys: Sequence[str]) -> dict[str, FloatArray]:
        """Vectors that are known, each of shape ``(dimension,)``."""
        ...

    def put_vectors(self, model: str, vectors: Mapping[str, FloatArray]) -> None:
        """Keep vectors; a key that is known keeps its vector."""
        ...


class BlockCache(Protocol):
    """What a model made of a piece of a file, by task, model and the hash of all that the model was given."""

    def get_outputs(self, task: str, model: str, keys: Sequence[str]) -> dict[str, str]:
        """Outputs that are known, by key."""
        ...

    def put_outputs(self, task: str, model: str, outputs: Mapping[str, str]) -> None:
        """Keep outputs; a key that is known keeps its output."""
        ...


CacheNeed = Literal["version", "reading", "summaries"]
"""What a file needs something cached for: a staged version; reading or summarising any version."""


class CacheUses(Protocol):
    """What files need of the two caches."""

    def use_cached(self, file_id: str, version: int, keys: Iterable[str], need: CacheNeed = "version") -> None:
        """The version needs what the caches hold, or will hold, under ``keys``: as long as it is stored, or, for what
        was paid to read or to summarise it, until :meth:`forget_cached` is told that a later one has all it needs.
        What nobody needs any more goes with the last that did, so that nothing of a deleted text stays. Raises
        ConflictError where version or file is not there (any more): then nothing may be cached for it."""
        ...

    def forget_cached(self, file_id: str, version: int, need: CacheNeed) -> None:
        """Versions of the file before this one need nothing for this purpose any more."""
        ...

    def unneeded_cached(self, *, drop: bool = False) -> int:
        """How many entries the caches hold that no file needs (there should be none); ``drop``: delete them."""
        ...


class DecisionRecords(Protocol):
    """Decisions of the router, for export, training and replay."""

    def add_decision(self, kind: str, decision: Mapping[str, Any]) -> None: ...

    def decisions(
        self, kind: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Mapping[str, Any]]:
        """Oldest first unless ``latest_first``."""
        ...


class Records(
    KbRecords,
    FileRecords,
    FactRecords,
    ChunkRecords,
    NameRecords,
    SummaryRecords,
    ConversationRecords,
    AttachmentRecords,
    VectorCache,
    BlockCache,
    CacheUses,
    DecisionRecords,
    Protocol,
):
    """All records behind one connection."""

    def close(self) -> None: ...

    def snapshot(self, path: Path) -> set[str]:
        """Copy everything as it is at one moment to a new SQLite file; returns the keys of the originals that it names.
        Raises StorageError where the database has its own tools for this."""
        ...

    def check(self) -> str:
        """One line for ``clew doctor``: which database, which schema revision. Raises StorageError."""
        ...


# --- search index --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One point of the index: one representation of one child chunk.

    ``terms`` (for ``bm25``) are what ``clew.text.tokenizing.tokenize`` gives; ``vector`` (for the others) has shape
    ``(dimension,)`` and length 1. An entry may carry both where one point serves two representations. ``part`` tells
    apart several vectors of one chunk in one representation (sentence windows, questions), from 0.
    """

    chunk_id: str
    parent_id: str
    file_id: str
    version: int
    section_path: str
    representation: Representation
    vector: FloatArray | None = None
    terms: tuple[str, ...] = ()
    part: int = 0


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Which entries a search may see.

    ``file_ids`` None: all. ``sections``: pairs of file id and section path prefix, any of which suffices.
    ``excluded``: pairs of file id and version that are not to be seen (being written, hidden, being deleted).
    """

    file_ids: frozenset[str] | None = None
    sections: frozenset[tuple[str, str]] | None = None
    excluded: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Posting:
    """A hit of one look-up in one representation: score as the engine gives it (BM25, or cosine in [-1, 1])."""

    chunk_id: str
    parent_id: str
    file_id: str
    version: int
    score: float


class SearchIndex(Protocol):
    """BM25 and vectors; one collection per KB with its own statistics and embedder."""

    def create(self, kb_id: str, dimension: int, made_as: str = "") -> None:
        """Make the KB's collection; nothing happens where it exists with the same dimension. Raises StorageError
        where the dimension differs. ``made_as`` says how its entries are made, and is kept with it."""
        ...

    def made_as(self, kb_id: str) -> str | None:
        """What the collection was created or marked with; None where there is none."""
        ...

    def mark(self, kb_id: str, made_as: str) -> None:
        """Say of an existing collection that all its entries are made anew, in this way."""
        ...

    def drop(self, kb_id: str) -> None:
        """Delete the KB's collection; nothing happens where there is none."""
        ...

    def upsert(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        """Write entries durably; the same (chunk_id, version, representation, part) is overwritten. Raises
        StorageError where the KB has no collection or a vector another dimension, StorageFullError."""
        ...

    def search_text(
        self,
        kb_id: str,
        terms: Sequence[str],
        filter: IndexFilter,
        limit: int,
        *,
        k1: float = 1.2,
        b: float = 0.5,
    ) -> list[Posting]:
        """BM25 over the KB's own statistics, best first, scores positive; [] for a KB without a collection. ``terms``
        are what ``clew.text.tokenizing.query_terms`` gives."""
        ...

    def search_vector(
        self,
        kb_id: str,
        representation: Representation,
        vector: FloatArray,
        filter: IndexFilter,
        limit: int,
        *,
        exact: bool = False,
    ) -> list[Posting]:
        """Cosine similarity, best first, each chunk and version once (its best part). ``exact``: by the stored vectors
        alone, whatever index there is beside them."""
        ...

    def vectors(
        self, kb_id: str, representation: Representation, keys: Sequence[tuple[str, int]]
    ) -> dict[str, FloatArray]:
        """Stored vectors (part 0) by chunk id for (chunk_id, version) pairs; unknown ones are missing."""
        ...

    def delete(
        self,
        kb_id: str,
        file_id: str,
        *,
        version: int | None = None,
        keep_version: int | None = None,
        representations: Sequence[Representation] | None = None,
    ) -> None:
        """Delete the file's entries: of all versions, of this ``version``, or of all but ``keep_version``; of these
        ``representations`` only, where given."""
        ...

    def files(self, kb_id: str) -> dict[tuple[str, int], int]:
        """How many entries each (file_id, version) has: what reconciliation compares with the records."""
        ...

    def chunks(self, kb_id: str, file_id: str, version: int) -> dict[Representation, frozenset[str]]:
        """Ids of the chunks that each representation has of a version; without any, it is missing."""
        ...

    def optimise(self, kb_id: str) -> None:
        """Build the graph index now instead of in the background."""
        ...

    def check(self) -> str:
        """One line for ``clew doctor``. Raises StorageError."""
        ...

    def close(self) -> None: ...


# --- originals -----------------------------------------------------------------------------------------------


class Originals(Protocol):
    """Uploaded bytes by ``file_key``: up to 200 of ``A-Z a-z 0-9 . _ - /``, no part of it empty or dots only."""

    def put(self, file_key: str, source: BinaryIO) -> tuple[int, str]:
        """Store durably and atomically, replacing what the key held; returns size in bytes and SHA-256 hex digest.
        ``source`` is read from where it stands, in pieces. On any error nothing of it stays. Raises InputError for an
        impossible key, StorageFullError."""
        ...

    def open(self, file_key: str) -> BinaryIO:
        """Raises NotFoundError."""
        ...

    def local_path(self, file_key: str) -> AbstractContextManager[Path]:
        """The original as a local file for as long as the context lasts; not to be changed. Raises NotFoundError."""
        ...

    def delete(self, file_key: str) -> None:
        """Nothing happens where there is none."""
        ...

    def keys(self) -> Iterable[str]:
        """All keys, in any order."""
        ...

    def check(self) -> str:
        """One line for ``clew doctor``. Raises StorageError."""
        ...
