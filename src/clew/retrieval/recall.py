"""One look-up: all representations of one KB in parallel, inside the scope, fused."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from clew.config import Settings
from clew.models.base import Embedder
from clew.retrieval.fusion import Route, fuse_knowledge_bases, reciprocal_rank_fusion
from clew.storage.base import IndexFilter, Posting, Records, SearchIndex
from clew.text.language import detect_language
from clew.text.tokenizing import query_terms
from clew.trace import StageTrace
from clew.types import Candidate, ChildChunk, KnowledgeBase, Query, Representation, Scope

_POOL = ThreadPoolExecutor(max_workers=8, thread_name_prefix="recall")
_TRACED_RANKING = 20

GRAPH_ROUTE = "graph"
# A passage that is about the very name asked for should not fall behind those that two other routes share.
_GRAPH_WEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class SearchedKb:
    """A knowledge base as a look-up needs it: its record, its effective settings and its embedder."""

    kb: KnowledgeBase
    settings: Settings
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one look-up found: candidates (best first), their chunks by id, and what happened at each stage."""

    candidates: list[Candidate]
    chunks: dict[str, ChildChunk]
    stages: list[StageTrace]


def make_query(text: str, kb: SearchedKb) -> Query:
    """The query with its vector where the KB has dense representations. Raises ServiceError."""
    return make_queries([text], kb)[0][1]


def make_queries(texts: Sequence[str], kb: SearchedKb) -> list[tuple[SearchedKb, Query]]:
    """Queries of one KB, encoded together, each paired with the KB. Raises ServiceError."""
    vectors = kb.embedder.embed_queries(list(texts)) if kb.settings.representations.l2 else [None] * len(texts)
    return [
        (kb, Query(text=text, language=detect_language(text), vector=vector))
        for text, vector in zip(texts, vectors, strict=True)
    ]


class Recall:
    """Looks questions up. Safe to use from several threads."""

    def __init__(self, records: Records, index: SearchIndex) -> None:
        self._records = records
        self._index = index

    def look_up(
        self,
        queries: Sequence[tuple[SearchedKb, Query]],
        scope: Scope,
        *,
        round: int = 1,
        linked: Mapping[str, Sequence[Posting]] | None = None,
    ) -> Recalled:
        """Candidates of all KBs of the scope, fused; chunks that are not current, or not in scope, are missing.

        ``queries`` pairs each KB with the query as its own embedder sees it; ``linked`` are postings by KB that the
        graph of names adds as a route of their own. At most ``fused_top_k`` children come back, at most
        ``children_per_parent`` of one parent.
        """
        stages: list[StageTrace] = []
        added = linked or {}
        rankings = [
            self._look_up_kb(kb, query, scope, added.get(kb.kb.kb_id, ()), round, stages) for kb, query in queries
        ]
        settings = queries[0][0].settings.retrieval
        fused = fuse_knowledge_bases(rankings, k=settings.rrf_k)
        chunks = self._records.children([c.chunk_id for c in fused])
        current = [c for c in fused if c.chunk_id in chunks and in_scope(chunks[c.chunk_id], scope)]
        kept = cap_per_parent(current, settings.children_per_parent, settings.fused_top_k)
        stages.append(_stage("fuse", fused, kept))
        return Recalled(kept, {c.chunk_id: chunks[c.chunk_id] for c in kept}, stages)

    def _look_up_kb(
        self,
        kb: SearchedKb,
        query: Query,
        scope: Scope,
        linked: Sequence[Posting],
        round: int,
        stages: list[StageTrace],
    ) -> list[Candidate]:
        visible = self._filter(kb, scope)
        settings = kb.settings.retrieval
        searches: list[tuple[str, Callable[[], list[Posting]]]] = []
        if kb.settings.representations.bm25:
            terms = query_terms(query.text)
            searches.append((
                "bm25",
                lambda: self._index.search_text(
                    kb.kb.kb_id, terms, visible, settings.route_top_k, k1=settings.bm25_k1, b=settings.bm25_b
                ),
            ))  # fmt: skip
        vector = query.vector
        if vector is not None:
            searches.append((
                "l2",
                lambda: self._index.search_vector(
                    kb.kb.kb_id, Representation.L2, vector, visible, settings.route_top_k
                ),
            ))  # fmt: skip
        routes = []
        for name, (postings, ms) in zip(
            [name for name, _ in searches], _POOL.map(_timed, [search for _, search in searches]), strict=True
        ):
            routes.append(Route(name, postings))
            stages.append(_route_stage(name, postings, ms))
        if linked:
            routes.append(Route(GRAPH_ROUTE, linked))
            stages.append(_route_stage(GRAPH_ROUTE, linked, 0.0))
        weights = {GRAPH_ROUTE: _GRAPH_WEIGHT}
        return reciprocal_rank_fusion(kb.kb.kb_id, routes, k=settings.rrf_k, weights=weights, round=round)

    def _filter(self, kb: SearchedKb, scope: Scope) -> IndexFilter:
        sections = None
        if scope.sections is not None:
            sections = frozenset((s.file_id, s.section_path) for s in scope.sections)
        return IndexFilter(
            file_ids=scope.file_ids, sections=sections, excluded=self._records.hidden_versions(kb.kb.kb_id)
        )


def in_scope(chunk: ChildChunk, scope: Scope) -> bool:
    """Whether the scope allows the chunk; asked again after recall, whatever the engine's filter did."""
    if scope.file_ids is not None and chunk.file_id not in scope.file_ids:
        return False
    if scope.sections is None:
        return True
    return any(s.file_id == chunk.file_id and chunk.section_path.startswith(s.section_path) for s in scope.sections)


def cap_per_parent(candidates: Sequence[Candidate], per_parent: int, limit: int) -> list[Candidate]:
    """The best ``limit`` candidates with at most ``per_parent`` of one parent, so that one passage's children
    cannot push the others out."""
    taken: dict[str, int] = {}
    kept: list[Candidate] = []
    for candidate in candidates:
        count = taken.get(candidate.parent_id, 0)
        if count < per_parent:
            taken[candidate.parent_id] = count + 1
            kept.append(candidate)
            if len(kept) == limit:
                break
    return kept


def _timed(search: Callable[[], list[Posting]]) -> tuple[list[Posting], float]:
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


def _stage(name: str, before: Sequence[Candidate], after: Sequence[Candidate]) -> StageTrace:
    kept = {c.chunk_id for c in after}
    return StageTrace(
        name=name,
        candidates_in=len(before),
        candidates_out=len(after),
        ranking=[{"chunk_id": c.chunk_id, "score": c.score, "ranks": dict(c.ranks)} for c in after[:_TRACED_RANKING]],
        dropped=[
            {"chunk_id": c.chunk_id, "reason": "not current, out of scope, or too many of one parent"}
            for c in before[:_TRACED_RANKING]
            if c.chunk_id not in kept
        ],
    )
