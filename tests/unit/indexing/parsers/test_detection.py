"""What a file is, and how Clew refuses what it does not read."""

from pathlib import Path

import pytest

from clew.errors import DamagedFileError, EmptyFileError, EncryptedFileError, InputError, UnsupportedFileError
from clew.indexing.parsers import MediaType, detect, parse
from fakes.office_files import docx, p, package

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500


def ole(stream: str) -> bytes:
    return OLE + stream.encode("utf-16-le") + b"\0" * 100


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n", "x.bin", MediaType.PDF),
        (b"\r\n junk %PDF-1.4", "x.txt", MediaType.PDF),
        (docx(p("a")), "renamed.txt", MediaType.DOCX),
        (package({"[Content_Types].xml": "", "ppt/presentation.xml": ""}), "x", MediaType.PPTX),
        (package({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "x", MediaType.XLSX),
        (package({"mimetype": "application/epub+zip"}), "x.zip", MediaType.EPUB),
        (package({"a.txt": "a"}), "x.docx", MediaType.ZIP),
        (b"<!DOCTYPE html><p>x", "page", MediaType.HTML),
        ("\ufeff<html><body>x".encode("utf-16"), "page", MediaType.HTML),
        (b"<html><body><table></table>", "export.xls", MediaType.HTML),
        (b"<html> is a tag", "note.md", MediaType.MARKDOWN),
        (b"# Title", "README.MD", MediaType.MARKDOWN),
        (b"BM is a text about bitmaps", "bm.txt", MediaType.TEXT),
        (b"MZ has two letters", "mz.txt", MediaType.TEXT),
        (b"From: a@b.c\r\nMIME-Version: 1.0\r\nSubject: x\r\n\r\nHello", "mail", MediaType.EML),
        (b"plain", "no-extension", MediaType.TEXT),
    ],
)
def test_content_decides_before_the_name(data: bytes, name: str, kind: MediaType) -> None:
    assert detect(data, name) is kind


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (ole("WordDocument"), "old.doc", r"old\.doc: old Word \(\.doc\) files are not read\. Save it as DOCX"),
        (ole("PowerPoint Document"), "old.ppt", "old PowerPoint"),
        (ole("SomethingElse"), "x.wps", "old Office"),
        (package({"a": "b"}), "x.zip", "Unpack it"),
        (b"\x7fELF\x02\x01\x01\x00", "x", "Only documents"),
        (b"\x00\x01\x02\x03" * 300, "junk.dat", "neither text nor a format"),
    ],
)
def test_what_is_not_read_is_refused_by_name(data: bytes, name: str, words: str) -> None:
    with pytest.raises(UnsupportedFileError, match=words):
        parse(data, name)


def test_damaged_encrypted_and_empty_files() -> None:
    with pytest.raises(EmptyFileError, match="0 bytes"):
        parse(b"", "x.pdf")
    with pytest.raises(DamagedFileError, match=r"x\.pdf: the name says PDF"):
        parse(b"cut off", "x.pdf")
    with pytest.raises(EncryptedFileError, match="password"):
        parse(ole("EncryptedPackage"), "locked.xlsx")


def test_paths(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# A\n\ntext\n", encoding="utf-8")
    assert [section.title for section in parse(path).sections] == ["A", "A"]
    with pytest.raises(InputError, match="no such file"):
        parse(tmp_path / "missing.md")
    with pytest.raises(InputError, match="cannot be read"):
        parse(tmp_path)
