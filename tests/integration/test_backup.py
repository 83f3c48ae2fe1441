"""One archive holds everything, and a folder made from it answers as before."""

from __future__ import annotations

import io
import shutil
import tarfile
from dataclasses import asdict
from pathlib import Path

import pytest

from clew.app import Clew, back_up
from clew.errors import InputError
from clew.storage.base import NewFile
from clew.types import File, FileStatus

LAKES = "# Lakes\n\n## Constance\n\nLake Constance lies between Germany, Austria and Switzerland.\n"


class NoEmbedder:
    """Embeds questions only."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> object:
        assert name != "embed_passages", "a restore embeds nothing"
        return getattr(self.inner, name)


def _without_summaries(file: File) -> dict[str, object]:
    return {name: value for name, value in asdict(file).items() if not name.startswith("summary_")}


@pytest.fixture
def archive(clew: Clew, embedder: object, tmp_path: Path) -> Path:
    clew.__dict__["embedder"] = embedder
    clew.create_kb("notes", settings={"retrieval": {"rerank_top_k": 3}})
    file = clew.add_file("notes", "lakes.md", io.BytesIO(LAKES.encode()))[0]
    clew.wait([file.file_id], timeout=60)
    (clew.data / "clew.toml").write_text("[answer]\nquote_sentences = 2\n")
    list(clew.ask("Where is Lake Constance?", kbs=["notes"]))
    assert back_up(clew.data, tmp_path / "clew.tar.gz") == 1
    return tmp_path / "clew.tar.gz"


def test_a_restored_folder_answers_without_embedding(
    clew: Clew, archive: Path, tmp_path: Path, embedder: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = clew.list_files("notes")
    conversations = clew.list_conversations()
    clew.close()
    monkeypatch.setattr("clew.app.make_embedder", lambda *_, **__: NoEmbedder(embedder))
    assert Clew.restore(archive, tmp_path / "new") == 1
    assert archive.stat().st_mode & 0o077 == 0
    with Clew.open(tmp_path / "new") as restored:
        assert restored.settings.answer.quote_sentences == 2
        # Index entries of summaries are made when ingestion starts, from what is cached: a new run.
        assert [_without_summaries(file) for file in restored.list_files("notes")] == [
            _without_summaries(file) for file in before
        ]
        assert restored.list_conversations() == conversations
        assert restored.kb("notes").settings == {"retrieval": {"rerank_top_k": 3}}
        with restored.open_original(before[0].file_id) as original:
            assert original.read() == LAKES.encode()
        assert "Switzerland" in restored.search("Where is Lake Constance?", kbs=["notes"]).hits[0].text
        assert restored.examine() == []


def test_a_file_that_is_being_read_goes_on_after_the_restore(
    clew: Clew, archive: Path, tmp_path: Path, embedder: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clew._arrivals.store("f_new", io.BytesIO(b"# Seas\n\nThe North Sea.\n")) as stored:
        kb_id = clew.kb("notes").kb_id
        clew.records.add_file(
            NewFile("f_new", kb_id, "seas.md", "text/markdown", stored.size, stored.file_key, stored.content_hash)
        )
    again = tmp_path / "again.tar.gz"
    assert back_up(clew.data, again) == 2
    clew.close()
    monkeypatch.setattr("clew.app.make_embedder", lambda *_, **__: embedder)
    Clew.restore(again, tmp_path / "new")
    with Clew.open(tmp_path / "new") as restored:
        restored.jobs.start()
        assert restored.wait(["f_new"], timeout=60)[0].status is FileStatus.COMPLETED


def test_a_lost_original_is_no_reason_to_go_without_a_backup(clew: Clew, archive: Path, tmp_path: Path) -> None:
    clew.originals.delete(clew.list_files("notes")[0].file_key)
    assert back_up(clew.data, tmp_path / "again.tar.gz") == 0


def test_what_is_no_backup_is_refused_and_leaves_nothing(archive: Path, tmp_path: Path) -> None:
    target = tmp_path / "new"
    cut, other, text = tmp_path / "cut.tar.gz", tmp_path / "other.tar.gz", tmp_path / "text.tar.gz"
    cut.write_bytes(archive.read_bytes()[:-2000])
    text.write_text("no archive")
    with tarfile.open(other, "w:gz") as tar:
        tar.add(text, "../escape")
    for path in (cut, other, text):
        with pytest.raises(InputError, match=path.name):
            Clew.restore(path, target)
        assert not target.exists()
    assert not (tmp_path.parent / "escape").exists()
    target.mkdir()
    (target / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="something already"):
        Clew.restore(archive, target)
    shutil.rmtree(target)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".new")] == []
    with pytest.raises(InputError, match="no data folder"):
        back_up(tmp_path / "nothing", tmp_path / "x.tar.gz")
