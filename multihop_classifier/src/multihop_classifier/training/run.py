"""One training run: rows in, a folder with weights, report and pictures out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from multihop_classifier.training import pictures
from multihop_classifier.training.encoder import MultiHopModel, load_encoder
from multihop_classifier.training.export import export
from multihop_classifier.training.fit import Epoch, Recipe, fit, predict
from multihop_classifier.training.measures import Measures, best_threshold, measure
from multihop_classifier.training.reading import Reader, StateReader, TokenReader
from multihop_classifier.training.rows import (
    Part,
    Row,
    RowsError,
    capped,
    features_version,
    split,
    stamped,
)

_SCORED: tuple[Part, ...] = ("validation", "test")
RECALL_OF_MULTI = 0.85
"""What a model should reach; the threshold is chosen so that the validation part does."""


@dataclass(frozen=True)
class Order:
    """What is to be trained, and on what."""

    encoder: Path
    out: Path
    name: str
    """Version of the model, without what is stamped on it."""
    unreviewed: bool = False
    """Train although fewer than ``REVIEWED_BEFORE_TRAINING`` rows are reviewed."""
    cap: int | None = None
    """Train on at most so many rows of each source and label."""
    left_out_cap: int | None = None
    """The same for the sources that are scored only."""
    leave_out: tuple[str, ...] = ()
    """Sources that are scored only."""
    states: Path | None = None
    """Keeps what frozen layers computed, for further runs with the same encoder."""
    centre: float | None = None
    """The probability that gets 0.5; None: where F1 is best on the validation part."""
    weights: bool = True
    """Export the model; without it only the report is written."""


def train(rows: Sequence[Row], order: Order, recipe: Recipe) -> dict[str, Any]:
    """Trains, measures, exports; returns the report, which is in ``order.out`` too. Raises RowsError."""
    if not re.fullmatch(r"[\w.-]+", order.name):
        raise RowsError(f"{order.name!r} is no name of a version; use letters, digits, dots and dashes.")
    if unknown := sorted(set(order.leave_out) - {row.source for row in rows}):
        raise RowsError(f"No row comes from the source {unknown[0]!r}.")
    features = features_version(rows)
    seen = [row for row in rows if row.source not in order.leave_out]
    left_out = [row for row in rows if row.source in order.leave_out]
    seen = seen if order.cap is None else capped(seen, order.cap)
    left_out = left_out if order.left_out_cap is None else capped(left_out, order.left_out_cap)
    version = stamped(order.name, seen, unreviewed=order.unreviewed)
    parts = split(seen, seed=recipe.seed)
    for name, part in parts.items():
        if len({row.multi for row in part}) < 2:
            raise RowsError(f"The {name} part ({len(part)} of {len(seen)} rows) lacks a label; label more questions.")
    torch.manual_seed(recipe.seed)  # the head starts at random
    model, tokenizer = load_encoder(order.encoder)
    if recipe.freeze:
        model.freeze(recipe.freeze)
    model.blind = recipe.blind
    reader: Reader = StateReader(model, tokenizer, order.states) if recipe.freeze else TokenReader(model, tokenizer)
    started = time.monotonic()
    epochs = fit(model, reader, parts["train"], parts["validation"], recipe, _tell)
    threshold = order.centre
    if threshold is None:
        raw = predict(model, reader, parts["validation"], bfloat16=recipe.bfloat16)
        threshold = best_threshold([row.multi for row in parts["validation"]], raw, recall=RECALL_OF_MULTI)
    # Who asks compares with thresholds of its own (0.8 and 0.2 in Clew): 0.5 has to be where the label turns.
    model.centre(threshold)
    of_part = {name: predict(model, reader, parts[name], bfloat16=recipe.bfloat16) for name in _SCORED}
    report: dict[str, Any] = {
        "version": version,
        "features_version": features,
        "encoder": order.encoder.name,
        "recipe": asdict(recipe),
        "rows": {name: len(part) for name, part in parts.items()},
        "reviewed": sum(1 for row in seen if row.reviewed),
        "left_out": list(order.leave_out),
        "seconds": round(time.monotonic() - started, 1),
        "epochs": [asdict(epoch) for epoch in epochs],
        "centred_at": round(threshold, 4),
    }
    for name in _SCORED:
        report[name] = _scores(parts[name], of_part[name])
    order.out.mkdir(parents=True, exist_ok=True)
    if left_out:
        report["sources"] = _write_left_out(order.out, model, reader, left_out, recipe)
    _write_json(order.out / "report.json", report)
    pictures.confusion({name: _measures(parts[name], of_part[name]) for name in _SCORED}, order.out / "confusion.png")
    pictures.epochs(epochs, order.out / "epochs.png")
    if order.weights:
        export(model, order.out, _card(report), tokenizer)
    return report


def _card(report: dict[str, Any]) -> dict[str, Any]:
    """What the service says of the model."""
    return {
        "version": report["version"],
        "features_version": report["features_version"],
        "thresholds": {"multi": 0.5},
        "metrics": {name: report[name]["all"] for name in ("validation", "test")} | {"reviewed": report["reviewed"]},
    }


def _scores(rows: Sequence[Row], probabilities: Sequence[float]) -> dict[str, Any]:
    """Measures of all rows, by language and by source."""
    result: dict[str, Any] = {"all": _measures(rows, probabilities).to_json()}
    for field in ("language", "source"):
        for name in sorted({str(getattr(row, field)) for row in rows}):
            places = [place for place, row in enumerate(rows) if getattr(row, field) == name]
            chosen = _measures([rows[p] for p in places], [probabilities[p] for p in places])
            result.setdefault(field, {})[name] = chosen.to_json()
    return result


def _measures(rows: Sequence[Row], probabilities: Sequence[float]) -> Measures:
    return measure([row.multi for row in rows], probabilities)


def _write_left_out(
    out: Path, model: MultiHopModel, reader: Reader, rows: Sequence[Row], recipe: Recipe
) -> dict[str, Any]:
    """Predictions for sources that training did not see, as given and with masked names; returns their scores."""
    started = time.process_time()
    plain = predict(model, reader, rows, bfloat16=recipe.bfloat16)
    spent = (time.process_time() - started) / len(rows)
    masked = predict(model, reader, rows, masked=True, bfloat16=recipe.bfloat16)
    with (out / "left_out.jsonl").open("w", encoding="utf-8") as file:
        for row, probability, without_names in zip(rows, plain, masked, strict=True):
            line = {
                **row.model_dump(include={"question", "label", "source", "language"}),
                "probability": round(probability, 5),
                "probability_masked": round(without_names, 5),
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return {
        "cpu_ms_of_a_question": round(spent * 1000, 2),
        "as_given": _scores(rows, plain),
        "names_masked": _scores(rows, masked),
    }


def _tell(epoch: Epoch) -> None:
    f1 = f"F1 of validation {epoch.validation_f1:.4f}"
    print(f"epoch {epoch.number}: loss {epoch.loss:.4f}, {f1}, {epoch.seconds:.0f} s", flush=True)


def _write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def threads(count: int) -> None:
    """Computes with so many threads."""
    torch.set_num_threads(count)
