"""E-books."""

from typing import Any

import pytest

from clew.errors import DamagedFileError, EncryptedFileError
from clew.indexing.parsers import parse
from clew.types import BlockType
from fakes.office_files import package

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
NAV = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol><li><a href="a.xhtml">第一部</a><ol>'
    '<li><a href="text%20two.xhtml#start">第二章 月夜</a></li></ol></li></ol></nav></body></html>'
)


def page(body: str) -> str:
    return f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'


def book(spine: str = '<itemref idref="b"/><itemref idref="a"/>', **extra: Any) -> bytes:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>荷塘</dc:title></metadata><manifest>"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="text%20two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="c" href="style.css" media-type="text/css"/></manifest>'
        f'<spine><itemref idref="nav"/>{spine}<itemref idref="c"/></spine></package>'
    )
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": opf,
        "OEBPS/nav.xhtml": NAV,
        "OEBPS/a.xhtml": page("<h1>开头</h1><p>这几天心里颇不宁静。</p>"),
        "OEBPS/text two.xhtml": page("<p>月光如流水一般。</p><table><tr><td>甲</td><td>1</td></tr></table>"),
        "OEBPS/style.css": "p {}",
    }
    return package({**parts, **extra})


def test_chapters_in_the_order_of_the_spine() -> None:
    parsed = parse(book(), "a.epub")
    assert parsed.title == "荷塘"
    shown = [(block.type, block.text) for block in parsed.blocks]
    # A chapter without a heading gets the title of its contents entry.
    assert shown[0] == (BlockType.HEADING, "第二章 月夜")
    assert shown[1] == (BlockType.PARAGRAPH, "月光如流水一般。")
    assert shown[-2:] == [(BlockType.HEADING, "开头"), (BlockType.PARAGRAPH, "这几天心里颇不宁静。")]


def test_older_contents_and_missing_chapters() -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Two</text></navLabel>'
        '<content src="text%20two.xhtml"/></navPoint></navMap></ncx>'
    )
    opf = (
        '<package><manifest><item id="n" href="nav.xhtml" media-type="application/x-dtbncx+xml"/>'
        '<item id="b" href="text%20two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="m" href="gone.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="b"/><itemref idref="m"/></spine></package>'
    )
    parsed = parse(book(**{"OEBPS/nav.xhtml": ncx, "OEBPS/book.opf": opf}), "a.epub")
    assert parsed.blocks[0].text == "Two"
    assert parsed.warnings == ("The chapter OEBPS/gone.xhtml is missing in the file.",)


def test_protected_and_damaged_books_fail_with_what_to_do() -> None:
    reference = '<CipherData><CipherReference URI="OEBPS/a.xhtml"/></CipherData>'
    listed = f"<encryption><EncryptedData>{reference}</EncryptedData></encryption>"
    with pytest.raises(EncryptedFileError, match="DRM"):
        parse(book(**{"META-INF/encryption.xml": listed}), "a.epub")
    fonts = listed.replace("a.xhtml", "font.otf")
    assert parse(book(**{"META-INF/encryption.xml": fonts}), "a.epub").blocks
    with pytest.raises(DamagedFileError, match="no list of its parts"):
        parse(package({"mimetype": "application/epub+zip", "a.xhtml": page("<p>x</p>")}), "a.epub")
