"""A vision model at work: what it says of an image is found by search, and an update does not pay for it again."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import func, select

from clew.app import Clew
from clew.errors import SettingsError
from clew.storage.records import tables
from clew.types import BlockType, File, FileStatus, TokenUsage
from fakes.openai_server import Request, ScriptedServer, Status

KB = {"summaries": {"enabled": False}, "representations": {"l2": False}}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    said = {"kind": "chart", "caption": "Exports of walnuts by year.", "content": "2021: 40 tonnes, 2022: 55 tonnes."}

    def reply(request: Request) -> str:
        return json.dumps(said)

    with ScriptedServer(reply) as server:
        yield server


@pytest.fixture
def clew(tmp_path: Path, models_folder: Path, server: ScriptedServer) -> Iterator[Clew]:
    models = {"folder": str(models_folder), "vision": {"url": server.url, "model": "sees"}}
    with Clew.open(tmp_path / "data", overrides={"models": models}) as opened:
        opened.create_kb("notes", settings=KB)
        yield opened


def page(text: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), "navy").save(buffer, "PNG")
    image = base64.b64encode(buffer.getvalue()).decode()
    return f'<html><body><p>{text}</p><img src="data:image/png;base64,{image}"></body></html>'.encode()


def completed(clew: Clew, file_id: str) -> File:
    (file,) = clew.wait([file_id], timeout=60)
    assert file.status is FileStatus.COMPLETED, file.reason
    return file


def test_descriptions_are_found_and_an_update_reuses_them(clew: Clew, server: ScriptedServer) -> None:
    file, _ = clew.add_file("notes", "trade.html", io.BytesIO(page("The valley trades in many goods.")))
    completed(clew, file.file_id)
    (hit,) = clew.search("walnuts exports", kbs=["notes"], mode="single", kind="fact").hits
    assert "(Described by the vision model) Exports of walnuts by year." in hit.text
    assert len(server.chats) == 1
    vision = TokenUsage(prompt_tokens=11, completion_tokens=7, calls=1)
    assert clew.file(file.file_id).usage == {"vision": vision}
    clew.update_file(file.file_id, "trade.html", io.BytesIO(page("The valley trades in a few goods only.")))
    changes = completed(clew, file.file_id).changes
    assert changes is not None
    assert (changes.vision_calls_made, changes.vision_calls_saved) == (0, 1)
    assert (changes.blocks_reused, changes.blocks_changed) == (1, 1)
    assert len(server.chats) == 1
    assert clew.file(file.file_id).usage == {"vision": vision}


def test_what_the_model_said_of_a_picture_goes_with_the_picture(clew: Clew, server: ScriptedServer) -> None:
    def kept() -> int:
        with clew.records._db.read() as connection:
            return connection.execute(select(func.count()).select_from(tables.block_cache)).scalar_one()

    file, _ = clew.add_file("notes", "trade.html", io.BytesIO(page("The valley trades in many goods.")))
    completed(clew, file.file_id)
    clew.edit_chunk(file.file_id, clew.file_parents(file.file_id)[0].chunk_id, enabled=False)
    completed(clew, file.file_id)
    assert kept() == 2, "recognised and described; an edit reads nothing anew"
    clew.update_file(file.file_id, "trade.html", io.BytesIO(page("The valley trades in a few goods.")))
    completed(clew, file.file_id)
    assert (kept(), len(server.chats)) == (2, 1)
    clew.update_file(file.file_id, "trade.html", io.BytesIO(b"<html><body><p>The picture is gone.</p></body></html>"))
    completed(clew, file.file_id)
    deadline = time.monotonic() + 20  # it follows the publish
    while kept() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kept() == 0


def test_a_picture_without_text_is_a_file_that_can_be_found(clew: Clew) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), "white").save(buffer, "PNG")
    file, _ = clew.add_file("notes", "chart.png", io.BytesIO(buffer.getvalue()))
    completed(clew, file.file_id)
    (hit,) = clew.search("walnuts exports", kbs=["notes"], mode="single", kind="fact").hits
    assert hit.page == 1


def test_a_model_that_comes_later_describes_what_is_there(
    tmp_path: Path, models_folder: Path, server: ScriptedServer
) -> None:
    folder = {"folder": str(models_folder)}
    with Clew.open(tmp_path / "data", overrides={"models": folder}) as clew:
        clew.create_kb("notes", settings=KB)
        file, _ = clew.add_file("notes", "trade.html", io.BytesIO(page("The valley trades in many goods.")))
        plain, _ = clew.add_file("notes", "plain.txt", io.BytesIO(b"Nothing is shown here."))
        assert completed(clew, file.file_id).undescribed == 1
        assert completed(clew, plain.file_id).undescribed == 0
        with pytest.raises(SettingsError, match=r"models\.vision"):
            clew.describe("notes")
    seen = {"url": server.url, "model": "sees"}
    with Clew.open(tmp_path / "data", overrides={"models": {**folder, "vision": seen}}) as clew:
        assert [queued.file_id for queued in clew.describe("notes")] == [file.file_id]
        (done,) = clew.wait([file.file_id], timeout=60, descriptions=True)
        assert (done.status, done.undescribed, len(server.chats)) == (FileStatus.COMPLETED, 0, 1)
        said = [block.text for block in clew.blocks(file.file_id) if block.type is BlockType.IMAGE]
        assert said[0].count("(Described by the vision model) Exports of walnuts by year.") == 1
        assert clew.search("walnuts exports", kbs=["notes"], mode="single", kind="fact").hits
        assert clew.describe("notes") == []
        # An edit, which reads the stored blocks, does not say it twice.
        parent = clew.file_parents(file.file_id)[0]
        clew.edit_chunk(file.file_id, parent.chunk_id, enabled=False)
        completed(clew, file.file_id)
        assert [b.text for b in clew.blocks(file.file_id) if b.type is BlockType.IMAGE] == said
        assert len(server.chats) == 1


def test_a_model_that_fails_leaves_the_file_as_it_was(tmp_path: Path, models_folder: Path) -> None:
    folder = {"folder": str(models_folder)}
    with Clew.open(tmp_path / "data", overrides={"models": folder}) as clew:
        clew.create_kb("notes", settings=KB)
        file, _ = clew.add_file("notes", "trade.html", io.BytesIO(page("The valley trades in many goods.")))
        before = completed(clew, file.file_id)
    with (
        ScriptedServer(lambda _: Status(401)) as server,
        Clew.open(
            tmp_path / "data", overrides={"models": {**folder, "vision": {"url": server.url, "model": "sees"}}}
        ) as clew,
    ):
        clew.describe("notes")
        (after,) = clew.wait([file.file_id], timeout=60, descriptions=True)
        assert (after.status, after.version, after.undescribed) == (FileStatus.COMPLETED, before.version, 1)


def test_descriptions_that_were_interrupted_go_on_at_the_next_start(
    tmp_path: Path, models_folder: Path, server: ScriptedServer
) -> None:
    folder = {"folder": str(models_folder)}
    with Clew.open(tmp_path / "data", overrides={"models": folder}) as clew:
        clew.create_kb("notes", settings=KB)
        file, _ = clew.add_file("notes", "trade.html", io.BytesIO(page("The valley trades in many goods.")))
        completed(clew, file.file_id)
        clew.records.update_file(file.file_id, describing=True)  # what a crash leaves
    seen = {"url": server.url, "model": "sees"}
    with Clew.open(tmp_path / "data", overrides={"models": {**folder, "vision": seen}}) as clew:
        clew.jobs.start()
        (done,) = clew.wait([file.file_id], timeout=60, descriptions=True)
        assert (done.status, done.version, done.undescribed) == (FileStatus.COMPLETED, 2, 0)
