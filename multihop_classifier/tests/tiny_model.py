"""A classifier of a few words as weights: its probability is the first feature, or 1 if the question says "both"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[UNK]", "[CLS]", "[SEP]", "both", "who", "wrote", "it"]
CARD = {
    "version": "tiny-1",
    "features_version": "1",
    "thresholds": {"multi": 0.5},
    "metrics": {"validation": {"f1": 0.9}},
}


def write_tiny_model(folder: Path, **card: Any) -> Path:
    """``model.onnx``, ``tokenizer.json`` and ``model.json`` in ``folder``; ``card`` overrides what the last says."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {"both": np.array([3], np.int64), "first": np.array([0], np.int64), "tokens": np.array([1], np.int64)}
    nodes = [
        helper.make_node("Equal", ["input_ids", "both"], ["is_both"]),
        helper.make_node("Cast", ["is_both"], ["hits"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["hits"], ["said"], axes=[1], keepdims=0),
        helper.make_node("Gather", ["features", "first"], ["comparison"], axis=1),
        helper.make_node("Squeeze", ["comparison", "tokens"], ["given"]),
        helper.make_node("Max", ["said", "given"], ["probability"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"]),
            helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 5]),
        ],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch"])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(folder / "model.onnx")
    )
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.json").write_text(json.dumps({**CARD, **card}), encoding="utf-8")
    return folder
