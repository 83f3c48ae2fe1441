"""What goes in and out over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from multihop_classifier import FEATURE_NAMES

Feature = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Question(BaseModel):
    """A question and what was seen in it."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, pattern=r"\S", description="the question, standing alone")
    features: list[Feature] = Field(
        min_length=len(FEATURE_NAMES),
        max_length=len(FEATURE_NAMES),
        description=f"{', '.join(FEATURE_NAMES)}, in this order, each from 0 to 1",
    )
    features_version: str = Field(min_length=1, description="version of the code that computed the features")


class Questions(BaseModel):
    """A batch."""

    model_config = ConfigDict(extra="forbid")

    questions: list[Question] = Field(min_length=1)


class Answered(BaseModel):
    """The decision about one question."""

    label: Literal["single", "multi"]
    multi_hop_probability: float
    truncated: bool = Field(description="only the beginning of the question was read")
    features: list[float] = Field(description="as they were given")


class Predictions(BaseModel):
    """The decisions about a batch, in its order."""

    model_config = ConfigDict(protected_namespaces=())

    predictions: list[Answered]
    model_version: str
    features_version: str


class SinglePrediction(Answered):
    """The decision about a question that came alone."""

    model_config = ConfigDict(protected_namespaces=())

    model_version: str
    features_version: str


class Health(BaseModel):
    """Whether questions are answered, and by what."""

    model_config = ConfigDict(protected_namespaces=())

    status: Literal["ok", "no_weights"]
    message: str
    model_version: str | None = None
    features_version: str | None = None
    thresholds: dict[str, float] | None = None
    metrics: dict[str, Any] | None = None


class Problem(BaseModel):
    """Why a request was not answered, and what to do."""

    message: str
