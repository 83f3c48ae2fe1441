"""What the trained part of the model reads of a text: its tokens, or the states that the frozen part made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch
from safetensors.torch import load_file, save_file

from multihop_classifier.model import QuestionTokenizer
from multihop_classifier.training.encoder import MultiHopModel

_BATCH = 64


class Reader(Protocol):
    """Gives the model what it reads."""

    def read(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """One tensor a text, its tokens along the first dimension."""
        ...

    def states(self, items: Sequence[torch.Tensor]) -> torch.Tensor:
        """The encoder's last states (batch × tokens × hidden) of a batch of what :meth:`read` gave."""
        ...


class TokenReader:
    """The whole encoder is computed anew each time."""

    def __init__(self, model: MultiHopModel, tokenizer: QuestionTokenizer) -> None:
        self._model = model
        self._tokenizer = tokenizer

    def read(self, texts: Sequence[str]) -> list[torch.Tensor]:
        return [torch.tensor(self._tokenizer.encode(text)[0]) for text in texts]

    def states(self, items: Sequence[torch.Tensor]) -> torch.Tensor:
        tokens, mask = padded(items)
        states: torch.Tensor = self._model.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        return states


class StateReader:
    """The frozen layers are computed once for each text; ``path`` keeps their states for further runs."""

    def __init__(self, model: MultiHopModel, tokenizer: QuestionTokenizer, path: Path | None = None) -> None:
        self._model = model
        self._tokens = TokenReader(model, tokenizer)
        self._path = path
        first = next(model.parameters()).detach().flatten()[:10_000].float()
        self._encoder = f"{model.frozen}-{hashlib.sha256(first.numpy().tobytes()).hexdigest()[:16]}"
        self._known: dict[str, torch.Tensor] = load_file(path) if path and path.is_file() else {}

    def read(self, texts: Sequence[str]) -> list[torch.Tensor]:
        missing = sorted({text for text in texts if self._key(text) not in self._known}, key=len)
        if missing:
            self._compute(missing)
            if self._path:
                save_file(self._known, self._path)
        return [self._known[self._key(text)].float() for text in texts]

    def states(self, items: Sequence[torch.Tensor]) -> torch.Tensor:
        states, mask = padded(items)
        return self._model.upper(states, mask)

    def _compute(self, texts: Sequence[str]) -> None:
        was_training = self._model.training
        self._model.eval()
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            items = self._tokens.read(part)
            tokens, mask = padded(items)
            with torch.no_grad():
                states = self._model.lower(tokens, mask).to(torch.float16)
            for text, item, state in zip(part, items, states, strict=True):
                self._known[self._key(text)] = state[: len(item)].clone()
        self._model.train(was_training)

    def _key(self, text: str) -> str:
        return f"{self._encoder}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def padded(items: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Items of one batch and their mask; what is masked may be anything that has an embedding."""
    batch = torch.nn.utils.rnn.pad_sequence(list(items), batch_first=True, padding_value=1)
    mask = torch.zeros(batch.shape[:2], dtype=torch.long)
    for place, item in enumerate(items):
        mask[place, : len(item)] = 1
    return batch, mask
