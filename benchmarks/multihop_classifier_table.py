"""Shows, leave-one-source-out, what a fine-tuned classifier reaches, from the runs that left the sources out.

    multihop-classifier train rows.jsonl … --report-only --out RUN/fold1 --leave-out SOURCE …     # one run a fold
    python benchmarks/multihop_classifier_table.py RUN/fold1 RUN/fold2 …                          # one folder a fold
    python benchmarks/multihop_classifier_table.py RUN0/fold1 … RUN1/fold1 …                      # several seeds

The threshold of a source comes from the other folds: it lets ``--false-share`` of their single questions in the same
language pass (mean over sources), as the in-process head is calibrated. No label of the source's own fold takes
part in it. The curve shows other shares. Folds in one folder are one seed; the table is of the mean of all seeds'
logits, the curve also of each seed by itself (mean).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew.evaluation.complexity_data import BinaryScores, binary_scores

READINGS = ("given", "masked", "both")
SHARES = (0.1, 0.15, 0.18, 0.2, 0.22, 0.25, 0.3)
BOTH_LABELS = ("CKBQA-2018", "RGB", "LiHua-World", "Docugami-10Q", "DRAGONBall")


@dataclass(frozen=True)
class Scored:
    """One question of a source that its fold left out."""

    fold: str
    source: str
    language: str
    question: str
    multi: bool
    probability: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folds", type=Path, nargs="+", help="folders with left_out.jsonl")
    parser.add_argument("--false-share", type=float, default=0.1)
    parser.add_argument("--reading", choices=READINGS, default="given", help="names as given, masked, or the mean")
    arguments = parser.parse_args()
    seeds: dict[Path, list[Scored]] = {}
    for folder in arguments.folds:
        seeds.setdefault(folder.parent, []).extend(read(folder, arguments.reading))
    rows = together(list(seeds.values()))
    show_table(rows, arguments.false_share)
    show_curve(list(seeds.values()), rows)


def show_table(rows: Sequence[Scored], false_share: float) -> None:
    """A line for each source, and for the sources with both labels."""
    thresholds = thresholds_of(rows, false_share)
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
    over_all = [threshold(rows, language, false_share) for language in ("zh", "en")]
    print(f"\nfor --centre, from all folds: zh {over_all[0]:.2f}, en {over_all[1]:.2f}, both {np.mean(over_all):.2f}")
    four = [macro([row for row in rows if row.source == source], thresholds) for source in BOTH_LABELS[:-1]]
    print(f"macro-F1, mean of {', '.join(BOTH_LABELS[:-1])}: {np.mean(four):.3f}")


def show_curve(seeds: Sequence[Sequence[Scored]], rows: Sequence[Scored]) -> None:
    """Precision and recall of multi over the sources with both labels, by the share of singles that may pass."""
    print("\n| may pass | mean of seeds: precision | recall | together: precision | recall | F1 | without DRAGONBall |")
    print("|" + " --- |" * 7)
    for share in SHARES:
        each = np.mean([precision_and_recall(seed, share, BOTH_LABELS) for seed in seeds], axis=0)
        precision, recall = precision_and_recall(rows, share, BOTH_LABELS)
        fewer = precision_and_recall(rows, share, BOTH_LABELS[:-1])
        f1 = 2 * precision * recall / (precision + recall)
        print(
            f"| {share:.0%} | {each[0]:.3f} | {each[1]:.3f} | {precision:.3f} | {recall:.3f} | {f1:.3f} "
            f"| {fewer[0]:.3f} / {fewer[1]:.3f} |"
        )
    for sources in (BOTH_LABELS, BOTH_LABELS[:-1]):
        pooled = [row for row in rows if row.source in sources]
        print(f"recall at the best threshold of precision ≥ 0.75, {len(sources)} sources: {best_recall(pooled):.3f}")


def precision_and_recall(rows: Sequence[Scored], share: float, sources: Sequence[str]) -> tuple[float, float]:
    """Over the questions of ``sources``, each at the threshold of its fold and language."""
    thresholds = thresholds_of(rows, share)
    chosen = [row for row in rows if row.source in sources]
    scores = scored(chosen, [thresholds[row.fold, row.language] for row in chosen])
    return scores.precision, scores.recall


def thresholds_of(rows: Sequence[Scored], share: float) -> dict[tuple[str, str], float]:
    """The threshold of each fold and language, from the other folds."""
    return {
        (fold, language): threshold([row for row in rows if row.fold != fold], language, share)
        for fold in {row.fold for row in rows}
        for language in ("zh", "en")
    }


def together(seeds: Sequence[Sequence[Scored]]) -> list[Scored]:
    """The questions with the mean of their logits over all seeds."""
    logits: dict[tuple[str, str], list[float]] = {}
    for row in (row for seed in seeds for row in seed):
        logits.setdefault((row.source, row.question), []).append(logit(row.probability))
    return [replace(row, probability=sigmoid(float(np.mean(logits[row.source, row.question])))) for row in seeds[0]]


def logit(probability: float) -> float:
    """Of a probability that was rounded and may be 0 or 1."""
    limited = min(max(probability, 1e-5), 1 - 1e-5)
    return math.log(limited / (1 - limited))


def sigmoid(value: float) -> float:
    """The inverse of :func:`logit`."""
    return 1 / (1 + math.exp(-value))


def read(folder: Path, reading: str) -> list[Scored]:
    """What a run wrote for its sources.

    Each run puts 0.5 where F1 is best on its own sources. That is undone: between runs it differs by chance, and the
    threshold of one fold comes from the others.
    """
    moved = logit(json.loads((folder / "report.json").read_text(encoding="utf-8"))["centred_at"])
    lines = (folder / "left_out.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Scored(
            folder.name,
            row["source"],
            row["language"],
            row["question"],
            row["label"] == "multi",
            sigmoid(logit_as(row, reading) + moved),
        )
        for row in map(json.loads, lines)
    ]


def logit_as(row: Mapping[str, Any], reading: str) -> float:
    """The logit of a question as it stands, with masked names, or the mean of both."""
    given, masked = logit(row["probability"]), logit(row["probability_masked"])
    return {"given": given, "masked": masked}.get(reading, (given + masked) / 2)


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
