"""Outcome labels: both paths of every question, and the thresholds that buy the most recall for the time.

    python benchmarks/complexity_outcomes.py collect --data WORK --sets DATA/retrieval --out outcomes.jsonl \\
        --set 2wiki_gold 164 --set xquad_zh 150 …
    python benchmarks/complexity_outcomes.py choose outcomes.jsonl

``collect`` asks each question as ``single`` decides it (with the escalation of a weak first look-up, as in auto mode)
and as ``multi`` does, and keeps recall, support, processor time and what the decision rests on. ``choose`` replays the
decisions under a grid of thresholds; a millisecond more has to bring at least the recall that it brings on the way from
all single to all multi. Thresholds are also chosen without each set in turn and scored on it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.config import ComplexitySettings
from clew.evaluation.complexity_outcomes import (
    GRID,
    Outcome,
    Reached,
    best_thresholds,
    exchange_rate,
    read_outcome,
    set_mean,
)
from clew.evaluation.corpus import CorpusKb, open_corpus
from clew.evaluation.datasets import LabelledQuestion, read_corpus, read_queries
from clew.evaluation.decisions import Label
from clew.evaluation.measures import all_support_at, group_ranks, recall_at
from clew.retrieval.complexity.cascade import replay
from clew.types import RetrievalMode

K = 5
_FORCED_SINGLE = {"complexity": dict.fromkeys(GRID, 1.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("collect")
    one.add_argument("--data", type=Path, required=True, help="data folder that has the corpora, or gets them")
    one.add_argument("--sets", type=Path, required=True, help="folder with the corpora and queries")
    one.add_argument("--set", nargs=2, action="append", required=True, metavar=("NAME", "QUESTIONS"))
    one.add_argument("--out", type=Path, required=True)
    one.set_defaults(run=collect)
    two = commands.add_parser("choose")
    two.add_argument("outcomes", type=Path, nargs="+")
    two.set_defaults(run=choose)
    arguments = parser.parse_args()
    arguments.run(arguments)


def collect(arguments: argparse.Namespace) -> None:
    """Writes one line a question."""
    with Clew.open(arguments.data) as clew, arguments.out.open("w", encoding="utf-8") as out:
        for name, limit in arguments.set:
            passages = read_corpus(arguments.sets / f"{name}.corpus.jsonl.gz")
            corpus = open_corpus(clew, name, passages, on_progress=lambda *_: None)
            questions = [q for q in read_queries(arguments.sets / f"{name}.queries.jsonl.gz") if q.groups][: int(limit)]
            for question in questions:
                single = ask(clew, corpus, question, "auto", _FORCED_SINGLE)
                multi = ask(clew, corpus, question, "multi", {})
                outcome = Outcome(name, single, multi, clew.route(question.question, record=False))
                out.write(json.dumps(outcome.to_json(), ensure_ascii=False) + "\n")
            out.flush()
            print(f"{name}: {len(questions)} questions", flush=True)


def ask(
    clew: Clew, corpus: CorpusKb, question: LabelledQuestion, mode: RetrievalMode, overlay: Mapping[str, Any]
) -> Reached:
    """What one path finds; its time is that of the processor, since the machine may be shared."""
    started = time.process_time()
    result = clew.search(question.question, kbs=[corpus.kb_id], mode=mode, kind="fact", overlay=overlay)
    spent = (time.process_time() - started) * 1000
    ranking = list(dict.fromkeys(corpus.passage_of[hit.section_path] for hit in result.hits))
    ranks = group_ranks(ranking, question.groups)
    return Reached(recall_at(ranks, K), all_support_at(ranks, K), round(spent, 2), len(result.trace.rounds))


def choose(arguments: argparse.Namespace) -> None:
    """Prints the table by set, the chosen thresholds, and what choosing without a set does to that set."""
    lines = [line for path in arguments.outcomes for line in path.read_text("utf-8").splitlines()]
    outcomes = [read_outcome(json.loads(line)) for line in lines]
    usual = ComplexitySettings()
    chosen = best_thresholds(outcomes, usual)
    names = list(dict.fromkeys(outcome.set for outcome in outcomes))
    without = {
        name: best_thresholds([outcome for outcome in outcomes if outcome.set != name] or outcomes, usual)
        for name in names
    }
    paths: dict[str, list[Label]] = {
        "all single": ["single"] * len(outcomes),
        "all multi": ["multi"] * len(outcomes),
        "defaults": [replay(outcome.decision, usual) for outcome in outcomes],
        "chosen without this set": [replay(outcome.decision, without[outcome.set]) for outcome in outcomes],
        "chosen": [replay(outcome.decision, chosen) for outcome in outcomes],
        "oracle": [outcome.label for outcome in outcomes],
    }
    print("| set | questions | multi is better | path | R@5 | all@5 | CPU ms | in rounds |")
    print("|" + " --- |" * 8)
    for name in names:
        show(name, outcomes, paths, [place for place, outcome in enumerate(outcomes) if outcome.set == name])
    show("**mean of sets**", outcomes, paths, range(len(outcomes)))
    print("\nchosen:", json.dumps({name: getattr(chosen, name) for name in GRID}))
    print(f"exchange: {exchange_rate(outcomes) * 1e4:.2f} points of R@5 for 100 ms of processor time")


def show(name: str, outcomes: Sequence[Outcome], paths: Mapping[str, Sequence[Label]], places: Sequence[int]) -> None:
    """One line for each way to decide, over the questions at ``places``."""
    rows = [outcomes[place] for place in places]
    better = set_mean(rows, [float(row.label == "multi") for row in rows])
    for path, all_modes in paths.items():
        modes = [all_modes[place] for place in places]
        taken = [row.reached(mode) for row, mode in zip(rows, modes, strict=True)]
        cells = [
            f"{set_mean(rows, [each.recall for each in taken]) * 100:.1f}",
            f"{set_mean(rows, [each.support for each in taken]) * 100:.1f}",
            f"{set_mean(rows, [each.cpu_ms for each in taken]):.0f}",
            f"{set_mean(rows, [float(mode == 'multi') for mode in modes]):.0%}",
        ]
        print(f"| {name} | {len(rows)} | {better:.0%} | {path} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
