"""A trained classifier in a folder, run by ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tokenizers import Tokenizer

from multihop_classifier import FEATURE_NAMES, MAX_TOKENS

GRAPH = "model.onnx"
VOCABULARY = "tokenizer.json"
CARD = "model.json"

_MAX_PIECE = 32
"""No vocabulary has longer pieces; what lies beyond ``MAX_TOKENS`` of them cannot reach the encoder."""
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""Lone surrogates have no UTF-8 form; the tokenizer would refuse them."""


class WeightsError(RuntimeError):
    """The folder has no usable weights; the message says what is missing and what to do."""


class Thresholds(BaseModel):
    """Where ``label`` turns."""

    model_config = ConfigDict(frozen=True)

    multi: float = Field(default=0.5, ge=0, le=1)


class ModelCard(BaseModel):
    """What ``model.json`` says about the weights beside it."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    version: str = Field(min_length=1)
    features_version: str = Field(min_length=1)
    thresholds: Thresholds = Thresholds()
    metrics: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Prediction:
    """``probability`` that the question needs several hops; ``truncated``: only its beginning was read."""

    probability: float
    truncated: bool


class QuestionTokenizer:
    """Token ids of any text, at most ``MAX_TOKENS``. Safe across threads."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A question that says "[SEP]" is text, not the special token.
        self._tokenizer.encode_special_tokens = True

    @classmethod
    def from_file(cls, path: Path) -> QuestionTokenizer:
        """A ``tokenizer.json``. Raises WeightsError."""
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:
            raise WeightsError(f"{path} is not a readable tokenizer ({error}); export the model again.") from error

    def save(self, path: Path) -> None:
        """As :meth:`from_file` reads it."""
        self._tokenizer.save(str(path))

    def encode(self, text: str) -> tuple[list[int], bool]:
        """Ids with special tokens, and whether the end was cut off. The last special token is kept."""
        text = " ".join(text.translate(_SURROGATES).split())
        cut = len(text) > MAX_TOKENS * _MAX_PIECE
        ids: list[int] = self._tokenizer.encode(text[: MAX_TOKENS * _MAX_PIECE]).ids
        if len(ids) > MAX_TOKENS:
            return [*ids[: MAX_TOKENS - 1], ids[-1]], True
        return ids, cut


class Classifier:
    """Encoder and head as one graph: ``input_ids`` and ``attention_mask`` (int64, batch × tokens), where it has it
    ``token_type_ids``, and ``features`` (float32, batch × 5) → ``probability`` (float32, batch).
    """

    def __init__(self, session: Any, tokenizer: QuestionTokenizer, card: ModelCard) -> None:
        self.card = card
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = {each.name for each in session.get_inputs()}

    @classmethod
    def load(cls, folder: Path) -> Classifier:
        """From ``folder``; one question is computed on one core. Raises WeightsError."""
        for name in (GRAPH, VOCABULARY, CARD):
            if not (folder / name).is_file():
                raise WeightsError(
                    f"There are no weights: {folder} has no {name}. Train and export a model "
                    "(multihop-classifier train) and mount its folder there."
                )
        try:
            card = ModelCard.model_validate(json.loads((folder / CARD).read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError) as error:
            raise WeightsError(f"{folder / CARD} cannot be used ({error}); export the model again.") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        try:
            session = onnxruntime.InferenceSession(str(folder / GRAPH), options, ["CPUExecutionProvider"])
        except Exception as error:
            raise WeightsError(f"{folder / GRAPH} cannot be loaded ({error}); export the model again.") from error
        classifier = cls(session, QuestionTokenizer.from_file(folder / VOCABULARY), card)
        try:
            classifier.predict("1", [0.0] * len(FEATURE_NAMES))
        except Exception as error:
            raise WeightsError(f"{folder / GRAPH} is no classifier of questions ({error}); export it again.") from error
        return classifier

    def predict(self, question: str, features: Sequence[float]) -> Prediction:
        """One question at a time: nothing is padded, so the answer does not depend on what is asked beside it."""
        ids, truncated = self._tokenizer.encode(question)
        known = {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.zeros((1, len(ids)), np.int64),
            "features": np.array([features], np.float32),
        }
        feed = {name: known[name] for name in self._inputs}
        (probability,) = self._session.run(["probability"], feed)
        return Prediction(min(max(float(probability.reshape(-1)[0]), 0.0), 1.0), truncated)
