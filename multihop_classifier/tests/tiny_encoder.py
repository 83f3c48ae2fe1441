"""A BERT of a few random weights in a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "both", "and", "older", "than", "who", "what", "is", "the", "of", "wrote"]


def write_tiny_encoder(folder: Path, spread: float = 0.02) -> Path:
    """``config.json``, ``model.safetensors`` and ``tokenizer.json`` in ``folder``; needs PyTorch and transformers.

    ``spread`` of the weights: the larger, the more a token's state depends on the others.
    """
    import torch  # noqa: PLC0415 - only the tests of training have it
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=spread,
        pad_token_id=1,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 16
    return folder
