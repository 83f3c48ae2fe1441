"""What a classifier reached: accuracy, precision, recall, F1, AUC and the confusion matrix; ``multi`` is positive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measures:
    """Scores of decisions at one threshold. What needs the label that does not occur is None."""

    total: int
    accuracy: float
    precision: float
    recall: float | None
    f1: float | None
    auc: float | None
    confusion: tuple[tuple[int, int], tuple[int, int]]
    """Rows: truly single, truly multi; columns: said single, said multi."""
    threshold: float

    def to_json(self) -> dict[str, Any]:
        """Numbers with four decimals."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def measure(truth: Sequence[bool], probabilities: Sequence[float], threshold: float = 0.5) -> Measures:
    """Scores ``probability >= threshold`` as multi."""
    counts = [[0, 0], [0, 0]]
    for multi, probability in zip(truth, probabilities, strict=True):
        counts[multi][probability >= threshold] += 1
    (right_single, false_multi), (missed, found) = counts
    positive, said = missed + found, false_multi + found
    precision = found / said if said else 0.0
    recall = found / positive if positive else None
    f1 = 2 * found / (positive + said) if positive else None
    accuracy = (right_single + found) / len(truth) if truth else 0.0
    confusion = ((right_single, false_multi), (missed, found))
    return Measures(len(truth), accuracy, precision, recall, f1, auc(truth, probabilities), confusion, threshold)


def auc(truth: Sequence[bool], probabilities: Sequence[float]) -> float | None:
    """How often a multi question gets the higher probability of a pair, ties half; None without both labels."""
    positive = sum(truth)
    negative = len(truth) - positive
    if not positive or not negative:
        return None
    ordered = sorted(zip(probabilities, truth, strict=True))
    rank_sum, start = 0.0, 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end][0] == ordered[start][0]:
            end += 1
        mean_rank = (start + 1 + end) / 2
        rank_sum += mean_rank * sum(1 for _, multi in ordered[start:end] if multi)
        start = end
    return (rank_sum - positive * (positive + 1) / 2) / (positive * negative)


def best_threshold(
    truth: Sequence[bool], probabilities: Sequence[float], weights: Sequence[float] | None = None, *, recall: float
) -> float:
    """The threshold of the highest F1 among those whose recall is at least ``recall``; 0.5 without both labels.

    ``weights`` count a question more than once or less. The threshold lies midway between two probabilities.
    """
    weights = [1.0] * len(truth) if weights is None else weights
    ordered = sorted(zip(probabilities, truth, weights, strict=True), reverse=True)
    positive = sum(weight for _, multi, weight in ordered if multi)
    if not positive or all(truth):
        return 0.5
    best, threshold = -1.0, 0.5
    found = said = 0.0
    for place, (probability, multi, weight) in enumerate(ordered):
        said += weight
        found += weight * multi
        below = ordered[place + 1][0] if place + 1 < len(ordered) else 0.0
        if below == probability or found / positive < recall:
            continue
        f1 = 2 * found / (positive + said)
        if f1 > best:
            best, threshold = f1, (probability + below) / 2
    return threshold
