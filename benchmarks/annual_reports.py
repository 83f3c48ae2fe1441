"""The main job, measured: three annual reports in one knowledge base, sixty questions with page and value.

    python benchmarks/annual_reports.py --data DIR [--work WORK] [--again] [--misses FILE] [--only ID …] [--show]
        [--mode auto|single|multi]
    python benchmarks/annual_reports.py --data DIR --ingest NAME …

``DIR`` holds the PDF files that ``tests/data/annual_reports.jsonl`` names. ``--work`` keeps the data folder, so that
the reports are read once; ``--again`` puts the kept ones through the write flow anew (known vectors are reused);
``--mode`` is the retrieval mode of every question. ``--ingest`` measures the write flow alone, on any files of ``DIR``.

* page: one of the first 5 hits of the search lies on a page that states the answer (a hit that runs over a page break
  lies on both pages; what counting by the first page alone gives is printed beside it);
* value: the answer stands in one of the at most 3 quoted sentences or table rows, white space removed and never inside
  a longer number. The header that a row is shown with does not count.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from clew.answering.quoting import Quote, best_quotes
from clew.app import Clew
from clew.indexing.embedding import EmbeddingReport
from clew.indexing.pipeline import IndexingPipeline, Progress
from clew.models.base import Embedder
from clew.retrieval.pipeline import RetrievalResult
from clew.types import ChildChunk, File, FileStatus, FloatArray, RetrievalMode

QUESTIONS = Path(__file__).parents[1] / "tests" / "data" / "annual_reports.jsonl"
KB = "annual reports"
HITS, QUOTES = 5, 3
PAGE_BAR, VALUE_BAR, MEMORY_BAR = 0.85, 0.70, 1500
_NUMBER = frozenset("0123456789,.")


@dataclass(frozen=True)
class Question:
    """One line of the questions' file."""

    id: str
    file: str
    question: str
    pages: Sequence[int]
    values: Sequence[str]
    answered_by: str


@dataclass(frozen=True)
class Outcome:
    """What the search and the quotes made of a question."""

    question: Question
    page: bool
    first_page: bool
    in_context: bool
    """The value stands somewhere in the evidence that the quotes are chosen from."""
    value: bool
    hits: Sequence[tuple[str, tuple[int, ...]]]
    quotes: Sequence[Quote]
    milliseconds: float
    processor: float


class TimedEmbedder:
    """An embedder that counts the passages and seconds of its encoder."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.passages = 0
        self.tokens = 0
        self.seconds = self.processor = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """As the embedder's own."""
        start, used = time.perf_counter(), time.process_time()
        vectors = self._inner.embed_passages(texts)
        self.seconds += time.perf_counter() - start
        self.processor += time.process_time() - used
        self.passages += len(texts)
        self.tokens += sum(map(self._inner.count_tokens, texts))
        return vectors


class TimedPipeline(IndexingPipeline):
    """The write flow, with the seconds of its stages."""

    seconds: dict[str, float]

    @classmethod
    def around(cls, inner: IndexingPipeline, embedder: TimedEmbedder) -> TimedPipeline:
        """The same flow with the timed embedder."""
        pipeline = cls(inner.records, inner.index, inner.originals, embedder, inner.settings)
        object.__setattr__(pipeline, "seconds", defaultdict(float))
        return pipeline

    def stage(self, file_id: str, version: int, progress: Progress) -> Mapping[str, int]:
        """Parse and chunk."""
        with Stopwatch(self.seconds, progress) as timed:
            return super().stage(file_id, version, timed)

    def index_version(self, file_id: str, version: int, progress: Progress) -> EmbeddingReport:
        """Embed and index."""
        with Stopwatch(self.seconds, progress) as timed:
            timed("embed", 0.2)
            return super().index_version(file_id, version, timed)


class Stopwatch:
    """Progress that adds up the seconds between the beginnings of stages."""

    def __init__(self, seconds: dict[str, float], progress: Progress) -> None:
        self._seconds = seconds
        self._progress = progress
        self._stage, self._since = "", time.perf_counter()

    def __enter__(self) -> Stopwatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._turn("")

    def __call__(self, stage: str, share: float) -> None:
        self._turn(stage)
        self._progress(stage, share)

    def _turn(self, stage: str) -> None:
        now = time.perf_counter()
        if self._stage:
            self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now


def main() -> None:
    """Print the measures and write the misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the PDF files")
    parser.add_argument("--work", type=Path, help="keep the data folder here between runs")
    parser.add_argument("--again", action="store_true", help="put kept reports through the write flow anew")
    parser.add_argument("--misses", type=Path, default=Path("annual_reports_misses.md"))
    parser.add_argument("--ingest", nargs="+", default=[], metavar="NAME", help="measure the write flow on these files")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="ask only these questions")
    parser.add_argument("--show", action="store_true", help="print hits and quotes of every miss")
    parser.add_argument("--mode", choices=["auto", "single", "multi"], default="auto")
    arguments = parser.parse_args()
    questions = [Question(**json.loads(line)) for line in QUESTIONS.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as temporary, Clew.open(arguments.work or temporary) as clew:
        if arguments.ingest:
            ingest(clew, arguments.data, arguments.ingest, again=arguments.again)
            return
        files = ingest(clew, arguments.data, sorted({q.file for q in questions}), again=arguments.again)
        asked = [q for q in questions if not arguments.only or q.id in arguments.only]
        outcomes = [outcome(clew, question, files, arguments.mode) for question in asked]
    print_measures(outcomes)
    write_misses(outcomes, arguments.misses)
    if arguments.show:
        print(arguments.misses.read_text("utf-8"))


def ingest(clew: Clew, folder: Path, names: Sequence[str], *, again: bool) -> dict[str, str]:
    """Names of the files by id; prints what the write flow took where it had something to do."""
    if KB not in {kb.name for kb in clew.list_kbs()}:
        clew.create_kb(KB)
    embedder = TimedEmbedder(clew.embedder)
    clew.embedder.count_tokens("tokenizer and encoder are loaded before the clock runs")
    clew.embedder.embed_queries(["ready"])
    clew.jobs.pipeline = pipeline = TimedPipeline.around(clew.jobs.pipeline, embedder)
    clew.jobs.start()
    known = {file.name: file for file in clew.list_files(KB) if file.status is FileStatus.COMPLETED}
    start, used = time.perf_counter(), time.process_time()
    ids = []
    for name in names:
        with (folder / name).open("rb") as source:
            if name in known and again:
                ids.append(clew.update_file(known[name].file_id, name, source).file_id)
            elif name in known:
                ids.append(known[name].file_id)
            else:
                ids.append(clew.add_file(KB, name, source)[0].file_id)
    files = clew.wait(ids)
    for file in files:
        if file.status is not FileStatus.COMPLETED:
            raise SystemExit(f"{file.name}: {file.status}: {file.reason}")
    if again or len(known) < len(names):
        print_ingestion(files, pipeline, embedder, time.perf_counter() - start, time.process_time() - used)
    return {file.file_id: file.name for file in files}


def print_ingestion(
    files: Sequence[File], pipeline: TimedPipeline, embedder: TimedEmbedder, clock: float, processor: float
) -> None:
    """Seconds by stage, the encoder's rate, and memory."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = worker_peak()
    pages, children = (
        sum(values) for values in zip(*((f.pages or 0, f.counts["children"]) for f in files), strict=True)
    )
    stages = dict(pipeline.seconds)
    stages["encoder"] = embedder.seconds
    stages["vector cache"] = stages.pop("embed", 0.0) - embedder.seconds
    print(f"{len(files)} reports, {pages} pages, {children} children: {clock:.0f} s by the clock")
    total = sum(stages.values())
    for name in sorted(stages, key=lambda name: -stages[name]):
        print(f"  {name:13} {stages[name]:8.1f} s  {stages[name] / total:6.1%}")
    if embedder.passages:
        print(
            f"  encoder: {embedder.passages} passages of {embedder.tokens / embedder.passages:.0f} tokens, "
            f"{embedder.passages / embedder.seconds:.1f}/s by the clock, "
            f"{2 * embedder.passages / embedder.processor:.1f}/s by processor time on two cores"
        )
    print(f"  processor time of this process: {processor:.0f} s")
    verdict = "within" if own + worker <= MEMORY_BAR else "ABOVE"
    print(f"  peak memory: {own:.0f} MB here + {worker:.0f} MB in the parser's process = {own + worker:.0f} MB "
          f"({verdict} {MEMORY_BAR} MB)")  # fmt: skip


def worker_peak() -> float:
    """Highest resident memory of any process below this one so far, in MB."""
    peaks = [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]
    children = Path("/proc/self/task")
    for task in children.iterdir() if children.is_dir() else ():
        for pid in (task / "children").read_text().split():
            match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            if match:
                peaks.append(int(match[1]) / 1024)
    return max(peaks)


def outcome(clew: Clew, question: Question, files: Mapping[str, str], mode: RetrievalMode) -> Outcome:
    """Ask as ``clew ask`` does without a language model."""
    start, used = time.perf_counter(), time.process_time()
    result: RetrievalResult = clew.search(question.question, kbs=[KB], mode=mode)
    query = result.query
    quotes = best_quotes(query.text, query.vector, result.evidence, clew.embedder.embed_passages, limit=QUOTES)
    milliseconds, processor = (time.perf_counter() - start) * 1000, (time.process_time() - used) * 1000
    chunks = clew.records.children([hit.chunk_id for hit in result.hits[:HITS]])
    hits = [(files[h.file_id], pages_of(chunks[h.chunk_id])) for h in result.hits[:HITS]]
    return Outcome(
        question=question,
        page=any(file == question.file and set(pages) & set(question.pages) for file, pages in hits),
        first_page=any(file == question.file and pages[0] in question.pages for file, pages in hits),
        in_context=any(holds(question, e.text) for e in result.evidence if e.file_name == question.file),
        value=any(holds(question, quote.text) for quote in quotes),
        hits=hits,
        quotes=quotes,
        milliseconds=milliseconds,
        processor=processor,
    )


def pages_of(chunk: ChildChunk) -> tuple[int, ...]:
    """Pages that a chunk stands on, in order."""
    return tuple(dict.fromkeys(region.page for region in chunk.regions)) or (0,)


def holds(question: Question, text: str) -> bool:
    """Whether one of the ways to print the value occurs in the text."""
    return any(occurs(value, text) for value in question.values)


def occurs(value: str, text: str) -> bool:
    """White space removed; never inside a longer number. A value may run over the border of two cells."""
    text, value = re.sub(r"\s", "", text), re.sub(r"\s", "", value)
    pattern = re.escape(value[0])
    for before, character in pairwise(value):
        within_number = before in _NUMBER and character in _NUMBER
        pattern += ("" if within_number else r"\|?") + re.escape(character)
    if value[0] in "-0123456789":
        pattern = r"(?<![\d,.])" + pattern
    if value[-1].isdigit():
        pattern += r"(?!\d|[,.]\d)"
    return re.search(pattern, text) is not None


def print_measures(outcomes: Sequence[Outcome]) -> None:
    """The two measures over all, by kind of answer and by report; times."""
    groups: list[tuple[str, list[Outcome]]] = [("all", list(outcomes))]
    keys: list[Callable[[Outcome], str]] = [lambda o: o.question.answered_by, lambda o: o.question.file.split("__")[3]]
    for key in keys:
        names = dict.fromkeys(map(key, outcomes))
        groups += [(name, [o for o in outcomes if key(o) == name]) for name in names]
    print(f"{'':10} questions  page@{HITS}  first page  value in context  value in quotes")
    for name, group in groups:
        print(
            f"{name:10} {len(group):9}  {share(o.page for o in group):6.1%}  {share(o.first_page for o in group):10.1%}"
            f"  {share(o.in_context for o in group):16.1%}  {share(o.value for o in group):15.1%}"
        )
    page, value = share(o.page for o in outcomes), share(o.value for o in outcomes)
    print(f"bars: page {page:.1%} of {PAGE_BAR:.0%}: {'met' if page >= PAGE_BAR else 'MISSED'}; "
          f"value {value:.1%} of {VALUE_BAR:.0%}: {'met' if value >= VALUE_BAR else 'MISSED'}")  # fmt: skip
    for name, times in (("clock", [o.milliseconds for o in outcomes]), ("processor", [o.processor for o in outcomes])):
        print(f"milliseconds a question ({name}): p50 {statistics.median(times):.0f}, max {max(times):.0f}")


def share(flags: Iterable[bool]) -> float:
    """The share that is true; 0 of nothing."""
    values = list(flags)
    return sum(values) / len(values) if values else 0.0


def write_misses(outcomes: Sequence[Outcome], path: Path) -> None:
    """What was found instead, for every question whose page or value was missed."""
    lines = ["# Misses"]
    for o in outcomes:
        if o.page and o.value:
            continue
        q = o.question
        missed = " and ".join(name for name, ok in (("page", o.page), ("value", o.value)) if not ok)
        lines += ["", f"## {q.id} ({q.answered_by}): {missed}", "", q.question, ""]
        lines.append(f"* wanted: {' or '.join(q.values)} on page {', '.join(map(str, q.pages))}")
        found = "; ".join(f"{file.split('__')[3]} {'/'.join(map(str, pages))}" for file, pages in o.hits)
        lines.append(f"* hits: {found}; value in the context: {'yes' if o.in_context else 'no'}")
        lines += [f"* quote [{quote.number}] {' '.join(str(quote).split())[:300]}" for quote in o.quotes]
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
