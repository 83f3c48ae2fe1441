"""``multihop-classifier`` starts the service (settings: settings.py); its further commands make a model for it."""

from __future__ import annotations

import argparse
import sys

import uvicorn

from multihop_classifier.server import create_app
from multihop_classifier.settings import SettingsError, read_settings
from multihop_classifier.training.commands import add_commands
from multihop_classifier.training.rows import RowsError


def main(arguments: list[str] | None = None) -> None:
    """Runs one command, without one the service. Exits with 2 and one line where something cannot be used."""
    parser = argparse.ArgumentParser(prog="multihop-classifier", description=__doc__)
    commands = parser.add_subparsers(title="commands")
    commands.add_parser("serve", help="answer questions over HTTP (also without a command)")
    add_commands(commands)
    parser.set_defaults(run=_serve)
    given = parser.parse_args(arguments)
    try:
        given.run(given)
    except (SettingsError, RowsError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error


def _serve(_: argparse.Namespace) -> None:
    settings = read_settings()
    # A request a question: a line each would be the service's main work.
    uvicorn.run(create_app(settings), host=settings.host, port=settings.port, access_log=False)
