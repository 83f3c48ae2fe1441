"""``clew tune fusion``: weights of a convex combination, checked on questions they were not fitted to."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from clew.app import Clew
from clew.cli.overlay import remove_path
from clew.config import default_data_folder, merged
from clew.errors import InputError
from clew.evaluation.corpus import open_corpus
from clew.evaluation.datasets import read_corpus, read_queries
from clew.evaluation.fusion_data import QUESTION_ROUTES, generated, judge, of_corpus, of_kb
from clew.evaluation.fusion_fit import FusionFit, fit_fusion
from clew.evaluation.support import Groups

_out = Console(highlight=False)
_errors = Console(stderr=True, highlight=False)


def fusion(
    kb: Annotated[str | None, typer.Option(help="Knowledge base whose fusion is fitted.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Labelled questions as JSON lines; default: the questions generated from the KB."),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="A corpus as JSON lines instead of a knowledge base; as in clew eval.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first questions.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Switch the KB to the weights if they are better.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --apply: also if they are not.")] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Take the KB back to the default fusion.")] = False,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit fusion weights to questions whose passages are known; change nothing unless told to."""
    if (kb is None) == (corpus is None):
        raise InputError("Name either a knowledge base (--kb) or a corpus (--corpus with --queries).")
    if kb is None and (queries is None or apply or rollback):
        raise InputError("A corpus needs --queries, and nothing can be applied to it: name a knowledge base.")
    with Clew.open(data or (default_data_folder() if kb else default_data_folder() / "eval")) as clew:
        if rollback:
            assert kb is not None
            _roll_back(clew, kb)
            _out.print(f"{kb}: back to the default fusion.")
            return
        with Progress(console=_errors) as progress:
            task = progress.add_task("questions", total=1.0)
            name, questions = _questions(clew, kb, queries, corpus)
            judged = judge(
                clew,
                name,
                questions[:limit],
                leave_out=() if queries else QUESTION_ROUTES,
                on_progress=lambda share: progress.update(task, completed=share),
            )
        fit = fit_fusion(judged, rrf_k=clew.settings.for_kb(clew.kb(name).settings).retrieval.rrf_k)
        applied = apply and (fit.is_better or force)
        if applied:
            _apply(clew, name, fit)
    if as_json:
        result: dict[str, Any] = {**dataclasses.asdict(fit), "better": fit.is_better, "applied": applied}
        print(json.dumps(result, ensure_ascii=False))
    else:
        _print(fit, apply=apply, applied=applied)


def _questions(
    clew: Clew, kb: str | None, queries: Path | None, corpus: Path | None
) -> tuple[str, list[tuple[str, Groups]]]:
    """The knowledge base, and its questions with the parents that answer them."""
    if kb is not None:
        return kb, of_kb(clew, kb, read_queries(queries)) if queries else generated(clew, kb)
    assert corpus is not None
    assert queries is not None
    made = open_corpus(clew, corpus.name.split(".")[0], read_corpus(corpus), on_progress=lambda *_: None)
    return made.kb_id, of_corpus(clew, made, read_queries(queries))


def _apply(clew: Clew, kb: str, fit: FusionFit) -> None:
    _roll_back(clew, kb)  # weights of routes that are gone do not stay behind
    chosen = {"retrieval": {"fusion": "convex", "fusion_weights": dict(fit.weights)}}
    clew.update_kb(kb, settings=merged(clew.kb(kb).settings, chosen))


def _roll_back(clew: Clew, kb: str) -> None:
    settings = merged(clew.kb(kb).settings, {})
    settings["retrieval"] = dict(settings.get("retrieval", {}))
    remove_path(settings, "retrieval.fusion")
    remove_path(settings, "retrieval.fusion_weights")
    clew.update_kb(kb, settings=settings)


def _print(fit: FusionFit, *, apply: bool, applied: bool) -> None:
    weights = ", ".join(f"{name} {weight:g}" for name, weight in fit.weights.items())
    _out.print(f"{fit.questions} questions, weights: {weights}")
    _out.print(
        f"nDCG@10 on questions that the weights were not fitted to: {100 * fit.convex:.1f}, by ranks "
        f"{100 * fit.rrf:.1f}; gain {100 * fit.gain:+.1f} [{100 * fit.low:+.1f}, {100 * fit.high:+.1f}]"
    )
    if applied:
        _out.print("Applied; --rollback takes it back.")
    elif apply:
        _out.print("Not applied: the gain is not above zero beyond chance (--force applies it all the same).")
    elif fit.is_better:
        _out.print("Better beyond chance: --apply switches the knowledge base to them.")
    else:
        _out.print("Not better beyond chance: stay with fusion by ranks.")
