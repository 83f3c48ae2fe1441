"""The one rerank of a question: bounded, and visibly degraded where it fails."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clew.errors import ServiceError
from clew.models.base import Reranker
from clew.models.deadline import within
from clew.trace import StageTrace
from clew.types import Candidate


def rerank(
    questions: Sequence[str],
    candidates: Sequence[Candidate],
    passages: Mapping[str, str],
    reranker: Reranker,
    timeout: float,
) -> tuple[list[Candidate], StageTrace, str]:
    """All candidates in the reranker's order, the stage's trace, and what failed (empty where nothing did).

    ``passages`` are the texts to read, by chunk id; ``timeout`` in seconds bounds the whole call. Where there are
    several ``questions`` (at least one), a passage has the best score that any of them gives it. A reranker that fails
    leaves the order as it was: a failure is never "no hits".
    """
    stage = StageTrace("rerank", len(candidates), len(candidates))
    start = time.perf_counter()
    ordered, failure = list(candidates), ""
    try:
        texts = [passages[candidate.chunk_id] for candidate in candidates]

        def ask() -> list[float]:
            by_question = [reranker.rerank(question, texts, timeout=timeout) for question in questions]
            return [max(scores) for scores in zip(*by_question, strict=True)]

        scores = within(timeout, f"The reranker {reranker.name}", ask)
    except ServiceError as error:
        failure = str(error)
        stage.note = f"degraded, the order is the fused one: {failure}"
    else:
        scored = [replace(c, rerank_score=score) for c, score in zip(candidates, scores, strict=True)]
        # Stable: what the reranker cannot tell apart keeps the fused order.
        ordered = sorted(scored, key=lambda c: -(c.rerank_score or 0.0))
        stage.note = reranker.name if len(questions) == 1 else f"{reranker.name}, best of {len(questions)} questions"
    stage.ms = (time.perf_counter() - start) * 1000
    before = {candidate.chunk_id: rank for rank, candidate in enumerate(candidates, start=1)}
    stage.ranking = [
        {"chunk_id": c.chunk_id, "score": c.rerank_score if not failure else c.score, "before": before[c.chunk_id]}
        for c in ordered
    ]
    return ordered, stage, failure
