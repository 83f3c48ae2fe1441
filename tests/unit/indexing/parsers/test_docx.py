"""Word documents."""

import pytest

from clew.errors import DamagedFileError, EmptyFileError, EncryptedFileError
from clew.indexing.parsers import parse
from clew.indexing.parsers.docx_numbering import chinese_number, format_number
from clew.types import CellSpan, ParsedFile
from fakes.office_files import docx, p, package, tc


def read(body: str, **extra: str | bytes) -> ParsedFile:
    return parse(docx(body, **extra), "file.docx")


def shown(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(block.type.value, block.text) for block in parsed.blocks]


def test_headings_by_style_outline_and_automatic_number() -> None:
    parsed = read(
        p("年度报告", "T")
        + p("目录项 1", "TOC1")
        + p("总则", "H1", (1, 0))
        + p("范围", "Mine", (1, 1))
        + p("正文。")
        + p("附则", "H1", (1, 0))
        + p("生效", "Mine", (1, 1))
    )
    assert [(b.text, b.level) for b in parsed.blocks if b.level] == [
        ("第一章 总则", 1),
        ("1.1 范围", 2),
        ("第二章 附则", 1),
        ("2.1 生效", 2),
    ]
    assert parsed.title == "年度报告"
    assert "目录项" not in "".join(b.text for b in parsed.blocks)


def test_lists_with_levels() -> None:
    parsed = read(p("甲", number=(2, 0)) + p("乙", number=(2, 1)) + p("丙", number=(2, 0)) + p("完。"))
    assert shown(parsed) == [("list", "1) 甲\n  - 乙\n2) 丙"), ("paragraph", "完。")]


def test_tables_with_merged_cells_and_header_rows() -> None:
    head = "<w:trPr><w:tblHeader/></w:trPr>"
    starts, goes_on, wide = '<w:vMerge w:val="restart"/>', "<w:vMerge/>", '<w:gridSpan w:val="2"/>'
    parsed = read(
        "<w:tbl>"
        f"<w:tr>{head}{tc('项目', starts)}{tc('2019年', wide)}</w:tr>"
        f"<w:tr>{head}{tc('', goes_on)}{tc('收入')}{tc('成本')}</w:tr>"
        f"<w:tr>{tc('华东')}{tc('1')}{tc('2')}</w:tr>"
        "</w:tbl>"
    )
    table = parsed.blocks[0].table
    assert table is not None
    assert table.rows == (("项目", "2019年", ""), ("", "收入", "成本"), ("华东", "1", "2"))
    assert set(table.spans) == {CellSpan(0, 0, 2, 1), CellSpan(0, 1, 1, 2)}
    assert table.header_rows == 2
    assert parsed.blocks[0].text == "项目 | 2019年 | 2019年\n项目 | 收入 | 成本\n华东 | 1 | 2"


def test_a_table_of_one_column_is_a_frame_around_text() -> None:
    parsed = read(f"<w:tbl><w:tr>{tc('提示：请注意。')}</w:tr></w:tbl>")
    assert shown(parsed) == [("paragraph", "提示：请注意。")]


def test_text_boxes_images_and_deleted_text() -> None:
    box = f"<w:txbxContent>{p('框内文字。')}</w:txbxContent>"
    picture = '<w:drawing><wp:docPr id="1" descr="组织结构图"/><a:blip r:embed="rId1"/></w:drawing>'
    relation = '<Relationship Id="rId1" Target="media/a.png"/>'
    parsed = read(
        "<w:p><w:r><w:t>前</w:t></w:r><w:del><w:r><w:delText>删</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>后。</w:t></w:r></w:ins>"
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        f"<w:p><w:r>{picture}</w:r></w:p>",
        **{
            "word/_rels/document.xml.rels": f"<Relationships>{relation}</Relationships>",
            "word/media/a.png": b"\x89PNG",
        },
    )
    assert shown(parsed) == [("paragraph", "前后。"), ("paragraph", "框内文字。"), ("image", "组织结构图")]


def test_unstyled_headings_by_bold_type() -> None:
    bold = "<w:b/>"
    titles = ["公司概况", "主要业务", "风险提示"]
    body = "".join(p(title, run=bold) + p("这里是这一节的正文，说明情况。") for title in titles)
    assert [s.title for s in read(body).sections if s.path] == titles


def test_bad_files_say_what_is_wrong() -> None:
    with pytest.raises(EmptyFileError):
        read(p(" "))
    good = docx(p("正文。"))
    with pytest.raises(DamagedFileError, match="damaged or cut off"):
        parse(good[: len(good) // 2], "cut.docx")
    with pytest.raises(DamagedFileError, match="the name says Word"):
        parse(b"not a document", "x.docx")
    with pytest.raises(DamagedFileError, match=r"no part word/document\.xml"):
        parse(package({"[Content_Types].xml": "<Types/>", "word/x.xml": "<x/>"}), "x.docx")
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 200
    with pytest.raises(EncryptedFileError, match="password"):
        parse(locked, "locked.docx")


@pytest.mark.parametrize(
    ("number", "style", "text"),
    [
        (4, "upperRoman", "IV"),
        (28, "lowerLetter", "bb"),
        (12, "chineseCountingThousand", "十二"),
        (3, "decimalEnclosedCircleChinese", "③"),
        (21, "chineseLegalSimplified", "贰拾壹"),
        (5, "decimalZero", "05"),
    ],
)
def test_number_formats(number: int, style: str, text: str) -> None:
    assert format_number(number, style) == text


def test_chinese_numbers() -> None:
    assert [chinese_number(n) for n in (0, 10, 11, 20, 105, 110, 1001, 2024)] == [
        "〇", "十", "十一", "二十", "一百〇五", "一百一十", "一千〇一", "二千〇二十四",
    ]  # fmt: skip
