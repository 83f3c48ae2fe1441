"""``clew tune``: thresholds and weights against data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from rich.console import Console
from rich.table import Table

from clew.cli.door import Door, open_door
from clew.cli.overlay import overlay_of
from clew.cli.tuning_fusion import fusion
from clew.config import Settings, default_data_folder
from clew.errors import InputError
from clew.evaluation.datasets import read_jsonl
from clew.evaluation.decisions import (
    Agreement,
    agreement,
    draw_curves,
    read_decision,
    replay_all,
    threshold_curve,
    training_rows,
)
from clew.evaluation.stored import decisions_run, save_run
from clew.trace import ComplexityDecision

app = typer.Typer(help="Fit thresholds and weights to data.", no_args_is_help=True)

app.command("fusion")(fusion)

Label = Literal["single", "multi"]
_CURVES = ("rules_multi_threshold", "classifier_multi_threshold", "fallback_rules_threshold")
_SHOWN = 20

_out = Console(highlight=False)


@app.callback()
def tune() -> None:
    """Fit thresholds and weights to data."""


@app.command("complexity")
def complexity(
    replay: Annotated[bool, typer.Option("--replay", help="Show what other thresholds would have decided.")] = True,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Decisions (from clew route --json) or labelled questions; default: the recorded."),
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Threshold, as complexity.NAME=value.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the threshold curves into this picture.")] = None,
    export: Annotated[Path | None, typer.Option("--export", help="Write training data for the classifier.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay decisions against other thresholds, and measure them where labels are known."""
    folder = data or default_data_folder()
    with closing(open_door(folder)) as door:
        decisions, labels = _decisions(door, file)
        in_force = Settings.model_validate({"complexity": door.complexity_settings()})
    now, moved = in_force.complexity, in_force.for_kb(overlay_of(settings or [])).complexity
    result = replay_all(decisions, moved)
    labelled = [i for i, label in enumerate(labels) if label is not None]
    known = [cast(Label, labels[i]) for i in labelled]
    before = agreement([decisions[i].mode for i in labelled], known) if labelled else None
    after = agreement([result.modes[i] for i in labelled], known) if labelled else None
    if labelled:
        assert file is not None
        save_run(folder, decisions_run(file.name, [decisions[i] for i in labelled], known, now))
    if export is not None:
        rows = training_rows(decisions, labels)
        export.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    if plot is not None:
        if not labelled:
            raise InputError("Curves need labelled questions: name a --file whose rows have a 'label'.")
        chosen = [decisions[i] for i in labelled]
        curves = {name: threshold_curve(chosen, known, moved, name) for name in _CURVES}
        draw_curves(curves, {name: getattr(now, name) for name in _CURVES}, plot)
    if not replay:
        return
    changes = [(decisions[i].question, decisions[i].mode, result.modes[i]) for i in result.changed]
    if as_json:
        print(json.dumps(_summary(len(decisions), changes, before, after), ensure_ascii=False))
    else:
        _print(len(decisions), changes, before, after)


def _decisions(door: Door, file: Path | None) -> tuple[list[ComplexityDecision], list[Label | None]]:
    if file is None:
        records = door.decisions()
        if not records:
            raise InputError("No decision is recorded yet; ask questions first, or name a --file.")
        return [read_decision(record) for record in records], [None] * len(records)
    decisions, labels = [], []
    for number, row in enumerate(read_jsonl(file), start=1):
        if not isinstance(row.get("question"), str):
            raise InputError(f"{file}, row {number}: needs a field 'question'.")
        label = row.get("label")
        if label not in (None, "single", "multi"):
            raise InputError(f"{file}, row {number}: label {label!r}; use single or multi.")
        known = row if "rule_score" in row else door.route(row["question"], None, record=False)["complexity"]
        decisions.append(read_decision(known))
        labels.append(label)
    return decisions, labels


def _summary(
    n: int, changes: Sequence[tuple[str, str, str]], before: Agreement | None, after: Agreement | None
) -> dict[str, Any]:
    return {
        "decisions": n,
        "changed": [{"question": question, "from": old, "to": new} for question, old, new in changes],
        "before": dataclasses.asdict(before) if before else None,
        "after": dataclasses.asdict(after) if after else None,
    }


def _print(n: int, changes: Sequence[tuple[str, str, str]], before: Agreement | None, after: Agreement | None) -> None:
    _out.print(f"{len(changes)} of {n} decisions would change.")
    for question, old, new in changes[:_SHOWN]:
        _out.print(f"  {old} → {new}  {question}", markup=False)
    if len(changes) > _SHOWN:
        _out.print(f"  … and {len(changes) - _SHOWN} more (--json lists all)")
    if before is not None and after is not None:
        table = Table("", "n", "accuracy", "precision", "recall", "F1", "share of multi")
        for name, row in (("before", before), ("after", after)):
            shares = (row.accuracy, row.precision, row.recall, row.f1, row.multi_share)
            table.add_row(name, str(row.n), *(f"{share:.3f}" for share in shares))
        _out.print(table)
