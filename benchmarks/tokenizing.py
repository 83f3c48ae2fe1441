"""Which terms find the passage: recall of plain BM25 (k1 1.2, b 0.5) with other ways to cut text into terms.

    python benchmarks/tokenizing.py --data DIR [--sets xquad_zh cmrc2018 …]

``DIR`` holds ``NAME.corpus.jsonl.gz`` (``id``, ``title``, ``text``) and ``NAME.queries.jsonl.gz`` (``question``,
``supporting_ids``; where there are ``supporting_groups``, one passage of each suffices). Prints R@1/R@5 and the speed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import rjieba

from clew.text.tokenizing import query_terms, tokenize

Tokenizer = Callable[[str], list[str]]
SETS = "xquad_zh cmrc2018 drcd boc_report_zh rgb_zh xquad_en hotpotqa_tune multihop_rag_facts lihuaworld_en 2wiki_gold"
K1, B = 1.2, 0.5


def words(text: str) -> list[str]:
    """The dictionary's words alone."""
    return [word for word in rjieba.cut_for_search(text.lower()) if not word.isspace()]


def characters(text: str) -> list[str]:
    """Han characters one by one, other words whole."""
    return [part for word in words(text) for part in (word if "\u4e00" <= word[0] <= "\u9fff" else [word])]


def pairs(text: str) -> list[str]:
    """Pairs of neighbouring Han characters, other words whole."""
    units = characters(text)
    return [a + b if len(a) == len(b) == 1 else a for a, b in pairwise([*units, ""])]


VARIANTS: dict[str, tuple[Tokenizer, Tokenizer]] = {
    "dictionary words": (words, words),
    "characters": (characters, characters),
    "character pairs": (pairs, pairs),
    "tokenize, tokenize": (tokenize, tokenize),
    "tokenize, query_terms": (tokenize, query_terms),
}


class Bm25:
    """BM25 in memory."""

    def __init__(self, documents: Sequence[list[str]]) -> None:
        self.count = len(documents)
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, document in enumerate(documents):
            for term, frequency in Counter(document).items():
                postings[term].append((number, frequency))
        lengths = np.array([len(document) for document in documents], dtype=float)
        norms = K1 * (1 - B + B * lengths / lengths.mean())
        self.weights = {}
        for term, posting in postings.items():
            numbers, frequencies = np.array(posting).T
            weight = math.log(1 + (self.count - len(numbers) + 0.5) / (len(numbers) + 0.5))
            self.weights[term] = numbers, weight * frequencies * (K1 + 1) / (frequencies + norms[numbers])

    def best(self, terms: list[str], limit: int) -> list[int]:
        scores = np.zeros(self.count)
        for term in set(terms):
            if term in self.weights:
                numbers, weights = self.weights[term]
                scores[numbers] += weights
        return [int(number) for number in np.argsort(-scores, kind="stable")[:limit]]


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS.split())
    arguments = parser.parse_args()
    results: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name in arguments.sets:
        corpus = rows(arguments.data / f"{name}.corpus.jsonl.gz")
        queries = rows(arguments.data / f"{name}.queries.jsonl.gz")
        texts = [f"{row['title']}\n{row['text']}" for row in corpus]
        for variant, (of_passage, of_question) in VARIANTS.items():
            began = time.process_time()
            index = Bm25(list(map(of_passage, texts)))
            speed = sum(len(text.encode()) for text in texts) / 1e6 / (time.process_time() - began)
            first, five = [], []
            for query in queries:
                groups = query.get("supporting_groups") or [[one] for one in query["supporting_ids"]]
                if groups:
                    found = [corpus[number]["id"] for number in index.best(of_question(query["question"]), 5)]
                    first.append(np.mean([bool({*found[:1]} & {*group}) for group in groups]))
                    five.append(np.mean([bool({*found} & {*group}) for group in groups]))
            scores = 100 * float(np.mean(first)), 100 * float(np.mean(five))
            results[variant].append(scores)
            print(f"{name:20} {variant:24} {scores[0]:5.1f} / {scores[1]:5.1f}   {speed:.1f} MB/s indexed", flush=True)
    for variant, scores_of_sets in results.items():
        print(f"{'mean':20} {variant:24} {' / '.join(f'{x:5.1f}' for x in np.mean(scores_of_sets, axis=0))}")


if __name__ == "__main__":
    main()
