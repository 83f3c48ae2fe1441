"""Ingestion that is killed goes on when Clew starts again, and ends with exactly one version."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.app import Clew
from clew.types import FileStatus, Representation, SummaryStatus

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "crash.py"
CHILD = """
import sys
from pathlib import Path
from clew.app import Clew
data, models, document = sys.argv[1:]
clew = Clew.open(Path(data), overrides={"models": {"folder": models}})
if not clew.list_kbs():
    clew.create_kb("notes")
with open(document, "rb") as source:
    file, _ = clew.add_file("notes", "law.md", source)
print("added", flush=True)
clew.wait([file.file_id])
print("done", flush=True)
"""


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_ingestion_goes_on(tmp_path: Path, models_folder: Path, demo_documents: list[Path], seed: int) -> None:
    document = next(path for path in demo_documents if path.suffix == ".md" and "公司法" in path.name)
    arguments = [str(tmp_path / "data"), str(models_folder), str(document)]
    child = subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "added\n"
    time.sleep(random.Random(seed).uniform(0.0, 4.0))
    child.send_signal(signal.SIGKILL)
    child.wait()
    with Clew.open(tmp_path / "data", overrides={"models": {"folder": str(models_folder)}}) as clew:
        clew.jobs.start()
        file = clew.wait([clew.list_files("notes")[0].file_id], timeout=120)[0]
        assert (file.status, file.version) == (FileStatus.COMPLETED, 1)
        children = clew.file_children(file.file_id)
        file = clew.wait([file.file_id], timeout=60, summaries=True)[0]
        assert file.summary_status is SummaryStatus.COMPLETED
        assert set(clew.index.files(file.kb_id)) == {(file.file_id, 1)}
        keys = [(child.chunk_id, 1) for child in children]
        assert len(clew.index.vectors(file.kb_id, Representation.L2, keys)) == len(children)
        assert clew.search("股东认缴的出资", kbs=["notes"]).hits


def test_killed_at_random_points_the_stores_agree() -> None:
    """A few of the points of ``benchmarks/crash.py``, which runs hundreds."""
    command = [sys.executable, str(BENCHMARK), "--points", "4", "--seed", "ci"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kills, no disagreement" in done.stdout
