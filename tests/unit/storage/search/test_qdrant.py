"""What is Qdrant Edge's own: the lock, the room on the device, building graphs beside the work."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from clew.errors import StorageBusyError, StorageError, StorageFullError
from clew.storage.base import IndexEntry, IndexFilter
from clew.storage.search.collection import SearchParameters
from clew.storage.search.qdrant import QdrantEdgeIndex
from clew.types import Representation

L2 = Representation.L2


def entries(count: int) -> list[IndexEntry]:
    vectors = np.random.default_rng(3).normal(size=(count, 8)).astype(np.float32)
    return [IndexEntry(f"c{i}", "p", "f", 1, "", L2, vector=vectors[i], terms=("猫", f"t{i}")) for i in range(count)]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from clew.storage.search.qdrant import QdrantEdgeIndex;"
        "QdrantEdgeIndex(pathlib.Path(sys.argv[1])); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with pytest.raises(StorageBusyError, match=f"pid {child.pid}"):
            QdrantEdgeIndex(tmp_path)
        child.kill()
    QdrantEdgeIndex(tmp_path).close()


def test_closing_lets_others_in_and_refuses_further_use(tmp_path: Path) -> None:
    index = QdrantEdgeIndex(tmp_path)
    index.create("kb", 8)
    index.close()
    index.close()
    with pytest.raises(StorageError, match="closed"):
        index.files("kb")
    QdrantEdgeIndex(tmp_path).close()


def test_a_full_device_is_told_before_anything_is_written(tmp_path: Path) -> None:
    index = QdrantEdgeIndex(tmp_path, background=False)
    index.create("kb", 8)
    index.upsert("kb", entries(5))
    index.close()
    index = QdrantEdgeIndex(tmp_path, SearchParameters(min_free_bytes=2**62), background=False)
    with pytest.raises(StorageFullError, match="make room"):
        index.optimise("kb")
    assert len(index.search_text("kb", ["猫"], IndexFilter(), 10)) == 5
    with pytest.raises(StorageFullError, match="make room"):
        index.upsert("kb", entries(1))
    with pytest.raises(StorageFullError, match="make room"):
        index.create("other", 8)
    index.delete("kb", "f")
    assert index.files("kb") == {}
    index.close()


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="open the search index"):
        QdrantEdgeIndex(tmp_path / "file" / "below")


def test_a_damaged_shard_is_a_storage_error(tmp_path: Path) -> None:
    index = QdrantEdgeIndex(tmp_path, background=False)
    index.create("kb", 8)
    index.upsert("kb", entries(1))
    index.close()
    for path in (tmp_path / "kb").rglob("segment.json"):
        path.write_text("{")
    index = QdrantEdgeIndex(tmp_path, background=False)
    with pytest.raises(StorageError, match="open the search index of kb"):
        index.search_text("kb", ["猫"], IndexFilter(), 1)
    index.close()


def test_graphs_are_built_in_the_background_and_leftovers_are_swept(tmp_path: Path) -> None:
    parameters = SearchParameters(rebuild_from=100, rebuild_after=0.1)
    index = QdrantEdgeIndex(tmp_path, parameters)
    index.create("kb", 8)
    index.upsert("kb", entries(120))
    until = time.monotonic() + 120
    while sorted(path.name for path in (tmp_path / "kb" / "l2").iterdir()) != ["current", "g2"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert len(index.search_text("kb", ["猫"], IndexFilter(), 1000)) == 120
    index.close()

    (tmp_path / "kb" / "l2" / "g3").mkdir()
    (tmp_path / ".drop-kb2").mkdir()
    (tmp_path / ".new-kb3").mkdir()
    index = QdrantEdgeIndex(tmp_path, parameters)
    assert index.files("kb") == {("f", 1): 120}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb", "lock"]
    assert sorted(path.name for path in (tmp_path / "kb" / "l2").iterdir()) == ["current", "g2"]
    index.close()


def test_a_build_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "failing.py"
    failing.write_text("raise SystemExit('out of luck')")
    monkeypatch.setattr("clew.storage.search.shard._OPTIMISER", failing)
    index = QdrantEdgeIndex(tmp_path / "index", background=False)
    index.create("kb", 8)
    index.upsert("kb", entries(10))
    with pytest.raises(StorageError, match="out of luck"):
        index.optimise("kb")
    index.upsert("kb", entries(20))
    assert len(index.search_text("kb", ["猫"], IndexFilter(), 100)) == 20
    assert sorted(path.name for path in (tmp_path / "index" / "kb" / "l2").iterdir()) == ["current", "g1"]
    index.close()


def test_closing_and_dropping_end_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping = tmp_path / "sleeping.py"
    sleeping.write_text("import time; time.sleep(600)")
    monkeypatch.setattr("clew.storage.search.shard._OPTIMISER", sleeping)
    index = QdrantEdgeIndex(tmp_path / "index", SearchParameters(rebuild_from=5, rebuild_after=0))
    for kb in ("one", "two"):
        index.create(kb, 8)
    index.upsert("one", entries(10))
    until = time.monotonic() + 60
    while not list((tmp_path / "index" / "one").glob("*/g2")):
        assert time.monotonic() < until
        time.sleep(0.02)
    index.drop("one")
    assert index.files("one") == {}
    index.upsert("two", entries(10))
    index.close()
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == ["lock", "two"]
