"""``clew route``: the decisions that come before retrieval, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.cli.door import open_door
from clew.config import default_data_folder
from clew.errors import InputError
from clew.evaluation.datasets import read_jsonl


def route(
    question: Annotated[str | None, typer.Argument()] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Questions as JSON lines with a field 'question', gzipped or not.")
    ] = None,
    kb: Annotated[str | None, typer.Option("--kb", help="Use this knowledge base's settings and titles.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Decide single or multi, and fact or summary, without looking anything up."""
    if (question is None) == (file is None):
        raise InputError("Give one question, or --file with many.")
    with closing(open_door(data or default_data_folder())) as door:
        for text in [question] if question is not None else _questions(file):
            routed = door.route(str(text), kb)
            kind = routed["kind"]
            decision = routed["complexity"] | {"kind": kind["kind"], "kind_source": kind["source"]}
            print(json.dumps(decision, ensure_ascii=False) if as_json else _line(decision))


def _questions(file: Path | None) -> Iterator[str]:
    assert file is not None
    for number, row in enumerate(read_jsonl(file), start=1):
        if not isinstance(row.get("question"), str):
            raise InputError(f"{file}, row {number}: needs a field 'question'.")
        yield row["question"]


def _line(decision: dict[str, Any]) -> str:
    probability = decision["classifier_probability"]
    classifier = "" if probability is None else f", classifier {probability:.2f}"
    return (
        f"{decision['mode']:6} {decision['source']:10} rules {decision['rule_score']:.2f}{classifier}  "
        f"{decision['kind']:7} {decision['kind_source']:8}  "
        f"{decision['question']}  ({decision['reason']})"
    )
