"""A tiny encoder as an ONNX folder: one random vector for each word of a fixed vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

DIMENSION = 16
WORDS = ["[UNK]", "[CLS]", "[SEP]", "query", "passage", ":", "the", "cat", "dog", "sat", "中", "国", "猫"]


def write_onnx_folder(folder: Path, *, pooled: bool = False) -> Path:
    """Write model.onnx and tokenizer.json; ``pooled``: the model returns one vector for each text."""
    folder.mkdir(parents=True, exist_ok=True)
    table = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    shape = ["batch", "tokens"]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide_mask"]),
        helper.make_node("Mul", ["words", "wide_mask"], ["hidden"]),
    ]
    output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [*shape, DIMENSION])
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["hidden"], ["sentence"], axes=[1], keepdims=0))
        output = helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["batch", DIMENSION])
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [output],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2], np.int64), "last")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save_model(model, str(folder / "model.onnx"))
    _tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(8)
    return tokenizer
