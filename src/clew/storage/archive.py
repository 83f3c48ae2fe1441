"""A data folder as one archive: records and originals. The search index is made anew from them.

::

    clew-backup.json      {"format": 1, "clew": "0.1.0", "created_at": …}
    records.sqlite        a consistent copy
    originals/<key>       as the records name them
    clew.toml             where the folder has one

Reads beside a running server: the copy of the records is one transaction, and originals never change.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from clew import __version__
from clew.errors import InputError, NotFoundError, StorageError
from clew.storage.base import Originals, Records

_FORMAT = 1
_MANIFEST = "clew-backup.json"
_RECORDS = "records.sqlite"
_SETTINGS = "clew.toml"
_ORIGINALS = "originals/"
_ROUNDS = 10  # an update that ends meanwhile deletes an original that the copy of the records names


def write_archive(archive: Path, data: Path, records: Records, originals: Originals) -> int:
    """Write the archive of the data folder ``data``; returns how many originals it holds.

    The file appears under its name when it is whole, readable to its owner only: it holds ``clew.toml`` with its keys.
    Raises InputError where the place cannot be written, StorageError.
    """
    part = archive.with_name(archive.name + ".part")
    try:
        part.touch(mode=0o600)
        with (
            tempfile.TemporaryDirectory(dir=archive.parent) as scratch,
            tarfile.open(part, "w:gz", compresslevel=3) as tar,
        ):
            manifest = {"format": _FORMAT, "clew": __version__, "created_at": datetime.now(UTC).isoformat()}
            _add_bytes(tar, _MANIFEST, json.dumps(manifest).encode())
            if (data / _SETTINGS).is_file():
                tar.add(data / _SETTINGS, _SETTINGS)
            copy = Path(scratch) / _RECORDS
            stored = _add_records_and_originals(tar, copy, records, originals)
        part.replace(archive)
    except OSError as error:
        raise InputError(f"{archive}: cannot be written ({error.strerror}); name another place.") from error
    finally:
        part.unlink(missing_ok=True)
    return stored


def _add_records_and_originals(tar: tarfile.TarFile, copy: Path, records: Records, originals: Originals) -> int:
    added: set[str] = set()
    for _ in range(_ROUNDS):
        copy.unlink(missing_ok=True)
        gone: set[str] = set()
        for key in sorted(records.snapshot(copy) - added):
            try:
                with originals.local_path(key) as path:
                    tar.add(path, _ORIGINALS + key)
                added.add(key)
            except NotFoundError:
                gone.add(key)
        # What the records still name is lost for good, and no reason to go without a backup.
        if gone <= records.file_keys():
            tar.add(copy, _RECORDS)
            return len(added)
    raise StorageError("The backup came to no end, because files change all the time; try again when they rest.")


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o600
    tar.addfile(info, io.BytesIO(content))


@contextmanager
def unpacked(archive: Path, data: Path, originals_in: Callable[[Path], Originals]) -> Iterator[Path]:
    """The archive as a data folder beside ``data``, which it becomes when the context ends without an error.

    ``originals_in`` opens the store of originals of a data folder. Raises InputError where ``data`` holds something
    already or the archive is none, StorageError.
    """
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise InputError(f"{data}: there is something already; restore into a folder that does not exist.")
    data.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{data.name}-", dir=data.parent))
    try:
        _unpack(archive, folder, originals_in(folder))
        yield folder
        if data.exists():
            data.rmdir()
        folder.rename(data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(archive: Path, folder: Path, originals: Originals) -> None:
    seen: set[str] = set()
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is None:
                    continue
                if not seen:
                    _check_manifest(archive, member.name, content.read())
                elif member.name in (_RECORDS, _SETTINGS):
                    with (folder / member.name).open("wb") as target:
                        shutil.copyfileobj(content, target)
                elif member.name.startswith(_ORIGINALS):
                    originals.put(member.name.removeprefix(_ORIGINALS), content)  # type: ignore[arg-type]
                seen.add(member.name)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{archive}: cannot be read as a backup of Clew ({error}).") from error
    if _RECORDS not in seen:
        raise InputError(f"{archive}: the backup is not whole; it holds no records.")


def _check_manifest(archive: Path, name: str, content: bytes) -> None:
    try:
        known = name == _MANIFEST and json.loads(content)["format"]
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise InputError(f"{archive}: is no backup of Clew.")
    if known > _FORMAT:
        raise InputError(f"{archive}: was written by a newer Clew; upgrade this one.")
