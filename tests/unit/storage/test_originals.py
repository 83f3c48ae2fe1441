from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.errors import StorageError
from clew.storage.originals import FolderOriginals


def everything(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_originals_are_spread_over_folders_and_readable_to_their_owner_only(tmp_path: Path) -> None:
    originals = FolderOriginals(tmp_path)
    originals.put("kb/f1", io.BytesIO(b"x"))
    (path,) = everything(tmp_path)
    assert path.split("/")[1:] == ["kb%2Ff1"]
    assert len(path.split("/")[0]) == 2
    assert (tmp_path / path).stat().st_mode & 0o077 == 0


def test_opening_sweeps_what_interrupted_puts_left_a_day_ago(tmp_path: Path) -> None:
    originals = FolderOriginals(tmp_path)
    originals.put("f1", io.BytesIO(b"x"))
    (kept,) = everything(tmp_path)
    for name, age in (("old", 25 * 3600), ("recent", 23 * 3600)):
        path = tmp_path / "incoming" / name
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    os.utime(tmp_path / kept, (0, 0))
    assert list(FolderOriginals(tmp_path).keys()) == ["f1"]
    assert everything(tmp_path) == sorted([kept, "incoming/recent"])


def test_a_full_disk_leaves_nothing_of_the_file(tmp_path: Path) -> None:
    FolderOriginals(tmp_path).put("f1", io.BytesIO(b"old"))
    before = everything(tmp_path)
    code = (
        "import io, resource, sys; from pathlib import Path\n"
        "from clew.storage.originals import FolderOriginals\n"
        "from clew.errors import StorageFullError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))\n"
        "originals = FolderOriginals(Path(sys.argv[1]))\n"
        "for key in ('f1', 'f2'):\n"
        "    try:\n"
        "        originals.put(key, io.BytesIO(b'x' * 5_000_000))\n"
        "    except StorageFullError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the disk is full; make space") == 2
    assert everything(tmp_path) == before
    with FolderOriginals(tmp_path).open("f1") as file:
        assert file.read() == b"old"


def test_a_process_that_is_killed_leaves_no_half_original(tmp_path: Path) -> None:
    code = (
        "import io, os, signal, sys; from pathlib import Path\n"
        "from clew.storage.originals import FolderOriginals\n"
        "class Source(io.BytesIO):\n"
        "    def read(self, size=-1, /):\n"
        "        if self.tell() > 2_000_000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return super().read(size)\n"
        "FolderOriginals(Path(sys.argv[1])).put('f1', Source(b'x' * 5_000_000))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=120)
    assert done.returncode == -9, done.stderr
    originals = FolderOriginals(tmp_path)
    assert list(originals.keys()) == []
    assert [path.split("/")[0] for path in everything(tmp_path)] == ["incoming"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="folder of originals"):
        FolderOriginals(tmp_path / "file" / "originals")
