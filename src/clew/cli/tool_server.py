"""``clew mcp``: the tools on standard input and output, from the folder or through the server that has it open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from clew.app import Clew
from clew.cli.door import announced_server
from clew.cli.http_door import HttpDoor, answers
from clew.mcp import bridge_stdio, serve_stdio
from clew.tools import Grant, Tools


def run_tools(data: Path, *, kbs: Sequence[str]) -> None:
    """Serve until input ends; the tools read only ``kbs`` (none: all). Raises NotFoundError for an unknown one,
    StorageBusyError where another process than a server has the folder open."""
    url = announced_server(data)
    if url is not None and answers(url):
        anyio.run(bridge_stdio, url, _served_ids(url, kbs))
        return
    with Clew.open(data) as clew:
        ids = frozenset(clew.kb(name).kb_id for name in kbs) if kbs else None
        grant = Grant(ids, conversation_ids=None if ids is None else frozenset())
        anyio.run(serve_stdio, Tools(clew, grant))


def _served_ids(url: str, kbs: Sequence[str]) -> list[str] | None:
    if not kbs:
        return None
    door = HttpDoor(url)
    try:
        return [door.kb_id(name) for name in kbs]
    finally:
        door.close()
