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
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import Passage
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


CHILD_OF_CORPUS = """
import os, signal, sys
from pathlib import Path
from clew.app import Clew
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import Passage
def kill(stage, share):
    os.kill(os.getpid(), signal.SIGKILL)
clew = Clew.open(Path(sys.argv[1]), overrides={"models": {"folder": sys.argv[2]}})
clew.create_kb("films")
corpus = parsed_corpus([Passage("1", "A film", "It was made in a hurry.")])
clew.ingest_parsed("films", "films", corpus, on_progress=kill)
"""


def test_a_corpus_whose_ingestion_was_killed_is_failed_and_can_be_ingested_again(
    tmp_path: Path, models_folder: Path
) -> None:
    child = [sys.executable, "-c", CHILD_OF_CORPUS, str(tmp_path / "data"), str(models_folder)]
    assert subprocess.run(child, check=False).returncode == -signal.SIGKILL
    with Clew.open(tmp_path / "data", overrides={"models": {"folder": str(models_folder)}}) as clew:
        assert [file.status for file in clew.list_files("films")] == [FileStatus.PROCESSING]
        clew.jobs.start()
        (failed,) = clew.list_files("films")
        assert (failed.status, failed.reason) == (
            FileStatus.FAILED,
            "Its ingestion ended with the process that had begun it; begin it again.",
        )
        corpus = parsed_corpus([Passage("1", "A film", "It was made in a hurry.")])
        file = clew.ingest_parsed("films", "films", corpus)
        assert [known.file_id for known in clew.list_files("films")] == [file.file_id]
        assert (file.status, file.version) == (FileStatus.COMPLETED, 1)
        assert clew.ingest_parsed("films", "films", corpus).file_id == file.file_id
        assert clew.examine() == []


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
