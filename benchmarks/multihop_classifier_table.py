"""Shows, leave-one-source-out, what a fine-tuned classifier reaches, from the runs that left the sources out.

    multihop-classifier train rows.jsonl … --report-only --out RUN/fold1 --leave-out SOURCE …     # one run a fold
    python benchmarks/multihop_classifier_table.py RUN/fold1 RUN/fold2 …

The threshold of a source comes from the other folds: it lets ``--false-share`` of their single questions in the same
language pass (mean over sources), as the in-process head is calibrated. No label of the source's own fold takes
part in it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clew.evaluation.complexity_data import BinaryScores, binary_scores

BOTH_LABELS = ("CKBQA-2018", "RGB", "LiHua-World", "Docugami-10Q", "DRAGONBall")


@dataclass(frozen=True)
class Scored:
    """One question of a source that its fold left out."""

    fold: str
    source: str
    language: str
    multi: bool
    probability: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folds", type=Path, nargs="+", help="folders with left_out.jsonl")
    parser.add_argument("--false-share", type=float, default=0.1)
    parser.add_argument("--masked", action="store_true", help="score the questions with masked names")
    arguments = parser.parse_args()
    rows = [row for folder in arguments.folds for row in read(folder, masked=arguments.masked)]
    thresholds = {
        (fold, language): threshold([row for row in rows if row.fold != fold], language, arguments.false_share)
        for fold in {row.fold for row in rows}
        for language in ("zh", "en")
    }
    print("| held out | lang. | n | multi | threshold | accuracy | precision | recall | F1 | macro-F1 | AUC |")
    print("|" + " --- |" * 11)
    for source in sorted({row.source for row in rows}):
        chosen = [row for row in rows if row.source == source]
        limit = thresholds[chosen[0].fold, chosen[0].language]
        print(line(source, chosen, [limit] * len(chosen)))
    for name, sources in (("**both labels**", BOTH_LABELS), ("**without DRAGONBall**", BOTH_LABELS[:-1])):
        chosen = [row for row in rows if row.source in sources]
        print(line(name, chosen, [thresholds[row.fold, row.language] for row in chosen]))
    for language in ("zh", "en"):
        chosen = [row for row in rows if row.source in BOTH_LABELS and row.language == language]
        limits = [thresholds[row.fold, language] for row in chosen]
        print(line(f"**both labels, {language}**", chosen, limits))
    four = [macro([row for row in rows if row.source == source], thresholds) for source in BOTH_LABELS[:-1]]
    print(f"\nmacro-F1, mean of {', '.join(BOTH_LABELS[:-1])}: {np.mean(four):.3f}")
    for sources in (BOTH_LABELS, BOTH_LABELS[:-1]):
        pooled = [row for row in rows if row.source in sources]
        print(f"recall at the best threshold of precision ≥ 0.75, {len(sources)} sources: {best_recall(pooled):.3f}")


def read(folder: Path, *, masked: bool) -> list[Scored]:
    """What a run wrote for its sources."""
    name = "probability_masked" if masked else "probability"
    lines = (folder / "left_out.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Scored(str(folder), row["source"], row["language"], row["label"] == "multi", row[name])
        for row in map(json.loads, lines)
    ]


def threshold(rows: Sequence[Scored], language: str, false_share: float) -> float:
    """The probability that ``false_share`` of the single questions exceed, mean over sources."""
    by_source: dict[str, list[float]] = {}
    for row in rows:
        if row.language == language and not row.multi:
            by_source.setdefault(row.source, []).append(row.probability)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        passing = np.mean([np.mean(np.array(values) >= middle) for values in by_source.values()])
        low, high = (middle, high) if passing > false_share else (low, middle)
    return high


def line(name: str, rows: Sequence[Scored], limits: Sequence[float]) -> str:
    """One row of the table; ``limits`` are the thresholds of the questions."""
    scores = scored(rows, limits)
    both = scores.auc is not None
    shown = sorted({f"{limit:.2f}" for limit in limits})
    cells = [name, "/".join(sorted({row.language for row in rows}, reverse=True)), str(scores.total)]
    cells += [f"{np.mean([row.multi for row in rows]):.0%}", shown[0] if len(shown) == 1 else "by language"]
    cells += [f"{value:.3f}" for value in (scores.accuracy, scores.precision, scores.recall, scores.f1)]
    cells += [f"{scores.macro_f1:.3f}" if both else "–", f"{scores.auc:.3f}" if both else "–"]
    return "| " + " | ".join(cells) + " |"


def scored(rows: Sequence[Scored], limits: Sequence[float]) -> BinaryScores:
    """Decisions at each question's threshold."""
    said = [row.probability >= limit for row, limit in zip(rows, limits, strict=True)]
    return binary_scores([row.multi for row in rows], said, [row.probability for row in rows])


def macro(rows: Sequence[Scored], thresholds: dict[tuple[str, str], float]) -> float:
    """Macro-F1 of a source."""
    return scored(rows, [thresholds[row.fold, row.language] for row in rows]).macro_f1


def best_recall(rows: Sequence[Scored]) -> float:
    """The most recall of any one threshold whose precision is 0.75; it is chosen on what it scores, so a bound."""
    ordered = sorted(rows, key=lambda row: -row.probability)
    found = np.cumsum([row.multi for row in ordered])
    precise = found / np.arange(1, len(ordered) + 1) >= 0.75
    return float(found[precise].max() / found[-1]) if precise.any() else 0.0


if __name__ == "__main__":
    main()
