"""Time and memory of parsing each PDF, and what it is parsed into.

Run: ``python benchmarks/pdf_parsing.py --data DATA [name part ...]``, with the folder that holds ``docs/``. Each file
is parsed in a process of its own, so that the peak memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.indexing.parsers.pdf import parse


def measure(path: Path, results: Any) -> None:
    """Parses a file and reports seconds, megabytes and blocks."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        parsed = parse(path.read_bytes(), path.name)
    except ClewError as error:
        results.put(f"{type(error).__name__}: {error}")
        return
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kinds = Counter(block.type.value for block in parsed.blocks)
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    memory = f"peak {peak // 1024} MB (+{(peak - before) // 1024})"
    results.put(f"{parsed.pages} pages, {cpu:.1f} s CPU ({wall:.1f} s), {memory}; {shown}")


def main() -> None:
    """Prints one line a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds docs/")
    parser.add_argument("names", nargs="*", help="only files whose name contains one of these")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for path in sorted((arguments.data / "docs").rglob("*.pdf")):
        if arguments.names and not any(name in path.name for name in arguments.names):
            continue
        results = context.Queue()
        process = context.Process(target=measure, args=(path, results))
        process.start()
        print(f"{path.relative_to(arguments.data / 'docs')}: {results.get()}", flush=True)
        process.join()


if __name__ == "__main__":
    main()
