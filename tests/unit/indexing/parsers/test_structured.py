"""JSON and JSON Lines."""

import json

import pytest

from clew.errors import DamagedFileError
from clew.indexing.parsers import parse
from clew.types import BlockType, ParsedFile


def read(value: object) -> ParsedFile:
    return parse(json.dumps(value, ensure_ascii=False).encode(), "a.json")


def test_objects_are_sections_and_fields_are_lines() -> None:
    parsed = read(
        {"title": "年度报告", "year": 2023, "nodes": [{"title": "概况", "page": 1, "nodes": [{"title": "历史"}]}]}
    )
    assert parsed.title == "年度报告"
    assert [section.titles for section in parsed.sections[1:]] == [
        ("nodes",),
        ("nodes", "概况"),
        ("nodes", "概况", "nodes"),
        ("nodes", "概况", "nodes", "历史"),
    ]
    assert parsed.blocks[0].text == "title: 年度报告\nyear: 2023"


def test_flat_records_are_a_table_with_every_key() -> None:
    parsed = read([{"name": "甲", "value": 0}, {"name": "乙", "note": "x", "value": 1.5}])
    (table,) = [block.table for block in parsed.blocks if block.type is BlockType.TABLE]
    assert table is not None
    assert table.rows == (("name", "value", "note"), ("甲", "0", ""), ("乙", "1.5", "x"))
    lines = parse(b'{"name": "a", "value": 1}\n{"name": "b", "value": 2}\n', "a.json")
    assert [block.type for block in lines.blocks] == [BlockType.TABLE]


def test_long_texts_are_paragraphs_and_nothing_is_lost() -> None:
    long = "一句很长的话。" * 60
    parsed = read({"a": "short", "text": long, "list": ["x", True, None, 3], "empty": []})
    text = "\n".join(block.text for block in parsed.blocks)
    assert f"text: {long}" in text
    assert "- x\n- true" in text
    assert "- 3" in text


def test_no_json_fails_with_what_to_do() -> None:
    with pytest.raises(DamagedFileError, match=r"a\.json: this is no JSON .*\.txt"):
        parse(b"{broken", "a.json")
    with pytest.raises(DamagedFileError, match="nested too deeply"):
        parse(b"[" * 100_000, "a.json")
