"""Fits the bridge planner's models on multi-hop question sets, and shows by two-fold cross-fitting what they reach.

    python benchmarks/fit_bridge.py --data DATA --folder WORK [--sets NAME …] [--write]

DATA holds ``retrieval/NAME.corpus.jsonl.gz`` and ``NAME.queries.jsonl.gz``; WORK is a Clew data folder that keeps the
corpora's vectors between runs. The models of each half are fitted on the other half of all sets, each set with the
same weight. ``--write`` stores the models fitted on all questions in the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from clew.app import Clew
from clew.evaluation.corpus import CorpusKb, open_corpus
from clew.evaluation.datasets import LabelledQuestion, read_corpus, read_queries
from clew.evaluation.measures import all_support_at, group_ranks, recall_at
from clew.retrieval import bridging
from clew.retrieval.bridge_planner import BridgePlanner
from clew.retrieval.bridge_weights import MODELS
from clew.retrieval.bridging import BridgeModels, LinearModel
from clew.retrieval.planners import Situation, Variant
from clew.retrieval.recall import Recall, Recalled, SearchedKb, make_queries, make_query
from clew.retrieval.recursion import Limits, Recursion, run_rounds
from clew.text.names import fold_name
from clew.types import ChildChunk, FloatArray, Query, Scope

SETS = ("2wiki_gold", "musique_train", "hotpotqa_tune")
PENALTY = 10.0
"""Of the squared standardised weights, against a log-likelihood whose samples have mean weight 1."""
NONE = LinearModel((0.0,) * len(bridging.FINAL), 0.0)


@dataclass
class QuestionSet:
    """A corpus in its KB, and its answerable questions."""

    name: str
    corpus: CorpusKb
    kb: SearchedKb
    questions: list[LabelledQuestion]
    texts: dict[str, str]
    """Folded text by passage, to see which names occur in it."""


@dataclass
class Run:
    """One question after its rounds."""

    planner: BridgePlanner
    state: Recursion
    queries: Mapping[str, Query]

    def situation(self) -> Situation:
        return self.state.situation(self.queries, len(self.state.asked), 0)


class Samples:
    """Rows for one model."""

    def __init__(self) -> None:
        self.rows: list[FloatArray] = []
        self.labels: list[bool] = []
        self.weights: list[float] = []

    def add(self, rows: FloatArray, labels: Sequence[bool], questions: int) -> None:
        if len(rows):
            self.rows.append(rows)
            self.labels += labels
            self.weights += [1.0 / questions] * len(rows)

    def fit(self) -> LinearModel:
        return logistic(np.concatenate(self.rows), np.asarray(self.labels, float), np.asarray(self.weights))


def logistic(rows: FloatArray, labels: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> LinearModel:
    """Ridge logistic regression on standardised features by Newton's method, its weights for the raw features."""
    mean, scale = rows.mean(0), rows.std(0)
    scale[scale == 0] = 1.0
    x = np.column_stack([(rows - mean) / scale, np.ones(len(rows))]).astype(np.float64)
    weights = weights / weights.mean()
    penalty = np.append(np.full(rows.shape[1], PENALTY), 0.0)
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (weights * (p - labels)) + penalty * beta
        curvature = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(penalty) + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-6:
            break
    raw = beta[:-1] / scale
    return LinearModel(tuple(float(w) for w in raw), float(beta[-1] - raw @ mean))


class Bench:
    """Runs questions with given models."""

    def __init__(self, clew: Clew, sets: Sequence[QuestionSet]) -> None:
        self.clew = clew
        self.sets = sets
        self.recall = Recall(clew.records, clew.index)

    def run(self, which: QuestionSet, question: str, models: BridgeModels, rounds: int) -> Run:
        kb = which.kb
        scope = Scope((kb.kb.kb_id,))
        query = make_query(question, kb)
        planner = BridgePlanner(self.clew.names.of(scope.kb_ids), self.clew.index, self.clew.records, scope, models)

        def look_up(variants: Sequence[Variant], round: int) -> list[Recalled]:
            texts = [variant.text for variant in variants]
            asking = [(kb, query)] if round == 1 else make_queries(texts, kb)
            return [
                self.recall.look_up([asked], scope, round=round, linked=variant.linked)
                for variant, asked in zip(variants, asking, strict=True)
            ]

        retrieval, recursion = kb.settings.retrieval, kb.settings.recursion
        limits = Limits(
            rounds,
            recursion.new_candidates_per_round,
            recursion.new_candidates_per_parent,
            retrieval.context_budget_tokens,
            rounds + 3,
        )
        steps = run_rounds({kb.kb.kb_id: query}, planner, look_up, limits)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return Run(planner, cast(Recursion, end.value), {kb.kb.kb_id: query})

    def ranking(self, which: QuestionSet, run: Run) -> list[str]:
        order = run.planner.order(run.situation())
        return list(dict.fromkeys(passage_of(which, run.state.chunks[c.chunk_id]) for c in order))

    def fit(self, chosen: Mapping[str, Sequence[LabelledQuestion]]) -> BridgeModels:
        """All models, each from what the ones before it make of the questions."""
        first, link, entity, final = Samples(), Samples(), Samples(), Samples()
        begun = [
            (s, q, len(chosen[s.name]), self.run(s, q.question, MODELS, 1)) for s in self.sets for q in chosen[s.name]
        ]
        evidences = [run.planner.evidence(run.situation()) for _, _, _, run in begun]
        for (which, question, n, run), evidence in zip(begun, evidences, strict=True):
            passages = [evidence.passages[c.chunk_id] for c in run.state.pool]
            first.add(bridging.first_features(passages), self.labels(which, question, passages), n)
        models = BridgeModels(first.fit(), MODELS.link, MODELS.entity, NONE)
        for (which, question, n, run), evidence in zip(begun, evidences, strict=True):
            pool = [c.chunk_id for c in run.state.pool]
            rows = bridging.first_features([evidence.passages[c] for c in pool])
            evidence.first = dict(zip(pool, models.first.probabilities(rows).tolist(), strict=True))
            passages = list(evidence.passages.values())
            link.add(bridging.link_features(passages, evidence), self.labels(which, question, passages), n)
            seen = run.planner.entities(run.situation(), evidence)
            missing = missing_texts(which, question, run)
            rows = bridging.entity_features(seen, evidence, run.planner.relation_terms(question.question))
            entity.add(rows, [any(f" {name} " in text for text in missing) for _, name, _, _ in seen], n)
        models = BridgeModels(models.first, link.fit(), entity.fit(), NONE)
        for which in self.sets:
            for question in chosen[which.name]:
                run = self.run(which, question.question, models, which.kb.settings.recursion.max_rounds)
                evidence = run.planner.evidence(run.situation())
                passages = [evidence.passages[c.chunk_id] for c in run.state.pool]
                labels = self.labels(which, question, passages)
                final.add(bridging.final_features(passages, evidence), labels, len(chosen[which.name]))
        return BridgeModels(models.first, models.link, models.entity, final.fit())

    def labels(
        self, which: QuestionSet, question: LabelledQuestion, passages: Sequence[bridging.Passage]
    ) -> list[bool]:
        support = frozenset().union(*question.groups)
        chunks = self.clew.records.children([p.chunk_id for p in passages])
        return [passage_of(which, chunks[p.chunk_id]) in support for p in passages]


def passage_of(which: QuestionSet, chunk: ChildChunk) -> str:
    return which.corpus.passage_of[chunk.section_path]


def missing_texts(which: QuestionSet, question: LabelledQuestion, run: Run) -> list[str]:
    found = {passage_of(which, chunk) for chunk in run.state.chunks.values()}
    return [which.texts[p] for group in question.groups for p in group if p not in found]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and its 95 % bootstrap interval."""
    x = np.asarray(values, float)
    means = x[np.random.default_rng(0).integers(0, len(x), (5000, len(x)))].mean(1)
    return float(x.mean()), float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def cross_fit(bench: Bench, single: Callable[[QuestionSet, LabelledQuestion], list[str]]) -> None:
    ranks: dict[str, list[list[int | None]]] = {s.name: [] for s in bench.sets}
    gains: dict[str, list[float]] = {s.name: [] for s in bench.sets}
    for half in (0, 1):
        models = bench.fit({s.name: s.questions[1 - half :: 2] for s in bench.sets})
        for which in bench.sets:
            for question in which.questions[half::2]:
                run = bench.run(which, question.question, models, which.kb.settings.recursion.max_rounds)
                multi = group_ranks(bench.ranking(which, run), question.groups)
                ranks[which.name].append(multi)
                alone = group_ranks(single(which, question), question.groups)
                gains[which.name].append(all_support_at(multi, 5) - all_support_at(alone, 5))
    for name, found in ranks.items():
        recall = interval([recall_at(r, 5) for r in found])
        whole = interval([all_support_at(r, 5) for r in found])
        gain = interval(gains[name])
        print(f"{name}: recall@5 {_percent(recall)}, all_support@5 {_percent(whole)}, gain {_percent(gain)}")


def _percent(value: tuple[float, float, float]) -> str:
    mean, low, high = (100 * v for v in value)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def load(clew: Clew, data: Path, names: Sequence[str], limit: int | None) -> Iterator[QuestionSet]:
    for name in names:
        passages = read_corpus(data / "retrieval" / f"{name}.corpus.jsonl.gz")
        corpus = open_corpus(clew, name, passages, on_progress=lambda *_: None)
        questions = [q for q in read_queries(data / "retrieval" / f"{name}.queries.jsonl.gz") if q.groups][:limit]
        kb = clew.kb(corpus.kb_id)
        searched = SearchedKb(kb, clew.settings.for_kb(kb.settings), clew.embedder)
        texts = {p.id: f" {fold_name(f'{p.title} {p.text}')} " for p in passages}
        yield QuestionSet(name, corpus, searched, questions, texts)


def write(models: BridgeModels) -> None:
    path = Path(bridging.__file__).with_name("bridge_weights.py")
    lines = ['"""Weights of the bridge planner\'s models; written by ``benchmarks/fit_bridge.py``."""', ""]
    lines += ["from clew.retrieval.bridging import models_from", "", "MODELS = models_from({"]
    for name, model, features in (
        ("first", models.first, bridging.FIRST),
        ("link", models.link, bridging.LINK),
        ("entity", models.entity, bridging.ENTITY),
        ("final", models.final, bridging.FINAL),
    ):
        values = [("bias", model.bias), *zip(features, model.weights, strict=True)]
        lines += [f'    "{name}": {{', *(f'        "{key}": {value:.4f},' for key, value in values), "    },"]
    path.write_text("\n".join([*lines, "})  # fmt: skip", ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with Clew.open(arguments.folder) as clew:
        bench = Bench(clew, list(load(clew, arguments.data, arguments.sets, arguments.limit)))

        def single(which: QuestionSet, question: LabelledQuestion) -> list[str]:
            hits = clew.search(question.question, kbs=[which.corpus.kb_id], mode="single").hits
            return list(dict.fromkeys(which.corpus.passage_of[hit.section_path] for hit in hits))

        cross_fit(bench, single)
        if arguments.write:
            write(bench.fit({s.name: s.questions for s in bench.sets}))


if __name__ == "__main__":
    main()
