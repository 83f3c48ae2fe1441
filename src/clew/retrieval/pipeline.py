"""The read flow: a question becomes evidence.

question → rewrite → route (complexity, kind) → retrieve → fuse → diversify → rerank → context

Search and chat run this same code; what a caller sees of it is the :class:`~clew.trace.RetrievalTrace` and the events.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from clew.config import Settings
from clew.errors import InputError
from clew.models.base import ChatModel, Reranker
from clew.models.metering import MeteredEmbedder, metered
from clew.retrieval.attachments import SignalPackage, as_json, stuffed
from clew.retrieval.bridge_planner import BridgePlanner
from clew.retrieval.context import ContextLimits, build_context
from clew.retrieval.first_look import first_look
from clew.retrieval.hyde import Hypothetical, hypothetical_answer, is_sure
from clew.retrieval.kind import KindChoice
from clew.retrieval.planners import Planner, Variant
from clew.retrieval.recall import (
    Recall,
    Recalled,
    Searched,
    SearchedKb,
    in_scope,
    make_hypothetical,
    make_queries,
    make_query,
)
from clew.retrieval.recursion import Limits, Recursion, after_first, run_rounds
from clew.retrieval.rewriting import Turn, rewrite
from clew.retrieval.section_search import Choice, SectionSearch, SummaryLine, queries_of
from clew.retrieval.selection import Selection
from clew.retrieval.unmentioned import unmentioned
from clew.storage.base import Records, SearchIndex
from clew.trace import (
    ComplexityDecision,
    KindDecision,
    MultiHopStep,
    RequestTrace,
    RetrievalTrace,
    SectionReading,
    StageTrace,
)
from clew.types import (
    AnswerEvent,
    Candidate,
    ChildChunk,
    Evidence,
    FloatArray,
    Query,
    RetrievalMode,
    Scope,
)

MAX_QUESTION_CHARACTERS = 8000
_PLACES_BESIDE_ROUNDS = 3
_COUNTED = 1000
# What of a knowledge base's settings changes which passages are found.
_TRACED_SETTINGS = ("representations", "retrieval", "complexity", "kind", "recursion")

Decide = Callable[[str, RetrievalMode, Settings, Callable[[], FloatArray], ChatModel | None], ComplexityDecision]
"""Decides single or multi; receives the rewritten question, the mode asked for, the first KB's settings, a function
that gives the question's vector, and the enrichment model."""

DecideKind = Callable[[str, KindChoice, SearchedKb, Scope, ChatModel | None], KindDecision]
"""Decides fact or summary; receives the rewritten question, the kind asked for, the first KB, the scope, and the
enrichment model."""

MakePlanner = Callable[[Sequence[SearchedKb], Scope, ChatModel | None], Planner]
"""A planner for one question over these KBs (the first gives the settings), limited to the scope, with the enrichment
model."""

MakeGuide = Callable[[Sequence[SearchedKb], Scope], BridgePlanner]
"""The planner that needs no model, whoever plans: it says where the first look-up of a question leads."""


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """A question with everything that bounds its retrieval. The first KB gives planner and settings."""

    question: str
    kbs: tuple[SearchedKb, ...]
    scope: Scope
    mode: RetrievalMode = "auto"
    kind: KindChoice = "auto"
    history: tuple[Turn, ...] = ()
    """Earlier messages of the conversation, oldest first; the question is rewritten to stand without them."""
    attachments: SignalPackage | None = None
    """Those that the question is about; their content is among the KBs (:mod:`clew.retrieval.attached_question`)."""
    attachments_asked: str = ""
    """Which attachments these are, in words; empty: all."""

    @property
    def searches(self) -> bool:
        """Whether there is anything to look up: a knowledge base, or an attachment that is not read whole."""
        return any(kb.files is None or kb.files.bm25 for kb in self.kbs)


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
    lines: list[SummaryLine] = field(default_factory=list)
    """Of a summary: the sentences that say most, for an answer without a language model."""


@dataclass(frozen=True, slots=True)
class _Guided:
    """A first look-up that was looked at closely: who did, what the rounds begin with, and what its routes found."""

    guide: BridgePlanner
    first: Recalled
    searched: Searched


Retrieval = Generator[AnswerEvent, None, RetrievalResult]
_Found = tuple[Recalled, list[Evidence], list[SummaryLine]]


class Retriever:
    """Runs the read flow. Safe to use from several threads."""

    def __init__(
        self,
        records: Records,
        index: SearchIndex,
        decide: Decide,
        make_planner: MakePlanner,
        make_guide: MakeGuide,
        decide_kind: DecideKind,
        reranker: Reranker | None = None,
        enrichment: ChatModel | None = None,
    ) -> None:
        """``reranker`` orders the final passages; ``enrichment`` rewrites, writes hypothetical answers and chooses
        sections."""
        self._records = records
        self._recall = Recall(records, index)
        self._decide = decide
        self._decide_kind = decide_kind
        self._make_planner = make_planner
        self._make_guide = make_guide
        self._sections = SectionSearch(records, enrichment)
        self._selection = Selection(records, index, reranker)
        self._enrichment = enrichment

    def retrieve(self, request: RetrievalRequest) -> RetrievalResult:
        """Evidence for the question, without following the events; raises as :meth:`stream` does."""
        events = self.stream(request)
        while True:
            try:
                next(events)
            except StopIteration as end:
                return cast(RetrievalResult, end.value)

    def stream(self, request: RetrievalRequest, trace: RetrievalTrace | None = None) -> Retrieval:
        """The retrieval events as they happen; the generator returns the result. ``trace`` is filled while it goes on,
        for a caller that needs it also where the end is not reached.

        Raises InputError for an impossible question, ServiceError for a failing embedder, StorageError.
        """
        question = _checked(request.question)
        trace = trace or RetrievalTrace(question, question)
        trace.question, trace.rewritten, trace.request = question, question, _request_trace(request)
        request = _metered(request, trace)
        if request.attachments is not None:
            trace.attachments, trace.attachments_asked = as_json(request.attachments), request.attachments_asked
        with trace.timed("total"):
            question = self._rewritten(question, request.history, trace)
            with trace.timed("encode"):
                queries = [(kb, make_query(question, kb)) for kb in request.kbs]
            with trace.timed("route"):
                trace.complexity = self._decide(
                    question,
                    request.mode,
                    request.kbs[0].settings,
                    lambda: _vector(question, *queries[0]),
                    metered(self._enrichment, "complexity", trace.spend),
                )
                if request.attachments is not None and not request.searches:
                    trace.complexity = replace(
                        trace.complexity, mode="single", source="attachments", reason="all attachments are read whole"
                    )
                choice = self._choice(question, request, trace)
            if choice is not None:
                found = yield from self._summary(question, queries, request, choice, trace)
            else:
                found = yield from self._passages(question, queries, request, trace)
        yield _done_event(trace)
        recalled, evidence, lines = found
        if trace.kind is not None and trace.kind.kind == "summary" and not request.searches:
            lines = self._sections.lines_of_whole(evidence)
        return RetrievalResult(self._hits(recalled), evidence, trace, queries[0][1], lines)

    def _passages(
        self,
        question: str,
        queries: Sequence[tuple[SearchedKb, Query]],
        request: RetrievalRequest,
        trace: RetrievalTrace,
    ) -> Generator[AnswerEvent, None, _Found]:
        """Passages that answer a question for a fact, by one look-up or in rounds."""
        assert trace.complexity is not None
        if request.attachments is None:  # else their text may hold the words
            with trace.timed("unmentioned"):
                trace.unmentioned = unmentioned(question, self._recall.occurrence(request.kbs, request.scope))
        # Only a language model knows other words for what no document mentions.
        hopeless = trace.unmentioned and self._enrichment is None
        searched, first, guided = None, None, None
        looks = not hopeless and _looks_closer(trace.complexity, request.kbs[0].settings)
        if looks or trace.complexity.mode == "single":
            with trace.timed("recall"):
                searched = self._recall.search(queries, request.scope)
                first = self._recall.fuse(searched, request.scope)
            if looks:
                with trace.timed("first_look"):
                    guided = self._look_closer(queries, searched, first, request.scope, trace)
        yield _plan_event(trace)
        if trace.complexity.mode == "multi":
            recalled = yield from self._multi(queries, request.scope, trace, guided)
        else:
            assert searched is not None
            assert first is not None
            first = self._with_hypothetical(question, searched, first, request, trace)
            recalled = yield from self._single(question, first, trace)
        trace.chunks = len(recalled.candidates)
        recalled = self._selection.select(question, recalled, request.kbs[0], trace)
        with trace.timed("context"):
            return recalled, self._context(recalled, request, trace), []

    def _look_closer(
        self,
        queries: Sequence[tuple[SearchedKb, Query]],
        searched: Searched,
        first: Recalled,
        scope: Scope,
        trace: RetrievalTrace,
    ) -> _Guided:
        """Decide again what the question alone did not settle, by what its first look-up shows."""
        assert trace.complexity is not None
        settings = queries[0][0].settings
        by_kb = {kb.kb.kb_id: query for kb, query in queries}
        guide = self._make_guide([kb for kb, _ in queries], scope)
        in_rounds = self._recall.fuse(searched.with_linked(guide.begin(by_kb)), scope, in_rounds=True)
        situation = after_first(by_kb, in_rounds, _limits(settings))
        look = first_look(trace.complexity, first, guide.outlook(situation))
        trace.complexity = look.decided(trace.complexity, settings.recursion.weak_first_round)
        return _Guided(guide, in_rounds, searched)

    def _choice(self, question: str, request: RetrievalRequest, trace: RetrievalTrace) -> Choice | None:
        """What of the section tree a summary question means; None where passages are to be looked up: for a fact, for
        a question of several hops that names no section, where all is read whole, and where there are no sections."""
        kind = "fact" if request.mode == "multi" and request.kind == "auto" else request.kind
        model = metered(self._enrichment, "kind", trace.spend)
        trace.kind = self._decide_kind(question, kind, request.kbs[0], request.scope, model)
        if trace.kind.kind == "fact" or not request.searches:
            return None
        choice = self._sections.choose(question, request.kbs, request.scope, trace)
        several = trace.complexity is not None and trace.complexity.mode == "multi"
        if choice is None or (several and choice.scope == "topic" and request.kind == "auto"):
            return None
        if several:
            assert trace.complexity is not None
            reason = f"a summary of {choice.scope}: {choice.reason}"
            trace.complexity = replace(trace.complexity, mode="single", source="summary", reason=reason)
        return choice

    def _summary(
        self,
        question: str,
        queries: Sequence[tuple[SearchedKb, Query]],
        request: RetrievalRequest,
        choice: Choice,
        trace: RetrievalTrace,
    ) -> Generator[AnswerEvent, None, _Found]:
        """The sections that are meant, read by their summaries; their passages where those do not suffice."""
        yield _plan_event(trace)
        whole = self._whole(request)
        kb = _with_less_room(request.kbs[0], sum(e.tokens for e in whole))
        scope = choice.narrowed(request.scope)
        asked = queries_of(queries, fusion_weights={**kb.settings.retrieval.fusion_weights, "summary": 1.0})
        with trace.timed("recall"):
            found = self._recall.fuse(self._recall.search(asked, scope), scope)
        with trace.timed("sections"):
            if choice.scope == "topic":
                # The passages that a fact would be answered from come first, then all others that were found.
                best = self._selection.select(question, found, kb, trace).candidates
                found = replace(found, candidates=[*best, *(c for c in found.candidates if c not in best)])
                matching = self._matching(queries, scope)
                reading, trace.sections = self._sections.topic(choice, found, matching, kb, kb.embedder.count_tokens)
            else:
                reading, trace.sections = self._sections.read(choice, kb, kb.embedder.count_tokens)
        recalled = yield from self._single(question, found, trace, why=_told(trace.sections))
        trace.chunks = len(recalled.candidates)
        evidence = [*whole, *(replace(e, number=e.number + len(whole)) for e in reading.evidence)]
        lines = [replace(line, number=line.number + len(whole)) for line in reading.lines]
        if not reading.evidence and choice.scope != "topic":
            recalled = self._selection.select(question, recalled, kb, trace)
            with trace.timed("context"):
                evidence = self._context(recalled, request, trace)
        elif lines and choice.scope == "document":
            lines = [*self._sections.lines_of_whole(whole), *lines]
        return recalled, evidence, lines

    def _matching(self, queries: Sequence[tuple[SearchedKb, Query]], scope: Scope) -> set[tuple[str, str]]:
        """File and path of every section with a passage that shares at least half of what the best one does with the
        question's words, as far as the index counts."""
        wide = queries_of(queries, route_top_k=_COUNTED)
        found: set[str] = set()
        for _, routes in self._recall.search(wide, scope).routes:
            for route in routes:
                if route.name == "bm25" and route.postings:
                    least = route.postings[0].score / 2
                    found.update(posting.chunk_id for posting in route.postings if posting.score >= least)
        chunks = self._records.children(found).values()
        return {(chunk.file_id, chunk.section_path) for chunk in chunks if in_scope(chunk, scope)}

    def routes(self, request: RetrievalRequest) -> Searched:
        """What the routes of one look-up find for the question as it stands, before they are fused; to fit fusions."""
        question = _checked(request.question)
        return self._recall.search([(kb, make_query(question, kb)) for kb in request.kbs], request.scope)

    def _rewritten(self, question: str, history: Sequence[Turn], trace: RetrievalTrace) -> str:
        if not history:
            return question
        with trace.timed("rewrite"):
            result = rewrite(question, history, metered(self._enrichment, "rewrite", trace.spend))
        trace.rewritten = result.question
        if result.failure:
            trace.degraded.append(f"rewriting: {result.failure}")
        return result.question

    def _with_hypothetical(
        self, question: str, searched: Searched, first: Recalled, request: RetrievalRequest, trace: RetrievalTrace
    ) -> Recalled:
        """The first look-up again with the routes of a hypothetical answer, where there is one."""
        settings = request.kbs[0].settings.retrieval
        stage = StageTrace("hyde", note=self._no_hypothetical(settings.hyde, first))
        if stage.note:
            return replace(first, stages=[stage, *first.stages])
        model = metered(self._enrichment, "hyde", trace.spend)
        assert model is not None
        with trace.timed("hyde"):
            written = hypothetical_answer(question, model, settings.hyde_timeout)
        stage.text, stage.ms, stage.tokens = written.text, trace.ms["hyde"], trace.tokens("hyde")
        if not written.text:
            return _without(first, stage, written, trace)
        with trace.timed("encode"):
            queries = [(kb, make_hypothetical(written.text, kb)) for kb in request.kbs]
        with trace.timed("recall"):
            found = self._recall.search_hypothetical(queries, request.scope, searched.preference)
            fused = self._recall.fuse(searched.with_more(found), request.scope)
        return replace(fused, stages=[stage, *fused.stages])

    def _no_hypothetical(self, setting: str, first: Recalled) -> str:
        """Why no hypothetical answer is asked for; empty where one is."""
        if setting == "never":
            return "left out: retrieval.hyde is never"
        if self._enrichment is None:
            return "left out: no language model is configured"
        if setting == "when_weak" and is_sure(first.candidates[0] if first.candidates else None):
            return "left out: keywords and vectors agree about the best passage"
        return ""

    def _single(
        self, question: str, recalled: Recalled, trace: RetrievalTrace, *, why: str = ""
    ) -> Generator[AnswerEvent, None, Recalled]:
        step = MultiHopStep(
            round=1,
            sub_question=question,
            query=question,
            hits=self._step_hits(recalled, set()),
            new_chunks=len(recalled.candidates),
            why=why,
            stages=recalled.stages,
            ms=trace.ms["recall"],
        )
        trace.rounds.append(step)
        yield step_event(step)
        return recalled

    def _multi(
        self,
        queries: Sequence[tuple[SearchedKb, Query]],
        scope: Scope,
        trace: RetrievalTrace,
        guided: _Guided | None,
    ) -> Generator[AnswerEvent, None, Recalled]:
        kbs = [kb for kb, _ in queries]
        enrichment = metered(self._enrichment, "planner", trace.spend)
        planner, first = self._make_planner(kbs, scope, enrichment), None
        if guided is not None and planner.name == guided.guide.name:
            planner, first = guided.guide, guided.first
        elif guided is not None:
            first = self._recall.fuse(guided.searched, scope, in_rounds=True)
        trace.planner = planner.name
        by_kb = {kb.kb.kb_id: query for kb, query in queries}

        def look_up(variants: Sequence[Variant], round: int) -> list[Recalled]:
            texts = [variant.text for variant in variants]
            asking = [queries] if round == 1 else list(zip(*(make_queries(texts, kb) for kb in kbs), strict=True))
            return [
                self._recall.look_up(asked, scope, round=round, linked=variant.linked)
                for variant, asked in zip(variants, asking, strict=True)
            ]

        rounds = run_rounds(by_kb, planner, look_up, _limits(kbs[0].settings), first=first)
        told = 0
        with trace.timed("rounds"):
            while True:
                try:
                    step = next(rounds)
                except StopIteration as end:
                    state = cast(Recursion, end.value)
                    break
                step.tokens, told = trace.tokens("planner") - told, trace.tokens("planner")
                trace.rounds.append(step)
                yield step_event(step)
        trace.stop_reason = state.stop_reason
        trace.uncertain = state.uncertain
        trace.uncertain_reason = state.uncertain_reason
        with trace.timed("order"):
            ordered = self._ordered(state, by_kb, planner, trace)
        return Recalled(ordered, state.chunks, [], state.history[0].preference)

    def _ordered(
        self, state: Recursion, queries: Mapping[str, Query], planner: Planner, trace: RetrievalTrace
    ) -> list[Candidate]:
        """The pool as the planner orders it, else in the fused order."""
        known = planner.order(state.situation(queries, len(state.asked), 0))
        ordered = list(state.pool) if known is None else known
        stage = StageTrace("order", len(state.pool), len(ordered))
        stage.note = "fused order" if known is None else planner.name
        stage.ranking = [{"chunk_id": c.chunk_id, "score": c.score, "round": c.round} for c in ordered]
        trace.stages.append(stage)
        return ordered

    def _context(self, recalled: Recalled, request: RetrievalRequest, trace: RetrievalTrace) -> list[Evidence]:
        kb, attached = request.kbs[0], request.attachments
        settings = kb.settings.retrieval
        multi = trace.complexity is not None and trace.complexity.mode == "multi"
        places = _places(kb.settings, len(trace.rounds)) if multi else settings.rerank_top_k
        evidence, stage = build_context(
            # A passage that is there already, as part of a whole text, needs no second place.
            [c for c in recalled.candidates if attached is None or c.file_id not in attached.stuff_texts],
            recalled.chunks,
            self._records,
            ContextLimits(places, settings.context_budget_tokens, settings.neighbours),
            kb.embedder.count_tokens,
            before=self._whole(request),
            first=frozenset() if attached is None else attached.bm25_scope,
        )
        trace.stages.append(stage)
        return evidence

    def _whole(self, request: RetrievalRequest) -> list[Evidence]:
        """The attachments that are read whole."""
        if request.attachments is None:
            return []
        settings = request.kbs[0].settings.retrieval
        budget = min(settings.context_budget_tokens, settings.attachment_context_tokens)
        return stuffed(request.attachments, self._records, budget)

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


def _without(first: Recalled, stage: StageTrace, written: Hypothetical, trace: RetrievalTrace) -> Recalled:
    stage.note = f"failed, its routes are left out: {written.failure}"
    trace.degraded.append(f"hyde: {written.failure}")
    return replace(first, stages=[stage, *first.stages])


def _request_trace(request: RetrievalRequest) -> RequestTrace:
    scope = request.scope
    sections = None if scope.sections is None else sorted((s.file_id, s.section_path) for s in scope.sections)
    return RequestTrace(
        kbs=tuple(kb.kb.kb_id for kb in request.kbs if not kb.kb.conversation_id),
        files=None if scope.file_ids is None else tuple(sorted(scope.file_ids)),
        sections=None if sections is None else tuple({"file_id": f, "section_path": p} for f, p in sections),
        mode=request.mode,
        kind=request.kind,
        settings=request.kbs[0].settings.model_dump(mode="json", include=set(_TRACED_SETTINGS)),
    )


def _with_less_room(kb: SearchedKb, tokens: int) -> SearchedKb:
    """The knowledge base with a context budget from which so many tokens are taken."""
    room = max(1, kb.settings.retrieval.context_budget_tokens - tokens)
    retrieval = kb.settings.retrieval.model_copy(update={"context_budget_tokens": room})
    return replace(kb, settings=kb.settings.model_copy(update={"retrieval": retrieval}))


def _told(reading: SectionReading) -> str:
    """What is read of which sections, in a line."""
    what = {"document": "the whole document", "sections": "sections", "topic": "sections about the topic"}
    counted = f"{reading.matched} sections match, {reading.read} read"
    return f"{what[reading.scope]} ({reading.reason}); " + (reading.fallback or counted)


def _looks_closer(decision: ComplexityDecision, settings: Settings) -> bool:
    """Whether the first look-up has a say: where the rules and the classifier were not sure, and the language model,
    which sees the question alone, did not ask for rounds."""
    unsure = decision.source == "fallback" or (decision.source == "model" and decision.mode == "single")
    return unsure and settings.recursion.escalate_weak_single


def _limits(settings: Settings) -> Limits:
    """What bounds the rounds of a question."""
    places = _places(settings, settings.recursion.max_rounds)
    return Limits.of(settings.recursion, settings.retrieval.context_budget_tokens, places)


def _places(settings: Settings, rounds: int) -> int:
    """Passages in the context of a question of several hops: each round may bring one that the others need."""
    return max(settings.retrieval.rerank_top_k, rounds + _PLACES_BESIDE_ROUNDS)


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


def _metered(request: RetrievalRequest, trace: RetrievalTrace) -> RetrievalRequest:
    """The request with embedders that tell the trace what they read."""
    kbs = tuple(replace(kb, embedder=MeteredEmbedder(kb.embedder, trace.spend)) for kb in request.kbs)
    return replace(request, kbs=kbs)


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
