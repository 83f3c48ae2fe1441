"""Evaluation runs: a corpus, its questions, several modes side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clew.app import Clew
from clew.errors import InputError
from clew.evaluation.corpus import CorpusKb
from clew.evaluation.datasets import LabelledQuestion
from clew.evaluation.measures import all_support_at, group_ranks, ndcg_at, recall_at, reciprocal_rank
from clew.types import RetrievalMode

Mode = Literal["bm25", "dense", "single", "multi", "auto", "oracle"]
MODES: tuple[Mode, ...] = ("bm25", "dense", "single", "multi", "auto", "oracle")

SINGLE_LOOK_UPS: Mapping[str, Mapping[str, Any]] = {
    "bm25": {"representations": {"bm25": True, "l2": False}},
    "dense": {"representations": {"bm25": False, "l2": True}},
    "fused": {},
}
"""What is laid over the KB's settings for one look-up by keywords alone, by vectors alone, and by both."""

# What a mode changes of the KB's settings, and the retrieval mode it asks for.
_OVERLAYS: Mapping[str, tuple[Mapping[str, Any], RetrievalMode]] = {
    "bm25": (SINGLE_LOOK_UPS["bm25"], "single"),
    "dense": (SINGLE_LOOK_UPS["dense"], "single"),
    "single": (SINGLE_LOOK_UPS["fused"], "single"),
    "multi": ({}, "multi"),
    "auto": ({}, "auto"),
}
_NDCG_K = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question in one mode: the ranks of its support groups, and what it cost."""

    question_id: str
    ranks: tuple[int | None, ...]
    ms: float
    rounds: int
    tokens: int
    mode: str
    """The mode that was decided: single or multi."""


def run(
    clew: Clew,
    corpus: CorpusKb,
    questions: Sequence[LabelledQuestion],
    modes: Sequence[Mode],
    *,
    on_progress: Callable[[str, float], None] = lambda *_: None,
) -> dict[Mode, list[Outcome]]:
    """Outcomes of all answerable questions by mode; ``oracle`` takes the better of single and multi per question (the
    cheaper where they are equal). Raises InputError for ``oracle`` without both."""
    answerable = [q for q in questions if q.groups]
    if not answerable:
        raise InputError("None of the questions names supporting passages, so nothing can be measured.")
    outcomes: dict[Mode, list[Outcome]] = {}
    for mode in modes:
        if mode == "oracle":
            continue
        outcomes[mode] = [
            _run_one(clew, corpus, question, mode, on_progress, i / len(answerable))
            for i, question in enumerate(answerable)
        ]
    if "oracle" in modes:
        if "single" not in outcomes or "multi" not in outcomes:
            raise InputError("The mode oracle is the better of single and multi; name those modes too.")
        pairs = zip(outcomes["single"], outcomes["multi"], strict=True)
        outcomes["oracle"] = [_better(single, multi) for single, multi in pairs]
    return outcomes


def summarise(outcomes: Sequence[Outcome], ks: Sequence[int]) -> dict[str, float]:
    """Means over the questions (times: median and 95th percentile), keyed as ``clew eval`` prints them."""
    ranks = [o.ranks for o in outcomes]
    times = sorted(o.ms for o in outcomes)
    row: dict[str, float] = {}
    for k in ks:
        row[f"recall@{k}"] = statistics.fmean(recall_at(r, k) for r in ranks)
        row[f"all_support@{k}"] = statistics.fmean(all_support_at(r, k) for r in ranks)
    row["mrr"] = statistics.fmean(reciprocal_rank(r) for r in ranks)
    row[f"ndcg@{_NDCG_K}"] = statistics.fmean(ndcg_at(r, _NDCG_K) for r in ranks)
    row["ms_p50"] = statistics.median(times)
    row["ms_p95"] = times[min(len(times) - 1, int(0.95 * len(times)))]
    row["rounds"] = statistics.fmean(o.rounds for o in outcomes)
    row["tokens"] = statistics.fmean(o.tokens for o in outcomes)
    row["multi_share"] = statistics.fmean(o.mode == "multi" for o in outcomes)
    return {key: round(value, 4) for key, value in row.items()}


def _run_one(
    clew: Clew,
    corpus: CorpusKb,
    question: LabelledQuestion,
    mode: Mode,
    on_progress: Callable[[str, float], None],
    share: float,
) -> Outcome:
    overlay, retrieval_mode = _OVERLAYS[mode]
    start = time.perf_counter()
    # A corpus of passages has no sections to summarise, whatever form a question has.
    result = clew.search(question.question, kbs=[corpus.kb_id], mode=retrieval_mode, kind="fact", overlay=overlay)
    ms = (time.perf_counter() - start) * 1000
    on_progress(mode, share)
    ranking = list(dict.fromkeys(corpus.passage_of[hit.section_path] for hit in result.hits))
    usage = result.trace.usage
    return Outcome(
        question_id=question.id,
        ranks=tuple(group_ranks(ranking, question.groups)),
        ms=ms,
        rounds=len(result.trace.rounds),
        tokens=usage.prompt_tokens + usage.completion_tokens,
        mode=result.trace.complexity.mode if result.trace.complexity else "single",
    )


def _better(single: Outcome, multi: Outcome, k: int = 5) -> Outcome:
    return multi if recall_at(multi.ranks, k) > recall_at(single.ranks, k) else single
