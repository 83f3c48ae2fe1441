"""Originals that are stored but not recorded yet: kept once the records know them, else deleted again; their names."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

from clew.errors import InputError
from clew.storage.base import FileRecords, Originals


@dataclass(frozen=True, slots=True)
class StoredOriginal:
    """An original's key, its size in bytes and the SHA-256 hex digest of its content."""

    file_key: str
    size: int
    content_hash: str


NAME_CHARACTERS = 255


def bare_name(name: str) -> str:
    """The name of an uploaded file without the folders of any system and without control characters. Raises InputError
    where that is none, or too long a one."""
    name = "".join(" " if ord(character) < 32 else character for character in name.replace("\\", "/"))
    name = PurePosixPath(name).name.strip() or "unnamed"
    if name in (".", "..") or len(name) > NAME_CHARACTERS:
        raise InputError(f"{name[:40]}: a file needs a name of 1 to {NAME_CHARACTERS} characters.")
    return name


class Arrivals:
    """Stores originals on behalf of files. Safe to use from several threads."""

    def __init__(self, originals: Originals, records: FileRecords) -> None:
        self._originals = originals
        self._records = records
        self._keys: set[str] = set()

    @contextmanager
    def store(self, file_id: str, source: BinaryIO) -> Iterator[StoredOriginal]:
        """Store an original under a new key. Whoever does not record it for the file by the end of the context, on
        purpose or by an error, does not keep it."""
        file_key = f"{file_id}-{uuid.uuid4().hex[:12]}"
        self._keys.add(file_key)
        try:
            yield StoredOriginal(file_key, *self._originals.put(file_key, source))
        finally:
            if file_key not in self._records.file_keys(file_id):
                self._originals.delete(file_key)
            self._keys.discard(file_key)

    def __contains__(self, file_key: str) -> bool:
        """Whether an original is arriving."""
        return file_key in self._keys

    def keys(self) -> frozenset[str]:
        """What is arriving now: no leftovers, although no record names them."""
        return frozenset(self._keys)
