"""Encoder and head in PyTorch: the CLS vector and the five features go through one hidden layer."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, logging

from multihop_classifier import FEATURE_NAMES
from multihop_classifier.model import VOCABULARY, QuestionTokenizer
from multihop_classifier.training.rows import RowsError

_WIDTH = 64
logging.set_verbosity_error()  # a head is new, of course
logging.disable_progress_bar()


class MultiHopModel(nn.Module):
    """``input_ids`` and ``attention_mask`` (batch × tokens), ``features`` (batch × 5) → logits of multi (batch)."""

    def __init__(self, encoder: nn.Module, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(
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
        joined = torch.cat([states[:, 0], features.to(states.dtype)], dim=1)
        logits: torch.Tensor = self.head(joined).squeeze(1) + self.shift
        return logits

    def centre(self, threshold: float) -> None:
        """Shifts the logits so that what had the probability ``threshold`` gets 0.5."""
        limited = min(max(threshold, 1e-4), 1 - 1e-4)
        self.shift.fill_(-math.log(limited / (1 - limited)))

    def freeze(self, layers: int) -> None:
        """The embeddings and the lower ``layers`` layers stay as they are. Raises RowsError where there are fewer."""
        blocks = getattr(getattr(self.encoder, "encoder", None), "layer", None)
        if blocks is None or layers > len(blocks):
            found = "no layers that could be frozen" if blocks is None else f"{len(blocks)} layers"
            raise RowsError(f"{layers} layers shall be frozen, but the encoder has {found}.")
        for part in (self.encoder.embeddings, *blocks[:layers]):
            for weight in part.parameters():
                weight.requires_grad_(False)


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
