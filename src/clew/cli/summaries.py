"""``clew files`` and ``clew summarise``: how far the files of a knowledge base are, and their section summaries."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clew.cli.door import Door, open_door
from clew.config import default_data_folder
from clew.types import SUMMARIES_GO_ON

Json = dict[str, Any]

_out = Console(highlight=False)
_errors = Console(stderr=True, highlight=False)
_POLL_SECONDS = 0.2

KbArgument = Annotated[str, typer.Argument(help="Knowledge base, by name or id.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def files(kb: KbArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the files of a knowledge base, how far they are, and how far their summaries are."""
    with closing(open_door(data or default_data_folder())) as door:
        found = door.list_files(kb)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for file in found:
        status = f"{file['status']} {file['stage']} {file['progress']:.0%}" if file["status"] == "processing" else ""
        status = status or f"{file['status']}{': ' + file['reason'] if file['reason'] else ''}"
        line = [file["file_id"], file["name"], status, summary_line(file), usage_line(file)]
        _out.print("  ".join(part for part in line if part), markup=False, soft_wrap=True)


def summarise(
    kb: KbArgument,
    again: Annotated[bool, typer.Option("--again", help="Also files whose summaries are as wanted.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the section summaries and questions that files lack under the present settings, and wait for them."""
    with closing(open_door(data or default_data_folder())) as door:
        queued = door.summarise(kb, again=again)
        done = wait_for_summaries(door, [file["file_id"] for file in queued])
    failed = [file for file in done if file["summary_status"] == "failed"]
    if as_json:
        print(json.dumps(done, ensure_ascii=False))
    else:
        for file in done:
            _out.print(f"{file['file_id']}  {file['name']}  {summary_line(file)}", markup=False, soft_wrap=True)
        if not done:
            _errors.print("nothing to do: every file has its summaries")
    if failed:
        sys.exit(1)


def wait_for_summaries(door: Door, file_ids: Sequence[str]) -> list[Json]:
    """The files when none of them is being summarised any more, with progress meanwhile."""
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=_errors
    ) as progress:
        bars = {file_id: progress.add_task("summaries", total=None) for file_id in file_ids}
        while True:
            found = [door.file(file_id) for file_id in file_ids]
            for file in found:
                over = file["summary_status"] not in SUMMARIES_GO_ON
                total = file["summary_total"] or None
                progress.update(
                    bars[file["file_id"]],
                    description=f"summaries of {file['name'][:40]}",
                    total=total or (1 if over else None),
                    completed=(total or 1) if over else file["summary_done"],
                )
            if all(file["summary_status"] not in SUMMARIES_GO_ON for file in found):
                return found
            time.sleep(_POLL_SECONDS)


def usage_line(file: Json) -> str:
    """``models: vision 3 calls, 4,210 tokens; summary …``; empty where no model was asked."""
    parts = [
        f"{part} {cost['calls']} calls, {cost['prompt_tokens'] + cost['completion_tokens']:,} tokens"
        for part, cost in file.get("usage", {}).items()
    ]
    return f"models: {'; '.join(parts)}" if parts else ""


def summary_line(file: Json) -> str:
    """``summaries: completed (extractive)``, ``summaries: running 12 of 80``, …"""
    status = file["summary_status"]
    if status == "completed":
        return f"summaries: completed ({file['summary_model'] or 'extractive'})"
    if status == "failed":
        return f"summaries: failed: {file['summary_reason']}"
    if status == "running" and file["summary_total"]:
        return f"summaries: running {file['summary_done']} of {file['summary_total']}"
    return f"summaries: {status}"
