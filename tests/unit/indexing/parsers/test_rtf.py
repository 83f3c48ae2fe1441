"""RTF: code pages, escapes, headings, lists, tables."""

import pytest

from clew.errors import DamagedFileError, EmptyFileError
from clew.indexing.parsers import MediaType, parse
from clew.indexing.parsers.rtf import rtf_body
from clew.types import BlockType

FONTS = rb"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset134 SimSun;}{\f2\fcharset204 Cyr;}}"


def rtf(body: bytes, head: bytes = b"") -> bytes:
    return rb"{\rtf1\ansi\ansicpg1252\deff0" + FONTS + head + body + b"}"


def escaped(text: str, encoding: str) -> bytes:
    return b"".join(b"\\'%02x" % byte for byte in text.encode(encoding))


def texts(body: bytes, head: bytes = b"") -> list[str]:
    return [block.text for block in parse(rtf(body, head), "a.rtf").blocks]


def test_text_is_in_the_code_page_of_its_font() -> None:
    body = rb"\f0 caf\'e9 {\f1 " + escaped("营业收入", "gb18030") + rb"} {\f2 " + escaped("итог", "cp1251") + rb"}\par"
    assert texts(body) == ["café 营业收入 итог"]


def test_unicode_escapes_skip_their_replacement() -> None:
    assert texts(rb"\uc1\u25253?\u21578?x\par") == ["报告x"]
    assert texts(rb"{\uc2\u25253\'b1\'a8}{\uc0\u21578}x\par") == ["报告x"]
    assert texts(rb"\u-10179?\u-8704?\par") == ["\U0001f600"]


def test_styles_and_outline_levels_are_headings() -> None:
    styles = rb"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2\outlinelevel1 Mine;}}"
    body = rb"\pard\s1 Results\par\pard\s0 We sold more.\par\pard\s2 Asia\par\pard Most of it.\par"
    body += rb"\pard\outlinelevel0 End\par"
    parsed = parse(rtf(body, styles), "a.rtf")
    assert [(b.text, b.level) for b in parsed.blocks if b.type is BlockType.HEADING] == [
        ("Results", 1),
        ("Asia", 2),
        ("End", 1),
    ]


def test_tables_keep_rows_and_merged_cells() -> None:
    row = rb"\trowd\cellx1000\cellx2000\pard\intbl A\cell 1\cell\row"
    merged = rb"\trowd\clmgf\cellx1000\clmrg\cellx2000\pard\intbl Total\cell\cell\row"
    parsed = parse(rtf(rb"Before\par" + row + merged + rb"\pard After\par"), "a.rtf")
    assert [block.type for block in parsed.blocks] == [BlockType.PARAGRAPH, BlockType.TABLE, BlockType.PARAGRAPH]
    table = parsed.blocks[1].table
    assert table is not None
    assert table.rows == (("A", "1"), ("Total", ""))
    assert [(span.row, span.column, span.columns) for span in table.spans] == [(1, 0, 2)]


def test_lists_keep_their_markers_and_fields_their_result() -> None:
    body = rb"{\listtext 1.\tab}First\par{\listtext 2.\tab}Second\par"
    assert texts(body) == ["1. First\n2. Second"]
    assert texts(rb'{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt a link}} here\par') == ["a link here"]


def test_what_nobody_sees_is_left_out() -> None:
    body = rb"{\*\generator Word;}{\header Page 1}{\info{\title T}}{\pict\pngblip 89504e47}{\v hidden}Seen.\par"
    assert texts(body) == ["Seen."]
    assert texts(rb"Before{\pict\bin5 }}}}}} after.\par") == ["Before after."]


def test_html_inside_rtf_comes_out_as_html() -> None:
    body = (
        rb"{\rtf1\ansi\fromhtml1 {\*\htmltag64 <p>}\htmlrtf \par \htmlrtf0 Hello {\*\htmltag84 <b>}\htmlrtf {\b "
        rb"\htmlrtf0 world\htmlrtf }\htmlrtf0 {\*\htmltag92 </b>}{\*\htmltag72 </p>}}"
    )
    text, html = rtf_body(body)
    assert text == ""
    assert html == "<p>Hello <b>world</b></p>"


def test_damaged_and_empty_files_fail_with_a_reason() -> None:
    with pytest.raises(EmptyFileError):
        parse(rtf(b""), "a.rtf")
    with pytest.raises(DamagedFileError, match="no RTF"):
        parse(b"text", "a.rtf", media_type=MediaType.RTF)
    nested = parse(b"{\\rtf1 " + b"{" * 50_000 + b"deep" + b"}" * 50_000 + b"}", "a.rtf")
    assert nested.blocks[0].text == "deep"
