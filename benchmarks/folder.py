"""``clew add`` on a folder of many small files: throughput, memory, and what adding it again does.

    python benchmarks/folder.py [--files 1000] [--models DIR]

Runs the command as people do, on a new data folder, and samples the resident memory of its process and of the parser
beside it. Then the folder is added again unchanged, and once more with one file changed, one new and one removed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

_WORDS = """
    revenue profit margin company board director annual report quarter risk market growth cost price product customer
    region factory supplier contract audit dividend share capital cash debt interest tax rate year month index
""".split()  # noqa: SIM905
_HAN = "公司年度报告营业收入利润总额同比增长主要产品销售市场客户风险控制研发投入现金流量资产负债股东权益董事会审计"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--models", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, data = Path(temporary) / "folder", Path(temporary) / "data"
        fill(folder, arguments.files)
        environment = {**os.environ, "CLEW_DATA": str(data)}
        if arguments.models:
            environment["CLEW_MODELS__FOLDER"] = arguments.models
        clew(["kb", "create", "folder"], environment)
        seconds, memory, first = measured(folder, environment)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{len(first['new'])} files in {seconds:.0f} s: {len(first['new']) / seconds:.1f} a second")
        print(f"of one processor core: {used.ru_utime + used.ru_stime:.0f} s")
        shares = [memory[max(0, int(len(memory) * share) - 1)] for share in (0.1, 0.25, 0.5, 0.75, 1.0)]
        print("resident MB after 10, 25, 50, 75, 100 % of the time: " + ", ".join(f"{mb:.0f}" for mb in shares))
        seconds, _, again = measured(folder, environment)
        print(f"again, unchanged: {summary(again)} in {seconds:.1f} s")
        changed, removed, new = folder / "00003.md", folder / "00004.md", folder / "new.md"
        changed.write_text(changed.read_text() + "\nOne sentence more.\n")
        removed.unlink()
        new.write_text("# New\n\nA new file.\n")
        seconds, _, third = measured(folder, environment)
        print(f"one changed, one new, one removed: {summary(third)} in {seconds:.1f} s")
        expected = {"new": [str(new)], "updated": [str(changed)], "gone": [str(removed)]}
        assert {name: third[name] for name in expected} == expected, third


def fill(folder: Path, count: int) -> None:
    """Small files, half of them Chinese, all different."""
    folder.mkdir()
    rng = random.Random(1)
    for number in range(count):
        if number % 2:
            text = "。".join("".join(rng.choices(_HAN, k=rng.randint(8, 30))) for _ in range(rng.randint(5, 20)))
        else:
            text = ". ".join(" ".join(rng.choices(_WORDS, k=rng.randint(6, 20))) for _ in range(rng.randint(5, 20)))
        (folder / f"{number:05}.md").write_text(f"# Note {number}\n\n{text}\n")


def measured(folder: Path, environment: dict[str, str]) -> tuple[float, list[float], Any]:
    """Seconds, resident MB over time, and the report of ``clew add``."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = start(["add", str(folder), "--kb", "folder", "--json"], environment, output)
        memory: list[float] = []
        while process.poll() is None:
            if used := resident(process.pid):  # else it has just ended
                memory.append(used)
            time.sleep(0.5)
        output.seek(0)
        report = json.loads(output.read())
    if process.returncode:
        raise SystemExit(f"clew add ended with {process.returncode}: {report}")
    return time.monotonic() - begun, memory, report


def summary(report: Any) -> str:
    """How many files of each kind."""
    return ", ".join(f"{len(report[name])} {name}" for name in ("new", "updated", "unchanged", "gone", "failed"))


def clew(words: list[str], environment: dict[str, str]) -> None:
    """Run one command to its end."""
    if start(words, environment, subprocess.DEVNULL).wait():
        raise SystemExit(f"clew {' '.join(words)} failed")


def start(words: list[str], environment: dict[str, str], output: IO[str] | int) -> subprocess.Popen[bytes]:
    """Start one command."""
    command = [sys.executable, "-m", "clew", *words]
    return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.DEVNULL)


def resident(pid: int) -> float:
    """MB of a process and its children (Linux)."""
    total = 0.0
    for process in [pid, *children(pid)]:
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        total += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return total


def children(pid: int) -> list[int]:
    """Processes that this one started (Linux)."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
