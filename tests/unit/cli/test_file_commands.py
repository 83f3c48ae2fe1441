"""Commands that take care of files which are there already: disable, restore-file, doctor --deep, backup, restore."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from clew.app import Clew
from clew.cli.main import app
from clew.cli.printing import print_changes
from clew.models.base import Embedder
from clew.types import FileStatus
from fakes import samples


@pytest.fixture
def data(tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder whose file f1 has a version 1 and an update that failed."""
    monkeypatch.setattr("clew.app.make_embedder", lambda *_, **__: embedder)
    folder = tmp_path / "data"
    with Clew.open(folder) as clew:
        clew.records.create_kb(samples.kb())
        clew.records.add_file(samples.new_file())
        clew.originals.put("f1/v1", io.BytesIO(b"v1"))
        clew.records.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
        clew.records.publish("f1", 1)
        clew.records.begin_update(samples.new_file(content="v2"))
        clew.originals.put("f1/v2", io.BytesIO(b"v2"))
        clew.records.fail("f1", 2, "damaged")
    return folder


def run(data: Path, *words: str, ok: bool = True) -> Result:
    result = CliRunner().invoke(app, [*words, "--data", str(data)])
    assert (result.exit_code == 0) is ok, result.output
    return result


def test_a_failed_update_is_restored(data: Path) -> None:
    assert run(data, "restore-file", "f1").output.startswith("f1 ")
    with Clew.open(data) as clew:
        assert clew.file("f1").status is FileStatus.COMPLETED
        assert set(clew.originals.keys()) == {"f1/v1"}
    run(data, "restore-file", "f1", ok=False)


def test_a_file_is_disabled_and_enabled(data: Path) -> None:
    for command, enabled in (("disable", False), ("enable", True)):
        run(data, command, "f1")
        with Clew.open(data) as clew:
            assert clew.file("f1").enabled is enabled


def test_the_deep_doctor_finds_what_is_missing_and_repairs_it(data: Path) -> None:
    run(data, "restore-file", "f1")
    found = json.loads(run(data, "doctor", "--deep", "--json", ok=False).output)
    assert [check["name"] for check in found if not check["ok"]] == ["missing entries"]
    repaired = json.loads(run(data, "doctor", "--repair", "--json").output)
    assert repaired[-1]["name"] == "missing entries"
    agreed = json.loads(run(data, "doctor", "--deep", "--json").output)
    assert agreed[-1] == {"name": "stores", "ok": True, "detail": "records, search index and originals agree"}


def test_a_backup_is_restored_elsewhere(data: Path, tmp_path: Path) -> None:
    assert "2 originals" in run(data, "backup", str(tmp_path / "clew.tar.gz")).output
    assert "1 files" in run(tmp_path / "new", "restore", str(tmp_path / "clew.tar.gz")).output
    with Clew.open(tmp_path / "new") as clew:
        assert (clew.file("f1").status, clew.file("f1").reason) == (FileStatus.FAILED, "damaged")


def test_an_update_says_in_one_line_what_it_changed(capsys: pytest.CaptureFixture[str]) -> None:
    changes = {f"blocks_{what}": number for number, what in enumerate(("reused", "changed", "removed", "added"))}
    changes |= {"embeddings_made": 2, "embeddings_saved": 40, "vision_calls_made": 1, "vision_calls_saved": 3}
    print_changes("a.md", changes | {"edits_lost": [{"section_titles": ["A", "B"], "text": "Mine.", "enabled": True}]})
    err = capsys.readouterr().err
    assert "0 reused, 1 changed, 2 removed, 3 added" in err
    assert "2 made, 40 saved" in err
    assert "3 of 4 saved" in err
    assert "A > B: Mine." in err
