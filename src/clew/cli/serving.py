"""``clew serve``: one process that owns a data folder and serves it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from clew.api.server import Mounted, check_bind_address, serve
from clew.app import Clew
from clew.cli.door import announce_server
from clew.cli.late import Late, Running
from clew.errors import ClewError, InputError

_SECONDS_BETWEEN_CLEANINGS = 600.0


def run_server(data: Path, *, host: str | None, port: int | None, say: Callable[[str], None]) -> None:
    """Serve until interrupted. Raises SettingsError for an address that other machines can reach, InputError for a
    port in use, StorageBusyError where another process has the folder open."""
    with Clew.open(data) as clew:
        address = host or clew.settings.server.host
        check_bind_address(address)
        chosen = _free_port(address, clew.settings.server.port if port is None else port)
        url = f"http://{f'[{address}]' if ':' in address else address}:{chosen}"
        announced = announce_server(data, url)
        # Loading the model takes a second or two (the first time: minutes); the server answers before and meanwhile.
        ending = threading.Event()
        ingestion = threading.Thread(target=_work, args=(clew, ending, say), name="background-work", daemon=True)
        say(f"Clew serves {data} at {url}")
        mcp = Late(partial(_tools_door, clew))
        try:
            serve(
                clew,
                host=address,
                port=chosen,
                max_file_bytes=clew.settings.indexing.max_file_bytes,
                on_listening=ingestion.start,
                mounted=Mounted("/mcp", mcp, mcp.running),
            )
        finally:
            ending.set()
            announced.unlink(missing_ok=True)


def _tools_door(clew: Clew) -> Running:
    # The protocol's libraries take as long to load as the rest of the server.
    from clew.mcp import HttpDoor  # noqa: PLC0415
    from clew.tools import Tools  # noqa: PLC0415

    return HttpDoor(Tools(clew))


def _work(clew: Clew, ending: threading.Event, say: Callable[[str], None]) -> None:
    """Ingest files, and remove attachments that nobody needs any more, until the server ends."""
    try:
        clew.jobs.start()
    except ClewError as error:
        say(f"clew: files cannot be ingested: {error}")
    while not ending.is_set():
        try:
            clew.clean_attachments()
        except ClewError as error:
            say(f"clew: old attachments could not be removed: {error}")
        ending.wait(_SECONDS_BETWEEN_CLEANINGS)


def _free_port(host: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"{host}:{port}: cannot listen there ({error.strerror}); "
                "name another port with --port, or 0 for a free one."
            ) from error
        return int(probe.getsockname()[1])
