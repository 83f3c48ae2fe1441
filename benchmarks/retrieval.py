"""What each part of the fact path is worth: representations, diversity and fusion, switched on and off.

    python benchmarks/retrieval.py --models DIR --data RETRIEVAL_DIR --work DIR [--json OUT] SET[:PASSAGES] …

Each set becomes a knowledge base with all vectors (kept in ``--work``); its questions, evenly drawn, go through the
product's own search (one look-up, no language model, so no hypothetical answer, and no reranker) in every variant. Hits
are parents. Where the set names the sentences that answer, a parent counts if it holds one; elsewhere any of the
passage's parents does. Times are processor milliseconds of this process per question, so that they mean something on a
busy machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.app import Clew
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import LabelledQuestion, Passage, read_corpus, read_queries
from clew.evaluation.fusion_fit import JudgedRoutes, fit_fusion
from clew.evaluation.measures import group_ranks, ndcg_at, recall_at
from clew.evaluation.support import Groups, Support
from clew.retrieval.fusion import reciprocal_rank_fusion
from clew.retrieval.hyde import is_sure
from clew.types import ParentChunk, Representation

Floats = NDArray[np.float64]

NONE = dict.fromkeys((each.value for each in Representation), False)


def only(*names: str) -> Mapping[str, Any]:
    return {"representations": NONE | dict.fromkeys(names, True)}


def changed(**retrieval: Any) -> Mapping[str, Any]:
    return only("bm25", "l2") | {"retrieval": retrieval}


BASE = "bm25 + l2"
NO_MMR = {"mmr_threshold": 1.0, "mmr_relevance": 1.0}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "bm25": only("bm25"),
    "l1": only("l1"),
    "l2": only("l2"),
    "l3": only("l3"),
    "bm25 + l2": changed(),
    "bm25 + l3": only("bm25", "l3"),
    "bm25 + l1 + l3": only("bm25", "l1", "l3"),
    "bm25 + l2 + l1": only("bm25", "l2", "l1"),
    "bm25 + l2 + l3": only("bm25", "l2", "l3"),
    "bm25 + l2 + l1 + l3": only("bm25", "l2", "l1", "l3"),
    "without MMR": changed(**NO_MMR),
    "MMR threshold 0.92": changed(mmr_threshold=0.92),
    "MMR threshold 0.95": changed(mmr_threshold=0.95),
    "MMR threshold 0.98": changed(mmr_threshold=0.98),
    "MMR relevance 0.5": changed(mmr_threshold=1.0, mmr_relevance=0.5),
    "MMR relevance 0.7": changed(mmr_threshold=1.0, mmr_relevance=0.7),
    "MMR relevance 0.9": changed(mmr_threshold=1.0, mmr_relevance=0.9),
    "3 children of a parent": changed(children_per_parent=3),
    "1 child of a parent": changed(children_per_parent=1),
    "convex, equal weights": changed(fusion="convex"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="corpora and questions as JSON lines, gzipped")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--json", type=Path)
    parser.add_argument("sets", nargs="+")
    arguments = parser.parse_args()
    results = {}
    with Clew.open(arguments.work, overrides={"models": {"folder": str(arguments.models)}}) as clew:
        for chosen in arguments.sets:
            name, _, size = chosen.partition(":")
            passages = read_corpus(arguments.data / f"{name}.corpus.jsonl.gz")[: int(size) if size else None]
            questions = read_queries(arguments.data / f"{name}.queries.jsonl.gz")
            results[chosen] = measured(clew, name, passages, questions, arguments.questions, arguments.only)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def measured(
    clew: Clew,
    name: str,
    passages: Sequence[Passage],
    questions: Sequence[LabelledQuestion],
    limit: int,
    variants: Sequence[str],
) -> dict[str, Any]:
    kb = f"{name}-{len(passages)}"
    if kb not in {each.name for each in clew.list_kbs()}:
        clew.create_kb(kb, settings={"representations": {"l1": True, "l3": True}})
        start = time.process_time()
        clew.ingest_parsed(kb, name, parsed_corpus(passages))
        print(f"{kb}: indexed in {time.process_time() - start:.0f} s of processor time", flush=True)
    [file] = clew.list_files(kb)
    of_passage = defaultdict[str, list[ParentChunk]](list)
    for parent in clew.file_parents(file.file_id):
        of_passage[passages[int(parent.section_path.strip("/")) - 1].id].append(parent)
    parent_of = {child.chunk_id: child.parent_id for child in clew.file_children(file.file_id)}
    support = Support(of_passage)
    judged = [(question, support.groups(question)) for question in questions]
    judged = [(question, groups) for question, groups in judged if groups]
    judged = [judged[i * len(judged) // min(limit, len(judged))] for i in range(min(limit, len(judged)))]
    print(f"\n{kb}: {dict(file.counts)}, {len(judged)} questions")
    print(f"| variant | R@5 | nDCG@10 | nDCG@10 above {BASE} | ms |\n| --- | --- | --- | --- | --- |")
    rows = {}
    base = None
    for variant in sorted(variants, key=lambda each: each != BASE):
        rows[variant], gains = asked(clew, kb, judged, VARIANTS[variant], parent_of)
        base = gains if variant == BASE else base
        print(
            f"| {variant} | {_row(rows[variant], None if variant == BASE or base is None else gains - base)} |",
            flush=True,
        )
    routes = [JudgedRoutes(clew.routes(q.question, kbs=[kb], overlay=changed()).routes[0][1], g) for q, g in judged]
    print_sureness(routes)
    fit = fit_fusion(routes)
    weights = ", ".join(f"{route} {weight:g}" for route, weight in fit.weights.items())
    print(
        f"fitted ({weights}), held out: nDCG@10 {100 * fit.convex:.1f}, by ranks {100 * fit.rrf:.1f}, "
        f"gain {100 * fit.gain:+.1f} [{100 * fit.low:+.1f}, {100 * fit.high:+.1f}]",
        flush=True,
    )
    return {"counts": dict(file.counts), "questions": len(judged), "variants": rows, "weights": dict(fit.weights)}


def asked(
    clew: Clew,
    kb: str,
    judged: Sequence[tuple[LabelledQuestion, Groups]],
    overlay: Mapping[str, Any],
    parent_of: Mapping[str, str],
) -> tuple[dict[str, float], Floats]:
    """The measures, and nDCG@10 of each question."""
    recalls, gains, times = [], [], []
    for question, groups in judged:
        start = time.process_time()
        result = clew.search(question.question, kbs=[kb], mode="single", overlay=overlay)
        times.append((time.process_time() - start) * 1000)
        ranks = group_ranks([parent_of[hit.chunk_id] for hit in result.hits], groups)
        recalls.append(recall_at(ranks, 5))
        gains.append(ndcg_at(ranks, 10))
    row = {
        "recall@5": 100 * statistics.fmean(recalls),
        "ndcg@10": 100 * statistics.fmean(gains),
        "ms": statistics.median(times),
    }
    return row, np.array(gains)


def print_sureness(judged: Sequence[JudgedRoutes]) -> None:
    """How often the best passage supports the answer where ``retrieval.hyde = "when_weak"`` spares the model's call."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for each in judged:
        [best, *_] = reciprocal_rank_fusion("", each.routes) or [None]
        right[is_sure(best)].append(best is not None and any(best.parent_id in group for group in each.groups))
    sure, unsure = (100 * statistics.fmean(right[kind] or [0]) for kind in (True, False))
    print(f"sure: {len(right[True])} of {len(judged)}, first passage right in {sure:.0f} %, else in {unsure:.0f} %")


def _row(row: Mapping[str, float], above: Floats | None) -> str:
    gain = ""
    if above is not None:
        picks = np.random.default_rng(0).integers(0, len(above), (2000, len(above)))
        low, high = np.quantile(above[picks].mean(axis=1), [0.025, 0.975])
        gain = f"{100 * above.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{row['recall@5']:.1f} | {row['ndcg@10']:.1f} | {gain} | {row['ms']:.0f}"


if __name__ == "__main__":
    main()
