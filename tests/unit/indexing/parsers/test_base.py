"""Blocks, hashes and tables that all parsers build on."""

import pytest

from clew.errors import EmptyFileError
from clew.indexing.parsers.base import (
    BlockBuilder,
    clean_text,
    content_hash,
    detect_language,
    join_lines,
    make_table,
    table_text,
)
from clew.types import BlockType, CellSpan


def test_hash_ignores_position_and_white_space_but_not_content_type_or_structure() -> None:
    paragraph = BlockType.PARAGRAPH
    assert content_hash(paragraph, "a  b\nc") == content_hash(paragraph, "a b c")
    assert content_hash(paragraph, "e\u0301") == content_hash(paragraph, "\u00e9")
    assert content_hash(paragraph, "a") != content_hash(BlockType.HEADING, "a")
    assert content_hash(BlockType.CODE, "if x:\n  y") != content_hash(BlockType.CODE, "if x:\n    y")
    one, two = make_table([["a", "b"]], header_rows=0), make_table([["a"], ["b"]], header_rows=0)
    assert content_hash(BlockType.TABLE, table_text(one), one) != content_hash(BlockType.TABLE, table_text(two), two)
    assert content_hash(BlockType.IMAGE, "", None, b"1") != content_hash(BlockType.IMAGE, "", None, b"2")


def test_clean_text_drops_what_nobody_sees() -> None:
    assert clean_text("\ufeffa\u00ad\u200bb\u00a0c\r\nd\x00\ud800") == "ab c\nd"
    assert clean_text("⽇⽂") == "日文"


def test_wrapped_lines_join_as_their_script_asks() -> None:
    assert join_lines(["公司营业收", "入为 5 亿元"]) == "公司营业收入为 5 亿元"
    assert join_lines(["net in-", "come rose", "sharply"]) == "net income rose sharply"


def test_table_loses_empty_rows_and_columns_and_keeps_spans_in_place() -> None:
    table = make_table(
        [["", "2023", "", ""], ["", "$", "", "5\n6"], ["", "", "", ""], ["x", "", "", "7"]],
        header_rows=1,
        spans=[CellSpan(0, 1, 1, 3), CellSpan(1, 1, 2, 1)],
    )
    assert table.rows == (("", "2023", ""), ("", "$", "5 6"), ("", "", ""), ("x", "", "7"))
    assert table.spans == (CellSpan(0, 1, 1, 2), CellSpan(1, 1, 2, 1))
    assert make_table([["only"]], header_rows=1).header_rows == 0


def test_builder_numbers_blocks_drops_empty_ones_and_keeps_images() -> None:
    builder = BlockBuilder()
    builder.heading(" 第一章\n总则 ", 12)
    builder.paragraph(" \u3000 ")
    builder.list(["- a", "", "- b"])
    builder.code("\n  x = 1\n\n", "python")
    builder.image()
    blocks = builder.blocks
    assert [(b.ordinal, b.type.value, b.text) for b in blocks] == [
        (0, "heading", "第一章 总则"),
        (1, "list", "- a\n- b"),
        (2, "code", "  x = 1"),
        (3, "image", ""),
    ]
    assert blocks[0].level == 9
    parsed = builder.finish("docs/法规.txt", "text/plain")
    assert (parsed.title, parsed.language) == ("第一章 总则", "zh")


def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(EmptyFileError, match=r"void\.txt"):
        BlockBuilder().finish("void.txt", "text/plain")


def test_language_is_the_script_that_prevails() -> None:
    assert detect_language(["公司 2023 年 EBITDA 增长"]) == "zh"
    assert detect_language(["Net sales of 华为 rose in the second quarter of the year"]) == "en"
