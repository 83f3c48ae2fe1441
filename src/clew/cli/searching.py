"""``clew search``: the ranking and how it came about, for a new question or for that of a stored trace."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from clew.cli.door import open_door, search_request
from clew.cli.overlay import overlay_of
from clew.cli.printing import print_hits
from clew.config import default_data_folder, merged
from clew.errors import InputError
from clew.retrieval.replay import differences, find_trace, request_of
from clew.types import RetrievalMode

_out = Console(highlight=False)


def search(
    question: Annotated[str | None, typer.Argument()] = None,
    kb: Annotated[list[str] | None, typer.Option("--kb", help="Knowledge base; may be given several times.")] = None,
    file: Annotated[list[str] | None, typer.Option("--file", help="Restrict to these file ids.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Only files of which this is known: company, period, type, language … =value."),
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="auto (the default), single or multi.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="auto (the default), fact or summary.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Setting for this question only, as path=value.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", help="Ask the question of a stored trace again, as then, and show what differs."),
    ] = None,
    top: Annotated[int, typer.Option(help="Hits to print.")] = 5,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank passages and show how they were found; no answer."""
    before = None if replay is None else _stored_trace(replay)
    if before is None:
        if question is None or not kb:
            raise InputError("Give a question and a knowledge base (--kb), or a stored trace (--replay).")
        request = search_request(question, kb, file or [], cast(RetrievalMode, mode or "auto"), where or [])
        request["kind"] = kind or "auto"
    else:
        if question is not None:
            raise InputError("The question stands in the trace: give either a question or --replay.")
        # As the trace asked, but for what is said anew.
        said = {"kbs": kb, "files": file, "retrieval_mode": mode, "kind": kind}
        request = request_of(before) | {name: value for name, value in said.items() if value}
    request["settings"] = merged(request.get("settings", {}), overlay_of(settings or []))
    with closing(open_door(data or default_data_folder())) as door:
        result = door.search(request)
    if before is not None:
        result["differences"] = [dataclasses.asdict(d) for d in differences(before, result["trace"])]
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
        return
    print_hits(result, top)
    if before is not None:
        _print_differences(result["differences"])


def _stored_trace(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: holds no trace; use the output of `clew search --json`.")
    return find_trace(value)


def _print_differences(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        _out.print("As then: decision, rounds and context are the same.")
        return
    _out.print(f"{len(found)} differences from the stored trace:")
    for difference in found:
        before, after = (_shown(difference[side]) for side in ("before", "after"))
        _out.print(f"  {difference['what']}: {before} → {after}", markup=False)


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list) else str(value)
