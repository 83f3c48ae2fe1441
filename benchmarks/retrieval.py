"""What each part of the fact path is worth: representations, diversity and fusion, switched on and off.

    python benchmarks/retrieval.py --models DIR --data DIR --work DIR [--write docs/retrieval.md] SET[:PASSAGES] …
    … --chat http://127.0.0.1:8080/v1 --chat-model NAME --reranker http://127.0.0.1:8081/rerank

Each set becomes a knowledge base with all vectors (kept in ``--work``); its questions, evenly drawn, go through the
product's own search (one look-up) in every variant. The hypothetical answer and the reranker are variants too, where
``--chat`` and ``--reranker`` name a model. Hits are parents. Where the set names the sentences that answer, a parent
counts if it holds one; elsewhere any of the passage's parents does. *Passes* are the texts that the encoder reads when
the set comes in, for the variant's vectors. Times are processor milliseconds of this process per question, so that they
mean something on a busy machine; what a model's own process takes is not in them.
"""

from __future__ import annotations

import argparse
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
from clew.indexing.granularity import sentence_windows
from clew.retrieval.fusion import reciprocal_rank_fusion
from clew.retrieval.hyde import is_sure
from clew.types import ParentChunk, Representation

Floats = NDArray[np.float64]

NONE = dict.fromkeys((each.value for each in Representation), False)


def only(*names: str, **retrieval: Any) -> Mapping[str, Any]:
    return {
        "representations": NONE | dict.fromkeys(names, True),
        "retrieval": {"hyde": "never", "rerank": False} | retrieval,
    }


def changed(**retrieval: Any) -> Mapping[str, Any]:
    return only("bm25", "l2", **retrieval)


BASE = "bm25 + l2"
NO_MMR = {"mmr_threshold": 1.0, "mmr_relevance": 1.0}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "bm25": only("bm25"),
    "l1": only("l1"),
    "l2": only("l2"),
    "l3": only("l3"),
    "bm25 + l2": changed(),
    "bm25 + l3": only("bm25", "l3"),
    "bm25 + l2 + l1": only("bm25", "l2", "l1"),
    "bm25 + l2 + l3": only("bm25", "l2", "l3"),
    "bm25 + l2 + l1 + l3": only("bm25", "l2", "l1", "l3"),
    "without MMR": changed(**NO_MMR),
    "1 child of a parent": changed(children_per_parent=1),
    "convex, equal weights": changed(fusion="convex"),
}
WITH_CHAT: Mapping[str, Mapping[str, Any]] = {
    "hypothetical answer": changed(hyde="always", hyde_timeout=60.0),
    "hypothetical answer when weak": changed(hyde="when_weak", hyde_timeout=60.0),
}
WITH_RERANKER: Mapping[str, Mapping[str, Any]] = {"reranker": changed(rerank=True)}
VECTORS = (Representation.L1, Representation.L2, Representation.L3)
MARKER = "<!-- ablation -->\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="corpora and questions as JSON lines, gzipped")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--only", nargs="+", default=[], metavar="VARIANT")
    parser.add_argument("--chat", default="", help="an OpenAI-compatible endpoint, up to and with /v1")
    parser.add_argument("--chat-model", default="")
    parser.add_argument("--reranker", default="", help="a rerank endpoint in Cohere's dialect")
    parser.add_argument("--write", type=Path, help="Markdown file whose part after the marker is replaced")
    parser.add_argument("sets", nargs="+")
    arguments = parser.parse_args()
    variants = dict(VARIANTS)
    models: dict[str, Any] = {"folder": str(arguments.models)}
    if arguments.chat:
        variants |= WITH_CHAT
        models["chat"] = {"url": arguments.chat, "model": arguments.chat_model}
    if arguments.reranker:
        variants |= WITH_RERANKER
        models["reranker"] = {"kind": "http", "url": arguments.reranker}
    if unknown := set(arguments.only) - set(variants):
        parser.error(f"no variant is called {', '.join(sorted(unknown))}; there are: {', '.join(variants)}")
    if arguments.only:
        variants = {name: variants[name] for name in (BASE, *arguments.only)}
    tables = []
    with Clew.open(arguments.work, overrides={"models": models}) as clew:
        for chosen in arguments.sets:
            name, _, size = chosen.partition(":")
            passages = read_corpus(arguments.data / f"{name}.corpus.jsonl.gz")[: int(size) if size else None]
            questions = read_queries(arguments.data / f"{name}.queries.jsonl.gz")
            tables += measured(clew, name, passages, questions, arguments.questions, variants)
            if arguments.write:
                replace_after(arguments.write, MARKER, tables)


def measured(
    clew: Clew,
    name: str,
    passages: Sequence[Passage],
    questions: Sequence[LabelledQuestion],
    limit: int,
    variants: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """The lines of a set's table and of what was fitted to it, printed as they come."""
    kb = f"{name}-{len(passages)}"
    if kb not in {each.name for each in clew.list_kbs()}:
        clew.create_kb(kb, settings={"representations": {"l1": True, "l3": True}})
        start = time.process_time()
        clew.ingest_parsed(kb, name, parsed_corpus(passages))
        print(f"{kb}: indexed in {time.process_time() - start:.0f} s of processor time", flush=True)
    [file] = clew.list_files(kb)
    parents, children = clew.file_parents(file.file_id), clew.file_children(file.file_id)
    of_passage = defaultdict[str, list[ParentChunk]](list)
    for parent in parents:
        of_passage[passages[int(parent.section_path.strip("/")) - 1].id].append(parent)
    parent_of = {child.chunk_id: child.parent_id for child in children}
    windows = sum(len(sentence_windows(child.text)) for child in children)
    passes = dict(zip(VECTORS, (len(parents), len(children), windows), strict=True))
    support = Support(of_passage)
    judged = [(question, support.groups(question)) for question in questions]
    judged = [(question, groups) for question, groups in judged if groups]
    judged = [judged[i * len(judged) // min(limit, len(judged))] for i in range(min(limit, len(judged)))]
    lines: list[str] = []

    def say(*new: str) -> None:
        lines.extend(new)
        print("\n".join(new), flush=True)

    say(f"**{name}** ({len(passages):,} passages, {len(judged)} questions)", "")
    say(f"| variant | R@5 | nDCG@10 | nDCG@10 above {BASE} | passes | ms |", "| --- | --- | --- | --- | --- | --- |")
    base = None
    for variant in sorted(variants, key=lambda each: each != BASE):
        row, gains = asked(clew, kb, judged, variants[variant], parent_of)
        base = gains if base is None else base
        read = sum(passes[each] for each in VECTORS if variants[variant]["representations"][each])
        gain = "" if variant == BASE else _interval(gains - base)
        say(f"| {variant} | {row['recall@5']:.1f} | {row['ndcg@10']:.1f} | {gain} | {read:,} | {row['ms']:.0f} |")
    routes = [JudgedRoutes(clew.routes(q.question, kbs=[kb], overlay=changed()).routes[0][1], g) for q, g in judged]
    fit = fit_fusion(routes)
    weights = ", ".join(f"{route} {weight:g}" for route, weight in fit.weights.items())
    say(
        "",
        f"Weights fitted ({weights}), measured on the other half: nDCG@10 {100 * fit.convex:.1f}, by ranks "
        f"{100 * fit.rrf:.1f}, gain {100 * fit.gain:+.1f} [{100 * fit.low:+.1f}, {100 * fit.high:+.1f}]. "
        + sureness(routes),
        "",
    )
    return lines


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
        result = clew.search(question.question, kbs=[kb], mode="single", kind="fact", overlay=overlay)
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


def sureness(judged: Sequence[JudgedRoutes]) -> str:
    """How often the best passage supports the answer where ``retrieval.hyde = "when_weak"`` spares the model's call."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for each in judged:
        [best, *_] = reciprocal_rank_fusion("", each.routes) or [None]
        right[is_sure(best)].append(best is not None and any(best.parent_id in group for group in each.groups))
    sure, unsure = (100 * statistics.fmean(right[kind] or [0]) for kind in (True, False))
    return (
        f"Keywords and vectors agree about the first passage for {len(right[True])} of {len(judged)}; it is right in "
        f"{sure:.0f} % of them, elsewhere in {unsure:.0f} %."
    )


def replace_after(path: Path, marker: str, lines: Sequence[str]) -> None:
    """Put ``lines`` between two markers of a Markdown file."""
    head, rest = path.read_text(encoding="utf-8").split(marker)
    _, end, tail = rest.partition("<!-- end of ablation -->")
    path.write_text(head + marker + "\n".join(lines) + "\n" + end + tail, encoding="utf-8")


def _interval(gains: Floats) -> str:
    picks = np.random.default_rng(0).integers(0, len(gains), (2000, len(gains)))
    low, high = np.quantile(gains[picks].mean(axis=1), [0.025, 0.975])
    return f"{100 * gains.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


if __name__ == "__main__":
    main()
