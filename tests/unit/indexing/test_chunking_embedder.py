"""Chunking with the embedded embedder's own tokenizer."""

from clew.indexing.chunking import chunk_file
from clew.indexing.parsers.base import BlockBuilder, make_table
from clew.indexing.sections import build_sections
from clew.models.local import OnnxEmbedder


def test_limits_hold_with_the_real_tokenizer(embedder: OnnxEmbedder) -> None:
    builder = BlockBuilder()
    builder.heading("第一章 经营情况", 1)
    builder.paragraph("公司全年实现营业收入 1,234,567.89 万元，同比增长 12.3%；净利润有所下降。" * 60)
    builder.paragraph("Net sales rose to $637,959 million, compared with $574,785 million in 2023. " * 60)
    builder.paragraph("ﷺ" * 300 + "无" + "\u4e00" * 3000 + "x" * 5000)
    builder.table(make_table([["项目", "金额"], *([f"费用{i}", f"{i * 7919:,}.00"] for i in range(200))]))
    parsed = build_sections(builder.finish("f.txt", "text/plain"))
    parents, children = chunk_file(
        "file", parsed, count_tokens=embedder.count_tokens, token_offsets=embedder.token_offsets
    )
    assert max(embedder.count_tokens(parent.text) for parent in parents) <= 1024
    assert max(embedder.count_tokens(child.text) for child in children) <= 256
    for i in range(200):
        assert sum(f"费用{i} |" in child.text for child in children) == 1
