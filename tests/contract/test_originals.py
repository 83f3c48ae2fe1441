"""What every implementation of ``Originals`` does."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.errors import InputError, NotFoundError
from clew.storage.base import Originals
from clew.storage.originals import FolderOriginals

CONTENT = b"clew \x00 \xff" * 500_000


@pytest.fixture(params=["folder"])
def originals(tmp_path: Path) -> Originals:
    return FolderOriginals(tmp_path / "data" / "originals")


def read(originals: Originals, key: str) -> bytes:
    with originals.open(key) as file:
        return file.read()


def test_what_was_put_comes_back(originals: Originals) -> None:
    assert originals.put("f1", io.BytesIO(CONTENT)) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert read(originals, "f1") == CONTENT
    with originals.local_path("f1") as path:
        assert path.read_bytes() == CONTENT


def test_an_empty_file_is_one_too(originals: Originals) -> None:
    assert originals.put("empty", io.BytesIO()) == (0, hashlib.sha256().hexdigest())
    assert read(originals, "empty") == b""


def test_a_source_is_read_from_where_it_stands(originals: Originals) -> None:
    source = io.BytesIO(b"header body")
    source.seek(7)
    assert originals.put("f1", source)[0] == 4
    assert read(originals, "f1") == b"body"


def test_putting_again_replaces(originals: Originals) -> None:
    originals.put("f1", io.BytesIO(b"a long old one"))
    originals.put("f1", io.BytesIO(b"new"))
    assert read(originals, "f1") == b"new"
    assert list(originals.keys()) == ["f1"]


def test_keys_are_listed_as_they_were_given(originals: Originals) -> None:
    keys = {"kb/f1/3.pdf", "kb/f1", "a", "A-_9", ".hidden", "x" * 200, "a..b", "kb/f1.d"}
    for key in keys:
        originals.put(key, io.BytesIO(key.encode()))
    assert sorted(originals.keys()) == sorted(keys)
    assert all(read(originals, key) == key.encode() for key in keys)


@pytest.mark.parametrize(
    "key",
    ["", ".", "..", "../x", "a/../b", "a/..", "/etc/passwd", "a//b", "a/", "./a", "a\\b", "a\0b", "a b", "中", "a\n",
     "a%2Fb", "x" * 201, "C:a", "a/.../b"],
)  # fmt: skip
def test_keys_that_lead_elsewhere_are_refused(originals: Originals, key: str) -> None:
    for call in (
        lambda: originals.put(key, io.BytesIO(b"x")),
        lambda: originals.open(key),
        lambda: originals.delete(key),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError), originals.local_path(key):
        pass
    assert list(originals.keys()) == []


def test_what_is_missing_is_not_found(originals: Originals) -> None:
    with pytest.raises(NotFoundError, match="f1"):
        originals.open("f1")
    with pytest.raises(NotFoundError, match="f1"), originals.local_path("f1"):
        pass


def test_deleting(originals: Originals) -> None:
    originals.put("f1", io.BytesIO(b"x"))
    originals.put("f2", io.BytesIO(b"y"))
    originals.delete("f1")
    originals.delete("f1")
    assert list(originals.keys()) == ["f2"]
    with pytest.raises(NotFoundError):
        originals.open("f1")


def test_a_source_that_breaks_off_leaves_what_was_there(originals: Originals) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise ConnectionError("the client has gone")
            return super().read(size)

    originals.put("f1", io.BytesIO(b"old"))
    for key in ("f1", "f2"):
        with pytest.raises(ConnectionError):
            originals.put(key, Broken(CONTENT))
    assert list(originals.keys()) == ["f1"]
    assert read(originals, "f1") == b"old"


def test_writers_of_one_key_end_with_one_of_their_contents(originals: Originals) -> None:
    contents = [bytes([65 + i]) * 3_000_000 for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda content: originals.put("f1", io.BytesIO(content)), contents))
    assert read(originals, "f1") in contents


def test_check_is_one_line(originals: Originals) -> None:
    assert "\n" not in originals.check()
