"""A trained model as the folder that the service reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihop_classifier import FEATURE_NAMES
from multihop_classifier.model import CARD, GRAPH, VOCABULARY, QuestionTokenizer
from multihop_classifier.training.encoder import MultiHopModel


class _Probability(nn.Module):
    """The graph's output is the probability itself."""

    def __init__(self, model: MultiHopModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.model(input_ids, attention_mask, features))


def export(model: MultiHopModel, folder: Path, card: Mapping[str, Any], tokenizer: QuestionTokenizer) -> None:
    """Writes ``model.onnx``, ``tokenizer.json`` and, last, ``model.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)  # a service that looks meanwhile must not take half a model
    example = (
        torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1]]),
        torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]),
        torch.zeros(2, len(FEATURE_NAMES)),
    )
    batch, tokens = torch.export.Dim("batch", max=4096), torch.export.Dim("tokens", max=512)
    torch.onnx.export(
        _Probability(model).eval(),
        example,
        str(folder / GRAPH),
        input_names=["input_ids", "attention_mask", "features"],
        output_names=["probability"],
        dynamic_shapes=({0: batch, 1: tokens}, {0: batch, 1: tokens}, {0: batch}),
        external_data=False,
        dynamo=True,
        verbose=False,
    )
    tokenizer.save(folder / VOCABULARY)
    (folder / CARD).write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
