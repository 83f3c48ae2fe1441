"""Fits the model that looks at the first look-up of an undecided question, and shows what it does to unseen sources.

    python benchmarks/fit_first_look.py collect --data DATA --folder WORK --out rows.jsonl [--chinese OUT]
        --set hotpotqa_tune 220 --set xquad_en 120 …
    python benchmarks/fit_first_look.py fit rows.jsonl … [--write]

``collect`` looks every question up both ways, in one look-up and in rounds, and keeps what the first look-up showed
(so many questions of each set, drawn at random; ``musique_steps`` are the single hops that MuSiQue's questions are
composed of; ``two_hop_zh`` is taken from OUT, where ``benchmarks/compose_two_hop.py`` wrote it). Nothing may have seen
the source that it is scored on: for each of the sets that the bridge planner's models are fitted on, these are fitted
again without it, and everything is also seen with them. What the decision by the question alone knows never saw these
sets (docs/complexity.md).

``fit`` leaves each source out in turn: the weights come from the undecided questions of the others. Printed is, per
set, recall of one look-up, of rounds, of the decision by the question alone and with the first look; the share of the
gain of rounds that it keeps; and the cost: questions in rounds, rounds, processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew.app import Clew
from clew.evaluation.corpus import CorpusKb, open_corpus
from clew.evaluation.datasets import LabelledQuestion, Passage, read_corpus, read_jsonl, read_queries
from clew.evaluation.measures import all_support_at, group_ranks, recall_at
from clew.retrieval import first_look
from clew.retrieval.bridge_planner import BridgePlanner
from clew.retrieval.bridge_weights import MODELS
from clew.retrieval.bridging import BridgeModels
from clew.retrieval.first_look import FEATURES, Weights
from clew.retrieval.pipeline import RetrievalRequest, Retriever
from clew.retrieval.recall import Recall, SearchedKb, make_query
from clew.retrieval.recursion import Limits, after_first
from clew.trace import to_json
from clew.types import RetrievalMode, Scope
from fit_bridge import SETS, Bench, load, logistic

K = 5
PENALTY = 3.0
"""Of the squared standardised weights, against a log-likelihood whose samples have mean weight 1."""
THRESHOLD = 0.15
LEAST_GAIN = 0.02
"""Of rounds over one look-up; a share of less says nothing."""
COMPOSED, STEPS = "musique_train", "musique_steps"
RELATED = {
    "xquad_zh": "XQuAD",
    "xquad_en": "XQuAD",
    "drcd": "DRCD and CMRC",
    "cmrc2018": "DRCD and CMRC",
    "two_hop_zh": "DRCD and CMRC",
    STEPS: COMPOSED,
}
"""Sets of one source; any other set is a source of its own."""
ALL, ENGLISH = "all", "without Chinese"
Language = str
Variants = Mapping[str, Mapping[Language, BridgeModels]]
"""Bridge models by what they have not seen, and by language."""


# --- both ways ---------------------------------------------------------------------------------------------------


def collect(arguments: argparse.Namespace) -> None:
    """Write one line a question."""
    folder = arguments.data / "retrieval"
    with Clew.open(arguments.folder) as clew, arguments.out.open("a", encoding="utf-8") as out:
        variants = fit_variants(clew, folder)
        for name, limit in arguments.set:
            place, end = (arguments.chinese, "") if name == "two_hop_zh" else (folder, ".gz")
            file = f"{COMPOSED if name == STEPS else name}.corpus.jsonl{end}"
            passages = read_corpus(place / file)
            corpus = open_corpus(clew, file, passages, on_progress=lambda *_: None)
            asked = steps(folder, passages) if name == STEPS else read_queries(place / f"{name}.queries.jsonl{end}")
            questions = [q for q in asked if q.groups]
            random.Random(1).shuffle(questions)
            both = BothWays(clew, corpus, variants, name)
            for question in questions[: int(limit)]:
                out.write(json.dumps(both.row(question), ensure_ascii=False) + "\n")
            out.flush()
            print(f"{name}: {len(questions[: int(limit)])} questions", flush=True)


def steps(folder: Path, passages: Sequence[Passage]) -> Iterator[LabelledQuestion]:
    """The single hops that MuSiQue's questions are composed of, as questions of their own, where the passage states
    the answer: one look-up is enough for them, in a corpus where everything leads on."""
    texts = {passage.id: f"{passage.title} {passage.text}".lower() for passage in passages}
    seen = set()
    for row in read_jsonl(folder / f"{COMPOSED}.queries.jsonl.gz"):
        parts = row["decomposition"]
        for number, (part, passage) in enumerate(zip(parts, row["supporting_ids"], strict=False)):
            named = re.sub(r"#(\d)", lambda match, parts=parts: parts[int(match[1]) - 1]["answer"], part["question"])
            words = re.sub(r"\s+([?.,])", r"\1", named).strip()
            question = words[:1].upper() + words[1:].rstrip("?") + "?"
            is_question = ">>" not in words and len(part["question"].split()) > 3
            if is_question and part["answer"].lower() in texts[passage] and question not in seen:
                seen.add(question)
                yield LabelledQuestion(f"{row['id']}-{number}", question, part["answer"], (frozenset([passage]),))


def fit_variants(clew: Clew, folder: Path) -> Variants:
    """The committed bridge models, those without Chinese questions, and for each multi-hop set those without it."""
    variants = {ALL: dict(MODELS), ENGLISH: dict.fromkeys(MODELS, MODELS["en"])}
    sets = [load(clew, folder, name, name, 3 if name == "hotpotqa_tune" else 1, ".gz") for name in SETS]
    for left_out in SETS:
        others = [each for each in sets if each.name != left_out]
        models = Bench(clew, others, MODELS["en"], only_final=False).fit({s.name: s.questions for s in others})
        variants[left_out] = {"en": models, "zh": replace(models, final=MODELS["zh"].final)}
        print(f"bridge models without {left_out}", flush=True)
    return variants


class BothWays:
    """Looks the questions of one set up in one look-up and in rounds."""

    def __init__(self, clew: Clew, corpus: CorpusKb, variants: Variants, name: str) -> None:
        self.clew, self.corpus, self.variants, self.name = clew, corpus, variants, name
        kb = clew.kb(corpus.kb_id)
        self.kb = SearchedKb(kb, clew.settings.for_kb(kb.settings), clew.embedder)
        self.scope = Scope((kb.kb_id,))
        self.recall = Recall(clew.records, clew.index)
        self.models: BridgeModels | None = None
        made = clew.retriever
        # The product's own flow, with a bridge planner whose models are chosen here.
        self.retriever = Retriever(
            clew.records, clew.index, made._decide, self._planner, self._planner, made._decide_kind
        )  # fmt: skip

    def _planner(self, _: Sequence[SearchedKb], scope: Scope, *__: object) -> BridgePlanner:
        return BridgePlanner(self.clew.names.of(scope.kb_ids), self.clew.index, self.clew.records, scope, self.models)

    def row(self, question: LabelledQuestion) -> dict[str, Any]:
        """What both ways find, and what the first look-up shows under every variant of the bridge models."""
        decision = self.clew.route(question.question, record=False)
        query = make_query(question.question, self.kb)
        searched = self.recall.search([(self.kb, query)], self.scope)
        first = self.recall.fuse(searched, self.scope)
        settings = self.kb.settings
        limits = Limits.of(settings.recursion, settings.retrieval.context_budget_tokens, 6)
        outlooks, rounds, spent = {}, {}, 0.0
        for variant, models in self.variants.items():
            self.models = models[query.language]
            started = time.process_time()
            planner = self._planner((), self.scope)
            linked = searched.with_linked(planner.begin({self.kb.kb.kb_id: query}))
            in_rounds = self.recall.fuse(linked, self.scope, in_rounds=True)
            situation = after_first({self.kb.kb.kb_id: query}, in_rounds, limits)
            outlooks[variant] = planner.outlook(situation)
            spent = spent or time.process_time() - started
            if variant in (ALL, RELATED.get(self.name, self.name)):
                rounds[variant] = self.reached(question, "multi")
        return {
            "set": self.name,
            "id": question.id,
            "decision": to_json(decision),
            "single": self.reached(question, "single"),
            "multi": rounds,
            "look_ms": round(spent * 1000, 2),
            "seen": first_look.seen_in(decision, first),
            "outlook": outlooks,
        }

    def reached(self, question: LabelledQuestion, mode: RetrievalMode) -> dict[str, float]:
        """Recall, support, rounds and processor time of one way."""
        request = RetrievalRequest(question.question, (self.kb,), self.scope, mode=mode, kind="fact")
        started = time.process_time()
        result = self.retriever.retrieve(request)
        spent = (time.process_time() - started) * 1000
        ranking = list(dict.fromkeys(self.corpus.passage_of[hit.section_path] for hit in result.hits))
        ranks = group_ranks(ranking, question.groups)
        return {
            "recall": recall_at(ranks, K),
            "support": all_support_at(ranks, K),
            "ms": round(spent, 2),
            "rounds": len(result.trace.rounds),
        }


# --- the model ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One question that was looked up both ways."""

    set: str
    mode: str
    undecided: bool
    single: Mapping[str, float]
    multi: Mapping[str, float]
    """In rounds whose models have not seen this set."""
    look_ms: float
    seen: Mapping[str, Mapping[str, float]]
    """Features of the first look-up by the source that nothing behind them has seen."""

    @property
    def source(self) -> str:
        return RELATED.get(self.set, self.set)

    @property
    def gains(self) -> bool:
        return self.multi["recall"] > self.single["recall"] + 1e-9

    def values(self, left_out: str) -> list[float]:
        """In the order of the features."""
        seen = self.seen[left_out if left_out in self.seen else ENGLISH if left_out == "DRCD and CMRC" else ALL]
        return [seen[name] for name in FEATURES]


def read_rows(paths: Sequence[Path]) -> Iterator[Row]:
    """What ``collect`` wrote."""
    for line in (line for path in paths for line in path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        decision, multi = row["decision"], row["multi"]
        seen = {variant: {**row["seen"], **outlook} for variant, outlook in row["outlook"].items()}
        undecided = decision["source"] == "fallback"
        yield Row(
            row["set"],
            decision["mode"],
            undecided,
            row["single"],
            multi.get(RELATED.get(row["set"], row["set"]), multi[ALL]),
            row["look_ms"],
            seen,
        )


def fit_weights(rows: Sequence[Row], left_out: str = ALL) -> Weights:
    """Ridge logistic regression of whether rounds find more, on undecided questions; a set weighs as the root of its
    number of questions."""
    counts = Counter(row.set for row in rows)
    x = np.asarray([row.values(left_out) for row in rows])
    y = np.asarray([float(row.gains) for row in rows])
    sample = np.asarray([counts[row.set] ** -0.5 for row in rows])
    model, mean = logistic(x, y, sample, penalty=PENALTY), x.mean(0)
    weights = dict(zip(FEATURES, model.weights, strict=True))
    return Weights(model.bias + float(mean @ model.weights), weights, dict(zip(FEATURES, mean.tolist(), strict=True)))


def probability(weights: Weights, row: Row, left_out: str) -> float:
    """Of rounds that find more."""
    return weights.probability(weights.says(dict(zip(FEATURES, row.values(left_out), strict=True))))


def fit(arguments: argparse.Namespace) -> None:
    """Print the table of left-out sources and, where asked to, write the weights of all."""
    rows = list(read_rows(arguments.rows))
    undecided = [row for row in rows if row.undecided]
    left = {
        source: fit_weights([row for row in undecided if row.source != source], source)
        for source in dict.fromkeys(row.source for row in rows)
    }
    chances = [probability(left[row.source], row, row.source) for row in rows]
    for threshold in arguments.thresholds:
        print(f"\nthreshold {threshold}\n")
        print("| set (questions) | undecided | single | rounds | by the question alone | with the first look | kept | "
              "in rounds, before → now | rounds a question | processor time / single |")  # fmt: skip
        print("|" + " --- |" * 10)
        for name in dict.fromkeys(row.set for row in rows):
            print_set(name, [(row, p) for row, p in zip(rows, chances, strict=True) if row.set == name], threshold)
    weights = fit_weights(undecided)
    print("\nweights of standardised features, all sources:")
    spread = dict(zip(FEATURES, np.asarray([row.values(ALL) for row in undecided]).std(0).tolist(), strict=True))
    for name in sorted(FEATURES, key=lambda name: -abs(weights.weights[name] * spread[name])):
        print(f"  {name:14} {weights.weights[name] * spread[name]:+.2f}")
    if arguments.write:
        data = {
            "bias": round(weights.bias, 4),
            "weights": {name: round(value, 4) for name, value in weights.weights.items()},
            "means": {name: round(value, 4) for name, value in weights.means.items()},
            "fitted_on": dict(Counter(row.set for row in undecided)),
        }
        path = Path(first_look.__file__).with_name("first_look_weights.json")
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def print_set(name: str, rows: Sequence[tuple[Row, float]], threshold: float) -> None:
    """One line: what the decision does to a source that nothing has seen."""
    after = [(r.multi if in_rounds(r, p, threshold) else r.single) for r, p in rows]
    before = [(r.multi if r.mode == "multi" else r.single) for r, _ in rows]
    single, multi = mean([r.single["recall"] for r, _ in rows]), mean([r.multi["recall"] for r, _ in rows])
    reached = [mean([way["recall"] for way in ways]) for ways in (before, after)]
    gain = multi - single
    kept = " → ".join(f"{(value - single) / gain:.0%}" for value in reached) if gain > LEAST_GAIN else "–"
    looks = mean([r.look_ms if r.undecided else 0.0 for r, _ in rows])
    cost = (mean([way["ms"] for way in after]) + looks) / mean([r.single["ms"] for r, _ in rows])
    cells = [
        f"{name} ({len(rows)})",
        f"{mean([float(r.undecided) for r, _ in rows]):.0%}",
        *(f"{100 * value:.1f}" for value in (single, multi, *reached)),
        kept,
        f"{mean([float(r.mode == 'multi') for r, _ in rows]):.0%} → "
        f"{mean([float(in_rounds(r, p, threshold)) for r, p in rows]):.0%}",
        f"{mean([way['rounds'] for way in after]):.2f}",
        f"{cost:.2f}",
    ]
    print("| " + " | ".join(cells) + " |")


def in_rounds(row: Row, chance: float, threshold: float) -> bool:
    """Whether the question goes through rounds, the first look included."""
    return chance >= threshold if row.undecided else row.mode == "multi"


def mean(values: Sequence[float]) -> float:
    """Of at least one value."""
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("collect")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--folder", type=Path, required=True)
    one.add_argument("--chinese", type=Path, help="what benchmarks/compose_two_hop.py wrote")
    one.add_argument("--set", nargs=2, action="append", required=True, metavar=("NAME", "QUESTIONS"))
    one.add_argument("--out", type=Path, required=True)
    one.set_defaults(run=collect)
    two = commands.add_parser("fit")
    two.add_argument("rows", type=Path, nargs="+")
    two.add_argument("--thresholds", type=float, nargs="+", default=[THRESHOLD])
    two.add_argument("--write", action="store_true")
    two.set_defaults(run=fit)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
