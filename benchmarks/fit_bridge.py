"""Fits the bridge planner's models on multi-hop question sets, and shows by two-fold cross-fitting what they reach.

    python benchmarks/fit_bridge.py --data DATA --folder WORK [--chinese OUT] [--sets NAME …] [--every N] [--write]

DATA holds ``retrieval/NAME.corpus.jsonl.gz`` and ``NAME.queries.jsonl.gz``; WORK is a Clew data folder that keeps the
corpora between runs; OUT is what ``benchmarks/compose_two_hop.py`` wrote. Each language has models of its own; in
Chinese only the final order is fitted, for its few questions are too few to learn from which bridges to follow (fitted
on them, the rounds end early: both passages among the candidates for 70 % of the questions instead of 91 %). Models of
each half are fitted on the other half of all sets of the language, each set with the same weight. ``--write`` stores
the models fitted on all questions in the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from clew.app import Clew
from clew.evaluation.corpus import CorpusKb, open_corpus
from clew.evaluation.datasets import LabelledQuestion, read_corpus, read_queries
from clew.evaluation.measures import all_support_at, group_ranks, recall_at
from clew.evaluation.runs import SINGLE_LOOK_UPS
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
CHINESE = ("two_hop_zh", "two_hop_zh_rest")
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


def logistic(
    rows: FloatArray, labels: np.ndarray[Any, Any], weights: np.ndarray[Any, Any], *, penalty: float = PENALTY
) -> LinearModel:
    """Ridge logistic regression on standardised features by Newton's method, its weights for the raw features."""
    mean, scale = rows.mean(0), rows.std(0)
    scale[scale == 0] = 1.0
    x = np.column_stack([(rows - mean) / scale, np.ones(len(rows))]).astype(np.float64)
    weights = weights / weights.mean()
    ridge = np.append(np.full(rows.shape[1], penalty), 0.0)
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (weights * (p - labels)) + ridge * beta
        curvature = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(ridge) + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-6:
            break
    raw = beta[:-1] / scale
    return LinearModel(tuple(float(w) for w in raw), float(beta[-1] - raw @ mean))


class Bench:
    """Runs questions with given models."""

    def __init__(self, clew: Clew, sets: Sequence[QuestionSet], start: BridgeModels, only_final: bool) -> None:
        self.clew = clew
        self.sets = sets
        self.start = start
        """Leads the first look-up of a fit; its own models come after it."""
        self.only_final = only_final
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
        models = self.start if self.only_final else self.fit_bridges(chosen)
        final = Samples()
        for which in self.sets:
            for question in chosen[which.name]:
                run = self.run(which, question.question, models, which.kb.settings.recursion.max_rounds)
                evidence = run.planner.evidence(run.situation())
                passages = [evidence.passages[c.chunk_id] for c in run.state.pool]
                labels = self.labels(which, question, passages)
                final.add(bridging.final_features(passages, evidence), labels, len(chosen[which.name]))
        return BridgeModels(models.first, models.link, models.entity, final.fit())

    def fit_bridges(self, chosen: Mapping[str, Sequence[LabelledQuestion]]) -> BridgeModels:
        """The models that lead from round to round; the final order is left open."""
        first, link, entity = Samples(), Samples(), Samples()
        begun = [
            (s, q, len(chosen[s.name]), self.run(s, q.question, self.start, 1))
            for s in self.sets
            for q in chosen[s.name]
        ]
        evidences = [run.planner.evidence(run.situation()) for _, _, _, run in begun]
        for (which, question, n, run), evidence in zip(begun, evidences, strict=True):
            passages = [evidence.passages[c.chunk_id] for c in run.state.pool]
            first.add(bridging.first_features(passages), self.labels(which, question, passages), n)
        models = BridgeModels(first.fit(), self.start.link, self.start.entity, NONE)
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
        return BridgeModels(models.first, link.fit(), entity.fit(), NONE)

    def single(self, which: QuestionSet, question: LabelledQuestion, overlay: Mapping[str, Any]) -> list[str]:
        """Passages of one look-up, best first."""
        kb_id = which.corpus.kb_id
        hits = self.clew.search(question.question, kbs=[kb_id], mode="single", kind="fact", overlay=overlay).hits
        return list(dict.fromkeys(which.corpus.passage_of[hit.section_path] for hit in hits))

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


def cross_fit(bench: Bench) -> None:
    """Print what models reach on questions that they were not fitted on, and the gain over each single look-up."""
    ranks: dict[str, list[list[int | None]]] = {s.name: [] for s in bench.sets}
    gains: dict[str, dict[str, list[float]]] = {s.name: {only: [] for only in SINGLE_LOOK_UPS} for s in bench.sets}
    for half in (0, 1):
        models = bench.fit({s.name: s.questions[1 - half :: 2] for s in bench.sets})
        for which in bench.sets:
            for question in which.questions[half::2]:
                run = bench.run(which, question.question, models, which.kb.settings.recursion.max_rounds)
                multi = group_ranks(bench.ranking(which, run), question.groups)
                ranks[which.name].append(multi)
                for only, overlay in SINGLE_LOOK_UPS.items():
                    alone = group_ranks(bench.single(which, question, overlay), question.groups)
                    gains[which.name][only].append(all_support_at(multi, 5) - all_support_at(alone, 5))
    for name, found in ranks.items():
        recall = interval([recall_at(r, 5) for r in found])
        whole = interval([all_support_at(r, 5) for r in found])
        print(f"{name} ({len(found)}): recall@5 {_percent(recall)}, all_support@5 {_percent(whole)}")
        for only, gain in gains[name].items():
            print(f"    gain over {only}: {_percent(interval(gain))}")


def _percent(value: tuple[float, float, float]) -> str:
    mean, low, high = (100 * v for v in value)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def load(clew: Clew, folder: Path, name: str, corpus_name: str, every: int, end: str) -> QuestionSet:
    """A question set and its KB; ``every``: only each so many-th question."""
    passages = read_corpus(folder / f"{corpus_name}.corpus.jsonl{end}")
    corpus = open_corpus(clew, f"{corpus_name}.corpus.jsonl{end}", passages, on_progress=lambda *_: None)
    questions = [q for q in read_queries(folder / f"{name}.queries.jsonl{end}") if q.groups][::every]
    kb = clew.kb(corpus.kb_id)
    searched = SearchedKb(kb, clew.settings.for_kb(kb.settings), clew.embedder)
    texts = {p.id: f" {fold_name(f'{p.title} {p.text}')} " for p in passages}
    return QuestionSet(name, corpus, searched, questions, texts)


def write(fitted: Mapping[str, BridgeModels]) -> None:
    """Store the models: English ones whole, of another language what was fitted for it."""

    def weights(model: LinearModel, features: Sequence[str], indent: str) -> list[str]:
        values = [("bias", model.bias), *zip(features, model.weights, strict=True)]
        return [f'{indent}"{key}": {value:.4f},' for key, value in values]

    lines = ['"""Weights of the bridge planner\'s models, by language; written by ``benchmarks/fit_bridge.py``."""', ""]
    lines += ["from dataclasses import replace", ""]
    lines += ["from clew.retrieval.bridging import FINAL, model_from, models_from", "", "# fmt: off"]
    lines.append("ENGLISH = models_from({")
    english = fitted["en"]
    for name, model, features in (
        ("first", english.first, bridging.FIRST),
        ("link", english.link, bridging.LINK),
        ("entity", english.entity, bridging.ENTITY),
        ("final", english.final, bridging.FINAL),
    ):
        lines += [f'    "{name}": {{', *weights(model, features, " " * 8), "    },"]
    lines += ["})", "", "MODELS = {", '    "en": ENGLISH,']
    for language in fitted.keys() - {"en"}:
        lines.append(f'    "{language}": replace(ENGLISH, final=model_from(FINAL, {{')
        lines += [*weights(fitted[language].final, bridging.FINAL, " " * 8), "    })),"]
    path = Path(bridging.__file__).with_name("bridge_weights.py")
    path.write_text("\n".join([*lines, "}", "# fmt: on", ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--chinese", type=Path, help="what benchmarks/compose_two_hop.py wrote")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--every", type=int, default=1, help="of the largest set, only each so many-th question")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    fitted = dict(MODELS)
    with Clew.open(arguments.folder) as clew:
        groups: dict[str, list[QuestionSet]] = {}
        if arguments.sets:
            folder = arguments.data / "retrieval"
            every = {SETS[-1]: arguments.every}
            groups["en"] = [load(clew, folder, name, name, every.get(name, 1), ".gz") for name in arguments.sets]
        if arguments.chinese:
            groups["zh"] = [load(clew, arguments.chinese, name, CHINESE[0], 1, "") for name in CHINESE]
        for language, sets in groups.items():
            bench = Bench(clew, sets, fitted["en"], only_final=language != "en")
            cross_fit(bench)
            if arguments.write:
                fitted[language] = bench.fit({s.name: s.questions for s in sets})
    if arguments.write:
        write(fitted)


if __name__ == "__main__":
    main()
