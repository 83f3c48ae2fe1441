"""Runs of ``clew eval`` and ``clew tune`` that are kept in the data folder, for the page to show.

One JSON file a run in the folder ``evaluations``: ``{"kind": "retrieval", "created_at", "corpus", "queries", "modes",
"curves"}`` or ``{"kind": "decisions", "created_at", "file", "thresholds", "agreement", "curves"}``.
"""

from __future__ import annotations

import json
import statistics
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.config import ComplexitySettings
from clew.errors import StorageError
from clew.evaluation.decisions import Label, agreement, threshold_curve
from clew.evaluation.measures import all_support_at, recall_at
from clew.evaluation.runs import Mode, Outcome
from clew.trace import ComplexityDecision

FOLDER = "evaluations"
CURVE_TO = 20
_THRESHOLD_STEP = 4


def retrieval_run(
    corpus: str, outcomes: Mapping[Mode, Sequence[Outcome]], rows: Mapping[Mode, Mapping[str, float]]
) -> dict[str, Any]:
    """A run of ``clew eval``: its table, and recall and all-support at 1 to 20 by mode."""
    curves = {
        mode: {
            "recall": [_mean(recall_at(o.ranks, k) for o in results) for k in range(1, CURVE_TO + 1)],
            "all_support": [_mean(all_support_at(o.ranks, k) for o in results) for k in range(1, CURVE_TO + 1)],
        }
        for mode, results in outcomes.items()
    }
    queries = len(next(iter(outcomes.values())))
    return {"kind": "retrieval", "corpus": corpus, "queries": queries, "modes": rows, "curves": curves}


def decisions_run(
    file: str, decisions: Sequence[ComplexityDecision], labels: Sequence[Label], settings: ComplexitySettings
) -> dict[str, Any]:
    """Decisions on labelled questions: how well they agree now, and as each threshold moves while the others stay."""
    thresholds = {name: value for name, value in settings if name.endswith("_threshold")}
    curves = {
        name: [
            {"threshold": value, **_rounded(asdict(row))}
            for value, row in threshold_curve(decisions, labels, settings, name)[::_THRESHOLD_STEP]
        ]
        for name in thresholds
    }
    now = _rounded(asdict(agreement([decision.mode for decision in decisions], labels)))
    return {"kind": "decisions", "file": file, "thresholds": thresholds, "agreement": now, "curves": curves}


def save_run(data: Path, run: Mapping[str, Any]) -> Path:
    """Keep a run in the data folder ``data``. Raises StorageError."""
    now = datetime.now(UTC)
    path = data / FOLDER / f"{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}.json"
    content = {"created_at": now.isoformat(timespec="seconds"), **run}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: the run cannot be kept ({error.strerror}).") from error
    return path


def stored_runs(data: Path) -> list[dict[str, Any]]:
    """The kept runs, the latest first, each with its ``run_id``: those of the data folder, and of the folder that
    ``clew eval`` makes inside it. Files that are no runs are left out."""
    runs = []
    for path in [*data.glob(f"{FOLDER}/*.json"), *data.glob(f"eval/{FOLDER}/*.json")]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(content, dict) and content.get("kind") in ("retrieval", "decisions") and "created_at" in content:
            runs.append({"run_id": path.stem, **content})
    return sorted(runs, key=lambda run: str(run["created_at"]), reverse=True)


def _mean(values: Iterable[float]) -> float:
    return round(statistics.fmean(values), 4)


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
