"""From children to the passages that go on: one a parent, diverse, and in the reranker's order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clew.models.base import Reranker
from clew.models.metering import MeteredReranker
from clew.retrieval.diversity import DiversityLimits, diversify
from clew.retrieval.file_preference import weighed
from clew.retrieval.recall import Recalled, SearchedKb, best_of_parents
from clew.retrieval.reranking import rerank
from clew.storage.base import Records, SearchIndex
from clew.text.windows import window_around
from clew.trace import RetrievalTrace, StageTrace
from clew.types import Candidate, ChildChunk, FloatArray, Representation


class Selection:
    """What follows recall, for one hop and for several alike. Safe to use from several threads."""

    def __init__(self, records: Records, index: SearchIndex, reranker: Reranker | None) -> None:
        self._records = records
        self._index = index
        self._reranker = reranker

    def select(self, question: str, recalled: Recalled, kb: SearchedKb, trace: RetrievalTrace) -> Recalled:
        """The passages that go on; ``trace`` is told of each step, and says what was asked in the rounds. Raises
        StorageError."""
        settings = kb.settings.retrieval
        start = time.perf_counter()
        candidates, parents = best_of_parents(recalled.candidates)
        texts = {c.chunk_id: recalled.chunks[c.chunk_id].text for c in candidates}
        limits = DiversityLimits(settings.mmr_top_k, settings.mmr_threshold, settings.mmr_relevance)
        candidates, diversity = diversify(candidates, self._vectors(candidates), texts, limits)
        diversity.ms = trace.ms["diversify"] = (time.perf_counter() - start) * 1000
        trace.stages += [parents, diversity]
        if self._reranker is None or not settings.rerank:
            why = "no reranker is configured" if self._reranker is None else "retrieval.rerank is off"
            trace.stages.append(StageTrace("rerank", len(candidates), len(candidates), note=f"left out: {why}"))
        elif candidates:
            with trace.timed("rerank"):
                questions = _questions(question, kb, trace)
                passages = self._passages(max(questions, key=len), candidates, recalled.chunks, kb)
                timeout = kb.settings.models.reranker.timeout
                reranker = MeteredReranker(self._reranker, trace.spend)
                candidates, stage, failure = rerank(questions, candidates, passages, reranker, timeout)
            trace.stages.append(stage)
            if not failure:
                candidates = weighed(candidates, recalled.preference, settings.mismatch_weight)
            else:
                trace.degraded.append(f"rerank: {failure}")
        return replace(recalled, candidates=candidates)

    def _vectors(self, candidates: Sequence[Candidate]) -> dict[str, FloatArray]:
        """Child vectors by chunk id, as far as they are indexed."""
        versions = {file_id: self._records.get_file(file_id).version for file_id in {c.file_id for c in candidates}}
        by_kb: dict[str, list[tuple[str, int]]] = {}
        for candidate in candidates:
            by_kb.setdefault(candidate.kb_id, []).append((candidate.chunk_id, versions[candidate.file_id]))
        return {
            chunk_id: vector
            for kb_id, keys in by_kb.items()
            for chunk_id, vector in self._index.vectors(kb_id, Representation.L2, keys).items()
        }

    def _passages(
        self, question: str, candidates: Sequence[Candidate], chunks: Mapping[str, ChildChunk], kb: SearchedKb
    ) -> dict[str, str]:
        """What the reranker reads of each: titles, and as much of the parent around the child as it can take."""
        count_tokens = kb.embedder.count_tokens
        room = kb.settings.models.reranker.max_tokens - count_tokens(question)
        titles = {f: self._records.get_file(f).title for f in {c.file_id for c in candidates}}
        parents = self._records.parents([c.parent_id for c in candidates])
        passages = {}
        for candidate in candidates:
            child = chunks[candidate.chunk_id]
            head = " > ".join(part for part in (titles[candidate.file_id], *child.section_titles) if part)
            parent = parents.get(candidate.parent_id)
            text = child.text
            if parent is not None:
                left = max(child.tokens, room - count_tokens(head))
                text = window_around(parent.text, child.start, child.end, left, count_tokens)
            passages[candidate.chunk_id] = f"{head}\n{text}".strip()
        return passages


def _questions(question: str, kb: SearchedKb, trace: RetrievalTrace) -> list[str]:
    """What passages are scored against: the question, and where the settings say so those of the later rounds."""
    asked = [step.sub_question for step in trace.rounds] if kb.settings.recursion.rerank_by == "best" else []
    return list(dict.fromkeys([question, *asked]))
