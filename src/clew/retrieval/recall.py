"""One look-up: all representations of one KB in parallel, inside the scope, fused."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from clew.config import Settings
from clew.models.base import Embedder
from clew.retrieval.file_preference import NO_PREFERENCE, FilePreferences, Preference, weighed, with_preferred
from clew.retrieval.fusion import (
    HYPOTHETICAL,
    Route,
    convex_combination,
    fuse_knowledge_bases,
    reciprocal_rank_fusion,
)
from clew.storage.base import IndexFilter, Posting, Records, SearchIndex
from clew.text.language import detect_language
from clew.text.tokenizing import query_terms
from clew.trace import StageTrace
from clew.types import Candidate, ChildChunk, KnowledgeBase, Query, Representation, Scope

_POOL = ThreadPoolExecutor(max_workers=8, thread_name_prefix="recall")
_TRACED_RANKING = 20
_TRACED_DROPPED = 100
_Search = Callable[[], list[Posting]]

GRAPH_ROUTE = "graph"
# A passage that is about the very name asked for should not fall behind those that two other routes share.
_GRAPH_WEIGHT = 1.5
# A section's summary leads to one passage of many, and for a fact mostly not to the one that holds it: it breaks ties
# and brings passages that nothing else finds. Summary questions weigh it as much as the others.
_SUMMARY_WEIGHT = 0.02
_WEIGHTS = {GRAPH_ROUTE: _GRAPH_WEIGHT, Representation.SUMMARY.value: _SUMMARY_WEIGHT}


@dataclass(frozen=True, slots=True)
class FileScopes:
    """Which files of a knowledge base are looked up by words, and which by vectors."""

    bm25: frozenset[str]
    semantic: frozenset[str]


@dataclass(frozen=True, slots=True)
class SearchedKb:
    """A knowledge base as a look-up needs it: its record, its effective settings and its embedder."""

    kb: KnowledgeBase
    settings: Settings
    embedder: Embedder
    files: FileScopes | None = None
    """Restricts the look-up within the scope; None: all files of the knowledge base."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one look-up found: candidates (best first), their chunks by id, and what happened at each stage."""

    candidates: list[Candidate]
    chunks: dict[str, ChildChunk]
    stages: list[StageTrace]
    preference: Preference = NO_PREFERENCE


@dataclass(frozen=True, slots=True)
class Searched:
    """What the routes of one look-up found, before they are fused: by KB, in the order asked."""

    routes: list[tuple[SearchedKb, list[Route]]]
    stages: list[StageTrace]
    preference: Preference = NO_PREFERENCE
    read: dict[str, ChildChunk] = field(default_factory=dict)
    """Chunks that a fusion has read, for the next one."""

    def with_more(self, other: Searched) -> Searched:
        """The routes of both; they ask the same KBs in the same order."""
        pairs = zip(self.routes, other.routes, strict=True)
        routes = [(kb, [*ours, *theirs]) for (kb, ours), (_, theirs) in pairs]
        return Searched(routes, [*self.stages, *other.stages], self.preference, self.read)

    def with_linked(self, linked: Mapping[str, Sequence[Posting]]) -> Searched:
        """With postings by KB id that the graph of names adds as a route of their own."""
        stages = list(self.stages)
        return Searched(_with_graph(self.routes, linked, stages), stages, self.preference, self.read)


def dense_representations(settings: Settings) -> list[Representation]:
    """The representations with vectors that the settings switch on."""
    chosen = settings.representations
    return [each for each in Representation if each is not Representation.BM25 and getattr(chosen, each.value)]


def make_query(text: str, kb: SearchedKb) -> Query:
    """The query with its vector where the KB has dense representations. Raises ServiceError."""
    return make_queries([text], kb)[0][1]


def make_queries(texts: Sequence[str], kb: SearchedKb) -> list[tuple[SearchedKb, Query]]:
    """Queries of one KB, encoded together, each paired with the KB. Raises ServiceError."""
    dense = bool(dense_representations(kb.settings))
    vectors = kb.embedder.embed_queries(list(texts)) if dense else [None] * len(texts)
    return [
        (kb, Query(text=text, language=detect_language(text), vector=vector))
        for text, vector in zip(texts, vectors, strict=True)
    ]


def make_hypothetical(text: str, kb: SearchedKb) -> Query:
    """A hypothetical answer as a query: encoded as the passage that it imitates. Raises ServiceError."""
    vector = kb.embedder.embed_passages([text])[0] if kb.settings.representations.l2 else None
    return Query(text=text, language=detect_language(text), vector=vector)


class Recall:
    """Looks questions up. Safe to use from several threads."""

    def __init__(self, records: Records, index: SearchIndex) -> None:
        self._records = records
        self._index = index
        self._preferences = FilePreferences(records)

    def preference(self, question: str, kbs: Sequence[SearchedKb], scope: Scope) -> Preference:
        """Which of the scope's files the question means; none where the first KB's settings give others the same
        weight."""
        if kbs[0].settings.retrieval.mismatch_weight == 1.0:
            return NO_PREFERENCE
        return self._preferences.of(question, [kb.kb.kb_id for kb in kbs], scope)

    def occurrence(self, kbs: Sequence[SearchedKb], scope: Scope) -> Callable[[str], bool]:
        """Says of a term of the keyword index whether it stands in any passage of the scope; of every term that it does
        where a KB has no such index."""
        if not all(kb.settings.representations.bm25 for kb in kbs):
            return lambda term: True
        filters = [(kb.kb.kb_id, self._text_filter(kb, scope)) for kb in kbs]
        return lambda term: any(self._index.search_text(kb_id, [term], filter, 1) for kb_id, filter in filters)

    def look_up(
        self,
        queries: Sequence[tuple[SearchedKb, Query]],
        scope: Scope,
        *,
        round: int = 1,
        linked: Mapping[str, Sequence[Posting]] | None = None,
    ) -> Recalled:
        """A look-up of the rounds: candidates of all KBs, fused; see :meth:`search` and :meth:`fuse`."""
        return self.fuse(self.search(queries, scope, linked=linked), scope, round=round, in_rounds=True)

    def search(
        self,
        queries: Sequence[tuple[SearchedKb, Query]],
        scope: Scope,
        *,
        linked: Mapping[str, Sequence[Posting]] | None = None,
    ) -> Searched:
        """All routes of all KBs in parallel, inside the scope.

        ``queries`` pairs each KB with the query as its own embedder sees it; ``linked`` are postings by KB that the
        graph of names adds as a route of their own.
        """
        preference = self.preference(queries[0][1].text, [kb for kb, _ in queries], scope)
        found, stages = self._routes(queries, scope, preference, prefix="")
        found = _with_graph(found, linked or {}, stages)
        if preference:
            stages.insert(0, preference.stage())
        return Searched([(kb, spread_over_children(routes)) for kb, routes in found], stages, preference)

    def search_hypothetical(
        self, queries: Sequence[tuple[SearchedKb, Query]], scope: Scope, preference: Preference
    ) -> Searched:
        """The two routes of a hypothetical answer, keywords and child vectors; ``preference`` is the question's."""
        found, stages = self._routes(queries, scope, preference, prefix=HYPOTHETICAL)
        return Searched(found, stages, preference)

    def _routes(
        self, queries: Sequence[tuple[SearchedKb, Query]], scope: Scope, preference: Preference, *, prefix: str
    ) -> tuple[list[tuple[SearchedKb, list[Route]]], list[StageTrace]]:
        preferred = replace(scope, file_ids=preference.matching) if preference else None
        searches = [self._searches(kb, query, scope, prefix) for kb, query in queries]
        again = [self._searches(kb, query, preferred, prefix) for kb, query in queries] if preferred else []
        calls = [search for routes in (*searches, *again) for _, search in routes]
        found = list(_POOL.map(_timed, calls))
        firsts, seconds = iter(found), iter(found[sum(map(len, searches)) :])
        stages: list[StageTrace] = []
        by_kb: list[tuple[SearchedKb, list[Route]]] = []
        for (kb, _), named in zip(queries, searches, strict=True):
            routes = []
            for name, _ in named:
                postings, ms = next(firsts)
                route = Route(name, postings)
                if preferred:
                    more, more_ms = next(seconds)
                    route, ms = with_preferred(route, more, preference), ms + more_ms
                routes.append(route)
                stages.append(_route_stage(name, route.postings, ms))
            by_kb.append((kb, routes))
        return by_kb, stages

    def fuse(self, searched: Searched, scope: Scope, *, round: int = 1, in_rounds: bool = False) -> Recalled:
        """The routes' candidates in one ranking; chunks that are not current, or not in scope, are missing.

        The same text in several files counts once, at its best place. At most ``fused_top_k`` children come back, at
        most ``children_per_parent`` of one parent. ``in_rounds``: by ranks, whatever the KB's fusion: scores of
        different questions cannot be compared, and the pool of the rounds compares them.
        """
        start = time.perf_counter()
        settings = searched.routes[0][0].settings.retrieval
        rankings = [_fused(kb, routes, round, in_rounds) for kb, routes in searched.routes]
        fused = fuse_knowledge_bases(rankings, k=settings.rrf_k)
        fused = weighed(fused, searched.preference, settings.mismatch_weight)
        chunks = searched.read
        chunks.update(self._records.children([c.chunk_id for c in fused if c.chunk_id not in chunks]))
        stage = StageTrace("fuse", candidates_in=len(fused))
        visible = _visible(fused, chunks, scope, stage)
        kept = cap_per_parent(visible, settings.children_per_parent, settings.fused_top_k, stage)
        stage.candidates_out = len(kept)
        stage.ranking = [
            {"chunk_id": c.chunk_id, "score": c.score, "ranks": dict(c.ranks)} for c in kept[:_TRACED_RANKING]
        ]
        stage.ms = (time.perf_counter() - start) * 1000
        found = {c.chunk_id: chunks[c.chunk_id] for c in kept}
        return Recalled(kept, found, [*searched.stages, stage], searched.preference)

    def _searches(self, kb: SearchedKb, query: Query, scope: Scope, prefix: str) -> list[tuple[str, _Search]]:
        visible = self._text_filter(kb, scope)
        embedded = visible if kb.files is None else self._filter(kb, scope, kb.files.semantic)
        settings = kb.settings.retrieval
        searches: list[tuple[str, _Search]] = []
        if kb.settings.representations.bm25:
            text = partial(self._index.search_text, k1=settings.bm25_k1, b=settings.bm25_b)
            found = partial(text, kb.kb.kb_id, query_terms(query.text), visible, settings.route_top_k)
            searches.append((f"{prefix}bm25", found))
        if query.vector is not None:
            for representation in [Representation.L2] if prefix else dense_representations(kb.settings):
                vector = partial(self._index.search_vector, kb.kb.kb_id, representation, query.vector)
                searches.append((f"{prefix}{representation}", partial(vector, embedded, settings.route_top_k)))
        return searches

    def _text_filter(self, kb: SearchedKb, scope: Scope) -> IndexFilter:
        return self._filter(kb, scope, None if kb.files is None else kb.files.bm25)

    def _filter(self, kb: SearchedKb, scope: Scope, files: frozenset[str] | None) -> IndexFilter:
        sections = None
        if scope.sections is not None:
            sections = frozenset((s.file_id, s.section_path) for s in scope.sections)
        if files is not None and scope.file_ids is not None:
            files &= scope.file_ids
        return IndexFilter(
            file_ids=scope.file_ids if files is None else files,
            sections=sections,
            excluded=self._records.hidden_versions(kb.kb.kb_id),
        )


def spread_over_children(routes: Sequence[Route]) -> list[Route]:
    """A parent found by its own vector counts for those of its children that another route found, each at the parent's
    rank; where there is none, for its first child."""
    found: dict[str, dict[str, Posting]] = {}
    for posting in (p for route in routes if route.name != Representation.L1 for p in route.postings):
        found.setdefault(posting.parent_id, {}).setdefault(posting.chunk_id, posting)
    spread: list[Route] = []
    for route in routes:
        if route.name != Representation.L1:
            spread.append(route)
            continue
        pairs = [
            (rank, replace(child, score=parent.score))
            for rank, parent in zip(route.ranks or range(1, len(route.postings) + 1), route.postings, strict=True)
            for child in found.get(parent.parent_id, {"": parent}).values()
        ]
        spread.append(Route(route.name, [child for _, child in pairs], [rank for rank, _ in pairs]))
    return spread


def _with_graph(
    found: Sequence[tuple[SearchedKb, list[Route]]], linked: Mapping[str, Sequence[Posting]], stages: list[StageTrace]
) -> list[tuple[SearchedKb, list[Route]]]:
    """The routes with what the graph of names leads to as one more; ``stages`` is told."""
    more = []
    for kb, routes in found:
        graph = linked.get(kb.kb.kb_id, ())
        if graph:
            stages.append(_route_stage(GRAPH_ROUTE, graph, 0.0))
        more.append((kb, [*routes, Route(GRAPH_ROUTE, graph)] if graph else routes))
    return more


def _fused(kb: SearchedKb, routes: Sequence[Route], round: int, in_rounds: bool) -> list[Candidate]:
    settings = kb.settings.retrieval
    if settings.fusion == "convex" and not in_rounds:
        return convex_combination(kb.kb.kb_id, routes, weights=settings.fusion_weights, round=round)
    weights = _WEIGHTS | ({} if settings.fusion == "convex" else dict(settings.fusion_weights))
    return reciprocal_rank_fusion(kb.kb.kb_id, routes, k=settings.rrf_k, weights=weights, round=round)


def in_scope(chunk: ChildChunk, scope: Scope) -> bool:
    """Whether the scope allows the chunk; asked again after recall, whatever the engine's filter did."""
    if scope.file_ids is not None and chunk.file_id not in scope.file_ids:
        return False
    if scope.sections is None:
        return True
    return any(s.file_id == chunk.file_id and chunk.section_path.startswith(s.section_path) for s in scope.sections)


def _visible(
    candidates: Sequence[Candidate], chunks: Mapping[str, ChildChunk], scope: Scope, stage: StageTrace
) -> list[Candidate]:
    """Those that are current and in scope, the same text under the same titles once."""
    first_with: dict[tuple[tuple[str, ...], str], str] = {}
    kept: list[Candidate] = []
    for candidate in candidates:
        chunk = chunks.get(candidate.chunk_id)
        if chunk is None or not in_scope(chunk, scope):
            _drop(stage, candidate, "not current, or out of scope")
            continue
        first = first_with.setdefault((chunk.section_titles, chunk.text), candidate.chunk_id)
        if first == candidate.chunk_id:
            kept.append(candidate)
        else:
            _drop(stage, candidate, f"the same text as {first}")
    return kept


def cap_per_parent(
    candidates: Sequence[Candidate], per_parent: int, limit: int, stage: StageTrace | None = None
) -> list[Candidate]:
    """The best ``limit`` candidates with at most ``per_parent`` of one parent, so that one passage's children
    cannot push the others out. ``stage`` is told what was dropped."""
    taken: dict[str, int] = {}
    kept: list[Candidate] = []
    stage = stage or StageTrace("cap")
    for candidate in candidates:
        count = taken.get(candidate.parent_id, 0)
        if count == per_parent:
            _drop(stage, candidate, "too many of one parent")
        elif len(kept) == limit:
            _drop(stage, candidate, f"not among the best {limit}")
        else:
            taken[candidate.parent_id] = count + 1
            kept.append(candidate)
    return kept


def best_of_parents(candidates: Sequence[Candidate]) -> tuple[list[Candidate], StageTrace]:
    """The best child of each parent, in the order given, and the trace of the step from children to parents."""
    stage = StageTrace("parents", candidates_in=len(candidates))
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        first = best.setdefault(candidate.parent_id, candidate)
        if first is not candidate:
            _drop(stage, candidate, f"in the same parent as {first.chunk_id}")
    stage.candidates_out = len(best)
    stage.ranking = [{"chunk_id": c.chunk_id, "parent_id": c.parent_id, "score": c.score} for c in best.values()]
    return list(best.values()), stage


def _drop(stage: StageTrace, candidate: Candidate, reason: str) -> None:
    if len(stage.dropped) < _TRACED_DROPPED:
        stage.dropped.append({"chunk_id": candidate.chunk_id, "reason": reason})


def _timed(search: _Search) -> tuple[list[Posting], float]:
    start = time.perf_counter()
    postings = search()
    return postings, (time.perf_counter() - start) * 1000


def _route_stage(name: str, postings: Sequence[Posting], ms: float) -> StageTrace:
    return StageTrace(
        name=name,
        candidates_in=0,
        candidates_out=len(postings),
        ms=ms,
        ranking=[{"chunk_id": p.chunk_id, "score": p.score} for p in postings[:_TRACED_RANKING]],
    )
