"""One pass over the parent, pooled per child and sentence window, against a pass for each: recall and cost.

    python benchmarks/late_chunking.py --models DIR --data RETRIEVAL_DIR SET[:PASSAGES] …

For each set: vectors of parents (l1), children (l2) and windows of three sentences (l3) in both ways; rankings of
parents by exact cosine, alone and fused with each other by RRF; R@5 and nDCG@10 over the questions whose support lies
in the passages taken; encoder passes, tokens and processor seconds. A parent counts as found where it belongs to the
supporting passage and, in sets with reference sentences, holds one of them.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import read_corpus, read_queries
from clew.evaluation.support import Support
from clew.indexing.chunking import chunk_file
from clew.models.local import OnnxEmbedder, embedded_embedder
from clew.text.sentences import sentence_spans
from clew.types import ChildChunk, FloatArray, ParentChunk

WINDOW = 3
QUESTIONS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--child-tokens", type=int, default=256)
    parser.add_argument("sets", nargs="+")
    arguments = parser.parse_args()
    embedder = embedded_embedder(arguments.models)
    for name in arguments.sets:
        measure(embedder, arguments.data, *name.partition(":")[::2], arguments.child_tokens)


def measure(embedder: OnnxEmbedder, data: Path, name: str, size: str, child_tokens: int) -> None:
    passages = read_corpus(data / f"{name}.corpus.jsonl.gz")[: int(size) if size else None]
    parsed = parsed_corpus(passages)
    parents, children = chunk_file(
        "f", parsed, count_tokens=embedder.count_tokens, token_offsets=embedder.token_offsets,
        parent_tokens=1024, child_tokens=child_tokens, overlap_tokens=32,
    )  # fmt: skip
    of_passage = defaultdict(list)
    for parent in parents:
        of_passage[passages[int(parent.section_path.strip("/")) - 1].id].append(parent)
    place = {parent.chunk_id: i for i, parent in enumerate(parents)}
    support = Support(of_passage)
    asked = []
    for question in read_queries(data / f"{name}.queries.jsonl.gz"):
        groups = support.groups(question)
        if groups:
            asked.append((question.question, [{place[id] for id in group} for group in groups]))
    asked = asked[:: max(1, len(asked) // QUESTIONS)][:QUESTIONS]
    queries = embedder.embed_queries([question for question, _ in asked])
    print(f"{name}: {len(passages)} passages, {len(parents)} parents, {len(children)} children, {len(asked)} questions")
    for way in (separate, late):
        start = time.process_time()
        vectors, owners, passes, tokens = way(embedder, parents, children)
        seconds = time.process_time() - start
        rankings = {key: ranked(queries, vectors[key], owners[key]) for key in vectors}
        print(f"  {way.__name__}: {passes} passes, {tokens} tokens, {seconds:.0f} s")
        for keys in (("l1",), ("l2",), ("l3",), ("l1", "l2"), ("l2", "l3"), ("l1", "l2", "l3")):
            order = [fused([rankings[key][i] for key in keys]) for i in range(len(asked))]
            recall, gain = scored(order, [wanted for _, wanted in asked])
            print(f"    {'+'.join(keys):10} R@5 {100 * recall:5.1f}  nDCG@10 {100 * gain:5.1f}", flush=True)


def text_of(titles: Sequence[str], text: str) -> str:
    return "\n".join([*[t for t in [" > ".join(titles)[-160:]] if t], text])


def windows(text: str) -> list[tuple[int, int]]:
    spans = sentence_spans(text)
    step = WINDOW - 1
    groups = [spans[i : i + WINDOW] for i in range(0, max(1, len(spans) - 1), step)]
    return [(group[0][0], group[-1][1]) for group in groups if group]


def separate(embedder: OnnxEmbedder, parents: Sequence[ParentChunk], children: Sequence[ChildChunk]):
    texts: dict[str, list[str]] = {"l1": [], "l2": [], "l3": []}
    owners: dict[str, list[int]] = {"l1": [], "l2": [], "l3": []}
    place = {parent.chunk_id: i for i, parent in enumerate(parents)}
    for i, parent in enumerate(parents):
        spans = embedder.token_offsets(parent.text)
        for first in range(0, max(1, len(spans) - 110), 330):
            last = min(len(spans), first + 440)
            piece = parent.text[spans[first][0] : spans[last - 1][1]] if spans else parent.text
            texts["l1"].append(text_of(parent.section_titles, piece))
            owners["l1"].append(i)
    for child in children:
        texts["l2"].append(text_of(child.section_titles, child.text))
        owners["l2"].append(place[child.parent_id])
        for start, end in windows(child.text):
            texts["l3"].append(text_of(child.section_titles, child.text[start:end]))
            owners["l3"].append(place[child.parent_id])
    vectors = {key: embedder.embed_passages(each) for key, each in texts.items()}
    tokens = sum(embedder.count_tokens(text) for each in texts.values() for text in each)
    return vectors, owners, sum(map(len, texts.values())), tokens


def late(embedder: OnnxEmbedder, parents: Sequence[ParentChunk], children: Sequence[ChildChunk]):
    vectors: dict[str, list[FloatArray]] = {"l1": [], "l2": [], "l3": []}
    owners: dict[str, list[int]] = {"l1": [], "l2": [], "l3": []}
    of_parent = defaultdict(list)
    for child in children:
        of_parent[child.parent_id].append(child)
    tokens = 0
    for i, parent in enumerate(parents):
        text = text_of(parent.section_titles, parent.text)
        shift = len(text) - len(parent.text)
        tokens += embedder.count_tokens(text)
        spans: list[tuple[str, int, int]] = [("l1", 0, len(text))]
        for child in of_parent[parent.chunk_id]:
            spans.append(("l2", child.start + shift, child.end + shift))
            own = parent.text[child.start : child.end]
            spans += [("l3", a + child.start + shift, b + child.start + shift) for a, b in windows(own)]
        for (key, _, _), vector in zip(spans, embedder.embed_spans([text], [[s[1:] for s in spans]])[0], strict=True):
            vectors[key].append(vector)
            owners[key].append(i)
    return {key: np.stack(each) for key, each in vectors.items()}, owners, len(parents), tokens


def ranked(queries: FloatArray, vectors: FloatArray, owners: Sequence[int], limit: int = 100) -> list[list[int]]:
    orders = []
    for scores in queries @ vectors.T:
        best: dict[int, None] = {}
        for i in np.argsort(-scores)[: 10 * limit]:
            best.setdefault(owners[i])
        orders.append(list(best)[:limit])
    return orders


def fused(rankings: Sequence[Sequence[int]], k: int = 60) -> list[int]:
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, parent in enumerate(ranking, start=1):
            scores[parent] += 1 / (k + rank)
    return sorted(scores, key=lambda parent: -scores[parent])


def scored(orders: Sequence[Sequence[int]], wanted: Sequence[list[set[int]]]) -> tuple[float, float]:
    recalls, gains = [], []
    for order, groups in zip(orders, wanted, strict=True):
        rank = {parent: i for i, parent in enumerate(order, start=1)}
        ranks = [min((rank[p] for p in group if p in rank), default=math.inf) for group in groups]
        recalls.append(sum(r <= 5 for r in ranks) / len(ranks))
        ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(ranks))))
        gains.append(min(1.0, sum(1 / math.log2(r + 1) for r in ranks if r <= 10) / ideal))
    return sum(recalls) / len(recalls), sum(gains) / len(gains)


if __name__ == "__main__":
    main()
