"""Extractive summaries against references: ROUGE of the root summary and of the text's beginning of the same length.

    python benchmarks/summaries.py DATA/other/summ_govreport.jsonl.gz [--words 270]

Each row of the file has ``text`` (a line that begins with a tab is a heading) and ``reference``. ROUGE-1, ROUGE-2
and ROUGE-L are F1 over lower-case words and numbers, without stemming; the interval is a paired bootstrap's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from clew.config import SummarySettings
from clew.indexing.parsers.base import BlockBuilder
from clew.indexing.sections import build_sections
from clew.indexing.summaries import extractive_summaries
from clew.types import ParsedFile

_MAX_HEADING = 150
_WORD = re.compile(r"[a-z0-9]+")
_DRAWS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--words", type=int, default=270, help="length of the summaries; the references' mean is 270")
    arguments = parser.parse_args()
    with gzip.open(arguments.rows, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    start = time.perf_counter()
    summaries = [root_summary(parsed(row["text"]), arguments.words) for row in rows]
    seconds = time.perf_counter() - start
    leads = [lead(row["text"], len(_WORD.findall(s.lower()))) for row, s in zip(rows, summaries, strict=True)]
    references = [row["reference"] for row in rows]
    print(f"{len(rows)} documents, {seconds / len(rows):.2f} s each")
    print("| | words | ROUGE-1 | ROUGE-2 | ROUGE-L |\n| --- | --- | --- | --- | --- |")
    for name, texts in (("lead", leads), ("extractive", summaries)):
        print(f"| {name} | {mean_words(texts):.0f} |", end="")
        for measure in (rouge_1, rouge_2, rouge_l):
            print(f" {100 * statistics.fmean(map(measure, texts, references)):.1f} |", end="")
        print()
    differences = [rouge_l(s, r) - rouge_l(b, r) for s, b, r in zip(summaries, leads, references, strict=True)]
    low, high = interval(differences)
    wins = sum(difference > 0 for difference in differences)
    print(
        f"ROUGE-L above the lead by {100 * statistics.fmean(differences):.1f} [{100 * low:.1f}, {100 * high:.1f}], ",
        end="",
    )
    print(f"better on {wins} of {len(rows)}")


def parsed(text: str) -> ParsedFile:
    """The text as blocks and sections."""
    builder = BlockBuilder()
    for line in text.split("\n"):
        if line.startswith("\t") and len(line) < _MAX_HEADING:
            builder.heading(line.strip(), 1)
        elif line.strip():
            builder.paragraph(line.strip())
    return build_sections(builder.finish("report.txt", "text/plain"))


def root_summary(file: ParsedFile, words: int) -> str:
    """The extractive summary of the whole file."""
    return extractive_summaries(file.sections, file.blocks, SummarySettings(root_words=words))[""]


def lead(text: str, words: int) -> str:
    """The first ``words`` words of the running text."""
    running = " ".join(line for line in text.split("\n") if not line.startswith("\t"))
    ends = [match.end() for match in re.finditer(r"[A-Za-z0-9]+", running)]
    return running[: ends[min(words, len(ends)) - 1]]


def rouge_1(candidate: str, reference: str) -> float:
    return overlap(words_of(candidate), words_of(reference))


def rouge_2(candidate: str, reference: str) -> float:
    return overlap(list(pairwise(words_of(candidate))), list(pairwise(words_of(reference))))


def rouge_l(candidate: str, reference: str) -> float:
    """By the longest common subsequence of the two texts as wholes."""
    first, second = words_of(candidate), words_of(reference)
    row = [0] * (len(second) + 1)
    for word in first:
        before = row
        row = [0]
        for j, other in enumerate(second, start=1):
            row.append(before[j - 1] + 1 if word == other else max(row[j - 1], before[j]))
    return f1(row[-1], len(first), len(second))


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def mean_words(texts: Sequence[str]) -> float:
    return statistics.fmean(len(words_of(text)) for text in texts)


def overlap(first: Sequence[object], second: Sequence[object]) -> float:
    return f1((Counter(first) & Counter(second)).total(), len(first), len(second))


def f1(common: int, first: int, second: int) -> float:
    return 2 * common / (first + second) if common else 0.0


def interval(
    differences: Sequence[float], mean: Callable[[Sequence[float]], float] = statistics.fmean
) -> tuple[float, float]:
    """95 % of the bootstrap's means."""
    chance = random.Random(0)
    means = sorted(mean(chance.choices(differences, k=len(differences))) for _ in range(_DRAWS))
    return means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS)]


if __name__ == "__main__":
    main()
