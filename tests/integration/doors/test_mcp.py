"""The MCP server through the SDK's own client: stdio, streamable HTTP, and stdio beside a running server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import httpx2
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from clew.app import Clew
from clew.errors import StorageBusyError
from clew.mcp import KBS_HEADER
from fakes.server_process import ServedClew

QUESTION = "How long is the Danube?"
TOOLS = {"kb_rag", "attachment_rag", "list_knowledge_bases", "browse_sections"}


@asynccontextmanager
async def over_http(server: ServedClew, kbs: str | None = None) -> AsyncIterator[Client]:
    headers = {} if kbs is None else {KBS_HEADER: kbs}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(environment: dict[str, str], *options: str) -> AsyncIterator[Client]:
    command = StdioServerParameters(command=sys.executable, args=["-m", "clew", "mcp", *options], env=environment)
    async with Client(command) as client:
        yield client


@pytest.fixture(scope="module")
def talk(server: ServedClew) -> str:
    """A conversation with two attachments, one of which cannot be read."""
    with server.api() as api:
        conversation_id = str(api.post("/conversations", json={"title": "depot"}).json()["conversation_id"])
        for name, content in (("picture.xyz", bytes(range(256))), ("depot.txt", b"The code of the depot is 7341.")):
            attached = api.post(f"/conversations/{conversation_id}/attachments", files={"file": (name, content)})
            assert attached.status_code == 201
    return conversation_id


async def text_of(client: Client, tool: str, arguments: dict[str, object]) -> tuple[str, mcp_types.CallToolResult]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, mcp_types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text, result


async def list_and_call_all(client: Client, talk: str) -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert listed.keys() == TOOLS
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed.values())

    text, result = await text_of(client, "list_knowledge_bases", {})
    assert not result.is_error
    assert "rivers" in text
    assert "1 completed" in text

    text, result = await text_of(client, "kb_rag", {"question": QUESTION, "kbs": ["rivers"]})
    assert not result.is_error, text
    assert text.startswith("[1] rivers.md > Rivers > The Danube")
    assert "2,850 kilometres" in text
    assert result.structured_content["citations"][0]["file"] == "rivers.md"
    file_id = result.structured_content["citations"][0]["file_id"]

    text, _ = await text_of(client, "browse_sections", {"kb": "rivers"})
    assert f"rivers.md ({file_id})" in text
    text, _ = await text_of(client, "browse_sections", {"file_id": file_id})
    assert "Rivers, 2 subsections" in text
    path = text.splitlines()[1].split()[0]
    text, _ = await text_of(client, "browse_sections", {"file_id": file_id, "section_path": path})
    danube = next(line.split()[0] for line in text.splitlines() if "The Danube" in line)
    text, _ = await text_of(client, "browse_sections", {"file_id": file_id, "section_path": danube})
    assert "The Danube rises in the Black Forest" in text

    question: dict[str, object] = {"question": "Which code opens the depot?", "conversation_id": talk}
    text, result = await text_of(client, "attachment_rag", question)
    assert not result.is_error, text
    assert "7341" in text
    assert "picture.xyz" in text, "a file that cannot be read is named"
    assert result.structured_content["citations"][0]["file"] == "depot.txt"
    text, result = await text_of(client, "attachment_rag", {**question, "conversation_id": "c_nothing"})
    assert result.is_error

    text, result = await text_of(client, "kb_rag", {"question": QUESTION, "kbs": ["nothing"]})
    assert result.is_error
    assert "nothing" in text
    text, result = await text_of(client, "kb_rag", {"question": QUESTION, "top_k": 3})
    assert result.is_error
    assert "top_k" in text


def test_over_http(server: ServedClew, talk: str) -> None:
    async def run() -> None:
        async with over_http(server) as client:
            await list_and_call_all(client, talk)

    anyio.run(run)


def test_over_stdio_beside_the_running_server(server: ServedClew, talk: str) -> None:
    async def run() -> None:
        async with over_stdio(dict(server.environment)) as client:
            await list_and_call_all(client, talk)

    anyio.run(run)


def test_over_stdio_on_a_folder_of_its_own(tmp_path: Path, server: ServedClew) -> None:
    # An empty folder: the process opens it, answers, and says plainly that there is nothing.
    environment = {**server.environment, "CLEW_DATA": str(tmp_path / "own")}

    async def run() -> tuple[str, str]:
        async with over_stdio(environment) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            with pytest.raises(StorageBusyError):  # the folder belongs to that process
                Clew.open(tmp_path / "own")
            return (
                (await text_of(client, "list_knowledge_bases", {}))[0],
                (await text_of(client, "kb_rag", {"question": QUESTION}))[0],
            )

    listed, found = anyio.run(run)
    assert listed == found == "There are no knowledge bases yet."


@pytest.mark.parametrize("door", ["http", "stdio"])
def test_a_connection_reads_only_what_it_was_narrowed_to(server: ServedClew, talk: str, door: str) -> None:
    with server.api() as api:
        ids = {kb["name"]: kb["kb_id"] for kb in api.get("/kbs").json()}

    async def run() -> None:
        opened = (
            over_http(server, ids["cities"])
            if door == "http"
            else over_stdio(dict(server.environment), "--kb", "cities")
        )
        async with opened as client:
            text, _ = await text_of(client, "list_knowledge_bases", {})
            assert "cities" in text
            assert "rivers" not in text
            for name in ("rivers", ids["rivers"]):
                refused, result = await text_of(client, "kb_rag", {"question": QUESTION, "kbs": [name]})
                unknown, _ = await text_of(client, "kb_rag", {"question": QUESTION, "kbs": ["x"]})
                assert result.is_error
                assert refused.replace(name, "x") == unknown, "what is not granted looks like what does not exist"
            text, _ = await text_of(client, "kb_rag", {"question": QUESTION})
            assert "Danube" not in text
            text, result = await text_of(client, "attachment_rag", {"question": "code?", "conversation_id": talk})
            assert result.is_error
            assert "7341" not in text

    anyio.run(run)


def test_an_unknown_knowledge_base_is_refused_before_anything_is_served(server: ServedClew) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "mcp", "--kb", "nothing"],
        env=dict(server.environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing" in done.stderr


def test_pages_of_other_origins_are_refused(server: ServedClew) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(
        f"{server.url}/mcp", json=call, headers={"Origin": "http://example.com"}, trust_env=False, timeout=10
    )
    assert answer.status_code == 403
