"""Kills Clew with SIGKILL at random points of adding, updating and deleting files, and looks at what is left.

    python benchmarks/crash.py [--points 200] [--seed 1] [--data DIR]

A process adds, updates and deletes small files without pause, several at a time, and is killed at a random moment; a
second one opens the same data folder, lets the interrupted work finish, and checks:

* every file is ``completed`` or, where its deletion had begun, gone; acknowledged work is there;
* records, search index and originals agree (``Clew.examine``), each file has exactly one version;
* the text of every current version is found, and that of no other.

The folder goes on to the next point, so what one crash leaves would show later. The encoder is a stand-in that costs
nothing: points then fall on writes and not on matrix products; everything else is the real thing. The process that
is killed is forked from one that has its imports done (Linux, macOS).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import dbos  # noqa: F401 - imported once, before the forks
import numpy as np

from clew.app import Clew
from clew.types import File, FileStatus, FloatArray

_FILES = 6  # that the folder holds at most
_LONGEST = 4.0  # seconds until the kill
_RECOVERY = 120.0
_KB = "crash"


class StandInEmbedder:
    """Vectors of hashes: the same text has the same one, and nothing has to be computed."""

    name = "stand-in"
    dimension = 32
    max_tokens = 512

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """One vector a text, after the time that a real encoder takes to start."""
        time.sleep(0.002 * len(texts))
        return np.stack([self._vector(text) for text in texts])

    embed_queries = embed_passages

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Where words stand."""
        offsets, end = [], 0
        for word in text.split():
            start = text.index(word, end)
            end = start + len(word)
            offsets.append((start, end))
        return offsets

    def _vector(self, text: str) -> FloatArray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


@dataclass
class Folder:
    """What the data folder must hold: by file id the words of its version; ``None`` where it must be gone."""

    words: dict[str, set[str | None]] = field(default_factory=dict)
    """Several where the work on the file was not acknowledged."""
    adding: set[str] = field(default_factory=set)
    """Words of files whose id was never told."""
    used: set[str] = field(default_factory=set)
    """All words that were ever in a file."""


def main() -> None:
    """Run the test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = arguments.data or Path(temporary) / "data"
        killed = run(data, arguments.points, arguments.seed)
    print(f"{arguments.points} kills, no disagreement. What was under way (often several things at once):")
    for what, number in killed.most_common():
        print(f"{number:5} {what}")


def run(data: Path, points: int, seed: str) -> Counter[str]:
    """Kill ``points`` times while something is under way; returns what. Raises SystemExit at the first disagreement."""
    expected = Folder()
    killed: Counter[str] = Counter()
    in_child(data, lambda clew, _: clew.create_kb(_KB))
    begun = time.monotonic()
    attempt = number = 0
    while number < points:
        attempt += 1
        called = kill_once(data, expected, f"{seed}.{attempt}")
        problems, ingesting = check(data, expected)
        under_way = sorted({f"call of {what}" for what in called} | set(ingesting))
        if problems:
            raise SystemExit(f"after kill {seed}.{attempt} ({', '.join(under_way)}): " + "; ".join(problems))
        if under_way:
            number += 1
            killed.update(under_way)
            if number % 10 == 0:
                print(
                    f"{number} of {points}, {time.monotonic() - begun:.0f} s, {len(expected.words)} files", flush=True
                )
    return killed


def kill_once(data: Path, expected: Folder, name: str) -> list[str]:
    """Let a process work, kill it, and note what it had acknowledged; returns what it was in the midst of."""
    rng = random.Random(name)
    known = {file_id: next(iter(words)) for file_id, words in expected.words.items()}
    pid, lines = forked(data, lambda clew, out: work(clew, out, known, name))
    delay = rng.uniform(0.0, _LONGEST)
    first = lines.readline()
    if first:
        time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    open_work: dict[str, tuple[str, str]] = {}
    for line in [first, *lines]:
        if not line.endswith("\n"):
            break
        event = json.loads(line)
        what, word, file_id = event["what"], event["word"], event["file_id"]
        if event["done"]:
            open_work.pop(word)
            expected.adding.discard(word)
            expected.words[file_id] = {None if what == "delete" else word}
        else:
            open_work[word] = (what, file_id)
            if what == "add":
                expected.adding.add(word)
            else:
                expected.words[file_id].add(None if what == "delete" else word)
            if what != "delete":
                expected.used.add(word)
    return [what for what, _ in open_work.values()]


def work(clew: Clew, out: TextIO, known: dict[str, str | None], name: str) -> None:
    """Add, update and delete until killed, one file after the other; ingestion goes on behind."""
    rng = random.Random(name)
    clew.jobs.start()
    for number in range(1_000_000):
        word = f"w{name.replace('.', 'x')}y{number}z"  # the z: no word begins another

        def say(what: str, file_id: str, *, done: bool, word: str = word) -> None:
            out.write(json.dumps({"what": what, "word": word, "file_id": file_id, "done": done}) + "\n")
            out.flush()

        busy = [file.file_id for file in clew.list_files(_KB, status=FileStatus.PROCESSING)]
        idle = sorted(known.keys() - set(busy))
        what = rng.choice(["add", "update", "update", "delete"])
        if what == "add" and len(known) < _FILES:
            say("add", "", done=False)
            file = clew.add_file(_KB, f"{word}.md", io.BytesIO(document(word, rng)))[0]
            known[file.file_id] = word
            say("add", file.file_id, done=True)
        elif what == "update" and idle:
            file_id = rng.choice(idle)
            say("update", file_id, done=False)
            clew.update_file(file_id, f"{word}.md", io.BytesIO(document(word, rng)))
            known[file_id] = word
            say("update", file_id, done=True)
        elif what == "delete" and len(known) > 2:
            file_id = rng.choice(sorted(known))  # also in the midst of its ingestion
            say("delete", file_id, done=False)
            clew.remove_file(file_id)
            del known[file_id]
            say("delete", file_id, done=True)
        else:
            time.sleep(0.02)


def document(word: str, rng: random.Random) -> bytes:
    """A small report that says ``word`` in every paragraph, half of it the same in every version."""
    parts = [f"# Report {word}"]
    for section in range(rng.randint(2, 12)):
        parts.append(f"## Section {section}")
        parts.append(f"In section {section} the report speaks of {word} and of nothing else. " * rng.randint(1, 8))
        parts.append(f"Boilerplate number {section} is the same in every report. " * 4)
    return "\n\n".join(parts).encode()


def check(data: Path, expected: Folder) -> tuple[list[str], list[str]]:
    """Let interrupted work finish and compare what is there with what is expected, which becomes what was found.
    Returns what is wrong, and which ingestion had been under way."""
    pid, lines = forked(data, lambda clew, out: out.write(json.dumps(inspect(clew, expected))))
    answer = lines.read()
    _, status = os.waitpid(pid, 0)
    if status or not answer:
        return [f"the check ended with {status}"], []
    problems, ingesting, found = json.loads(answer)
    expected.words = {file_id: {word} for file_id, word in found.items()}
    expected.adding.clear()
    return list(problems), list(ingesting)


def inspect(clew: Clew, expected: Folder) -> tuple[list[str], list[str], dict[str, str]]:
    """What is wrong, what was being ingested, and the word of each file that is there."""
    ingesting = [
        f"{'update' if file.version else 'first ingestion'}, stage {file.stage or 'queued'}"
        for file in clew.list_files(_KB, status=FileStatus.PROCESSING)
    ]
    clew.jobs.start()
    files = clew.wait([file.file_id for file in clew.list_files(_KB)], timeout=_RECOVERY)
    deadline = time.monotonic() + 10
    while clew.examine() and time.monotonic() < deadline:  # the last publish clears away the old version
        time.sleep(0.05)
    problems = [f"{finding.kind}: {finding.detail}" for finding in clew.examine()]
    found = {file.file_id: Path(file.name).stem for file in files}
    problems += [f"{file.name} is {file.status}: {file.reason}" for file in files if file.status != "completed"]
    for file_id, words in expected.words.items():
        if found.get(file_id) not in words:
            problems.append(f"{file_id} holds {found.get(file_id)}, expected {words}")
    for file_id in found.keys() - expected.words.keys():
        if found[file_id] not in expected.adding:
            problems.append(f"{file_id} ({found[file_id]}) was never added")
    for file in files:
        problems += of_file(clew, file, found[file.file_id])
    return [*problems, *stale(clew, found, expected)], ingesting, found


def of_file(clew: Clew, file: File, word: str) -> Iterator[str]:
    """What is wrong with one file: original, rows, and whether it is found."""
    with clew.open_original(file.file_id) as original:
        if hashlib.sha256(original.read()).hexdigest() != file.content_hash:
            yield f"the original of {file.name} is another"
    texts = [child.text for child in clew.file_children(file.file_id)]
    if len(texts) != file.counts.get("children") or not any(word in text for text in texts):
        yield f"{file.name} has {len(texts)} chunks, {file.counts}"
    if file.file_id not in {hit.file_id for hit in clew.search(f"What about {word}?", kbs=[_KB], mode="single").hits}:
        yield f"{word} is not found"


def stale(clew: Clew, found: dict[str, str], expected: Folder) -> Iterator[str]:
    """Words of no current version that are found all the same (a sample of old ones, all of the last)."""
    gone = sorted(expected.used - set(found.values()))
    for word in gone[-20:]:
        if any(word in hit.text for hit in clew.search(f"What about {word}?", kbs=[_KB], mode="single").hits):
            yield f"{word} is still found"


def in_child(data: Path, call: Callable[[Clew, TextIO], Any]) -> None:
    """Run ``call`` in a process of its own, to its end."""
    pid, _ = forked(data, call)
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit(f"the process ended with {status}")


def forked(data: Path, call: Callable[[Clew, TextIO], Any]) -> tuple[int, TextIO]:
    """A process that runs ``call`` on the opened folder, and the lines that it writes."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, os.fdopen(reading, "r")
    os.close(reading)
    code = 1
    try:
        with os.fdopen(writing, "w") as out, Clew.open(data, overrides={"indexing": {"workers": 2}}) as clew:
            clew.__dict__["embedder"] = StandInEmbedder()
            call(clew, out)
        code = 0
    except BaseException:  # noqa: BLE001 - a fork must never go on as its parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
