"""Labelled questions for the complexity decision, and measures that respect where they come from.

Source style and label are confounded in every public collection, so everything is judged leave-one-source-out:
a source is scored by what was fitted on the others.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAMILIES = {
    "MuSiQue-dev": "MuSiQue",
    "MuSiQue-train": "MuSiQue",
    "NQ-open-dev": "NQ",
    "AmbigQA-train (NQ)": "NQ",
    "SQuAD2": "SQuAD",
    "XQuAD-en": "SQuAD",
    "ChineseSQuAD (machine-translated)": "SQuAD-zh",
    "XQuAD-zh": "SQuAD-zh",
}
"""Sources of one making; they are left out together."""

_MULTI_TYPES = {
    "rgb_zh": {"integration"},
    "lihuaworld_en": {"Multi"},
    "dragonball_zh": {"multi-doc comparison", "multi-doc time sequence", "multi-doc integration"},
}
_SINGLE_TYPES = {
    "rgb_zh": {"single-hop"},
    "lihuaworld_en": {"Single"},
    "dragonball_zh": {"factual"},
}
_RETRIEVAL_SETS = {
    "rgb_zh": ("RGB", "zh"),
    "lihuaworld_en": ("LiHua-World", "en"),
    "dragonball_zh": ("DRAGONBall", "zh"),
    "xquad_zh": ("XQuAD-zh", "zh"),
    "cmrc2018": ("CMRC-2018", "zh"),
    "drcd": ("DRCD", "zh"),
    "boc_report_zh": ("BOC-report", "zh"),
    "xquad_en": ("XQuAD-en", "en"),
    "multihop_rag_facts": ("MultiHop-RAG", "en"),
}


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """One question; ``family`` is the unit that is left out."""

    question: str
    multi: bool
    source: str
    family: str
    language: str


def load_labelled(data: Path) -> list[LabelledQuestion]:
    """All labelled questions under ``data`` (``complexity/``, queries of ``retrieval/``), without doubles."""
    seen: set[str] = set()
    result: list[LabelledQuestion] = []
    for item in _all(data):
        if item.question not in seen:
            seen.add(item.question)
            result.append(item)
    return result


def _all(data: Path) -> Iterator[LabelledQuestion]:
    for language in ("zh", "en"):
        for row in _rows(data / "complexity" / f"complexity.{language}.jsonl.gz"):
            family = FAMILIES.get(row["source"], row["source"])
            yield LabelledQuestion(row["question"], row["label"] == "multi", row["source"], family, language)
    for name, (source, language) in _RETRIEVAL_SETS.items():
        for row in _rows(data / "retrieval" / f"{name}.queries.jsonl.gz"):
            multi = row["type"] in _MULTI_TYPES.get(name, {row["type"]} if name == "multihop_rag_facts" else set())
            family = FAMILIES.get(source, source)
            if multi or name not in _SINGLE_TYPES or row["type"] in _SINGLE_TYPES[name]:
                yield LabelledQuestion(row["question"], multi, source, family, language)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def wilson_interval(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % Wilson interval of a share."""
    if total == 0:
        return 0.0, 1.0
    share = right / total
    width = 1 + z * z / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (centre - spread) / width, (centre + spread) / width


@dataclass(frozen=True, slots=True)
class BinaryScores:
    """Measures of a decision; ``multi`` is the positive class. ``macro_f1`` needs both labels."""

    total: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    macro_f1: float
    auc: float | None


def binary_scores(truth: Sequence[bool], said: Sequence[bool], ranking: Sequence[float] | None = None) -> BinaryScores:
    """Scores decisions; ``ranking`` (higher: more likely multi) gives the AUC where both labels occur."""
    both = sum(1 for t, s in zip(truth, said, strict=True) if t and s)
    positive, chosen, total = sum(truth), sum(said), len(truth)
    neither = total - positive - chosen + both
    precision = both / chosen if chosen else 0.0
    recall = both / positive if positive else 0.0
    f1 = 2 * both / (positive + chosen) if positive + chosen else 0.0
    negative_f1 = 2 * neither / (2 * total - positive - chosen) if 2 * total - positive - chosen else 0.0
    return BinaryScores(
        total, (both + neither) / max(total, 1), precision, recall, f1, (f1 + negative_f1) / 2, _auc(truth, ranking)
    )


def _auc(truth: Sequence[bool], ranking: Sequence[float] | None) -> float | None:
    positive = sum(truth)
    if ranking is None or positive in {0, len(truth)}:
        return None
    ranks = _ranks(ranking)
    total = sum(rank for rank, is_multi in zip(ranks, truth, strict=True) if is_multi)
    return (total - positive * (positive + 1) / 2) / (positive * (len(truth) - positive))


def _ranks(values: Iterable[float]) -> list[float]:
    """1-based ranks, the mean rank for equal values."""
    listed = list(values)
    order = sorted(range(len(listed)), key=listed.__getitem__)
    ranks = [0.0] * len(listed)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and listed[order[end + 1]] == listed[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        start = end + 1
    return ranks
