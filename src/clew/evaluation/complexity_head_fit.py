"""Fits the in-process complexity head (``models.complexity_head``).

Logistic regression on the main directions of the question vectors and on the features. Vectors know the topic of a
question better than its structure, and topics are what sources differ in: hence few directions, each source with the
same weight, and probabilities calibrated on predictions for sources that were left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.evaluation.complexity_data import LabelledQuestion
from clew.evaluation.complexity_fit import Floats, source_balance
from clew.models.complexity_head import HeadWeights, interactions
from clew.retrieval.complexity.features import ComplexityFeatures

DIRECTIONS = 48
FALSE_SHARE = 0.1
_VECTOR_SCALE = 3.0
_VECTOR_PENALTY = 6e-3
_FEATURE_PENALTY = 1e-3
_STEPS = 8


@dataclass(frozen=True)
class HeadTable:
    """Questions for the head: ``vectors`` is (questions, dimension), ``weighed`` what ``interactions`` gives."""

    vectors: Floats
    weighed: Floats
    multi: NDArray[np.bool_]
    families: NDArray[np.str_]
    languages: NDArray[np.str_]

    def select(self, rows: NDArray[Any]) -> HeadTable:
        """The rows of a mask or of indices."""
        return HeadTable(
            self.vectors[rows], self.weighed[rows], self.multi[rows], self.families[rows], self.languages[rows]
        )

    def without_vectors(self) -> HeadTable:
        """The same for the variant that sees features only."""
        return HeadTable(np.zeros((len(self.multi), 0)), self.weighed, self.multi, self.families, self.languages)


def head_table(
    questions: Sequence[LabelledQuestion], features: Sequence[ComplexityFeatures], vectors: Floats
) -> HeadTable:
    """The table of ``questions`` with their features and vectors."""
    return HeadTable(
        np.asarray(vectors, dtype=np.float64),
        np.array([interactions(item.vector, chinese=item.chinese) for item in features]),
        np.array([item.multi for item in questions]),
        np.array([item.family for item in questions]),
        np.array([item.language for item in questions]),
    )


def fit_head(table: HeadTable) -> HeadWeights:
    """Weights and calibration from ``table`` alone."""
    centre, basis = _main_directions(table.vectors)
    design = np.hstack([(table.vectors - centre) @ basis.T * _VECTOR_SCALE, table.weighed])
    left_out = np.zeros(len(table.multi))
    for family in np.unique(table.families):
        rows = table.families == family
        fitted = _logistic(design[~rows], table.multi[~rows], table.families[~rows], len(basis))
        left_out[rows] = design[rows] @ fitted[:-1] + fitted[-1]
    calibration = _calibration(left_out, table)
    fitted = _logistic(design, table.multi, table.families, len(basis))
    direction = fitted[: len(basis)] @ basis * _VECTOR_SCALE
    return HeadWeights(
        direction,
        fitted[len(basis) : -1],
        float(fitted[-1] - direction @ centre if len(basis) else fitted[-1]),
        calibration,
    )


def head_probabilities(weights: HeadWeights, table: HeadTable) -> Floats:
    """Probabilities of all rows."""
    return np.array(
        [
            weights.probability(vector, weighed.tolist(), str(language))
            for vector, weighed, language in zip(table.vectors, table.weighed, table.languages, strict=True)
        ]
    )


def head_as_json(
    with_vector: HeadWeights, features_only: HeadWeights, *, embedder: str, version: str, sources: Sequence[str]
) -> dict[str, Any]:
    """What ``complexity_head.json`` holds."""
    return {
        "version": version,
        "embedder": embedder,
        "fitted_on": sorted(sources),
        "with_vector": _as_json(with_vector),
        "features_only": _as_json(features_only),
    }


def _as_json(weights: HeadWeights) -> dict[str, Any]:
    return {
        "bias": round(weights.bias, 4),
        "calibration": {name: [round(value, 4) for value in pair] for name, pair in weights.calibration.items()},
        "features": [round(float(value), 4) for value in weights.features],
        "vector": [round(float(value), 4) for value in weights.vector],
    }


def _main_directions(vectors: Floats) -> tuple[Floats, Floats]:
    """Centre and the orthonormal directions of largest variance, shape ``(directions, dimension)``."""
    centre = vectors.mean(axis=0)
    if not vectors.shape[1]:
        return centre, np.zeros((0, 0))
    covariance = np.cov(vectors - centre, rowvar=False)
    _, directions = np.linalg.eigh(covariance)
    return centre, directions[:, ::-1].T[:DIRECTIONS]


def _logistic(design: Floats, multi: NDArray[np.bool_], families: NDArray[np.str_], vector_columns: int) -> Floats:
    """Newton's method on the source-balanced, penalised likelihood; the last weight is the bias."""
    balance = source_balance(multi, families)
    penalty = np.full(design.shape[1] + 1, _FEATURE_PENALTY)
    penalty[:vector_columns] = _VECTOR_PENALTY
    penalty[-1] = 1e-6
    return _newton(np.hstack([design, np.ones((len(design), 1))]), multi, balance, penalty)


def _calibration(scores: Floats, table: HeadTable) -> dict[str, tuple[float, float]]:
    """One scale, and per language a shift that lets :data:`FALSE_SHARE` of the single questions reach 0.5.

    Multi questions differ more between sources in how much they show than single ones do: a shift fitted on both would
    follow the sources that happen to be there.
    """
    languages = [language for language in ("zh", "en") if (table.languages == language).any()]
    rows_of = [table.languages == language for language in languages]
    design = np.column_stack([scores, *[rows.astype(float) for rows in rows_of]])
    balance = np.sum([_on_rows(table, rows) for rows in rows_of], axis=0) / len(languages)
    penalty = np.array([1e-2, *[1e-4] * len(languages)])
    start = np.array([1.0, *[0.0] * len(languages)])
    scale = max(float(_newton(design, table.multi, balance, penalty, start)[0]), 0.1)
    return {language: (scale, -scale * _even_score(scores, table, language)) for language in ("zh", "en")}


def _even_score(scores: Floats, table: HeadTable, language: str) -> float:
    """The score that :data:`FALSE_SHARE` of the language's single questions exceed (mean over sources)."""
    rows = (table.languages == language) & ~table.multi
    if not rows.any():
        return 0.0
    weights = source_balance(table.multi[rows], table.families[rows])
    order = np.argsort(-scores[rows])
    share = np.cumsum(weights[order]) / weights.sum()
    return float(scores[rows][order][np.searchsorted(share, FALSE_SHARE)])


def _on_rows(table: HeadTable, rows: NDArray[np.bool_]) -> Floats:
    """The source balance of some rows, 0 elsewhere."""
    weights = np.zeros(len(table.multi))
    weights[rows] = source_balance(table.multi[rows], table.families[rows])
    return weights


def _newton(
    design: Floats, multi: NDArray[np.bool_], balance: Floats, penalty: Floats, start: Floats | None = None
) -> Floats:
    """Weights that minimise the loss plus ``penalty`` on the distance to ``start`` (default 0)."""
    start = np.zeros(design.shape[1]) if start is None else start
    weights = start.copy()
    for _ in range(_STEPS):
        probability = 1 / (1 + np.exp(-np.clip(design @ weights, -40, 40)))
        gradient = design.T @ (balance * (probability - multi)) + penalty * (weights - start)
        curvature = (design * (balance * probability * (1 - probability))[:, None]).T @ design + np.diag(penalty)
        weights = weights - np.linalg.solve(curvature, gradient)
    return weights
