"""Whether a small learned model orders passages better than fusion does, on sets it never saw.

    python benchmarks/fit_ranker.py --models DIR --data RETRIEVAL_DIR --work DIR SET[:PASSAGES] …

Reads the knowledge bases that ``benchmarks/retrieval.py`` keeps in ``--work``. For each question the best 20 parents of
the fused ranking get features (fused, BM25 and cosine scores, how much of the question's rare terms, names and numbers
passage, best sentence and titles hold, whether a figure is there where one is asked for). A linear model is fitted to
pairs of a supporting and another passage (logistic loss), on all sets but one, and orders the one that was left out.
Gains in nDCG@10 and R@5 over the fused order are paired, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.app import Clew
from clew.evaluation.datasets import LabelledQuestion, read_corpus, read_queries
from clew.evaluation.measures import group_ranks, ndcg_at, recall_at
from clew.evaluation.support import Groups, Support
from clew.retrieval.fusion import reciprocal_rank_fusion
from clew.text.entities import extract_entities
from clew.text.sentences import split_sentences
from clew.text.tokenizing import query_terms, tokenize
from clew.types import Candidate, ParentChunk, Representation

Floats = NDArray[np.float64]

PLACES = 20
ONLY = {"representations": {each.value: each.value in {"bm25", "l2"} for each in Representation}}
FEATURES = (
    "fused", "bm25", "cosine", "rank of bm25", "rank of cosine", "terms", "best sentence", "titles", "names", "numbers",
    "figure asked and there", "length",
)  # fmt: skip
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")
_ASKS_FIGURE = re.compile(
    r"多少|几[个年月日人次]|比例|百分|金额|how (?:many|much|long|far|old)|what (?:percent|share|year)|when", re.I
)
_RIDGE = 1e-3
_STEPS = 300


@dataclass(frozen=True)
class Asked:
    """A question's candidates: features (candidates, features), the parents in fused order, and the groups."""

    features: Floats
    parents: list[str]
    groups: Groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("sets", nargs="+")
    arguments = parser.parse_args()
    asked: dict[str, list[Asked]] = {}
    with Clew.open(arguments.work, overrides={"models": {"folder": str(arguments.models)}}) as clew:
        for chosen in arguments.sets:
            name, _, size = chosen.partition(":")
            passages = read_corpus(arguments.data / f"{name}.corpus.jsonl.gz")[: int(size) if size else None]
            questions = read_queries(arguments.data / f"{name}.queries.jsonl.gz")
            ids = [passage.id for passage in passages]
            asked[chosen] = gathered(clew, f"{name}-{len(passages)}", ids, questions, arguments.questions)
            print(f"{chosen}: {len(asked[chosen])} questions", flush=True)
    random = np.random.default_rng(0)
    for held_out in asked:
        weights = fitted([each for name, rows in asked.items() if name != held_out for each in rows])
        report(held_out, asked[held_out], weights, random)
    weights = fitted([each for rows in asked.values() for each in rows])
    print("weights on all: " + ", ".join(f"{n} {w:.2f}" for n, w in zip(FEATURES, weights, strict=True)))


def gathered(clew: Clew, kb: str, ids: Sequence[str], questions: Sequence[LabelledQuestion], limit: int) -> list[Asked]:
    [file] = clew.list_files(kb)
    parents = {parent.chunk_id: parent for parent in clew.file_parents(file.file_id)}
    of_passage = defaultdict[str, list[ParentChunk]](list)
    for parent in parents.values():
        of_passage[ids[int(parent.section_path.strip("/")) - 1]].append(parent)
    support = Support(of_passage)
    judged = [(q.question, groups) for q in questions if (groups := support.groups(q))]
    rows = []
    for question, groups in (judged[i * len(judged) // limit] for i in range(min(limit, len(judged)))):
        [(_, routes)] = clew.routes(question, kbs=[kb], overlay=ONLY).routes
        best: dict[str, Candidate] = {}
        for candidate in reciprocal_rank_fusion(kb, routes):
            best.setdefault(candidate.parent_id, candidate)
        chosen = list(best.values())[:PLACES]
        if len(chosen) > 1:
            features = features_of(question, chosen, [parents[c.parent_id] for c in chosen])
            rows.append(Asked(features, [c.parent_id for c in chosen], groups))
    return rows


def features_of(question: str, candidates: Sequence[Candidate], parents: Sequence[ParentChunk]) -> Floats:
    terms = query_terms(question)
    names = {entity.text.casefold() for entity in extract_entities(question)}
    numbers = set(_NUMBER.findall(question))
    texts = [set(tokenize(parent.text)) for parent in parents]
    found = Counter(term for text in texts for term in text & set(terms))
    rarity = {term: math.log(1 + len(parents) / (1 + found[term])) for term in terms}
    total = sum(rarity.values()) or 1.0

    def share(words: set[str]) -> float:
        return sum(rarity[term] for term in terms if term in words) / total

    asks = bool(_ASKS_FIGURE.search(question))
    highest = max(c.score for c in candidates)
    bm25 = max((c.scores.get("bm25", 0.0) for c in candidates), default=0.0) or 1.0
    cosines = [c.scores["l2"] for c in candidates if "l2" in c.scores] or [0.0]
    low, spread = min(cosines), (max(cosines) - min(cosines)) or 1.0
    rows = []
    for candidate, parent, text in zip(candidates, parents, texts, strict=True):
        folded = parent.text.casefold()
        rows.append([
            candidate.score / highest,
            candidate.scores.get("bm25", 0.0) / bm25,
            (candidate.scores["l2"] - low) / spread if "l2" in candidate.scores else 0.0,
            1 / candidate.ranks.get("bm25", 100),
            1 / candidate.ranks.get("l2", 100),
            share(text),
            max((share(set(tokenize(each))) for each in split_sentences(parent.text)), default=0.0),
            share(set(tokenize(" ".join(parent.section_titles)))),
            sum(name in folded for name in names) / (len(names) or 1),
            sum(number in parent.text for number in numbers) / (len(numbers) or 1),
            float(asks and bool(_NUMBER.search(parent.text))),
            math.log1p(parent.tokens) / 7,
        ])  # fmt: skip
    return np.array(rows)


def fitted(rows: Sequence[Asked]) -> Floats:
    """Weights of the logistic loss over pairs; each question counts the same, however many pairs it has."""
    differences: list[Floats] = []
    shares: list[float] = []
    for row in rows:
        good = [any(parent in group for group in row.groups) for parent in row.parents]
        pairs = [
            row.features[i] - row.features[j]
            for i in range(len(good)) for j in range(len(good)) if good[i] and not good[j]
        ]  # fmt: skip
        if not pairs:
            continue
        differences += pairs
        shares += [1 / len(pairs)] * len(pairs)
    matrix, weight = np.array(differences), np.array(shares)
    scale = matrix.std(axis=0)
    scale[scale == 0] = 1.0
    scaled, weight = matrix / scale, weight / weight.sum()
    weights = np.zeros(matrix.shape[1])
    for _ in range(_STEPS):
        slope = 1 / (1 + np.exp(np.clip(scaled @ weights, -30, 30)))
        weights += 0.5 * (scaled.T @ (weight * slope) - _RIDGE * weights)
    return weights / scale


def report(name: str, rows: Sequence[Asked], weights: Floats, random: np.random.Generator) -> None:
    for measure, value in (("nDCG@10", lambda ranks: ndcg_at(ranks, 10)), ("R@5", lambda ranks: recall_at(ranks, 5))):
        before = np.array([value(group_ranks(row.parents, row.groups)) for row in rows])
        order = [[row.parents[i] for i in np.argsort(-(row.features @ weights), kind="stable")] for row in rows]
        after = np.array([value(group_ranks(o, row.groups)) for o, row in zip(order, rows, strict=True)])
        gain = after - before
        means = gain[random.integers(0, len(gain), (2000, len(gain)))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        print(
            f"{name}, left out: {measure} fused {100 * before.mean():.1f}, learned {100 * after.mean():.1f}, "
            f"gain {100 * gain.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
            flush=True,
        )


if __name__ == "__main__":
    main()
