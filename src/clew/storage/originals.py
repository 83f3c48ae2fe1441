"""Originals in a folder.

::

    ROOT/3f/<key>       3f: the first byte of the key's SHA-256; "/" in a key is written %2F
    ROOT/incoming/      what is being written
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from clew.errors import InputError, NotFoundError, StorageError, StorageFullError

if TYPE_CHECKING:
    from clew.storage.base import Originals

_KEY = re.compile(r"(?!.*(?:^|/)\.*(?:/|$))[A-Za-z0-9._/-]{1,200}")
_PIECE = 1024 * 1024
_LEFTOVER_SECONDS = 24 * 3600.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FolderOriginals:
    """Implements ``Originals``. Files are made readable to their owner only."""

    def __init__(self, root: Path) -> None:
        """Makes the folder where it does not exist, and sweeps what puts of more than a day ago left. Raises
        StorageError."""
        self._root = root
        self._incoming = root / "incoming"
        with _translated(f"The folder of originals {root}"):
            self._incoming.mkdir(parents=True, exist_ok=True)
            self._sweep()

    def put(self, file_key: str, source: BinaryIO) -> tuple[int, str]:
        target = self._path(file_key)
        what = f"The original {file_key} in {self._root}"
        with _translated(what):
            descriptor, name = tempfile.mkstemp(dir=self._incoming)
        incoming = Path(name)
        try:
            size, digest = _copy(source, descriptor, what)
            with _translated(what):
                if not target.parent.exists():
                    target.parent.mkdir(exist_ok=True)
                    _sync_folder(self._root)
                incoming.replace(target)
                _sync_folder(target.parent)
        except BaseException:
            incoming.unlink(missing_ok=True)
            raise
        return size, digest

    def open(self, file_key: str) -> BinaryIO:
        path = self._path(file_key)
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise NotFoundError(f"There is no original {file_key!r}") from None
        except OSError as error:
            raise StorageError(f"The original {path} cannot be read: {error.strerror}") from error

    @contextmanager
    def local_path(self, file_key: str) -> Iterator[Path]:
        path = self._path(file_key)
        if not path.is_file():
            raise NotFoundError(f"There is no original {file_key!r}")
        yield path

    def delete(self, file_key: str) -> None:
        path = self._path(file_key)
        with _translated(f"The original {path}"):
            path.unlink(missing_ok=True)

    def keys(self) -> Iterator[str]:
        for folder in sorted(self._root.glob("[0-9a-f][0-9a-f]")):
            for path in folder.iterdir():
                yield path.name.replace("%2F", "/")

    def check(self) -> str:
        with _translated(f"The folder of originals {self._root}"):
            with tempfile.TemporaryFile(dir=self._incoming) as probe:
                probe.write(b"clew")
            free = shutil.disk_usage(self._root).free
        return f"originals in {self._root}, {free / 1e9:.1f} GB free"

    def _path(self, file_key: str) -> Path:
        if not _KEY.fullmatch(file_key):
            raise InputError(f"{file_key!r} cannot be the key of an original; use letters, digits, and . _ - /")
        return self._root / hashlib.sha256(file_key.encode()).hexdigest()[:2] / file_key.replace("/", "%2F")

    def _sweep(self) -> None:
        oldest = time.time() - _LEFTOVER_SECONDS
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):  # another process sweeps, too
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _copy(source: BinaryIO, descriptor: int, what: str) -> tuple[int, str]:
    """Write all of ``source`` to the open ``descriptor``, durably, and close it; errors of the source are its own."""
    digest = hashlib.sha256()
    size = 0
    target = os.fdopen(descriptor, "wb", buffering=0)
    try:
        while piece := source.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            with _translated(what):
                rest = memoryview(piece)
                while rest:
                    rest = rest[target.write(rest) :]
        with _translated(what):
            os.fsync(descriptor)
    finally:
        target.close()
    return size, digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make names in ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFullError(f"{what} cannot be written: the disk is full; make space and try again") from error
        raise StorageError(f"{what} cannot be used: {error.strerror}; check the folder and its permissions") from error


if TYPE_CHECKING:
    _implements: type[Originals] = FolderOriginals
