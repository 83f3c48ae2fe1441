"""Settings: the only reader of the environment and of ``clew.toml``.

Sources, strongest first: what the caller passes, ``CLEW_<SECTION>__<KEY>`` in the environment, ``clew.toml`` (in the
data folder, or the file that ``CLEW_CONFIG`` names), the defaults below. A knowledge base lays its own values over
the sections in :data:`KB_SECTIONS`. Unknown keys and impossible values are refused with their path.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from clew.errors import SettingsError

ENV_PREFIX = "CLEW_"
# Read by themselves, not as settings: where the data and the settings file are.
_ENV_SPECIAL = {"CLEW_DATA", "CLEW_CONFIG"}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class StorageSettings(_Section):
    """Where records, search index and originals live."""

    records_url: str = ""
    """SQLAlchemy URL; empty: SQLite in the data folder."""
    search: Literal["embedded"] = "embedded"
    """The search engine."""
    originals: Literal["folder"] = "folder"
    """Where the uploaded files are kept."""


class EmbedderSettings(_Section):
    """Which embedder a new KB uses."""

    kind: Literal["embedded", "openai", "onnx"] = "embedded"
    """``embedded`` runs here and needs nothing; ``openai`` is an endpoint; ``onnx`` is a folder with a model."""
    url: str = ""
    """Of an OpenAI-compatible endpoint, up to and with ``/v1``."""
    model: str = ""
    """The name by which the endpoint knows the model."""
    api_key: SecretStr = SecretStr("")
    """Sent to the endpoint; never shown again."""
    path: str = ""
    """Folder of an ONNX model (``kind = "onnx"``)."""
    dimension: int = Field(0, ge=0)
    """Of an OpenAI-compatible endpoint; 0: ask it once."""
    max_tokens: int = Field(512, ge=16)
    """Longest text that the model takes at once; longer ones go through in overlapping windows."""
    query_prefix: str = ""
    """Put before each question, where the model was trained so (``query: `` for e5)."""
    passage_prefix: str = ""
    """Put before each passage, where the model was trained so (``passage: `` for e5)."""
    pooling: Literal["mean", "cls"] = "mean"
    """Of an ONNX model that returns hidden states."""
    threads: int = Field(2, ge=1, le=256)
    """Texts that an embedder in this process encodes at the same time."""
    timeout: float = Field(60.0, gt=0)
    """Seconds one call may take."""


class ChatSettings(_Section):
    """An OpenAI-compatible chat endpoint; no URL: no language model."""

    url: str = ""
    """Up to and with ``/v1``; empty: no language model."""
    model: str = ""
    """The name by which the endpoint knows the model."""
    api_key: SecretStr = SecretStr("")
    """Sent to the endpoint; never shown again."""
    timeout: float = Field(60.0, gt=0)
    """Seconds one call may take."""
    retries: int = Field(2, ge=0, le=10)
    """How often a call is tried again after a failure that may pass."""
    temperature: float = Field(0.0, ge=0, le=2)
    """0 always takes the likeliest word."""


class RerankerSettings(_Section):
    """A cross-encoder that orders the final passages; none by default."""

    kind: Literal["none", "http", "onnx"] = "none"
    """``http`` is an endpoint, ``onnx`` a folder with a model; ``none`` keeps the fused order."""
    url: str = ""
    """Of the endpoint."""
    model: str = ""
    """The name by which the endpoint knows the model."""
    api_key: SecretStr = SecretStr("")
    """Sent to the endpoint; never shown again."""
    dialect: Literal["cohere", "tei"] = "cohere"
    """How the endpoint speaks: ``cohere`` (also Jina and vLLM), or ``tei`` (Text Embeddings Inference)."""
    path: str = ""
    """Folder of an ONNX cross-encoder (``kind = "onnx"``), for example bge-reranker-v2-m3; for an endpoint, a folder
    with its model's tokenizer.json, so that passages are cut exactly."""
    max_tokens: int = Field(512, ge=16)
    """Tokens of question and passage together; passages are cut to fit."""
    batch_size: int = Field(32, ge=1)
    """Passages that are scored together."""
    timeout: float = Field(20.0, gt=0)
    """Seconds one call may take."""


class ModelSettings(_Section):
    """The models."""

    folder: str = ""
    """Where the embedded embedder's model is built and kept; empty: ``models`` in the data folder."""
    embedder: EmbedderSettings = EmbedderSettings()
    chat: ChatSettings = ChatSettings()
    """Writes answers."""
    enrichment: ChatSettings = ChatSettings()
    """The small model: rewriting, yes/no, planning, summaries; without a URL the chat model serves."""
    vision: ChatSettings = ChatSettings()
    """Says what images, charts and tables of documents show; an endpoint that takes images."""
    reranker: RerankerSettings = RerankerSettings()


class OcrSettings(_Section):
    """Recognition of text on scanned pages and pictures."""

    enabled: bool = True
    """Recognise the text of pages that are only pictures."""
    dpi: int = Field(200, ge=72, le=600)
    """Pixels an inch at which a page is drawn to be read."""
    max_pages: int = Field(500, ge=1)
    """Pages of one file, or pictures inside of it, that are recognised; a warning names the rest."""
    page_timeout: float = Field(120.0, gt=0)
    """Seconds that one page may take once ``parse_timeout`` is used up."""


class VisionSettings(_Section):
    """What the vision model (``models.vision``) is asked about a file's blocks."""

    images: bool = True
    """Images and charts: a caption and what they say."""
    tables: bool = True
    """Tables of PDF files: a caption, and their cells where the model reads the same numbers."""
    max_calls: int = Field(300, ge=0)
    """Calls for one file; what is in the cache costs none."""
    parallel: int = Field(4, ge=1, le=64)
    """Calls at the same time."""
    per_minute: int = Field(0, ge=0)
    """Calls a minute, for endpoints that limit them; 0: no limit."""
    patience: float = Field(300.0, ge=0)
    """Seconds that one file waits in all for an endpoint that is overloaded."""


class IndexingSettings(_Section):
    """How files become chunks."""

    parent_tokens: int = Field(1024, ge=64, le=8192)
    """Longest passage that is read, in tokens."""
    child_tokens: int = Field(256, ge=16, le=2048)
    """Longest passage that is searched, in tokens."""
    overlap_tokens: int = Field(32, ge=0, le=512)
    """Tokens that neighbouring searched passages share."""
    late_chunking: bool = False
    """Make ``l1`` and ``l3`` from one encoder pass over the parent: a third of the time, but they find less."""
    workers: int = Field(1, ge=1, le=32)
    """Files that are ingested at the same time."""
    max_file_bytes: int = Field(200_000_000, ge=1)
    """Largest file that is taken."""
    parse_timeout: float = Field(600.0, gt=0)
    """Seconds one file may take to parse."""
    parse_memory_bytes: int = Field(2_000_000_000, ge=100_000_000)
    """Memory that reading one file may use."""
    ocr: OcrSettings = OcrSettings()
    vision: VisionSettings = VisionSettings()


class RepresentationSettings(_Section):
    """Which representations a KB has."""

    bm25: bool = True
    """Find passages by their words."""
    l1: bool = False
    """Vectors of parents; files that are there already have to be uploaded again."""
    l2: bool = True
    """Vectors of children."""
    l3: bool = False
    """Vectors of sentence windows; as for ``l1``."""
    summary: bool = True
    """Section summaries, for sections that hold several chunks."""
    question: bool = True
    """Questions that the enrichment model says a passage answers; none without such a model."""


class SummarySettings(_Section):
    """Section summaries and generated questions, made after a file can be searched."""

    enabled: bool = True
    """Make them once a file can be searched."""
    writer: Literal["auto", "extractive"] = "auto"
    """``auto``: the enrichment model where one is configured; ``extractive``: central sentences in any case."""
    section_words: int = Field(100, ge=20, le=1000)
    """Length of a section's summary; two Han characters count as a word."""
    root_words: int = Field(200, ge=20, le=2000)
    """Length of a file's summary."""
    questions_per_parent: int = Field(3, ge=0, le=5)
    """Questions that the model writes for each passage; 0: none."""
    input_tokens: int = Field(3000, ge=200, le=200_000)
    """Text that the model is given at once; more is summarised in groups first."""
    timeout: float = Field(60.0, gt=0)
    """Seconds that one call of the model may take."""
    parallel_calls: int = Field(4, ge=1, le=64)
    """Calls at the same time."""
    choice_timeout: float = Field(15.0, gt=0)
    """Seconds that the model may take to choose the sections that a question means."""


class RetrievalSettings(_Section):
    """One look-up and what follows it."""

    route_top_k: int = Field(100, ge=1, le=1000)
    """Passages that each way of searching may bring."""
    fused_top_k: int = Field(50, ge=1, le=1000)
    """Passages that are kept after all ways are fused."""
    hyde: Literal["always", "when_weak", "never"] = "always"
    """Look up a hypothetical answer beside the question, where a language model is set; ``when_weak`` only where
    keywords and vectors disagree about the best passage."""
    hyde_timeout: float = Field(8.0, gt=0)
    """Seconds the language model may take for the hypothetical answer."""
    mmr_top_k: int = Field(20, ge=1, le=200)
    """Passages that go on to the reranker."""
    mmr_threshold: float = Field(0.92, ge=0, le=1)
    """Cosine above which a passage repeats a better one, if it shares most of its text and brings no new number; 1
    keeps all."""
    mmr_relevance: float = Field(0.7, ge=0, le=1)
    """Weight of relevance against novelty where more passages are left than go on."""
    rerank: bool = True
    """Let the reranker order the passages, where one is set."""
    rerank_top_k: int = Field(5, ge=1, le=50)
    """Passages that reach the answer."""
    mismatch_weight: float = Field(0.5, ge=0, le=1)
    """Weight of passages from files about another company or period than the question names, where other files match;
    1: no preference."""
    children_per_parent: int = Field(3, ge=1, le=50)
    """Searched passages that may come of one read passage."""
    bm25_k1: float = Field(1.2, ge=0, le=10)
    """How soon a repeated word counts no more; 0: at once."""
    bm25_b: float = Field(0.5, ge=0, le=1)
    """How much a long passage is held back; 0: not at all."""
    fusion: Literal["rrf", "convex"] = "rrf"
    """How one look-up's routes become one ranking: by ranks, or by the weighted mean of normalised scores. Rounds
    always go by ranks."""
    fusion_weights: Mapping[str, Annotated[float, Field(ge=0)]] = {}
    """Weight by route (bm25, l2 …); 1 where none is given. ``clew tune fusion`` fits them."""
    rrf_k: int = Field(60, ge=1, le=1000)
    """The larger, the less the first ranks count against the later ones when rankings are fused."""
    context_budget_tokens: int = Field(6000, ge=100, le=1_000_000)
    """Tokens of all passages that an answer reads."""
    attachment_context_tokens: int = Field(4000, ge=0, le=1_000_000)
    """Of the context budget, what whole texts of small attachments may take; they go in first."""
    neighbours: int = Field(1, ge=0, le=10)
    """Parents on each side that may widen a passage within the budget."""


class ComplexitySettings(_Section):
    """The cascade that decides single or multi."""

    rules_multi_threshold: float = Field(0.75, ge=0, le=1)
    """The rules alone decide several look-ups from this score on."""
    rules_single_threshold: float = Field(0.15, ge=0, le=1)
    """The rules alone decide one look-up up to this score, for at most one entity."""
    classifier: Literal["auto", "service", "head", "none"] = "auto"
    """Who gives the probability: the ``service``, the ``head`` in this process, or ``none``; ``auto`` takes what
    there is."""
    classifier_url: str = ""
    """Of the classifier service; empty: none."""
    classifier_timeout: float = Field(0.3, gt=0)
    """Seconds the classifier may take."""
    classifier_multi_threshold: float = Field(0.8, ge=0, le=1)
    """The classifier decides several look-ups from this probability on."""
    classifier_single_threshold: float = Field(0.2, ge=0, le=1)
    """The classifier decides one look-up up to this probability."""
    fallback_rules_threshold: float = Field(0.4, ge=0, le=1)
    """Where nothing else decided: several look-ups from this rule score on."""
    fallback_classifier_threshold: float = Field(0.5, ge=0, le=1)
    """Where nothing else decided: several look-ups from this probability on."""
    model_timeout: float = Field(5.0, gt=0)
    """Seconds the language model may take."""
    domain_terms: tuple[str, ...] = ()
    """Names that count as entities in this KB's questions."""


class KindSettings(_Section):
    """The steps that decide fact or summary."""

    summary_threshold: float = Field(0.8, ge=0, le=1)
    """Patterns alone decide summary from this score on."""
    fact_threshold: float = Field(0.2, ge=0, le=1)
    """Patterns alone decide fact up to this score."""
    title_threshold: float = Field(0.8, ge=0, le=1)
    """Share of an unsure question that titles have to cover to make it a summary."""
    title_vector_threshold: float = Field(0.9, ge=0, le=1)
    """Cosine of an unsure question and a title that makes it a summary, where vectors are used."""
    fallback_threshold: float = Field(0.5, ge=0, le=1)
    """Score from which an unsure question is a summary where no language model answers."""
    model_timeout: float = Field(5.0, gt=0)
    """Seconds the language model may take."""


class RecursionSettings(_Section):
    """Recursive retrieval."""

    max_rounds: int = Field(3, ge=2, le=5)
    """Most look-ups for one question."""
    new_candidates_per_round: int = Field(8, ge=1, le=100)
    """New passages that one round may add."""
    new_candidates_per_parent: int = Field(2, ge=1, le=100)
    """New passages of one read passage that one round may add."""
    planner: Literal["auto", "model", "bridge"] = "auto"
    """Who plans the next look-up: the language ``model``, or the ``bridge`` entities; ``auto`` takes the model
    where one is set."""
    planner_timeout: float = Field(15.0, gt=0)
    """Seconds the language model may take for a plan."""
    digest_tokens: int = Field(1500, ge=100)
    """Tokens of evidence that the planner sees."""
    rerank_by: Literal["question", "best"] = "question"
    """What the reranker scores the passages of all rounds against: the ``question``, or the ``best`` of the question
    and the questions of the rounds (as many calls as questions)."""
    escalate_weak_single: bool = True
    """Where rules and classifier are not sure, and the language model does not ask for rounds, the first look-up is
    looked at closely: where it is weak, the question goes on as ``multi``; where it is not, it stays ``single``."""
    weak_first_round: float = Field(0.15, ge=0, le=1)
    """A first look-up is weak from this probability on that rounds find more."""


class AnswerSettings(_Section):
    """How answers are written."""

    max_tokens: int = Field(1024, ge=16)
    """Longest answer that the language model may write."""
    quote_sentences: int = Field(3, ge=1, le=10)
    """Sentences or table rows that an answer without a language model quotes."""
    title_timeout: float = Field(20.0, ge=0)
    """Seconds that the language model has to name a conversation; 0: its first question stays its title."""


class AttachmentSettings(_Section):
    """Files attached to a conversation; they are temporary."""

    max_files: int = Field(20, ge=1, le=1000)
    """Of one conversation; more are skipped."""
    max_file_bytes: int = Field(50_000_000, ge=1)
    """Larger files are skipped."""
    max_tokens: int = Field(200_000, ge=1)
    """Files whose text is longer are skipped."""
    keep_hours: float = Field(72.0, gt=0)
    """After the last message of their conversation, until they are removed."""
    wait_seconds: float = Field(15.0, ge=0)
    """How long a question waits for attachments that are still being read."""


class ServerSettings(_Section):
    """The web server."""

    host: str = "127.0.0.1"
    """Address that the server listens on."""
    port: int = Field(8765, ge=0, le=65535)
    """Port that it listens on; 0 takes a free one."""


class Settings(_Section):
    """All settings. Immutable; ``for_kb`` lays a knowledge base's overlay on top."""

    storage: StorageSettings = StorageSettings()
    models: ModelSettings = ModelSettings()
    indexing: IndexingSettings = IndexingSettings()
    representations: RepresentationSettings = RepresentationSettings()
    summaries: SummarySettings = SummarySettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    complexity: ComplexitySettings = ComplexitySettings()
    kind: KindSettings = KindSettings()
    recursion: RecursionSettings = RecursionSettings()
    answer: AnswerSettings = AnswerSettings()
    attachments: AttachmentSettings = AttachmentSettings()
    server: ServerSettings = ServerSettings()

    def for_kb(self, overlay: Mapping[str, Any]) -> Settings:
        """These settings with a KB's overlay (nested as in ``clew.toml``). Raises SettingsError with the path."""
        for section in overlay:
            if section not in KB_SECTIONS:
                raise SettingsError(
                    f"{section}: a knowledge base cannot set this; it can set {', '.join(sorted(KB_SECTIONS))}."
                )
        return _validated(merged(self.model_dump(), overlay))


KB_SECTIONS = frozenset(
    {"indexing", "representations", "summaries", "retrieval", "complexity", "kind", "recursion", "answer"}
)


def load_settings(data: Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings for the data folder ``data``. Raises SettingsError for an unknown key, a wrong value or bad TOML."""
    values: dict[str, Any] = {}
    path = settings_file(data)
    if path.is_file():
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: not valid TOML ({error}); correct the file.") from error
    elif os.environ.get("CLEW_CONFIG"):
        raise SettingsError(f"{path}: CLEW_CONFIG names this file, and it does not exist.")
    values = merged(values, _from_environment(os.environ))
    return _validated(merged(values, overrides or {}))


def settings_file(data: Path) -> Path:
    """The file that settings of the data folder ``data`` are read from; it need not exist."""
    return Path(os.environ.get("CLEW_CONFIG") or data / "clew.toml")


def with_models(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """``settings`` with other models. A key that is not given stays, unless its address changes: a key is sent only
    where it was given for. Raises SettingsError."""
    return _validated(merged(settings.model_dump(), {"models": _models_of(settings, changes)}))


def save_models(data: Path, settings: Settings, changes: Mapping[str, Any]) -> None:
    """Write other models into ``clew.toml``, leaving the rest of the file as it is; see :func:`with_models`.

    Raises SettingsError, also where the file cannot be written.
    """
    import tomlkit  # noqa: PLC0415 - takes a part of a command's start, and only the page writes settings

    with_models(settings, changes)
    path = settings_file(data)
    try:
        document = tomlkit.parse(path.read_text("utf-8")) if path.is_file() else tomlkit.document()
        _lay_over(document, {"models": _models_of(settings, changes)}, tomlkit.table)
        # Keys stand in it, so nobody else may read it, at no moment.
        temporary = path.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(tomlkit.dumps(document))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be written ({error}); change the file by hand.") from error


def _models_of(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    before = settings.models.model_dump()
    result: dict[str, Any] = {}
    for name, change in changes.items():
        result[name] = change
        if isinstance(change, Mapping) and isinstance(before.get(name), Mapping):
            moved = change.get("url", before[name].get("url")) != before[name].get("url")
            result[name] = {**change, "api_key": ""} if moved and "api_key" not in change else dict(change)
    return result


def _lay_over(table: Any, values: Mapping[str, Any], new_table: Callable[[], Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping):
            if key not in table:
                table[key] = new_table()
            _lay_over(table[key], value, new_table)
        else:
            table[key] = value


def default_data_folder() -> Path:
    """``CLEW_DATA``, else ``~/.clew``."""
    return Path(os.environ.get("CLEW_DATA") or Path.home() / ".clew")


def nested(path: str, value: Any) -> dict[str, Any]:
    """``nested("a.b", 1)`` is ``{"a": {"b": 1}}``: a dotted path as an overlay."""
    result: Any = value
    for key in reversed(path.split(".")):
        result = {key: result}
    return dict(result)


def set_by_environment() -> list[str]:
    """Dotted paths of the settings that the environment sets; what ``clew.toml`` says of them has no effect."""
    return sorted(_paths(_from_environment(os.environ)))


def _paths(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(ENV_PREFIX) and name not in _ENV_SPECIAL and "__" in name:
            values = merged(values, nested(name.removeprefix(ENV_PREFIX).lower().replace("__", "."), value))
    return values


def merged(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``top`` laid over it, section by section."""
    result = dict(base)
    for key, value in top.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def _validated(values: Mapping[str, Any]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(" ".join(_messages(error))) from error


def _messages(error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        path = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            yield f"{path}: there is no such setting; see docs/settings.md for all of them."
        else:
            yield f"{path}: {detail['msg']} (given: {detail['input']!r})."
