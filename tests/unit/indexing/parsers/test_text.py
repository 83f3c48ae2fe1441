"""Plain text."""

import json

import pytest

from clew.errors import EmptyFileError
from clew.indexing.parsers import parse
from clew.types import BlockType, ParsedFile


def read(text: str) -> ParsedFile:
    return parse(text.encode(), "note.txt")


def shown(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(block.type.value, block.text) for block in parsed.blocks]


def test_chapters_and_paragraphs() -> None:
    parsed = read("《某书》\n\n第一回 甲 乙\n\n    话说天下大势。\n\n第二回 丙 丁\n\n    且说。\n")
    assert shown(parsed) == [
        ("paragraph", "《某书》"),
        ("heading", "第一回 甲 乙"),
        ("paragraph", "话说天下大势。"),
        ("heading", "第二回 丙 丁"),
        ("paragraph", "且说。"),
    ]
    assert parsed.title == "《某书》"


def test_levels_follow_the_numbering_that_occurs() -> None:
    parsed = read("第一节 公司\n\n一、信息\n\n（一）名称\n\n甲公司。\n\n第二节 业务\n\n概况如下。\n")
    assert [(b.text, b.level) for b in parsed.blocks if b.level] == [
        ("第一节 公司", 1),
        ("一、信息", 2),
        ("（一）名称", 3),
        ("第二节 业务", 1),
    ]


def test_a_printed_table_of_contents_makes_no_sections() -> None:
    toc = "目录\n\n第一章 总则\n第二章 组织\n第三章 财务\n第四章 附则\n\n"
    titles = ["第一章 总则", "第二章 组织", "第三章 财务", "第四章 附则"]
    body = "".join(f"{title}\n\n内容在这里。\n\n" for title in titles)
    parsed = read(toc + body)
    found = [section.title for section in parsed.sections if section.path]
    assert found[-4:] == titles
    assert len(found) <= 5
    dotted = read("第一章 总则 ........ 1\n第二章 组织 ........ 5\n\n第一章 总则\n\n内容。\n")
    assert [section.title for section in dotted.sections if section.path] == ["第一章 总则"]


def test_numbered_items_are_a_list() -> None:
    parsed = read("步骤如下：\n\n1. 打开\n2. 读取\n3. 关闭\n\n完成。\n")
    assert shown(parsed)[1] == ("list", "1. 打开\n2. 读取\n3. 关闭")


def test_hard_wrapped_lines_become_one_paragraph() -> None:
    lines = [
        "The quick brown fox jumps over the lazy dog and runs into the",
        "wood where it meets another fox that was looking for a quiet",
        "place to sleep during the long and rather cold winter nights,",
        "as foxes usually do in this part of the country, so they say.",
    ]
    parsed = read("\n".join(lines) + "\n\n" + "\n".join(lines) + "\n")
    assert len(parsed.blocks) == 2
    assert parsed.blocks[0].text == " ".join(lines)
    chinese = [
        "公司在报告期内实现营业收入一百二十三亿元比上年同期增长",
        "百分之五其中主营业务收入占百分之九十五其他业务收入占百",
        "分之五毛利率保持稳定现金流量充足负债率有所下降整体经营",
        "状况良好。",
    ]
    parsed = read("\n".join(chinese * 2))
    assert parsed.blocks[0].text == "".join(chinese)


def test_short_lines_stay_lines() -> None:
    assert [b.text for b in read("姓名：甲\n性别：男\n民族：汉\n").blocks] == ["姓名：甲", "性别：男", "民族：汉"]


def test_tables_of_tabs_and_of_pipes() -> None:
    parsed = read("项目\t2019\t2018\n收入\t1\t2\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert [b.table.rows for b in parsed.blocks if b.table] == [
        (("项目", "2019", "2018"), ("收入", "1", "2")),
        (("a", "b"), ("1", "2")),
    ]


def test_pages_stored_as_lines_of_json() -> None:
    records: list[dict[str, object]] = [
        {"page": 1, "allrow": 0, "type": "text", "inside": "第一章 概览"},
        {"page": 1, "allrow": 1, "type": "text", "inside": "正文在这里。"},
        {"page": 1, "allrow": 2, "type": "excel", "inside": "['项目', '2019年']"},
        {"page": 1, "allrow": 3, "type": "excel", "inside": "['收入', '5']"},
        {"page": 1, "allrow": 4, "type": "页脚", "inside": "1-1-1"},
        {"page": 2, "allrow": 5, "type": "text", "inside": "第二页。"},
        {},
    ]
    parsed = read("\n".join(json.dumps(record, ensure_ascii=False) for record in records))
    assert [(b.type, b.page, b.text) for b in parsed.blocks] == [
        (BlockType.HEADING, 1, "第一章 概览"),
        (BlockType.PARAGRAPH, 1, "正文在这里。"),
        (BlockType.TABLE, 1, "项目 | 2019年\n收入 | 5"),
        (BlockType.PARAGRAPH, 2, "第二页。"),
    ]
    assert parsed.pages == 2


@pytest.mark.parametrize("data", [b"", b" \n\t ", "\ufeff".encode()])
def test_empty_files_say_so(data: bytes) -> None:
    with pytest.raises(EmptyFileError, match=r"note\.txt"):
        parse(data, "note.txt")
