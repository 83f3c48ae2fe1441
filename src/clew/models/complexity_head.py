"""The in-process complexity classifier: a linear head on the question's own vector and the five features.

It serves where neither a classifier service nor a language model is configured. The vector is the one that retrieval
needs anyway, so the head costs microseconds. Its probabilities are calibrated on sources that its weights did not see.
Weights (a few kB) come from ``benchmarks/fit_complexity.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.errors import ServiceRefusedError
from clew.models.base import ComplexityPrediction
from clew.text.entities import has_cjk
from clew.types import FloatArray

_WEIGHTS_FILE = "complexity_head.json"
FEATURE_COUNT = 5


def interactions(features: Sequence[float], *, chinese: bool) -> list[float]:
    """The features, what they say together, and the same for Chinese: what the head weighs besides the vector."""
    comparison, logic, entities, bridge, length = features
    shared = [
        *(comparison, logic, entities, bridge, length),
        *(math.sqrt(comparison), math.sqrt(bridge), bridge * bridge),
        *(comparison * entities, comparison * bridge, bridge * length, entities * length),
    ]
    own = [1.0, comparison, bridge, logic, length, entities]
    return shared + [value if chinese else 0.0 for value in own]


@dataclass(frozen=True)
class HeadWeights:
    """A linear score and its calibration per language: probability = σ(scale · score + shift)."""

    vector: NDArray[np.float64]
    """Shape ``(dimension,)``; empty for the variant that sees features only."""
    features: NDArray[np.float64]
    bias: float
    calibration: Mapping[str, tuple[float, float]]
    """``zh`` and ``en`` → scale, shift."""

    def probability(self, vector: FloatArray | None, weighed: Sequence[float], language: str) -> float:
        """``weighed``: what :func:`interactions` gives."""
        score = self.bias + float(np.dot(self.features, np.asarray(weighed, dtype=np.float64)))
        if vector is not None and self.vector.size:
            score += float(np.dot(self.vector, np.asarray(vector, dtype=np.float64)))
        scale, shift = self.calibration[language]
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, scale * score + shift))))


class ComplexityHead:
    """The head as a ``ComplexityClassifier``. Immutable, safe across threads."""

    name = "head"

    def __init__(
        self, with_vector: HeadWeights, features_only: HeadWeights, *, embedder_name: str, version: str
    ) -> None:
        self._with_vector = with_vector
        self._features_only = features_only
        self.embedder_name = embedder_name
        """The embedder whose vectors the head knows; give it no vector of another."""
        self._version = version

    @classmethod
    def from_package(cls) -> ComplexityHead:
        """The committed weights."""
        text = resources.files("clew.models").joinpath(_WEIGHTS_FILE).read_text(encoding="utf-8")
        return cls.from_json(json.loads(text))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ComplexityHead:
        """Weights as ``benchmarks/fit_complexity.py`` writes them."""
        return cls(
            _weights(data["with_vector"]),
            _weights(data["features_only"]),
            embedder_name=data["embedder"],
            version=data["version"],
        )

    def predict(
        self,
        question: str,
        features: Sequence[float],
        *,
        vector: FloatArray | None = None,
        timeout: float | None = None,
    ) -> ComplexityPrediction:
        """Without a vector the features decide alone, and the version says so. Raises ServiceRefusedError."""
        if len(features) != FEATURE_COUNT:
            raise ServiceRefusedError(f"The head wants {FEATURE_COUNT} features and was given {len(features)}.")
        if vector is not None and vector.shape != self._with_vector.vector.shape:
            raise ServiceRefusedError(
                f"The head knows vectors of {self.embedder_name} (dimension {self._with_vector.vector.size}) and was "
                f"given one of shape {vector.shape}; leave the vector out for other embedders."
            )
        chinese = has_cjk(question)
        weighed = interactions(features, chinese=chinese)
        weights = self._features_only if vector is None else self._with_vector
        version = self._version if vector is not None else f"{self._version}-features"
        return ComplexityPrediction(weights.probability(vector, weighed, "zh" if chinese else "en"), version)


def _weights(data: Mapping[str, Any]) -> HeadWeights:
    return HeadWeights(
        np.array(data["vector"], dtype=np.float64),
        np.array(data["features"], dtype=np.float64),
        float(data["bias"]),
        {language: (float(scale), float(shift)) for language, (scale, shift) in data["calibration"].items()},
    )
