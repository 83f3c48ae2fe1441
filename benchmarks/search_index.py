"""Recall, latency, build time and size of the embedded search index.

    python benchmarks/search_index.py --index DIR [--vectors FILE.npy|FILE.npz …] [--write docs/search_index.md]
    python benchmarks/search_index.py --index DIR --sweep

100,000 passages in 1,000 files: terms with a Zipf distribution, 70 % of them Chinese, and 600,000 vectors (one ``l2``,
one ``l1``, four ``l3`` a passage). Vectors are clustered as an encoder's are: each file is about three topics, and a
passage is a topic mixed with another point of the space. The points are the encoder's own vectors where ``--vectors``
gives some (any arrays of the right width), else drawn from a narrow cone with a falling spectrum. Recall is measured
against an exact scan, with the index's default parameters; times by the clock and by processor time (comparable when
the machine is busy). ``DIR`` is kept and used again where it holds the collection; ``--sweep`` varies the graph search.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clew.storage.base import IndexEntry, IndexFilter
from clew.storage.search.collection import SearchParameters
from clew.storage.search.qdrant import QdrantEdgeIndex
from clew.storage.search.shard import GraphParameters
from clew.types import FloatArray, Representation

KB = "benchmark"
FILES = 1_000
LIMIT = 100
TERMS_PER_PASSAGE = 200
VOCABULARY = 60_000
SELECTIVITIES = (0.01, 0.1, 0.3, 0.5, 1.0)
L1, L2, L3, BM25 = Representation.L1, Representation.L2, Representation.L3, Representation.BM25


class Passages:
    """The synthetic collection; the same arguments give the same passages."""

    def __init__(self, count: int, points: FloatArray, windows: int) -> None:
        self.count, self.points, self.windows = count, points, windows
        rng = np.random.default_rng(1)
        self.topics = rng.integers(0, len(points), size=(FILES, 3))
        self.center = points.mean(axis=0)
        # The commonest words are Chinese and English alike; 70 % of all are Chinese.
        chinese = rng.random(VOCABULARY) < 0.7
        self.words = [f"词{i}" if is_chinese else f"word{i}" for i, is_chinese in enumerate(chinese)]
        weights = 1 / np.arange(1, VOCABULARY + 1)
        self.cumulative = np.cumsum(weights / weights.sum())

    def file(self, passage: int) -> str:
        return f"file-{passage * FILES // self.count:04d}"

    def _mixed(self, base: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
        others = self.points[rng.integers(0, len(self.points), size=len(base))] - self.center
        mixed = base + share * others
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)

    def vectors(self, passages: range, representation: Representation, part: int = 0) -> FloatArray:
        """Vectors of some passages; a sentence window lies near its passage, a parent further off."""
        rng = np.random.default_rng([2, passages.start])
        topics = self.topics[np.array(passages) * FILES // self.count, rng.integers(0, 3, size=len(passages))]
        own = self._mixed(self.points[topics], 0.6, rng)
        if representation is L2:
            return own
        return self._mixed(own, 0.2 if representation is L1 else 0.4, np.random.default_rng([3, part, passages.start]))

    def queries(self, count: int, step: int) -> FloatArray:
        """Questions: near some passage, further off than its sentences are."""
        starts = np.random.default_rng(4).integers(0, self.count // step, size=count) * step
        near = [self.vectors(range(start, start + step), L2)[7] for start in map(int, starts)]
        return self._mixed(np.array(near), 0.5, np.random.default_rng(5))

    def terms(self, rng: np.random.Generator, count: int) -> tuple[str, ...]:
        return tuple(self.words[i] for i in np.searchsorted(self.cumulative, rng.random(count)))

    def entries(self, passages: range) -> Iterator[IndexEntry]:
        rng = np.random.default_rng([6, passages.start])
        kinds = [(L2, 0), (L1, 0), *((L3, part) for part in range(self.windows))]
        values = {kind: self.vectors(passages, *kind) for kind in kinds if self.windows or kind[0] is L2}
        for row, passage in enumerate(passages):
            section = f"{passage % 5 + 1:04d}/{passage % 3 + 1:04d}/"
            names = (f"chunk-{passage}", f"parent-{passage // 4}", self.file(passage), 1, section)
            yield IndexEntry(*names, BM25, terms=self.terms(rng, TERMS_PER_PASSAGE))
            for (representation, part), matrix in values.items():
                yield IndexEntry(*names, representation, vector=matrix[row], part=part)


def cone(dimension: int) -> FloatArray:
    """4,000 points with the mean cosine (0.75) and the falling spectrum of an encoder's vectors."""
    rng = np.random.default_rng(0)
    spectrum = 1 / np.sqrt(np.arange(1, dimension + 1) + 30)
    points = rng.normal(size=(4_000, dimension)) * spectrum
    points *= 0.5 / np.linalg.norm(points, axis=1, keepdims=True)
    direction = rng.normal(size=dimension)
    points += 0.866 * direction / np.linalg.norm(direction)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float32)


def given_points(paths: list[Path], dimension: int) -> FloatArray:
    """All rows of the right width in the files."""
    found = []
    for path in paths:
        loaded = np.load(path)
        arrays = [loaded[name] for name in loaded.files] if path.suffix == ".npz" else [loaded]
        found += [array for array in arrays if array.ndim == 2 and array.shape[1] == dimension]
    return np.concatenate(found).astype(np.float32)


def build(index: QdrantEdgeIndex, passages: Passages, step: int) -> dict[str, float]:
    """Write the collection and build its indexes: seconds by the clock and of processor time."""
    took: dict[str, float] = {}

    def step_of(name: str, action: Callable[[], None]) -> None:
        clock, cpu = time.perf_counter(), _processor_seconds()
        action()
        took[f"{name} s"] = time.perf_counter() - clock
        took[f"{name} CPU s"] = _processor_seconds() - cpu
        print(f"{name}: {took[f'{name} s']:.0f} s, {took[f'{name} CPU s']:.0f} s of processor time", flush=True)

    def write() -> None:
        for start in range(0, passages.count, step):
            index.upsert(KB, list(passages.entries(range(start, min(passages.count, start + step)))))

    index.create(KB, passages.points.shape[1])
    step_of("write", write)
    step_of("build", lambda: index.optimise(KB))
    return took


def scopes(selectivity: float, queries: int) -> list[IndexFilter]:
    """For each query other files, which hold that share of the passages."""
    if selectivity == 1:
        return [IndexFilter()] * queries
    rng = np.random.default_rng(8)
    chosen = (rng.choice(FILES, size=int(FILES * selectivity), replace=False) for _ in range(queries))
    return [IndexFilter(file_ids=frozenset(f"file-{file:04d}" for file in files)) for files in chosen]


@dataclass(frozen=True)
class Times:
    """Milliseconds of one kind of search."""

    p50: float
    p95: float
    processor: float
    """Mean processor time of all threads."""

    def __str__(self) -> str:
        return f"{self.p50:.1f} / {self.p95:.1f} ({self.processor:.1f})"


def timed(actions: list[Callable[[], object]]) -> Times:
    """After a warm-up with the first ten."""
    for action in actions[:10]:
        action()
    times = []
    processor = time.process_time()
    for action in actions:
        began = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - began))
    processor = 1000 * (time.process_time() - processor) / len(actions)
    return Times(float(np.percentile(times, 50)), float(np.percentile(times, 95)), processor)


def recall(
    index: QdrantEdgeIndex,
    representation: Representation,
    queries: FloatArray,
    filters: list[IndexFilter],
) -> float:
    """Share of an exact scan's first hundred that the search finds."""
    shares = []
    for query, filter in zip(queries, filters, strict=True):
        truth = index.search_vector(KB, representation, query, filter, LIMIT, exact=True)
        found = index.search_vector(KB, representation, query, filter, LIMIT)
        shares.append(len({p.chunk_id for p in truth} & {p.chunk_id for p in found}) / len(truth))
    return float(np.mean(shares))


def measure(index: QdrantEdgeIndex, passages: Passages, queries: FloatArray) -> list[str]:
    """The table: one line for each representation and selectivity."""
    rng = np.random.default_rng(9)
    asked = [passages.terms(rng, 12) for _ in queries]
    lines = ["| admitted | recall@100 l2 | recall@100 l3 | bm25 | l2 | bm25 + l2 | l3 |", "|" + " --- |" * 7]
    kinds = [L2, L3] if passages.windows else [L2]
    for selectivity in SELECTIVITIES:
        filters = scopes(selectivity, len(queries))
        rows = list(zip(queries, asked, filters, strict=True))
        recalls = {kind: f"{recall(index, kind, queries, filters):.3f}" for kind in kinds}
        text = [lambda t=t, f=f: index.search_text(KB, t, f, LIMIT) for _, t, f in rows]
        near = {k: [lambda q=q, f=f, k=k: index.search_vector(KB, k, q, f, LIMIT) for q, _, f in rows] for k in kinds}
        both = [lambda t=t, n=n: (t(), n()) for t, n in zip(text, near[L2], strict=True)]
        cells = [recalls[L2], recalls.get(L3, "–"), *(str(timed(actions)) for actions in (text, near[L2], both))]
        cells.append(str(timed(near[L3])) if L3 in near else "–")
        lines.append(f"| {selectivity:.0%} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def sweep(root: Path, queries: FloatArray) -> None:
    """Recall and p50 for other numbers of finds that are ranked anew, and of candidates of the graph where there is one
    (``--scan-up-to``)."""
    for ef, oversampling in ((512, 1.0), (512, 2.0), (512, 4.0), (1024, 2.0)):
        index = QdrantEdgeIndex(root, replace(SearchParameters(), ef=ef, oversampling=oversampling), background=False)
        for kind in (L2, L3):
            for selectivity in SELECTIVITIES:
                filters = scopes(selectivity, len(queries))
                actions = [
                    lambda q=q, f=f, i=index, k=kind: i.search_vector(KB, k, q, f, LIMIT)
                    for q, f in zip(queries, filters, strict=True)
                ]
                found = recall(index, kind, queries, filters)
                searched = f"ef {ef}, oversampling {oversampling:g}, {kind} {selectivity:.0%}"
                print(f"{searched}: recall {found:.3f}, ms {timed(actions)}", flush=True)
        index.close()


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _resident_megabytes() -> tuple[int, int]:
    """Memory of the process that is its own, and that are pages of files, which the system may take back."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    values = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Rss")}
    return int(values["RssAnon"]) // 1024, int(values["RssFile"]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="folder for the index")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--windows", type=int, default=4, help="l3 vectors a passage; 0: l2 alone")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--vectors", type=Path, nargs="+", default=[])
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--scan-up-to", type=int, default=GraphParameters().scan_up_to, help="build graphs beyond this")
    parser.add_argument("--write", type=Path, help="Markdown file whose part after the marker is replaced")
    arguments = parser.parse_args()

    points = given_points(arguments.vectors, arguments.dimension) if arguments.vectors else cone(arguments.dimension)
    passages = Passages(arguments.passages, points, arguments.windows)
    step = 500
    built_file = arguments.index / "built.json"
    root = arguments.index / "index"
    if built_file.is_file():
        took = json.loads(built_file.read_text(encoding="utf-8"))
    else:
        graph = replace(GraphParameters(), scan_up_to=arguments.scan_up_to)
        index = QdrantEdgeIndex(root, replace(SearchParameters(), graph=graph), background=False)
        took = build(index, passages, step)
        index.close()
        built_file.write_text(json.dumps(took), encoding="utf-8")
    queries = passages.queries(arguments.queries, step)
    if arguments.sweep:
        sweep(root, queries)
        return
    began = time.perf_counter()
    index = QdrantEdgeIndex(root, background=False)
    index.files(KB)
    opened = time.perf_counter() - began
    lines = measure(index, passages, queries)
    own, mapped = _resident_megabytes()
    disk = sum(path.stat().st_blocks * 512 for path in root.rglob("*") if path.is_file())
    entries = sum(index.files(KB).values())
    index.close()
    size = f"{arguments.passages:,} passages, {entries:,} entries, {disk / 1e9:.2f} GB on disk"
    building = (
        f"written in {took['write s']:.0f} s, indexes built in {took['build s']:.0f} s ({took['write CPU s']:.0f} and "
        f"{took['build CPU s']:.0f} s of processor time), opened in {opened:.1f} s"
    )
    memory = f"resident: {own} MB of its own and {mapped} MB of mapped files"
    load = f"load of the machine while measuring: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    lines += ["", f"{size}; {building}; {memory}; {load}. Milliseconds: p50 / p95 (processor time)."]
    print("\n".join(lines))
    if arguments.write:
        head, marker, _ = arguments.write.read_text(encoding="utf-8").partition("<!-- measured -->\n")
        arguments.write.write_text(head + marker + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
