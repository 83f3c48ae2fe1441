"""``clew backup`` and ``clew restore``: a data folder as one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clew.app import Clew, back_up
from clew.config import default_data_folder

DataOption = Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")]


def backup(
    archive: Annotated[Path, typer.Argument(help="Where the archive goes, e.g. clew.tar.gz; it holds API keys.")],
    data: DataOption = None,
) -> None:
    """Write everything to one archive, also beside a running server."""
    files = back_up(data or default_data_folder(), archive)
    print(f"{archive}  {files} originals, {archive.stat().st_size / 1e6:.1f} MB")


def restore(
    archive: Annotated[Path, typer.Argument(help="An archive of `clew backup`.", exists=True, dir_okay=False)],
    data: DataOption = None,
) -> None:
    """Make a data folder from an archive; nothing is embedded again."""
    folder = data or default_data_folder()
    files = Clew.restore(archive, folder)
    print(f"{folder}  {files} files")
