"""The read flow: a question becomes evidence.

question → rewrite → route (complexity, kind) → retrieve → fuse → diversify → rerank → context

Search and chat run this same code; what a caller sees of it is the :class:`~clew.trace.RetrievalTrace` and the events.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import cast

from clew.config import Settings
from clew.errors import InputError
from clew.retrieval.context import ContextLimits, build_context
from clew.retrieval.recall import Recall, Recalled, SearchedKb, make_query
from clew.storage.base import Records, SearchIndex
from clew.trace import ComplexityDecision, MultiHopStep, RetrievalTrace
from clew.types import AnswerEvent, Candidate, ChildChunk, Evidence, FloatArray, Query, RetrievalMode, Scope

MAX_QUESTION_CHARACTERS = 8000

Decide = Callable[[str, RetrievalMode, Settings, Callable[[], FloatArray]], ComplexityDecision]
"""Decides single or multi; receives the rewritten question, the mode asked for, the first KB's settings, and a function
that gives the question's vector."""


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """A question with everything that bounds its retrieval. The first KB gives planner and settings."""

    question: str
    kbs: tuple[SearchedKb, ...]
    scope: Scope
    mode: RetrievalMode = "auto"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One ranked passage as search shows it."""

    chunk_id: str
    file_id: str
    file: str
    section_path: str
    section_titles: tuple[str, ...]
    page: int | None
    text: str
    score: float
    rerank_score: float | None
    representations: tuple[str, ...]
    round: int


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What was found: the ranking, the evidence in the context, and how it came about."""

    hits: list[SearchHit]
    evidence: list[Evidence]
    trace: RetrievalTrace
    query: Query
    """The rewritten question as the first KB's embedder sees it."""


Retrieval = Generator[AnswerEvent, None, RetrievalResult]


class Retriever:
    """Runs the read flow. Safe to use from several threads."""

    def __init__(self, records: Records, index: SearchIndex, decide: Decide) -> None:
        self._records = records
        self._recall = Recall(records, index)
        self._decide = decide

    def retrieve(self, request: RetrievalRequest) -> RetrievalResult:
        """Evidence for the question, without following the events; raises as :meth:`stream` does."""
        events = self.stream(request)
        while True:
            try:
                next(events)
            except StopIteration as end:
                return cast(RetrievalResult, end.value)

    def stream(self, request: RetrievalRequest) -> Retrieval:
        """The retrieval events as they happen; the generator returns the result.

        Raises InputError for an impossible question, ServiceError for a failing embedder, StorageError.
        """
        question = _checked(request.question)
        trace = RetrievalTrace(question=question, rewritten=question)
        with trace.timed("total"):
            with trace.timed("encode"):
                queries = [(kb, make_query(question, kb)) for kb in request.kbs]
            with trace.timed("route"):
                trace.complexity = self._decide(
                    question, request.mode, request.kbs[0].settings, lambda: _vector(question, *queries[0])
                )
            yield _plan_event(trace)
            recalled = yield from self._single(question, queries, request.scope, trace)
            with trace.timed("context"):
                evidence = self._context(recalled, request.kbs[0], trace)
        trace.chunks = len(recalled.candidates)
        yield _done_event(trace)
        return RetrievalResult(self._hits(recalled), evidence, trace, queries[0][1])

    def _single(
        self,
        question: str,
        queries: Sequence[tuple[SearchedKb, Query]],
        scope: Scope,
        trace: RetrievalTrace,
    ) -> Generator[AnswerEvent, None, Recalled]:
        with trace.timed("recall"):
            recalled = self._recall.look_up(queries, scope)
        step = MultiHopStep(
            round=1,
            sub_question=question,
            query=question,
            hits=self._step_hits(recalled, set()),
            new_chunks=len(recalled.candidates),
            stages=recalled.stages,
            ms=trace.ms["recall"],
        )
        trace.rounds.append(step)
        yield step_event(step)
        return recalled

    def _context(self, recalled: Recalled, kb: SearchedKb, trace: RetrievalTrace) -> list[Evidence]:
        settings = kb.settings.retrieval
        evidence, stage = build_context(
            recalled.candidates,
            recalled.chunks,
            self._records,
            ContextLimits(settings.rerank_top_k, settings.context_budget_tokens, settings.neighbours),
            kb.embedder.count_tokens,
        )
        trace.stages.append(stage)
        return evidence

    def _hits(self, recalled: Recalled) -> list[SearchHit]:
        names = {f: self._records.get_file(f).name for f in {c.file_id for c in recalled.candidates}}
        return [_hit(c, recalled.chunks[c.chunk_id], names[c.file_id]) for c in recalled.candidates]

    def _step_hits(self, recalled: Recalled, known: set[str]) -> list[dict[str, object]]:
        return [
            {
                "chunk_id": c.chunk_id,
                "file_id": c.file_id,
                "section_titles": list(recalled.chunks[c.chunk_id].section_titles),
                "page": recalled.chunks[c.chunk_id].page,
                "score": c.score,
                "representations": list(c.representations),
                "new": c.chunk_id not in known,
            }
            for c in recalled.candidates[:10]
        ]


def step_event(step: MultiHopStep) -> AnswerEvent:
    """The ``retrieval_step`` event of a round."""
    return AnswerEvent(
        "retrieval_step",
        {
            "round": step.round,
            "sub_question": step.sub_question,
            "query": step.query,
            "entities": step.entities,
            "hits": step.hits,
            "new_chunks": step.new_chunks,
            "goes_on": step.goes_on,
            "why": step.why,
            "ms": round(step.ms, 1),
        },
    )


def _vector(question: str, kb: SearchedKb, query: Query) -> FloatArray:
    return query.vector if query.vector is not None else kb.embedder.embed_queries([question])[0]


def _plan_event(trace: RetrievalTrace) -> AnswerEvent:
    decision = trace.complexity
    assert decision is not None
    return AnswerEvent(
        "retrieval_plan",
        {
            "mode": decision.mode,
            "source": decision.source,
            "confidence": round(decision.confidence, 3),
            "kind": trace.kind.kind if trace.kind else "fact",
            "rewritten": trace.rewritten,
        },
    )


def _done_event(trace: RetrievalTrace) -> AnswerEvent:
    return AnswerEvent(
        "retrieval_done",
        {
            "rounds": len(trace.rounds),
            "chunks": trace.chunks,
            "stop_reason": trace.stop_reason,
            "uncertain": trace.uncertain,
            "uncertain_reason": trace.uncertain_reason,
            "ms": round(trace.ms.get("total", 0.0), 1),
        },
    )


def _hit(candidate: Candidate, chunk: ChildChunk, file_name: str) -> SearchHit:
    return SearchHit(
        chunk_id=candidate.chunk_id,
        file_id=candidate.file_id,
        file=file_name,
        section_path=chunk.section_path,
        section_titles=chunk.section_titles,
        page=chunk.page,
        text=chunk.text,
        score=candidate.score,
        rerank_score=candidate.rerank_score,
        representations=candidate.representations,
        round=candidate.round,
    )


def _checked(question: str) -> str:
    # Lone surrogates come from broken clients; no store and no encoder takes them.
    question = question.encode("utf-8", "replace").decode("utf-8").strip()
    if not question:
        raise InputError("The question is empty; type one.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InputError(
            f"The question has {len(question)} characters; at most {MAX_QUESTION_CHARACTERS} are read. Shorten it."
        )
    return question
