"""The API's requests and responses: the only place where Clew's values become JSON shapes of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema, model_validator

from clew.indexing.reconciling import Disagreement
from clew.trace import ComplexityDecision, KindDecision

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
KbNames = Annotated[list[str], Field(max_length=200)]
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8000)]

# The trace is passed on as it was recorded, also by an older version; only its documentation is the current shape.
TRACE_MARK = "x-clew-trace"
Trace = Annotated[Mapping[str, Any], WithJsonSchema({TRACE_MARK: True})]


class _Out(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Sent(BaseModel):
    """What a client sends. JSON can spell halves of surrogate pairs, which nothing stores or sends."""

    @model_validator(mode="before")
    @classmethod
    def _is_text(cls, value: Any) -> Any:
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                if any("\ud800" <= character <= "\udfff" for character in item):
                    raise ValueError("half of a surrogate pair is no text; send whole characters")
            elif isinstance(item, Mapping):
                waiting += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                waiting += item
        return value


class _In(Sent):
    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """An error (RFC 9457). ``type`` is stable and meant for programs, ``detail`` for people."""

    type: str = Field(examples=["urn:clew:not-found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no knowledge base 'reports'; `clew kb list` shows all of them."])
    errors: list[dict[str, str]] = Field(default=[], description="Per wrong field: path and message.")


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = Field(examples=["0.1.0"])


class Check(_Out):
    """One line of ``clew doctor``."""

    name: str = Field(examples=["search index"])
    ok: bool
    detail: str


class FileCounts(BaseModel):
    completed: int = 0
    processing: int = 0
    failed: int = 0


class KnowledgeBase(_Out):
    """A named set of files with its own settings."""

    kb_id: str
    name: str = Field(examples=["annual reports"])
    description: str = ""
    created_at: str
    embedder: str = Field("", description="Which embedder made its vectors; empty while it holds none.")
    settings: Mapping[str, Any] = Field({}, description="Its overlay over the global settings.")
    files: FileCounts = FileCounts()


class NewKnowledgeBase(_In):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "annual reports"}]})
    name: Name
    description: str = Field("", max_length=2000)
    settings: dict[str, Any] | None = None


class KnowledgeBaseChange(_In):
    """What is given is changed; ``settings`` replaces the whole overlay."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"settings": {"retrieval": {"rerank_top_k": 8}}}]}
    )
    name: Name | None = None
    description: str | None = Field(None, max_length=2000)
    settings: dict[str, Any] | None = None


class PassageEdit(_Out):
    """What a person changed in a passage."""

    section_titles: list[str]
    text: str | None = Field(description="null: as it was read")
    enabled: bool


class PassageChange(_In):
    """What is given is changed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"enabled": False}]})
    text: str | None = None
    enabled: bool | None = Field(None, description="A disabled passage is hidden from every search.")


class ChangeReport(_Out):
    """What an update changed, and what of the previous version did not have to be made again."""

    blocks_reused: int = Field(description="Blocks whose content stayed, wherever they stand now.")
    blocks_changed: int = Field(description="Blocks that took the place of another of their kind in the same section.")
    blocks_removed: int
    blocks_added: int
    embeddings_made: int = Field(description="Passages that the encoder read for this update.")
    embeddings_saved: int = Field(description="Vectors that were known already.")
    vision_calls_made: int
    vision_calls_saved: int
    edits_kept: int = Field(description="Edited or disabled passages that are still there.")
    edits_lost: list[PassageEdit] = Field(description="Edits whose passage is gone.")


class FileChange(_In):
    """What is given is changed."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"enabled": False}, {"facts": {"period": "2020"}}]}
    )
    name: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    enabled: bool | None = Field(None, description="A disabled file is hidden from every search.")
    facts: dict[str, str | list[str] | None] = Field(
        {},
        description="What is known about the file, corrected: a value for a name, or null to take it away. It stays so "
        "when the file is read again.",
        examples=[{"period": "2020", "company": None}],
    )


class Finding(_Out):
    """Something in which records, search index and originals do not agree."""

    kind: Disagreement
    kb_id: str
    file_id: str
    detail: str
    repaired: bool


class TokenUsage(_Out):
    """What models consumed."""

    calls: int = Field(0, description="Of language models, vision models and rerankers.")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = Field(0, description="Estimated.")
    rerank_tokens: int = Field(0, description="Estimated: question and passage for each passage.")


class File(_Out):
    """An uploaded document."""

    file_id: str
    kb_id: str
    name: str = Field(examples=["2023 annual report.pdf"])
    title: str
    media_type: str = Field(examples=["application/pdf"])
    size: int = Field(description="Bytes of the original.")
    content_hash: str = Field(description="SHA-256 of the original, as hexadecimal digits.")
    status: Literal["processing", "completed", "failed"]
    reason: str = Field(description="Why the file failed, in words a person understands.")
    source_path: str = Field(description="Where a folder ingest found it; empty for an upload.")
    stage: str = Field(examples=["embed"])
    progress: float = Field(ge=0, le=1)
    version: int = Field(description="The version that search reads; 0 before the first.")
    language: str
    pages: int | None
    enabled: bool
    facts: Mapping[str, Any] = Field(
        description="company, aliases, period, date, type where they can be read off; corrected: what a person set."
    )
    counts: Mapping[str, int] = Field(description="blocks, sections, parents, children")
    changes: ChangeReport | None = Field(None, description="What the last update changed; null for a first version.")
    summary_status: Literal["off", "pending", "running", "completed", "failed"] = Field(
        description="How far the section summaries and questions are; they follow when the file can be searched."
    )
    summary_done: int = Field(description="Sections and passages that are summarised, of summary_total.")
    summary_total: int
    summary_model: str = Field(description="The model that wrote the summaries; empty where they are extractive.")
    summary_reason: str = Field(description="Why summarising failed.")
    usage: Mapping[str, TokenUsage] = Field(
        description="What models were asked about it since it was added: vision, summary, questions."
    )
    undescribed: int | None = Field(
        description="Images, charts and tables that no vision model has described; null: nobody has counted them."
    )
    describing: bool = Field(description="Whether a vision model is being asked about them.")
    created_at: str
    updated_at: str


class Backfill(_In):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"again": True}]})
    again: bool = Field(False, description="Also the files whose summaries are as the settings want them.")


class FilePage(BaseModel):
    items: list[File]
    total: int


class FileProgress(BaseModel):
    """Event ``progress`` of a file's stream; ``done`` carries a File."""

    status: Literal["processing"]
    stage: str
    progress: float


class OneOfManyProgress(BaseModel):
    """Event ``progress`` of a knowledge base's stream; ``file`` carries a File, ``gone`` its id alone."""

    file_id: str
    name: str
    status: Literal["processing", "completed", "failed"]
    stage: str
    progress: float
    summary_status: Literal["off", "pending", "running", "completed", "failed"]
    summary_done: int
    summary_total: int


class BBox(_Out):
    """A rectangle on a page in PDF points, origin at the top left."""

    x0: float
    y0: float
    x1: float
    y1: float


class Region(_Out):
    page: int = Field(description="From 1.")
    bbox: BBox | None


class Block(_Out):
    ordinal: int
    type: str = Field(examples=["paragraph"])
    text: str
    page: int | None
    bbox: BBox | None
    level: int | None
    section_path: str


class BlockPage(BaseModel):
    items: list[Block]
    total: int


class Section(_Out):
    path: str = Field(examples=["0003/0002/"])
    titles: list[str]
    level: int
    page: int | None
    summary: str | None
    summary_source: Literal["model", "extractive"] | None


class SectionPage(BaseModel):
    items: list[Section]
    total: int


class ParentChunk(_Out):
    chunk_id: str
    ordinal: int
    section_path: str
    section_titles: list[str]
    text: str
    tokens: int
    page: int | None
    page_end: int | None
    enabled: bool = Field(description="False: a person hid it from every search.")
    edited: bool = Field(description="A person wrote its text.")


class ChildChunk(_Out):
    chunk_id: str
    parent_id: str
    ordinal: int
    text: str
    tokens: int
    start: int = Field(description="Code point offset in the parent's text.")
    end: int
    regions: list[Region]


class Passage(BaseModel):
    """A parent chunk and the child chunks that are searched in it."""

    parent: ParentChunk
    children: list[ChildChunk]


class PassagePage(BaseModel):
    items: list[Passage]
    total: int


class FileFilter(_In):
    """Which files to read, by what is known about them; what is empty does not restrict."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)
    company: str = Field("", description="Any name of it.")
    period: str = Field("", description="A year or a part of one.", examples=["2023", "2023Q3"])
    type: str = Field("", examples=["annual_report"])
    language: str = Field("", examples=["zh"])
    date_from: str = Field("", description="ISO date or its beginning, included.", examples=["2023-04"])
    date_to: str = Field("", description="ISO date or its beginning, included.")


class SectionFilter(_In):
    file_id: str
    section_path: str = Field(examples=["0003/"])


class _Asked(_In):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": "2023年的营业收入是多少？", "kbs": ["annual reports"], "retrieval_mode": "auto"}]
        },
    )
    question: Question
    kbs: KbNames = Field(
        [], description="Names or ids; the first gives planner and settings. May be empty where files are attached."
    )
    files: list[str] | None = Field(None, description="Read only these files.")
    where: FileFilter | None = Field(None, description="Read only files of which this is known.")
    sections: list[SectionFilter] | None = Field(None, description="Read only these sections and what lies below.")
    retrieval_mode: Literal["auto", "single", "multi"] = "auto"
    kind: Literal["auto", "fact", "summary"] = "auto"


class SearchRequest(_Asked):
    settings: dict[str, Any] = Field(
        {},
        description="Laid over the settings for this question only, nested as in clew.toml.",
        examples=[{"retrieval": {"bm25_b": 0.6}}],
    )
    conversation_id: str | None = Field(None, description="Read the files attached to this conversation, too.")


class ChatRequest(_Asked):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": "How long is the Danube?", "kbs": ["rivers"], "stream": False}],
        },
    )
    kbs: KbNames = Field([], description="Names or ids; in a conversation empty means those of last time.")
    conversation_id: str | None = Field(None, description="Go on with this conversation; else a new one begins.")
    stream: bool = Field(True, description="Answer as server-sent events; else with one ChatResponse.")


class SearchHit(_Out):
    chunk_id: str
    file_id: str
    file: str = Field(examples=["2023 annual report.pdf"])
    section_path: str
    section_titles: list[str]
    page: int | None
    text: str
    score: float
    rerank_score: float | None
    representations: list[str] = Field(examples=[["bm25", "l2"]])
    round: int


class SearchResponse(BaseModel):
    hits: list[SearchHit]
    trace: Trace


class FoundChunk(BaseModel):
    """A child chunk with the name of its file."""

    chunk_id: str
    file_id: str
    file: str
    section_titles: list[str]
    page: int | None
    text: str


class RouteRequest(_In):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"question": "Which is longer, the Danube or the Rhine?", "record": False}]},
    )
    question: Question
    kb: str | None = Field(None, description="Use the settings and titles of this knowledge base.")
    record: bool = Field(True, description="Keep the decisions, for export and replay.")


class RouteResponse(BaseModel):
    """Both decisions that come before retrieval."""

    complexity: ComplexityDecision
    kind: KindDecision


class CurvePoint(BaseModel):
    """Decisions against labels at one threshold."""

    threshold: float
    accuracy: float
    precision: float
    recall: float
    f1: float
    multi_share: float


class EvaluationRun(BaseModel):
    """A kept run. ``retrieval``: corpus, queries, modes and curves by mode; ``decisions``: file, thresholds, agreement
    and curves by threshold."""

    run_id: str
    kind: Literal["retrieval", "decisions"]
    created_at: str
    corpus: str = ""
    queries: int = 0
    modes: dict[str, dict[str, float]] = Field({}, description="Measures by mode, as clew eval prints them.")
    file: str = ""
    thresholds: dict[str, float] = Field({}, description="In force at the time of the run.")
    agreement: dict[str, float] = Field({}, description="Of the decisions as they were, with the labels.")
    curves: dict[str, dict[str, list[float]] | list[CurvePoint]] = Field(
        {}, description="By mode: recall and all_support at 1, 2 …; by threshold: agreement as it moves from 0 to 1."
    )


class ModelsChange(_In):
    """Sections of ``models`` as in clew.toml. A key that is not given stays, unless its address changes."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"models": {"chat": {"url": "http://127.0.0.1:8000/v1", "model": "qwen3"}}}]},
    )
    models: dict[str, dict[str, Any]] = Field(
        examples=[{"chat": {"url": "http://127.0.0.1:8000/v1", "model": "qwen3", "api_key": "…"}}]
    )


class ModelTrial(_In):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"part": "chat", "settings": {"url": "http://127.0.0.1:8000/v1", "model": "qwen3"}}]
        },
    )
    part: Literal["embedder", "chat", "enrichment", "vision", "reranker"]
    settings: dict[str, Any] = Field({}, description="Laid over what is saved.")


class SettingsView(BaseModel):
    """The settings in force, and what can be set."""

    values: dict[str, Any] = Field(description="In force now, nested as in clew.toml; a key that is set reads ***.")
    json_schema: dict[str, Any] = Field(description="JSON Schema of the settings: types, limits, defaults, meaning.")
    kb_sections: list[str] = Field(description="Sections that a knowledge base may lay its own values over.")
    from_environment: list[str] = Field(description="Paths that the environment sets; they cannot be changed here.")
    restart_needed: bool = Field(description="Whether something that is saved is used from the next start on only.")


class Citation(_Out):
    """A place in the sources that ``[number]`` in an answer refers to."""

    number: int
    chunk_id: str
    file_id: str
    file_name: str
    section_path: str
    section_titles: list[str]
    page: int | None
    regions: list[Region]
    quote: str = ""
    facts: Mapping[str, str] = Field({}, description="Of the file, where known: company, period, date, type.")
    text: str = Field("", description="The passage's own text.")


class AnswerCost(BaseModel):
    """What the models of an answer consumed."""

    model_config = ConfigDict(extra="allow")
    tokens: TokenUsage | None = Field(None, description="Of all model calls.")
    tokens_by_part: Mapping[str, TokenUsage] = Field(
        {},
        description="What for: rewrite, complexity, kind, sections, hyde, planner, rerank, embed, answer, title. The "
        "title is written beside the answer; where it comes later, it is told with the stored message only.",
    )
    finish_reason: str = Field("stop", description="length where the answer was cut off.")


class ChatResponse(BaseModel):
    conversation_id: str
    message_id: str
    answer: str
    status: str = Field(examples=["done"])
    citations: list[Citation]
    retrieval_trace: Trace | None
    uncertainty_notice: str | None
    usage: AnswerCost


class Conversation(_Out):
    conversation_id: str
    title: str
    kb_ids: list[str]
    created_at: str
    updated_at: str


class ConversationPage(BaseModel):
    items: list[Conversation]
    more: bool = Field(description="Whether older ones follow.")


class NewConversation(_In):
    """An empty conversation, for files to be attached before the first question."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"kbs": ["annual reports"]}]})
    title: str = Field("", max_length=200)
    kbs: KbNames = Field([], description="Names or ids of the knowledge bases that it asks by default.")


class Attachment(_Out):
    """A file attached to a conversation."""

    file_id: str
    name: str = Field(examples=["contract.pdf"])
    media_type: str
    size: int
    created_at: str
    tier: Literal["context", "index", "skipped", "failed"] = Field(
        description="context: read whole; index: searched; skipped: beyond a limit; failed: cannot be read."
    )
    status: Literal["processing", "ready", "skipped", "failed"]
    tokens: int = Field(description="Of its whole text; 0 until it is read.")
    embedded: bool = Field(description="Whether it can be searched by vectors, too.")
    reason: str = Field(description="Why it is skipped or failed.")


class Attachments(_Out):
    """The signal package of a conversation: its files, the newest last, and what of them can be read how."""

    files: list[Attachment]
    semantic_scope: list[str] = Field(description="Ids of the files whose vectors are ready.")
    bm25_scope: list[str] = Field(description="Ids of the files whose keyword index is ready; it is ready earlier.")
    stuff_texts: list[str] = Field(description="Ids of the files whose whole text goes into the context, in order.")


class ConversationChange(_In):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Lengths of rivers"}]})
    title: Name


class Feedback(_In):
    """What a person thinks of an answer."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"rating": "down", "comment": "The unit is wrong."}]}
    )
    rating: Literal["up", "down"]
    comment: str = Field("", max_length=2000)


class MessageUsage(AnswerCost):
    """What is stored with an answer."""

    retrieval_trace: Trace | None = None
    citations: list[Citation] = []
    notice: str | None = None
    feedback: Feedback | None = None


class Message(_Out):
    message_id: str
    conversation_id: str
    role: Literal["user", "assistant", "system"]
    content: str
    status: str = Field(description="streaming, done, stopped or error")
    created_at: str
    usage: MessageUsage


# --- events of an answer's stream, in their order ------------------------------------------------------------


class RetrievalPlanEvent(BaseModel):
    mode: Literal["single", "multi"] | None = Field(description="None where nothing is retrieved.")
    source: str
    confidence: float
    kind: Literal["fact", "summary"] | None
    conversation_id: str
    message_id: str
    rewritten: str = Field("", description="The question as it is looked up.")


class RetrievalStepEvent(BaseModel):
    """One per round."""

    round: int
    sub_question: str
    query: str
    hits: list[dict[str, Any]]
    new_chunks: int
    goes_on: bool
    why: str
    entities: list[str] = []
    ms: float = 0.0


class RetrievalDoneEvent(BaseModel):
    rounds: int
    chunks: int
    stop_reason: str
    uncertain: bool
    uncertain_reason: str = ""
    ms: float = 0.0


class SourcesEvent(BaseModel):
    sources: list[Citation]


class DeltaEvent(BaseModel):
    text: str


class NoticeEvent(BaseModel):
    text: str
    reason: str = ""


class UsageEvent(AnswerCost):
    retrieval_trace: Trace


class DoneEvent(BaseModel):
    message_id: str
    status: str


class ErrorEvent(BaseModel):
    title: str
    detail: str


STREAM_EVENTS: dict[str, type[BaseModel]] = {
    "retrieval_plan": RetrievalPlanEvent,
    "retrieval_step": RetrievalStepEvent,
    "retrieval_done": RetrievalDoneEvent,
    "sources": SourcesEvent,
    "delta": DeltaEvent,
    "notice": NoticeEvent,
    "usage": UsageEvent,
    "done": DoneEvent,
    "error": ErrorEvent,
    "progress": FileProgress,
}
