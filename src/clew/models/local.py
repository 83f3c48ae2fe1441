"""Embedders that run in this process: the embedded multilingual-e5-small, and any encoder in an ONNX folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from clew.errors import ServiceRefusedError, SettingsError
from clew.models.model_store import GRAPH, NAME, VOCABULARY, Progress, ensure_embedded_model
from clew.models.tokenizer import TextTokenizer, UnigramVocabulary
from clew.types import FloatArray

Pooling = Literal["mean", "cls"]

# A quarter of a window is read again in the next one.
_WINDOW_OVERLAP = 4


class OnnxEmbedder:
    """An encoder in ONNX Runtime.

    Each text is one run on one thread, and ``threads`` texts run at the same time: nothing is padded, a vector does not
    depend on the texts beside it, and no thread spins. Model and tokenizer load on first use. ``max_tokens`` includes
    the special tokens and the prefix; what lies beyond is not read.
    """

    def __init__(
        self,
        name: str,
        model: Path,
        load_tokenizer: Callable[[], TextTokenizer],
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        pooling: Pooling = "mean",
        max_tokens: int = 512,
        threads: int = 2,
    ) -> None:
        self._name = name
        self._model = model
        self._load_tokenizer = load_tokenizer
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._pooling = pooling
        self._max_tokens = max_tokens
        self._threads = max(1, threads)
        self._loading = threading.Lock()
        self._loaded: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @cached_property
    def dimension(self) -> int:
        size = self._session.get_outputs()[0].shape[-1]
        return size if isinstance(size, int) else self.embed_queries(["1"]).shape[1]

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of passages, shape ``(len(texts), dimension)``, L2-normalised."""
        return self._embed(texts, self._passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of questions, shape ``(len(texts), dimension)``, L2-normalised."""
        return self._embed(texts, self._query_prefix)

    @cached_property
    def pools_spans(self) -> bool:
        """Whether :meth:`embed_spans` can be used: the model gives one vector a token, and their mean is the text's."""
        return self._pooling == "mean" and len(self._session.get_outputs()[0].shape) == 3

    def embed_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[FloatArray]:
        """Late chunking after Günther et al., "Late Chunking: Contextual Chunk Embeddings", 2024: the mean over each
        span's tokens of one pass over the whole text; a span without tokens gets the text's own vector."""
        return list(self._pool.map(self._embed_spans, texts, spans))

    def _embed_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> FloatArray:
        ids, places = self._tokenizer.pieces(self._passage_prefix + text)
        shift = len(self._passage_prefix)
        states = self._states(ids)
        starts = np.array([start for start, _ in places], np.int64) - shift
        ends = np.array([end for _, end in places], np.int64) - shift
        result = np.empty((len(spans), self.dimension), np.float32)
        for number, (start, end) in enumerate(spans):
            inside = (starts < end) & (ends > start) & (ends > starts)
            result[number] = states[inside].mean(axis=0) if inside.any() else states.mean(axis=0)
        norms = np.linalg.norm(result, axis=1, keepdims=True)
        return (result / np.where(norms > 0, norms, 1.0)).astype(np.float32)

    def _states(self, ids: NDArray[np.int64]) -> FloatArray:
        """Hidden states of the tokens, shape ``(len(ids), dimension)``: of overlapping windows where they are many,
        each token as the window sees it that has most around it."""
        before, after = self._tokenizer.specials()
        room = self._max_tokens - len(before) - len(after)
        windows = [(0, len(ids))]
        if len(ids) > room:
            step = room - room // _WINDOW_OVERLAP
            windows = [
                (start, min(len(ids), start + room)) for start in range(0, len(ids) - room // _WINDOW_OVERLAP, step)
            ]
        states = np.zeros((max(1, len(ids)), self.dimension), np.float32)
        margins = np.full(max(1, len(ids)), -1)
        for first, last in windows:
            hidden = self._run(np.concatenate([before, ids[first:last], after]).astype(np.int64))[0]
            own = hidden[len(before) : len(hidden) - len(after)] if last > first else hidden[:1]
            span = np.arange(len(own))
            # The first token of a text has as much around it as there is, and so has the last.
            left = span + (len(ids) if first == 0 else 0)
            right = span[::-1] + (len(ids) if last == len(ids) else 0)
            margin = np.minimum(left, right)
            better = margin > margins[first : first + len(own)]
            states[first : first + len(own)][better] = own[better]
            margins[first : first + len(own)][better] = margin[better]
        return states

    def count_tokens(self, text: str) -> int:
        return self._tokenizer.count(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return self._tokenizer.offsets(text)

    def load(self) -> None:
        """Load model and tokenizer now, so that the first question does not wait. Raises ServiceError."""
        _ = self._session, self._tokenizer

    def _embed(self, texts: Sequence[str], prefix: str) -> FloatArray:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        inputs = [self._tokenizer.encode(prefix + text, self._max_tokens) for text in texts]
        if len(texts) == 1 or self._threads == 1:
            return np.stack([self._encode(ids) for ids in inputs])
        # Longest first: the threads end at the same time.
        order = sorted(range(len(inputs)), key=lambda place: -len(inputs[place]))
        result = np.empty((len(texts), self.dimension), np.float32)
        for place, vector in zip(order, self._pool.map(self._encode, [inputs[place] for place in order]), strict=True):
            result[place] = vector
        return result

    def _encode(self, ids: NDArray[np.int64]) -> FloatArray:
        hidden: FloatArray = self._run(ids)
        norm = float(np.linalg.norm(vector := self._pooled(hidden)))
        return vector / np.float32(norm) if norm > 0 else vector

    def _pooled(self, hidden: FloatArray) -> FloatArray:
        if hidden.ndim == 2:  # the model pools by itself
            pooled: FloatArray = hidden[0]
        elif self._pooling == "cls":
            pooled = hidden[0, 0]
        else:
            pooled = hidden[0].mean(axis=0)
        return pooled

    def _run(self, ids: NDArray[np.int64]) -> FloatArray:
        session = self._session
        known = {
            "input_ids": ids[None, :],
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.zeros((1, len(ids)), np.int64),
        }
        feed = {each.name: known[each.name] for each in session.get_inputs()}
        try:
            return session.run([session.get_outputs()[0].name], feed)[0]  # type: ignore[no-any-return]
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise ServiceRefusedError(
                f"The embedder {self._name} failed on a text of {len(ids)} tokens: {error}"
            ) from error

    @property
    def _session(self) -> Any:
        return self._once("session", lambda: open_session(self._model))

    @property
    def _tokenizer(self) -> TextTokenizer:
        tokenizer: TextTokenizer = self._once("tokenizer", self._load_tokenizer)
        return tokenizer

    @property
    def _pool(self) -> ThreadPoolExecutor:
        pool: ThreadPoolExecutor = self._once("pool", lambda: ThreadPoolExecutor(self._threads, "clew-embedder"))
        return pool

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        value = self._loaded.get(key)
        if value is None:
            with self._loading:
                value = self._loaded.get(key)
                if value is None:
                    value = self._loaded[key] = make()
        return value


def embedded_embedder(models: Path, *, threads: int = 2, on_progress: Progress | None = None) -> OnnxEmbedder:
    """multilingual-e5-small as int8, in a folder below ``models``; it is built there the first time (a few seconds).

    Raises SettingsError where the package with the weights is missing, StorageError if the model cannot be written.
    """
    folder = ensure_embedded_model(models, on_progress=on_progress)

    def load_tokenizer() -> TextTokenizer:
        return TextTokenizer.unigram(UnigramVocabulary.load(folder / VOCABULARY))

    return OnnxEmbedder(
        f"{NAME}/mean",
        folder / GRAPH,
        load_tokenizer,
        query_prefix="query: ",
        passage_prefix="passage: ",
        threads=threads,
    )


def onnx_embedder(
    folder: Path,
    *,
    query_prefix: str = "",
    passage_prefix: str = "",
    pooling: Pooling = "mean",
    max_tokens: int = 512,
    threads: int = 2,
) -> OnnxEmbedder:
    """An encoder from ``folder``/model.onnx and ``folder``/tokenizer.json. Raises SettingsError if they are not there.

    The model reads ``input_ids`` and, where it has them, ``attention_mask`` and ``token_type_ids`` (all int64); its
    first output is either the hidden states, which are pooled here, or one vector for each text.
    """
    for file in ("model.onnx", "tokenizer.json"):
        if not (folder / file).is_file():
            raise SettingsError(f"models.embedder.path: there is no {file} in {folder}; name a folder that has one.")
    return OnnxEmbedder(
        f"onnx/{folder.resolve().name}/{pooling}",
        folder / "model.onnx",
        lambda: TextTokenizer.from_file(folder / "tokenizer.json"),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        pooling=pooling,
        max_tokens=max_tokens,
        threads=threads,
    )


def open_session(model: Path) -> Any:
    """An ONNX Runtime session for ``model`` that runs on the caller's thread. Raises ServiceRefusedError."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    # Texts of many lengths come by: an arena would keep the largest buffer of every size.
    options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors have no common base
        raise ServiceRefusedError(f"The model {model} cannot be opened: {error}") from error
