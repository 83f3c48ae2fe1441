"""Encodings of text files."""

import codecs
import os

import pytest

from clew.errors import UnsupportedFileError
from clew.indexing.parsers.encodings import decode_text

SIMPLIFIED = [
    "你好，世界",
    "今天天气很好",
    "公司章程",
    "第一章 总则\r\n第一条 为了规范公司的组织和行为，制定本法。",
    "姓名,年龄\n张三,25\n",
]
TRADITIONAL = [
    "你好，世界",
    "今天天氣很好",
    "第一章 總則\r\n為了規範公司的組織和行為，制定本法。",
    "國立臺灣大學的學生",
]


@pytest.mark.parametrize("text", SIMPLIFIED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk", "gb18030"])
def test_simplified(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding), "f").text == text


@pytest.mark.parametrize("text", TRADITIONAL)
@pytest.mark.parametrize("encoding", ["utf-8", "big5", "utf-16-le", "utf-16-be"])
def test_traditional(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding), "f").text == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["Net sales rose.\n", "公司 2023 年报。\n" * 5])
def test_wide_encodings(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert decode_text(data, "f").text == text
    if encoding != "utf-32":
        mark = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
        assert decode_text(mark + data, "f").text == text


def test_the_whole_file_decides_not_its_beginning() -> None:
    text = "plain ASCII, line after line\r\n" * 20_000 + "最后一行才有中文：公司的合同编号\r\n"
    assert decode_text(text.encode("gbk"), "f").text == text
    assert decode_text(text.encode("utf-8"), "f").text == text


def test_western_text() -> None:
    text = "Le café “noir” coûte 3 € – c’est très cher, été comme hiver."
    assert decode_text(text.encode("cp1252"), "f").text == text


def test_a_declared_encoding_is_believed_where_the_bytes_agree() -> None:
    text = "これは日本語のテキストです。"
    assert decode_text(text.encode("shift_jis"), "f", "Shift_JIS").text == text
    assert decode_text("公司的章程".encode(), "f", "gb2312").text == "公司的章程"
    assert decode_text("公司的章程和合同".encode("gbk"), "f", "no-such-encoding").text == "公司的章程和合同"


def test_a_scratch_costs_a_character_and_is_reported() -> None:
    data = ("公司的合同编号。" * 300).encode() + b"\xff" + "完".encode()
    decoded = decode_text(data, "f")
    assert decoded.text.endswith("\ufffd完")
    assert "1 character" in decoded.warning
    assert decode_text("公司章程的内容都在这里，公司".encode()[:-1], "f").encoding == "utf-8"


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 20, os.urandom(4096), b"\x00" * 100, b"MZ\x90\x00\x03" + b"\x00" * 300]
)
def test_binary_junk_is_no_text(data: bytes) -> None:
    with pytest.raises(UnsupportedFileError, match="neither text"):
        decode_text(data, "junk.txt")
