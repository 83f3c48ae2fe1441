"""Fits the weights of the kind decision (fact or summary) and shows, leave-one-source-out, what they reach.

    python benchmarks/fit_kind.py --data DATA [--write] [--score FILE.jsonl ...]

The sources are those of ``DATA/routing`` and the questions in ``kind_questions_for_fitting.jsonl`` beside this script.
``--write`` stores the weights in the package; ``--score`` only scores the package's weights on labelled files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.config import KindSettings
from clew.retrieval import kind as kind_module
from clew.retrieval.kind import decide_kind
from clew.retrieval.kind_signals import SIGNALS, SIGNALS_VERSION, kind_signals

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NAMES = tuple(SIGNALS)
DIRECTION = np.array([-1.0 if signal.points_to == "fact" else 1.0 for signal in SIGNALS.values()])
PRIOR = np.array([signal.prior for signal in SIGNALS.values()])
BIAS = -0.8
"""A question without any sign leans to fact (score 0.31): little is read, and it shows if it does not do."""
PRIOR_STRENGTH = 4e-3
FLOOR = 0.1
"""Every signal keeps a little weight: what a source never shows is not disproved."""
WRITTEN = "written for fitting"
MIDDLE = 0.5


@dataclass(frozen=True)
class Table:
    """Questions as numbers: ``signals`` is (questions, signals)."""

    signals: Floats
    summary: Mask
    sources: NDArray[np.str_]
    languages: NDArray[np.str_]

    def select(self, mask: Mask) -> Table:
        return Table(self.signals[mask], self.summary[mask], self.sources[mask], self.languages[mask])


@dataclass(frozen=True)
class Fit:
    weights: Floats
    bias: float

    def scores(self, table: Table) -> Floats:
        return 1 / (1 + np.exp(-(table.signals @ (DIRECTION * self.weights) + self.bias)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--score", type=Path, nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    if arguments.data:
        fit_and_show(arguments.data, write=arguments.write)
    for path in arguments.score:
        score_file(path)


def fit_and_show(data: Path, *, write: bool) -> None:
    started = time.process_time()
    table = load_table(data)
    print(f"{len(table.summary)} questions, {(time.process_time() - started) / len(table.summary) * 1e6:.0f} µs each")
    reached = leave_one_out(table)
    fitted = fit(table)
    for direction in (1.0, -1.0):
        chosen = sorted(zip(fitted.weights, NAMES, DIRECTION, strict=True), reverse=True)
        print("summary" if direction > 0 else "fact", {n: round(float(w), 2) for w, n, d in chosen if d == direction})
    print(f"bias {fitted.bias:.2f}")
    show_sure(table, fitted)
    if write:
        path = Path(kind_module.__file__).with_name("kind_weights.json")
        path.write_text(json.dumps(as_json(fitted, table, reached), indent=1) + "\n", encoding="utf-8")
        print("written:", path)


def load_table(data: Path) -> Table:
    rows: list[dict[str, Any]] = []
    for path in sorted((data / "routing").glob("routing.*.jsonl.gz")):
        language = path.name.split(".")[1]
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows += [json.loads(line) | {"lang": language} for line in file]
    rows += [
        row | {"source": WRITTEN} for row in read_rows(Path(__file__).with_name("kind_questions_for_fitting.jsonl"))
    ]
    found = [kind_signals(row["question"]) for row in rows]
    return Table(
        np.array([[signals.get(name, 0.0) for name in NAMES] for signals in found]),
        np.array([row["label"] == "summary" for row in rows]),
        np.array([row["source"] for row in rows]),
        np.array([row["lang"] for row in rows]),
    )


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def fit(table: Table, steps: int = 500) -> Fit:
    """Logistic weights ≥ 0, each in its own direction, drawn towards the prior; projected Adam on distinct rows."""
    balance = source_balance(table)
    rows, inverse = np.unique(table.signals, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    positive = np.bincount(inverse, balance * table.summary, len(rows))
    total = np.bincount(inverse, balance, len(rows))
    directed = rows * DIRECTION
    weights = PRIOR.copy()
    mean, square = np.zeros(len(weights)), np.zeros(len(weights))
    for step in range(1, steps + 1):
        error = total / (1 + np.exp(-(directed @ weights + BIAS))) - positive
        gradient = directed.T @ error + PRIOR_STRENGTH * (weights - PRIOR)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        change = (0.05 if step < steps // 2 else 0.01) * (mean / (1 - 0.9**step))
        change /= np.sqrt(square / (1 - 0.99**step)) + 1e-9
        weights = np.maximum(FLOOR, weights - change)
    return Fit(np.round(weights, 3), BIAS)


def source_balance(table: Table) -> Floats:
    """Both labels have the same mass, and within a label each source the same, however many questions it has."""
    weights = np.zeros(len(table.summary))
    for label in (False, True):
        of_label = table.summary == label
        for source in np.unique(table.sources[of_label]):
            rows = of_label & (table.sources == source)
            weights[rows] = 1.0 / rows.sum()
        if of_label.any():
            weights[of_label] /= 2 * weights[of_label].sum()
    return weights


def leave_one_out(table: Table) -> dict[str, Any]:
    """Each source scored by what the others gave; then the public sources pooled."""
    print(f"\n{'left out':24} questions summaries  precision  recall  F1 summary  F1 macro")
    reached: dict[str, Any] = {}
    said = np.zeros(len(table.summary), dtype=bool)
    for source in np.unique(table.sources):
        held_out = table.sources == source
        said[held_out] = fit(table.select(~held_out)).scores(table.select(held_out)) >= MIDDLE
        reached[str(source)] = show(str(source), table.summary[held_out], said[held_out])
    public = table.sources != WRITTEN
    reached["pooled"] = show("pooled without written", table.summary[public], said[public])
    return reached


def show(name: str, summary: Mask, said: Mask) -> dict[str, float]:
    precision, recall, f1 = f1_of(summary, said)
    macro = (f1 + f1_of(~summary, ~said)[2]) / 2
    print(f"{name:24} {len(said):9} {summary.sum():9} {precision:10.3f} {recall:7.3f} {f1:11.3f} {macro:9.3f}")
    return {"f1_summary": round(f1, 3), "f1_macro": round(macro, 3)}


def f1_of(positive: Mask, said: Mask) -> tuple[float, float, float]:
    right = float((positive & said).sum())
    precision, recall = right / max(said.sum(), 1), right / max(positive.sum(), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def show_sure(table: Table, fitted: Fit) -> None:
    """What the sure thresholds would decide alone, and how much of it is right."""
    scores = fitted.scores(table)
    for source in np.unique(table.sources):
        rows = table.sources == source
        told = [
            f"{name} {limit}: {mask[rows].mean():.1%} decided, {(table.summary[rows & mask] == label).mean():.1%} right"
            for name, limit, mask, label in (
                ("fact ≤", 0.2, scores <= 0.2, False),
                ("summary ≥", 0.8, scores >= 0.8, True),
            )
            if (rows & mask).any()
        ]
        print(f"{source:24}", "; ".join(told))


def as_json(fitted: Fit, table: Table, reached: dict[str, Any]) -> dict[str, Any]:
    return {
        "signals_version": SIGNALS_VERSION,
        "bias": fitted.bias,
        "weights": {name: float(weight) for name, weight in zip(NAMES, fitted.weights, strict=True)},
        "fitted_on": sorted({str(source) for source in table.sources}),
        "leave_one_source_out": reached,
    }


def score_file(path: Path) -> None:
    """Prints what the package decides, without a model and without titles, on a labelled file."""
    rows = read_rows(path)
    settings = KindSettings()
    said = np.array([decide_kind(row["question"], settings=settings).kind == "summary" for row in rows])
    summary = np.array([row["label"] == "summary" for row in rows])
    languages = np.array([row["lang"] for row in rows])
    print(f"\n{path.name:24} questions summaries  precision  recall  F1 summary  F1 macro")
    show("all", summary, said)
    for language in np.unique(languages):
        show(str(language), summary[languages == language], said[languages == language])


if __name__ == "__main__":
    main()
