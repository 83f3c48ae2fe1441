"""The values that pass between Clew's stages.

Everything here is frozen: a stage takes values and returns new ones. Offsets are counted in Unicode code
points, pages from 1, lengths of text in tokens of the knowledge base's embedder unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


class BlockType(StrEnum):
    """What a block is; decides how it is chunked and whether a vision model may enrich it."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    IMAGE = "image"
    CHART = "chart"
    FORMULA = "formula"
    CODE = "code"


class FileStatus(StrEnum):
    """Life of a file; only ``COMPLETED`` files can be searched."""

    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class SummaryStatus(StrEnum):
    """How far the section summaries of a file's published version are."""

    OFF = "off"
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


SUMMARIES_GO_ON = frozenset({SummaryStatus.PENDING, SummaryStatus.RUNNING})
"""States of a file whose summaries are queued or being written."""


class Representation(StrEnum):
    """One way in which a chunk can be found."""

    BM25 = "bm25"
    L1 = "l1"
    L2 = "l2"
    L3 = "l3"
    SUMMARY = "summary"
    QUESTION = "question"


RetrievalMode = Literal["auto", "single", "multi"]
QuestionKind = Literal["fact", "summary"]
SummarySource = Literal["model", "extractive"]


@dataclass(frozen=True, slots=True)
class BBox:
    """A rectangle on a page in PDF points (1/72 inch), origin at the top left."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Region:
    """Where a piece of text stands: a page and, where the format has one, a rectangle on it."""

    page: int
    bbox: BBox | None = None


@dataclass(frozen=True, slots=True)
class CellSpan:
    """A merged cell: its top-left grid position and how many rows and columns it covers."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a full grid.

    ``rows[i][j]`` is the text of grid cell (i, j); every row has the same length. A merged cell's text stands
    at its top-left position, the other positions it covers are empty and described by ``spans``. The first
    ``header_rows`` rows are headers. ``continued`` marks a table that goes on from the previous page; its
    header rows are then repeated from the first part.
    """

    rows: tuple[tuple[str, ...], ...]
    header_rows: int = 1
    spans: tuple[CellSpan, ...] = ()
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """The smallest parsed unit of a file.

    ``text`` is the block's plain text (tables: one line a row, cells joined by `` | ``); ``level`` is the heading
    level (1 is the highest) and ``None`` for other types; ``section_path`` and ``section_titles`` are empty until
    the section tree is built; ``content_hash`` is the SHA-256 hex digest of the block's own normalised content,
    independent of its position.
    """

    ordinal: int
    type: BlockType
    text: str
    content_hash: str
    page: int | None = None
    bbox: BBox | None = None
    level: int | None = None
    section_path: str = ""
    table: Table | None = None
    language: str | None = None
    """Language of a code block, where the format says it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A node of a file's heading tree.

    ``path`` is a materialised path of fixed-width ordinals (``0003/0002/``); the root has the empty path and the
    file's title. ``titles`` are the readable titles from the top level down to this section.
    """

    path: str
    titles: tuple[str, ...]
    level: int
    page: int | None = None
    summary: str | None = None
    """An extractive one holds the chosen sentences as they stand in the file, one a line."""
    summary_source: SummarySource | None = None

    @property
    def title(self) -> str:
        """The section's own title."""
        return self.titles[-1] if self.titles else ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image, as a vision model is sent it."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a parser and the section tree make of one file: its blocks in reading order and its sections."""

    title: str
    language: str
    media_type: str
    pages: int | None
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    """What could not be read although the rest was, in words a person understands."""
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """What images, charts and tables look like, by content hash; only where someone asked for them."""


@dataclass(frozen=True, slots=True)
class ParentChunk:
    """The passage that is read: at most 1,024 tokens inside one section."""

    chunk_id: str
    file_id: str
    ordinal: int
    section_path: str
    section_titles: tuple[str, ...]
    text: str
    tokens: int
    page: int | None = None
    page_end: int | None = None
    enabled: bool = True
    """False: a person disabled it; it is not read and has no children."""
    edited: bool = False
    """A person wrote its text."""


@dataclass(frozen=True, slots=True)
class PassageEdit:
    """What a person changed in a parent chunk: its text (None: as it was read), and whether it may be found.

    Laid over what was read at every update, as long as the passage is there. ``section_titles`` say where it stood.
    """

    section_titles: tuple[str, ...] = ()
    text: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class ChildChunk:
    """The passage that is searched: at most 256 tokens, lying in one parent.

    ``start`` and ``end`` are code point offsets of the child's own content in its parent's text; ``text`` may be
    longer than that span where header rows of a table are repeated.
    """

    chunk_id: str
    parent_id: str
    file_id: str
    ordinal: int
    section_path: str
    section_titles: tuple[str, ...]
    text: str
    tokens: int
    start: int
    end: int
    regions: tuple[Region, ...] = ()

    @property
    def page(self) -> int | None:
        """The page on which the child begins."""
        return self.regions[0].page if self.regions else None


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A named set of files with its own settings (an overlay over the global ones) and its own embedder."""

    kb_id: str
    name: str
    created_at: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    embedder: str = ""
    """Name of the embedder that its vectors were made with; empty while it holds none."""
    description: str = ""
    conversation_id: str = ""
    """Set where it holds the files attached to that conversation: nobody sees it by itself."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What an update changed in a file, and what of the previous version did not have to be made again.

    Blocks are compared by content, wherever they stand. ``blocks_changed`` counts those that took the place of another
    of their kind in the same section.
    """

    blocks_reused: int = 0
    blocks_changed: int = 0
    blocks_removed: int = 0
    blocks_added: int = 0
    embeddings_made: int = 0
    embeddings_saved: int = 0
    vision_calls_made: int = 0
    vision_calls_saved: int = 0
    edits_kept: int = 0
    edits_lost: tuple[PassageEdit, ...] = ()
    """Edits whose passage is no longer there, so that a person can make them again."""


@dataclass(frozen=True, slots=True)
class File:
    """An uploaded document. ``file_id`` never changes; ``file_key`` names the original of the current version."""

    file_id: str
    kb_id: str
    name: str
    media_type: str
    size: int
    file_key: str
    content_hash: str
    status: FileStatus
    version: int
    """The published version that search reads; 0 before the first publish."""
    created_at: str
    updated_at: str
    title: str = ""
    language: str = ""
    pages: int | None = None
    reason: str = ""
    """Why the file failed, in words a person understands; empty otherwise."""
    source_path: str = ""
    """Where a folder ingest found it, to recognise it next time."""
    enabled: bool = True
    progress: float = 0.0
    """0 to 1 while processing."""
    stage: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """``company``, ``aliases``, ``period``, ``date``, ``type`` where they can be read off; ``corrected`` names those
    that a person has set."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """blocks, sections, parents, children of the published version."""
    warnings: tuple[str, ...] = ()
    """What of the published version could not be read although the rest was."""
    writing: int = 0
    """The version that is being written, or was written last; each attempt has a number of its own."""
    edits: Mapping[str, PassageEdit] = field(default_factory=dict)
    """What people changed in its passages, by id of the parent chunk."""
    changes: ChangeReport | None = None
    """What the published version changed; None for a first version."""
    summary_status: SummaryStatus = SummaryStatus.OFF
    """Of the section summaries and questions, which follow the publish in one of their own."""
    summary_done: int = 0
    """Sections and passages that are summarised, of ``summary_total``."""
    summary_total: int = 0
    usage: Mapping[str, TokenUsage] = field(default_factory=dict)
    """What models were asked about it since it was added, by part: ``vision``, ``summary``, ``questions``."""
    summary_model: str = ""
    """The model that wrote the summaries; empty where they are extractive."""
    summary_reason: str = ""
    """Why summarising failed, in words a person understands."""
    undescribed: int | None = None
    """Images, charts and tables that no vision model has described; None: nobody has counted them."""
    describing: bool = False
    """Whether a vision model is being asked about them beside the published version."""
    summary_run: int = 0
    """Counts the times that summaries were begun; a run that is not the newest writes nothing."""

    @property
    def shown_facts(self) -> dict[str, str]:
        """What stands beside a citation."""
        return {name: str(self.facts[name]) for name in ("company", "period", "date", "type") if self.facts.get(name)}


@dataclass(frozen=True, slots=True)
class SectionFilter:
    """Restricts a scope to one section of one file and everything below it."""

    file_id: str
    section_path: str


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files a request asks for, by what is known about them; what is empty does not restrict.

    ``company`` is any name of it; ``period`` a year or a part of one (``2023``, ``2023Q3``); ``date_from`` and
    ``date_to`` are ISO dates, both included, or their beginnings (``2023``, ``2023-04``).
    """

    company: str = ""
    period: str = ""
    type: str = ""
    language: str = ""
    date_from: str = ""
    date_to: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which knowledge bases, files and sections a request may read.

    Made once from the caller's rights and the request's filters, and never widened: every recall path, cache and
    trace goes through it. ``None`` for ``file_ids`` or ``sections`` means no restriction of that kind; an empty
    set means nothing at all.
    """

    kb_ids: tuple[str, ...]
    file_ids: frozenset[str] | None = None
    sections: frozenset[SectionFilter] | None = None

    def allows(self, section: SectionFilter) -> bool:
        """Whether everything in the section (its files apart from their KB) may be read."""
        if self.file_ids is not None and section.file_id not in self.file_ids:
            return False
        return self.sections is None or any(
            s.file_id == section.file_id and section.section_path.startswith(s.section_path) for s in self.sections
        )

    def narrowed_to_sections(self, sections: Iterable[SectionFilter]) -> Scope:
        """The same scope restricted further to these sections; never wider than before."""
        allowed = frozenset(section for section in sections if self.allows(section))
        return Scope(self.kb_ids, frozenset(section.file_id for section in allowed), allowed)

    def narrowed_to_section(self, section: SectionFilter) -> Scope:
        """The same scope restricted further to one section; never wider than before."""
        if self.sections is not None and not any(
            s.file_id == section.file_id and section.section_path.startswith(s.section_path) for s in self.sections
        ):
            return Scope(self.kb_ids, frozenset(), frozenset())
        if self.file_ids is not None and section.file_id not in self.file_ids:
            return Scope(self.kb_ids, frozenset(), frozenset())
        return Scope(self.kb_ids, frozenset({section.file_id}), frozenset({section}))


@dataclass(frozen=True, slots=True)
class Query:
    """One look-up: the text, its vector (shape ``(dimension,)``, L2-normalised) where dense recall is on."""

    text: str
    language: Literal["zh", "en"]
    vector: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A child chunk found by at least one representation.

    ``ranks`` and ``scores`` hold, per route that found it (``bm25``, ``l2``, ``hyde_bm25`` …), its rank from 1 and
    its raw score; ``score`` is the fused score; ``round`` the retrieval round that found it first, from 1.
    """

    chunk_id: str
    parent_id: str
    file_id: str
    kb_id: str
    score: float
    representations: tuple[str, ...]
    ranks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    round: int = 1
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that reached the context: the chunk, the text of its window and where it stands."""

    number: int
    """Its citation number, from 1."""
    candidate: Candidate
    file_name: str
    file_title: str
    section_path: str
    section_titles: tuple[str, ...]
    text: str
    """The window that the answer reads (parent window and neighbours within the budget)."""
    passage: str
    """The child chunk's own text."""
    tokens: int
    page: int | None = None
    regions: tuple[Region, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """Of the file, where they are known: company, period, date, type."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the sources that an answer refers to; ``quote`` is the exact sentence where one is known."""

    number: int
    chunk_id: str
    file_id: str
    file_name: str
    section_path: str
    section_titles: tuple[str, ...]
    page: int | None
    regions: tuple[Region, ...]
    quote: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Of the file, where they are known: company, period, date, type."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What models consumed: tokens of language (and vision) models, embedders and rerankers."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    """Estimated."""
    calls: int = 0
    """Of language models, vision models and rerankers."""
    rerank_tokens: int = 0
    """Estimated: question and passage for each passage."""

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.embedding_tokens + other.embedding_tokens,
            self.calls + other.calls,
            self.rerank_tokens + other.rerank_tokens,
        )


AnswerEventType = Literal[
    "retrieval_plan",
    "retrieval_step",
    "retrieval_done",
    "sources",
    "delta",
    "notice",
    "usage",
    "done",
    "error",
    "stopped",
]


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """One event of an answer's stream; ``data`` is JSON-ready. Exactly one of done, error, stopped ends a stream."""

    type: AnswerEventType
    data: Mapping[str, Any]
