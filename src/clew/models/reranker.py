"""Cross-encoders: over HTTP, or from an ONNX folder in this process.

One contract for all: one score in [0, 1] for each passage, in the order given. Batches keep to the model's limits,
passages are cut to its length, indices that the service names are checked, and what fails raises ServiceError: a
failure is never "no hits".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from tokenizers import Tokenizer

from clew.config import RerankerSettings
from clew.errors import ServiceRefusedError, SettingsError
from clew.models.base import Reranker
from clew.models.endpoint import Attempts, Endpoint
from clew.models.local import open_session

# A token of these models covers at least this many characters of Latin text, and one of Chinese.
_LATIN_CHARACTERS_PER_TOKEN = 3

# Start, two between question and passage, and end, as the XLM-RoBERTa family has them; others have fewer.
_SPECIAL_TOKENS = 4
_PROBE = "What is the capital of France?"
_PROBE_PASSAGES = ("The capital of France is Paris.", "Bread is baked from flour and water.")


class _Scored(BaseModel):
    model_config = ConfigDict(extra="ignore")

    index: int = Field(ge=0)
    score: float = Field(validation_alias="score", allow_inf_nan=False)


class _Relevance(BaseModel):
    model_config = ConfigDict(extra="ignore")

    index: int = Field(ge=0)
    score: float = Field(validation_alias="relevance_score", allow_inf_nan=False)


class _Results(BaseModel):
    model_config = ConfigDict(extra="ignore")

    results: list[_Relevance]


_TEI = TypeAdapter(list[_Scored])


class HttpReranker:
    """A reranker behind ``<url>/rerank``: Cohere, Jina and vLLM speak one dialect, TEI another."""

    def __init__(self, settings: RerankerSettings, *, setting: str = "models.reranker", retries: int = 1) -> None:
        if settings.dialect == "cohere" and not settings.model:
            raise SettingsError(f"{setting}.model: must name the model that {setting}.url serves.")
        self._settings = settings
        self._retries = retries
        self._tokenizer = _tokenizer_in(Path(settings.path)) if settings.path else None
        self._endpoint = Endpoint(
            settings.url, settings.api_key.get_secret_value(), setting=setting, suffixes=("/rerank",)
        )

    @property
    def name(self) -> str:
        return self._settings.model or "tei"

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def rerank(self, question: str, passages: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """One score in [0, 1] per passage, in the order given. Raises ServiceError."""
        attempts = Attempts(timeout or self._settings.timeout, self._retries)
        cut = [self._cut(passage, question) for passage in passages]
        scores: list[float] = []
        for start in range(0, len(cut), self._settings.batch_size):
            scores += self._batch(question, cut[start : start + self._settings.batch_size], attempts)
        return normalised(scores)

    def _batch(self, question: str, passages: list[str], attempts: Attempts) -> list[float]:
        if self._settings.dialect == "tei":
            payload: dict[str, Any] = {"query": question, "texts": passages, "raw_scores": False, "truncate": True}
        else:
            payload = {
                "model": self._settings.model,
                "query": question,
                "documents": passages,
                "top_n": len(passages),
            }
        answer = self._endpoint.post("/rerank", payload, attempts)
        try:
            rows: Sequence[_Scored | _Relevance] = (
                _TEI.validate_python(answer)
                if self._settings.dialect == "tei"
                else _Results.model_validate(answer).results
            )
        except ValidationError as error:
            raise self._endpoint.not_understood(str(answer)) from error
        scores = {row.index: row.score for row in rows}
        if sorted(scores) != list(range(len(passages))):
            raise ServiceRefusedError(
                f"{self._endpoint.shown} scored the passages {sorted(scores)} of {len(passages)}; every passage needs "
                "exactly one score. Check that models.reranker names a reranking model."
            )
        return [scores[i] for i in range(len(passages))]

    def _cut(self, passage: str, question: str) -> str:
        """As much of the passage as the model reads; about as much where its tokenizer is not at hand."""
        if self._tokenizer is not None:
            room = self._settings.max_tokens - len(self._tokenizer.encode(question)) - _SPECIAL_TOKENS
            if room < 1:
                raise ServiceRefusedError(
                    f"The question fills the {self._settings.max_tokens} tokens that the reranker {self.name} reads; "
                    "shorten it, or raise models.reranker.max_tokens."
                )
            spans = self._tokenizer.encode(passage, add_special_tokens=False).offsets
            return passage if len(spans) <= room else passage[: spans[room - 1][1]]
        budget = self._settings.max_tokens - _estimated_tokens(question)
        while passage and _estimated_tokens(passage) > max(budget, 16):
            passage = passage[: int(len(passage) * 0.8)]
        return passage


class OnnxReranker:
    """A cross-encoder from ``folder``/model.onnx and ``folder``/tokenizer.json; loads on first use.

    Question and passage are encoded as a pair, the passage cut by the model's own tokenizer. The model's single output
    is a logit for each pair.
    """

    def __init__(self, folder: Path, *, max_tokens: int = 512, batch_size: int = 32) -> None:
        if not (folder / "model.onnx").is_file():
            raise SettingsError(f"models.reranker.path: there is no model.onnx in {folder}; name a folder with one.")
        self._folder = folder
        self._batch_size = batch_size
        self._tokenizer = _tokenizer_in(folder)
        self._tokenizer.enable_truncation(max_tokens, strategy="only_second")
        self._session = open_session(folder / "model.onnx")

    @property
    def name(self) -> str:
        return f"onnx/{self._folder.resolve().name}"

    def rerank(self, question: str, passages: Sequence[str], *, timeout: float | None = None) -> list[float]:
        """One score in [0, 1] per passage, in the order given. Raises ServiceError; ``timeout`` is not needed here."""
        try:
            encoded = self._tokenizer.encode_batch([(question, passage) for passage in passages])
        except Exception as error:  # a question that leaves the passage no room
            raise ServiceRefusedError(f"The reranker {self.name} cannot read this question: {error}") from error
        scores: list[float] = []
        for start in range(0, len(encoded), self._batch_size):
            scores += [self._score(each) for each in encoded[start : start + self._batch_size]]
        return normalised(scores)

    def _score(self, encoded: Any) -> float:
        known: dict[str, NDArray[np.int64]] = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": np.ones((1, len(encoded.ids)), np.int64),
            "token_type_ids": np.array([encoded.type_ids], np.int64),
        }
        feed = {each.name: known[each.name] for each in self._session.get_inputs()}
        try:
            output = self._session.run(None, feed)[0]
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise ServiceRefusedError(f"The reranker {self.name} failed: {error}") from error
        return float(np.asarray(output).reshape(-1)[-1])


def probe_reranker(reranker: Reranker) -> str:
    """One line for ``clew doctor``. Raises ServiceError where the reranker fails or orders two passages wrongly."""
    scores = reranker.rerank(_PROBE, _PROBE_PASSAGES, timeout=20)
    if scores[0] <= scores[1]:
        raise ServiceRefusedError(
            f"{reranker.name} scores {_PROBE_PASSAGES[1]!r} above {_PROBE_PASSAGES[0]!r} for {_PROBE!r}; check that "
            "models.reranker names a reranking model."
        )
    return f"{reranker.name} orders two passages rightly ({scores[0]:.2f} and {scores[1]:.2f})"


def normalised(scores: Sequence[float]) -> list[float]:
    """Scores in [0, 1]: as they are where they lie there already, else (logits) through the logistic function."""
    if all(0.0 <= score <= 1.0 for score in scores):
        return list(scores)
    return [1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score)))) for score in scores]


def _tokenizer_in(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise SettingsError(f"models.reranker.path: there is no tokenizer.json in {folder}; name a folder with one.")
    tokenizer = Tokenizer.from_file(str(path))
    # A tokenizer file brings the cuts and padding of its training along.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _estimated_tokens(text: str) -> int:
    wide = sum(ord(character) >= 0x2E80 for character in text)
    return wide + math.ceil((len(text) - wide) / _LATIN_CHARACTERS_PER_TOKEN)
