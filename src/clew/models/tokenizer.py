"""Tokenizers of the embedded and of ONNX models: any text in, token ids and code point spans of that text out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from clew.errors import SettingsError

_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
# Longest piece of any vocabulary seen is 16 code points; what lies beyond limit × 32 cannot reach the encoder.
_MAX_PIECE = 32


@dataclass(frozen=True)
class UnigramVocabulary:
    """Pieces with their scores, the normalisation map and the special tokens of a Unigram tokenizer."""

    pieces: list[str]
    scores: list[float]
    normalisation: dict[int, str]
    start_id: int
    end_id: int
    unknown_id: int

    def save(self, path: Path) -> None:
        """One JSON file; it loads three times faster than the tokenizers library's own."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["normalisation"] = {str(key): value for key, value in self.normalisation.items()}
        path.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> UnigramVocabulary:
        """Raises ValueError, KeyError or TypeError if the file is damaged."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["normalisation"] = {int(key): value for key, value in fields["normalisation"].items()}
        return cls(**fields)


class TextTokenizer:
    """A tokenizer that never raises on any text and counts offsets in the text as it was given. Safe across threads."""

    def __init__(self, tokenizer: Tokenizer, normalisation: Mapping[int, str], unknown_id: int | None) -> None:
        self._tokenizer = tokenizer
        # Lone surrogates have no UTF-8 form; the library would refuse them.
        self._normalisation = {**_SURROGATES, **normalisation}
        self._lengths = np.ones(0x110000, np.uint8)
        for code_point, replacement in normalisation.items():
            self._lengths[code_point] = len(replacement)
        self._unknown_id = unknown_id

    @classmethod
    def unigram(cls, vocabulary: UnigramVocabulary) -> TextTokenizer:
        """The tokenizer of XLM-RoBERTa and its descendants."""
        specials = {vocabulary.start_id: "<s>", vocabulary.end_id: "</s>"}
        pieces = [
            # A text that says "</s>" must not become the special token: these names cannot occur in normalised text.
            (f"\x00{piece}" if piece.startswith("<") and piece.endswith(">") else piece, score)
            for piece, score in zip(vocabulary.pieces, vocabulary.scores, strict=True)
        ]
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unknown_id, byte_fallback=False))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
        )
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[(name, number) for number, name in specials.items()]
        )
        return cls(tokenizer, vocabulary.normalisation, vocabulary.unknown_id)

    @classmethod
    def from_file(cls, path: Path) -> TextTokenizer:
        """A ``tokenizer.json``. Raises SettingsError."""
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise SettingsError(f"models.embedder.path: {path} is not a readable tokenizer ({error}).") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, {}, None)

    def encode(self, text: str, limit: int) -> NDArray[np.int64]:
        """Ids with special tokens, at most ``limit``; the last one is kept, since it ends the text."""
        if len(text) > limit * _MAX_PIECE:
            text = " ".join(text.split())[: limit * _MAX_PIECE]
        ids = self._tokenizer.encode(text.translate(self._normalisation)).ids
        return np.array(ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]], np.int64)

    def pieces(self, text: str) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
        """Ids without special tokens, each with its code point span in ``text`` (empty where it stands for none)."""
        normalised = text.translate(self._normalisation)
        encoding = self._tokenizer.encode(normalised, add_special_tokens=False)
        return np.array(encoding.ids, np.int64), self._in_original(text, normalised, encoding.offsets)

    def specials(self) -> tuple[list[int], list[int]]:
        """Ids of the special tokens before and after a text."""
        whole = self._tokenizer.encode("a").ids
        first = self._tokenizer.encode("a", add_special_tokens=False).ids[0]
        place = whole.index(first)
        return whole[:place], whole[place + 1 :]

    def count(self, text: str) -> int:
        """Tokens without special ones; a run of unknown characters counts one for each."""
        return len(self.offsets(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Code point span of each token in ``text``.

        A code point that normalises to several tokens gives each of them its span; one that normalises to nothing
        belongs to none. A run of unknown characters, one token to the encoder, gives a span to each character: a
        caller that cuts at a number of tokens shall not get a text of any length.
        """
        normalised = text.translate(self._normalisation)
        encoding = self._tokenizer.encode(normalised, add_special_tokens=False)
        spans = [span for span in encoding.offsets if span[1] > span[0]]
        if self._unknown_id in encoding.ids:
            spans = _split_unknown(encoding.ids, encoding.offsets, self._unknown_id)
        return self._in_original(text, normalised, spans)

    def _in_original(self, text: str, normalised: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if normalised == text:
            return spans
        code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        origin = np.repeat(np.arange(len(text)), self._lengths[code_points]).tolist()
        return [(origin[start], origin[end - 1] + 1) if end > start else (0, 0) for start, end in spans]


def _split_unknown(ids: list[int], offsets: list[tuple[int, int]], unknown_id: int | None) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for token, (start, end) in zip(ids, offsets, strict=True):
        if token == unknown_id:
            spans.extend((place, place + 1) for place in range(start, end))
        elif end > start:
            spans.append((start, end))
    return spans
