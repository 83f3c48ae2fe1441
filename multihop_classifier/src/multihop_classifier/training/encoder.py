"""Encoder and head in PyTorch: the CLS vector and the five features go through one hidden layer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, logging

from multihop_classifier import FEATURE_NAMES
from multihop_classifier.model import VOCABULARY, QuestionTokenizer
from multihop_classifier.training.rows import RowsError

TEXT_SHARE = 0.25
"""Of 0.25, 0.5 and 1 the best on sources that training had not seen."""
_WIDTH = 64
_PRODUCTS = tuple(torch.triu_indices(len(FEATURE_NAMES), len(FEATURE_NAMES)).tolist())
logging.set_verbosity_error()  # a head is new, of course
logging.disable_progress_bar()


class MultiHopModel(nn.Module):
    """``input_ids`` and ``attention_mask`` (batch × tokens), ``features`` (batch × 5) → logits of multi (batch).

    Two experts judge a question and their logits are added: one sees the features and their products, the other the CLS
    vector and the features. The second knows the training sources well and new ones less; it counts ``TEXT_SHARE``.
    """

    def __init__(self, encoder: nn.Module, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.frozen = 0
        self.blind = 0.0
        """Share of questions of which training shows the second expert the features only."""
        self.by_features = nn.Linear(len(_PRODUCTS[0]) + len(FEATURE_NAMES), 1)
        self.by_text = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(hidden + len(FEATURE_NAMES), _WIDTH),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(_WIDTH, 1),
        )
        self.shift: torch.Tensor
        self.register_buffer("shift", torch.zeros(()))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.joined(self.experts(states, features))

    def lower(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """States (batch × tokens × hidden) after the frozen layers."""
        states: torch.Tensor = self.encoder.embeddings(input_ids=input_ids)
        return self._through(self._blocks()[: self.frozen], states, attention_mask)

    def upper(self, states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """The states after all layers, from what :meth:`lower` gave."""
        return self._through(self._blocks()[self.frozen :], states, attention_mask)

    def experts(self, states: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """What each expert says: logits (batch × 2) by the features, and by the text."""
        vectors, features = states[:, 0], features.to(states.dtype)
        if self.training and self.blind:
            vectors = vectors * (torch.rand(len(vectors), 1) >= self.blind)
        first, second = _PRODUCTS
        products = torch.cat([features, features[:, first] * features[:, second]], dim=1)
        return torch.cat([self.by_features(products), self.by_text(torch.cat([vectors, features], dim=1))], dim=1)

    def joined(self, experts: torch.Tensor) -> torch.Tensor:
        """The logits (batch) of both together."""
        return experts[:, 0] + TEXT_SHARE * experts[:, 1] + self.shift

    def centre(self, threshold: float) -> None:
        """Shifts the logits so that what had the probability ``threshold`` gets 0.5."""
        limited = min(max(threshold, 1e-4), 1 - 1e-4)
        self.shift.fill_(-math.log(limited / (1 - limited)))

    def freeze(self, layers: int) -> None:
        """The embeddings and the lower ``layers`` layers stay as they are. Raises RowsError where there are fewer."""
        blocks = self._blocks()
        if layers > len(blocks):
            found = f"{len(blocks)} layers" if len(blocks) else "no layers that could be frozen"
            raise RowsError(f"{layers} layers shall be frozen, but the encoder has {found}.")
        for part in (self.encoder.embeddings, *blocks[:layers]):
            for weight in part.parameters():
                weight.requires_grad_(False)
        self.frozen = layers

    def _blocks(self) -> Sequence[nn.Module]:
        """The layers of an encoder that is built like BERT; none for others."""
        blocks: Sequence[nn.Module] = getattr(getattr(self.encoder, "encoder", None), "layer", ())
        return blocks

    def _through(self, blocks: Sequence[nn.Module], states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = (1.0 - attention_mask[:, None, None, :].to(states.dtype)) * torch.finfo(states.dtype).min
        for block in blocks:
            result = block(states, hidden)
            states = result[0] if isinstance(result, tuple) else result
        return states


def load_encoder(folder: Path) -> tuple[MultiHopModel, QuestionTokenizer]:
    """A Hugging Face folder (``config.json``, weights, tokenizer) with a fresh head. Raises RowsError."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        encoder = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        if not (folder / VOCABULARY).is_file():
            AutoTokenizer.from_pretrained(folder, local_files_only=True).save_pretrained(folder)
        tokenizer = QuestionTokenizer.from_file(folder / VOCABULARY)
    except Exception as error:  # the library raises whatever it meets
        raise RowsError(f"{folder} is no encoder that can be read ({error}).") from error
    return MultiHopModel(encoder, int(config["hidden_size"])), tokenizer
