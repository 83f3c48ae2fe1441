"""Fits the complexity rules and the in-process head, and shows, leave-one-source-out, what they reach.

    python benchmarks/fit_complexity.py --data DATA --models MODELS --cache CACHE \\
        [--without SOURCE ...] [--write]

``--models`` is the folder of the embedded embedder, ``--cache`` a folder for question vectors. Without ``--models``
only the rules are fitted and shown. ``--without`` leaves sources (or families of sources) out of every fit; they are
scored all the same, by what was fitted on the others. ``--write`` stores the weights in the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew.config import ComplexitySettings
from clew.evaluation.complexity_data import LabelledQuestion, binary_scores, load_labelled, wilson_interval
from clew.evaluation.complexity_fit import (
    SignalTable,
    capped,
    fit_rules,
    rule_scores,
    signal_table,
    weights_as_json,
)
from clew.evaluation.complexity_head_fit import HeadTable, fit_head, head_as_json, head_probabilities, head_table
from clew.models import complexity_head as head_module
from clew.models.local import embedded_embedder
from clew.retrieval.complexity import rules as rules_module
from clew.retrieval.complexity.cascade import replay
from clew.retrieval.complexity.features import extract_features
from clew.retrieval.complexity.rules import RuleWeights
from clew.trace import ComplexityDecision

LANGUAGES = ("zh", "en")
HEAD_CAP = 400  # questions of one source and label that the head is fitted on and scored with
BOTH_LABELS = ("CKBQA-2018", "RGB", "LiHua-World", "Docugami-10Q")


@dataclass(frozen=True)
class Corpus:
    """Everything that is known of the labelled questions; ``usable`` marks what fits may see."""

    questions: list[LabelledQuestion]
    signals: SignalTable
    languages: np.ndarray
    usable: np.ndarray
    sample: np.ndarray
    """Indices of the questions that have vectors."""
    head: HeadTable | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--without", nargs="*", default=[], metavar="SOURCE")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    corpus, embedder_name = read(arguments)
    reached = show_rules(corpus)
    if corpus.head is not None:
        show_cascade(corpus)
    if arguments.write:
        write(corpus, reached, embedder_name)


def read(arguments: argparse.Namespace) -> tuple[Corpus, str]:
    """Questions, features and, where there is an embedder, vectors."""
    questions = load_labelled(arguments.data)
    left_out = set(arguments.without)
    started = time.process_time()
    features = [extract_features(item.question) for item in questions]
    spent = (time.process_time() - started) / len(questions)
    print(f"{len(questions)} questions; features and rules: {spent * 1e6:.0f} µs of CPU a question")
    usable = np.array([item.family not in left_out and item.source not in left_out for item in questions])
    languages = np.array([item.language for item in questions])
    sample = _sample(questions)
    head, name = None, ""
    if arguments.models:
        name, vectors = embed([questions[row].question for row in sample], arguments.models, arguments.cache)
        head = head_table([questions[row] for row in sample], [features[row] for row in sample], vectors)
    return Corpus(questions, signal_table(questions, features), languages, usable, sample, head), name


def _sample(questions: Sequence[LabelledQuestion]) -> np.ndarray:
    """At most ``HEAD_CAP`` questions of each source and label, by the hash of their text: the same in every run."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for row, item in enumerate(questions):
        groups.setdefault((item.family, item.multi), []).append(row)
    chosen: list[int] = []
    for rows in groups.values():
        ordered = sorted(rows, key=lambda row: hashlib.sha256(questions[row].question.encode()).digest())
        chosen += ordered[:HEAD_CAP]
    return np.array(sorted(chosen))


def embed(texts: Sequence[str], models: Path, cache: Path | None) -> tuple[str, np.ndarray]:
    """The embedder's name and the vectors of ``texts``, kept in ``cache`` by text."""
    embedder = embedded_embedder(models)
    file_name = "questions-" + re.sub(r"[^\w.-]", "-", embedder.name) + ".npz"
    path = cache / file_name if cache else None
    known: dict[str, np.ndarray] = {}
    if path and path.exists():
        with np.load(path) as stored:
            known = dict(zip(json.loads(str(stored["texts"])), stored["vectors"], strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    for start in range(0, len(missing), 500):
        part = missing[start : start + 500]
        known |= dict(zip(part, embedder.embed_queries(part).astype(np.float16), strict=True))
        print(f"  embedded {start + len(part)} of {len(missing)} questions", flush=True)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, texts=json.dumps(list(known)), vectors=np.stack(list(known.values())))
    return embedder.name, np.stack([known[text] for text in texts]).astype(np.float64)


def fit_without(corpus: Corpus, family: str, language: str) -> RuleWeights:
    """The rules of ``language`` from all usable questions of other families."""
    usable = (corpus.languages == language) & corpus.usable & (corpus.signals.families != family)
    return fit_rules(capped(corpus.signals.select(usable)), language)


def show_rules(corpus: Corpus) -> dict[str, Any]:
    """Prints and returns, by language and held-out source, what the rules decide and how much of it is right."""
    reached: dict[str, Any] = {}
    for language in LANGUAGES:
        print(f"\n| rules, {language} | questions | decided | right [95 %] | single: right/said | multi: right/said |")
        print("| --- | --- | --- | --- | --- | --- |")
        of_language = corpus.languages == language
        totals = np.zeros(3, dtype=int)
        means: list[tuple[float, float]] = []
        for family in np.unique(corpus.signals.families[of_language]):
            held_out = of_language & (corpus.signals.families == family)
            rule = fit_without(corpus, str(family), language)
            test = corpus.signals.select(held_out)
            score = rule_scores(test, rule)
            single = (score <= rules_module.LOW_SCORE) & (test.entities <= 1)
            multi = score >= rules_module.HIGH_SCORE
            right_single, right_multi = int((single & ~test.multi).sum()), int((multi & test.multi).sum())
            counts = (len(score), int((single | multi).sum()), right_single + right_multi)
            totals += counts
            means.append((counts[1] / counts[0], counts[2] / max(counts[1], 1)))
            print(
                f"| {family} | {counts[0]} | {_share(counts[1], counts[0])} | {_interval(counts[2], counts[1])} "
                f"| {right_single}/{int(single.sum())} | {right_multi}/{int(multi.sum())} |",
                flush=True,
            )
        print(f"| **all** | {totals[0]} | {_share(totals[1], totals[0])} | {_interval(totals[2], totals[1])} | | |")
        decided, right = np.mean(means, axis=0)
        print(f"| mean of sources | | {decided:.1%} | {right:.1%} | | |")
        low, high = wilson_interval(int(totals[2]), int(totals[1]))
        reached[language] = {
            "questions": int(totals[0]),
            "decided": round(float(totals[1] / totals[0]), 4),
            "right": round(float(totals[2] / totals[1]), 4),
            "interval": [round(low, 4), round(high, 4)],
            "mean_right_of_sources": round(float(right), 4),
        }
    return reached


def _share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"


def _interval(right: int, total: int) -> str:
    low, high = wilson_interval(int(right), int(total))
    return f"{_share(right, total)} [{low:.1%}, {high:.1%}]"


def show_cascade(corpus: Corpus) -> None:
    """Prints, by held-out source, what the head alone and rules with head and fallback (no language model) decide."""
    assert corpus.head is not None
    columns = "accuracy | precision | recall | F1 | macro-F1"
    print(f"\n| held out | lang. | n | multi | head: {columns} | AUC | cascade: {columns} |")
    print("|" + " --- |" * 15)
    macro: dict[str, tuple[float, float, float]] = {}
    usable = corpus.usable[corpus.sample]
    for family in np.unique(corpus.head.families):
        held_out = corpus.head.families == family
        weights = fit_head(corpus.head.select(usable & ~held_out))
        alone = fit_head(corpus.head.select(usable & ~held_out).without_vectors())
        test = corpus.head.select(held_out)
        probability = head_probabilities(weights, test)
        by_features = head_probabilities(alone, test.without_vectors())
        rows = corpus.sample[held_out]
        scores = _held_out_scores(corpus, str(family), rows)
        truth = test.multi.tolist()
        head = binary_scores(truth, (probability >= 0.5).tolist(), probability.tolist())
        cascade = binary_scores(truth, _decided(scores, probability, corpus.signals.entities[rows]))
        third = binary_scores(truth, _decided(scores, by_features, corpus.signals.entities[rows]))
        macro[str(family)] = (head.macro_f1, cascade.macro_f1, third.macro_f1)
        both = 0 < sum(truth) < len(truth)
        cells = [
            *(str(family), str(test.languages[0]), str(len(truth)), f"{sum(truth) / len(truth):.0%}"),
            *(_cells(head, both), "–" if head.auc is None else f"{head.auc:.3f}", _cells(cascade, both)),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    means = np.mean([macro[family] for family in BOTH_LABELS], axis=0)
    print(
        f"\nmacro-F1, mean of {', '.join(BOTH_LABELS)}: head {means[0]:.3f}, cascade {means[1]:.3f}, "
        f"cascade without the vector {means[2]:.3f}"
    )


def _cells(scores: Any, both: bool) -> str:
    macro = f"{scores.macro_f1:.3f}" if both else "–"
    return f"{scores.accuracy:.3f} | {scores.precision:.3f} | {scores.recall:.3f} | {scores.f1:.3f} | {macro}"


def _held_out_scores(corpus: Corpus, family: str, rows: np.ndarray) -> np.ndarray:
    """Rule scores of ``rows`` by rules that did not see ``family``."""
    result = np.zeros(len(rows))
    for language in LANGUAGES:
        mask = corpus.languages[rows] == language
        if mask.any():
            result[mask] = rule_scores(corpus.signals.select(rows[mask]), fit_without(corpus, family, language))
    return result


def _decided(scores: np.ndarray, probabilities: np.ndarray, entities: np.ndarray) -> list[bool]:
    """What the cascade decides by rules, head and fallback under the default thresholds."""
    settings = ComplexitySettings()
    blank = ComplexityDecision(question="", mode="single", source="", rule_score=0.0, features={})
    return [
        replay(
            replace(
                blank,
                rule_score=float(score),
                classifier_probability=float(probability),
                features={"entity_count": int(count)},
            ),
            settings,
        )
        == "multi"
        for score, probability, count in zip(scores, probabilities, entities, strict=True)
    ]


def write(corpus: Corpus, reached: dict[str, Any], embedder_name: str) -> None:
    """Fits on everything usable and stores the weights in the package."""
    fitted = {
        language: fit_rules(capped(corpus.signals.select((corpus.languages == language) & corpus.usable)), language)
        for language in LANGUAGES
    }
    sources = sorted({item.source for item, use in zip(corpus.questions, corpus.usable, strict=True) if use})
    _store(Path(rules_module.__file__).with_name("rule_weights.json"), weights_as_json(fitted, sources, reached))
    if corpus.head is None:
        return
    table = corpus.head.select(corpus.usable[corpus.sample])
    with_vector, features_only = fit_head(table), fit_head(table.without_vectors())
    data = head_as_json(with_vector, features_only, embedder=embedder_name, version="", sources=sources)
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
    _store(Path(head_module.__file__).with_name("complexity_head.json"), data | {"version": f"head-{digest}"})


def _store(path: Path, data: dict[str, Any]) -> None:
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in data.items())
    path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    print("written:", path)


if __name__ == "__main__":
    main()
