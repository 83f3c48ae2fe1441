"""Client of the external complexity classifier (``multihop_classifier``).

The service answers ``POST <classifier_url>/predict``::

    {"questions": [{"question": "…", "features": [0.6, 0.0, 0.4, 0.5, 0.25], "features_version": "2"}]}

with one prediction per question, in order::

    {"predictions": [{"label": "multi", "multi_hop_probability": 0.93, "truncated": false}],
     "model_version": "2026-11-03-base"}

``features`` are comparison, logic, entities, bridge and length, each in [0, 1]. ``truncated`` says that the
question was longer than the 128 tokens that the service reads. Without weights the service answers 503.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import ServiceRefusedError, ServiceUnavailableError
from clew.models.base import ComplexityPrediction
from clew.models.endpoint import Attempts, Endpoint
from clew.types import FloatArray


class _Prediction(BaseModel):
    model_config = ConfigDict(extra="ignore")

    multi_hop_probability: float = Field(ge=0, le=1, allow_inf_nan=False)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", protected_namespaces=())

    predictions: list[_Prediction] = Field(min_length=1)
    model_version: str = ""


class HttpComplexityClassifier:
    """The service as a ``ComplexityClassifier``; safe to call from several threads."""

    name = "classifier"

    def __init__(self, url: str, *, features_version: str, timeout: float = 0.3) -> None:
        """``timeout``: seconds for the whole call, connecting included. Raises SettingsError for an impossible URL."""
        self._endpoint = Endpoint(url, "", setting="complexity.classifier", suffixes=("/predict",))
        self._features_version = features_version
        self._timeout = timeout

    def close(self) -> None:
        """Closes the connections."""
        self._endpoint.close()

    def predict(
        self,
        question: str,
        features: Sequence[float],
        *,
        vector: FloatArray | None = None,
        timeout: float | None = None,
    ) -> ComplexityPrediction:
        """The probability that ``question`` needs several hops. ``vector`` is not sent. Raises ServiceError."""
        asked = {
            "question": question,
            "features": [float(value) if math.isfinite(value) else 0.0 for value in features],
            "features_version": self._features_version,
        }
        seconds = self._timeout if timeout is None else timeout
        where = self._endpoint.shown
        try:
            body = self._endpoint.post("/predict", {"questions": [asked]}, Attempts(seconds, retries=0))
        except ServiceUnavailableError as error:
            raise ServiceUnavailableError(
                f"The classifier at {where} did not answer within {seconds:g} s or is not ready ({error}); "
                "check that it runs, has weights, and that complexity.classifier_url is right."
            ) from error
        except ServiceRefusedError as error:
            raise ServiceRefusedError(
                f"The classifier at {where} refused the question or gave no JSON; check complexity.classifier_url "
                f"and that it serves features version {self._features_version}."
            ) from error
        return self._read(body)

    def _read(self, body: Any) -> ComplexityPrediction:
        try:
            answer = _Answer.model_validate(body)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            path = ".".join(str(part) for part in problem["loc"]) or "the answer"
            raise ServiceRefusedError(
                f"The classifier at {self._endpoint.shown} gave an answer that cannot be used "
                f"({path}: {problem['msg']}); check complexity.classifier_url and the service's version."
            ) from error
        return ComplexityPrediction(answer.predictions[0].multi_hop_probability, answer.model_version)
