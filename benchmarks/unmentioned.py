"""How often Clew says that the documents do not mention what a question is about: rightly and wrongly.

    python benchmarks/unmentioned.py --data RETRIEVAL_DIR

Each set's questions are asked of its own passages, where saying so is wrong, and of the passages of other sets of the
same language, which are about something else. Prints the share of questions for which it is said.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from clew.evaluation.datasets import LabelledQuestion, read_corpus, read_queries
from clew.retrieval.unmentioned import unmentioned
from clew.text.tokenizing import tokenize

CHINESE = ("boc_report_zh", "xquad_zh", "cmrc2018", "drcd", "dragonball_zh")
ENGLISH = ("xquad_en", "hotpotqa_tune", "2wiki_gold", "lihuaworld_en", "multihop_rag_facts")
QUESTIONS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="corpora and questions as JSON lines, gzipped")
    data = parser.parse_args().data
    print("| questions of | of their own passages | of the passages of others |")
    print("| --- | --- | --- |")
    for names in (CHINESE, ENGLISH):
        terms = {name: terms_of(data / f"{name}.corpus.jsonl.gz") for name in names}
        for name in names:
            questions = read_queries(data / f"{name}.queries.jsonl.gz")
            answerable = evenly([q for q in questions if q.groups])
            others = ", ".join(f"{other} {share(answerable, terms[other]):.0%}" for other in names if other != name)
            print(f"| {name} ({len(answerable)}) | {share(answerable, terms[name]):.1%} | {others} |", flush=True)


def terms_of(path: Path) -> frozenset[str]:
    """All terms of a corpus."""
    return frozenset(term for passage in read_corpus(path) for term in tokenize(f"{passage.title}\n{passage.text}"))


def evenly(questions: Sequence[LabelledQuestion]) -> list[LabelledQuestion]:
    """At most 400 of them, evenly drawn."""
    count = min(QUESTIONS, len(questions))
    return [questions[i * len(questions) // count] for i in range(count)]


def share(questions: Sequence[LabelledQuestion], terms: frozenset[str]) -> float:
    """The share of questions of which the documents are said to mention nothing."""
    return sum(bool(unmentioned(question.question, terms.__contains__)) for question in questions) / len(questions)


if __name__ == "__main__":
    main()
