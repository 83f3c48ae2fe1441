"""``clew describe``: what a vision model says of the images, charts and tables of files that are there already."""

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

_out = Console(highlight=False)
_errors = Console(stderr=True, highlight=False)
_POLL_SECONDS = 0.2


def describe(
    kb: Annotated[str, typer.Argument(help="Knowledge base, by name or id.")],
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Have the vision model describe the images, charts and tables that it has not described, and wait for it."""
    with closing(open_door(data or default_data_folder())) as door:
        done = _wait(door, [file["file_id"] for file in door.describe(kb)])
    if as_json:
        print(json.dumps(done, ensure_ascii=False))
    else:
        for file in done:
            left = f"{file['undescribed']} not described" if file["undescribed"] else "described"
            _out.print(f"{file['file_id']}  {file['name']}  {left}", markup=False, soft_wrap=True)
        if not done:
            _errors.print("nothing to do: there is no image, chart or table that was not described")
    if left_over := sum(file["undescribed"] or 0 for file in done):
        _errors.print(
            f"{left_over} images or tables were not described: the model failed, or indexing.vision.max_calls allowed "
            "no more calls for a file. `clew doctor` tries the model; `clew describe` goes on."
        )
        sys.exit(1)


def _wait(door: Door, file_ids: Sequence[str]) -> list[dict[str, Any]]:
    """The files when the model has been asked about all of them and they are published again."""
    with Progress(
        TextColumn("files described"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=_errors
    ) as progress:
        bar = progress.add_task("", total=len(file_ids))
        while True:
            found = [door.file(file_id) for file_id in file_ids]
            over = [file for file in found if not file["describing"] and file["status"] != "processing"]
            progress.update(bar, completed=len(over))
            if len(over) == len(found):
                return found
            time.sleep(_POLL_SECONDS)
