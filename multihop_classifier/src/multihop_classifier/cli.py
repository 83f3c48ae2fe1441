"""``multihop-classifier`` starts the service; settings come from the environment (see settings.py)."""

from __future__ import annotations

import sys

import uvicorn

from multihop_classifier.server import create_app
from multihop_classifier.settings import SettingsError, read_settings


def main() -> None:
    """Serves until it is stopped. Exits with 2 and one line on an impossible setting."""
    try:
        settings = read_settings()
    except SettingsError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error
    # A request a question: a line each would be the service's main work.
    uvicorn.run(create_app(settings), host=settings.host, port=settings.port, access_log=False)
