"""``clew eval``: recall, order, time and cost of the retrieval modes on a question set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from clew.app import Clew
from clew.config import default_data_folder
from clew.errors import InputError
from clew.evaluation.corpus import open_corpus
from clew.evaluation.datasets import read_corpus, read_queries
from clew.evaluation.runs import MODES, Mode, run, summarise
from clew.evaluation.stored import retrieval_run, save_run

_errors = Console(stderr=True, highlight=False)


def evaluate(
    corpus: Annotated[Path, typer.Option(help="Corpus as JSON lines, gzipped or not.")],
    queries: Annotated[Path, typer.Option(help="Questions as JSON lines, gzipped or not.")],
    mode: Annotated[str, typer.Option(help=f"Comma-separated, of {', '.join(MODES)}.")] = "bm25,dense,single",
    k: Annotated[str, typer.Option(help="Comma-separated cut-offs.")] = "2,5,10",
    limit: Annotated[int | None, typer.Option(help="Only the first questions.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the result here; - prints it.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Data folder; the corpus is kept there as a knowledge base.")
    ] = None,
) -> None:
    """Measure retrieval on a question set with known supporting passages."""
    modes = [_mode(name) for name in mode.split(",") if name]
    cutoffs = [_cutoff(value) for value in k.split(",") if value]
    questions = read_queries(queries)[:limit]
    passages = read_corpus(corpus)
    folder = data or default_data_folder() / "eval"
    with Clew.open(folder) as clew, Progress(console=_errors) as progress:
        index = progress.add_task("index", total=1.0)
        kb = open_corpus(
            clew,
            corpus.name.split(".")[0],
            passages,
            on_progress=lambda stage, share: progress.update(index, completed=share, description=stage),
        )
        progress.update(index, completed=1.0)
        asked = progress.add_task("questions", total=1.0)
        outcomes = run(
            clew,
            kb,
            questions,
            modes,
            on_progress=lambda stage, share: progress.update(asked, completed=share, description=stage),
        )
        progress.update(asked, completed=1.0)
    rows = {name: summarise(results, cutoffs) for name, results in outcomes.items()}
    save_run(folder, retrieval_run(corpus.name, outcomes, rows))
    result = {"corpus": corpus.name, "queries": len(next(iter(outcomes.values()))), "modes": rows}
    if json_out is None or str(json_out) != "-":
        _print_table(result["corpus"], result["queries"], rows)
    if json_out is not None:
        text = json.dumps(result, ensure_ascii=False, indent=2)
        print(text) if str(json_out) == "-" else json_out.write_text(text + "\n", encoding="utf-8")


def _print_table(corpus: object, queries: object, rows: dict[Mode, dict[str, float]]) -> None:
    columns = list(next(iter(rows.values())))
    table = Table("mode", *columns, title=f"{corpus}, {queries} questions", title_justify="left")
    for name, row in rows.items():
        table.add_row(name, *(f"{row[c] * 100:.1f}" if row[c] <= 1 and "@" in c else f"{row[c]:.3g}" for c in columns))
    Console(width=200).print(table)


def _mode(name: str) -> Mode:
    if name not in MODES:
        raise InputError(f"mode {name!r}: use {', '.join(MODES)}.")
    return name


def _cutoff(value: str) -> int:
    if not value.isdigit() or int(value) < 1:
        raise InputError(f"k {value!r}: use whole numbers from 1, separated by commas.")
    return int(value)
