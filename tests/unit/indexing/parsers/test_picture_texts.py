"""The text on pictures inside documents; the models are those of the package."""

import base64
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from clew.indexing.parsers import parse
from clew.indexing.parsers.context import ParseContext, ParseOptions
from clew.types import Block, BlockType, ParsedFile
from fakes.office_files import docx, p, package

SCAN = (Path(__file__).parents[3] / "data" / "scan_zh.png").read_bytes()
SAID = "公司实现营业收入1,234.56万元，同比增长8.9%"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_NAMES = f'xmlns:r="{_LINKS}" xmlns:a="{_DRAWN}"'


def relations(target: str) -> str:
    return f'<Relationships><Relationship Id="r1" Target="{target}"/></Relationships>'


def in_word(picture: bytes, *alts: str) -> bytes:
    drawn = "".join(
        f'<w:p><w:r><w:drawing><wp:docPr id="1" descr="{alt}"/><a:blip r:embed="r1"/></w:drawing></w:r></w:p>'
        for alt in alts or ("说明",)
    )
    parts = {"word/_rels/document.xml.rels": relations("media/a.png"), "word/media/a.png": picture}
    return docx(p("前文。") + drawn, **parts)


def in_powerpoint(picture: bytes) -> bytes:
    shape = '<p:pic><p:nvPicPr><p:cNvPr descr="说明"/></p:nvPicPr><a:blip r:embed="r1"/></p:pic>'
    names = f'{_NAMES} xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": f'<p:presentation {names}><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst>'
            "</p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations("slides/s.xml"),
            "ppt/slides/s.xml": f"<p:sld {names}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>",
            "ppt/slides/_rels/s.xml.rels": relations("../media/a.png"),
            "ppt/media/a.png": picture,
        }
    )


def in_excel(picture: bytes) -> bytes:
    cell = '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>前文。</t></is></c></row></sheetData>'
    drawing = (
        '<xdr:pic><xdr:cNvPr descr="说明"/><a:blip r:embed="r1"/></xdr:pic>'
        "<xdr:sp><xdr:txBody><a:p><a:r><a:t>框内</a:t></a:r><a:r><a:t>文字。</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    )
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": f'<workbook {_NAMES}><sheets><sheet name="图" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations("worksheets/s.xml"),
            "xl/worksheets/s.xml": f'<worksheet {_NAMES}>{cell}<drawing r:id="r1"/></worksheet>',
            "xl/worksheets/_rels/s.xml.rels": relations("../drawings/d.xml"),
            "xl/drawings/d.xml": f'<xdr:wsDr {_NAMES} xmlns:xdr="sheet">{drawing}</xdr:wsDr>',
            "xl/drawings/_rels/d.xml.rels": relations("../media/a.png"),
            "xl/media/a.png": picture,
        }
    )


def in_book(picture: bytes) -> bytes:
    opf = (
        '<package><manifest><item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    chapter = '<html><body><p>前文。</p><img src="../images/a%20b.png" alt="说明"/></body></html>'
    return package(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>',
            "O/b.opf": opf,
            "O/text/a.xhtml": chapter,
            "O/images/a b.png": picture,
        }
    )


def in_page(picture: bytes) -> bytes:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return f'<html><body><p>前文。</p><img alt="说明" src="{source}"></body></html>'.encode()


def images(parsed: ParsedFile) -> list[Block]:
    return [block for block in parsed.blocks if block.type is BlockType.IMAGE]


class Texts(dict[str, str]):
    """Implements ``PageTexts``."""

    def put(self, key: str, text: str) -> None:
        self[key] = text


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (in_word, "a.docx"),
        (in_powerpoint, "a.pptx"),
        (in_excel, "a.xlsx"),
        (in_book, "a.epub"),
        (in_page, "a.html"),
    ],
)
def test_the_text_of_a_picture_stands_behind_what_the_document_says_of_it(
    made: Callable[[bytes], bytes], name: str
) -> None:
    parsed = parse(made(SCAN), name)
    (image,) = images(parsed)
    assert image.text.startswith("说明\n")
    assert SAID in "".join(image.text.split())
    assert "项目 | 2023年 | 2022年\n营业收入 | 1,234.56 | 1,133.66" in image.text
    assert parsed.language == "zh"
    # The hash is that of the picture: reading it otherwise does not make it another block.
    without = parse(made(SCAN), name, context=ParseContext(ParseOptions(ocr=False)))
    assert [block.text for block in images(without)] == ["说明"]
    assert images(without)[0].content_hash == image.content_hash


def test_drawn_text_of_a_sheet_is_read() -> None:
    assert [block.text for block in parse(in_excel(SCAN), "a.xlsx").blocks if block.type is not BlockType.IMAGE] == [
        "图",
        "前文。",
        "框内文字。",
    ]


def test_a_screenshot_in_a_message_is_read_and_a_logo_is_not() -> None:
    message = EmailMessage()
    message["Subject"] = "问题"
    message.set_content("请看截图，谢谢您的帮助。")
    message.add_alternative("<p>请看截图，谢谢您的帮助。</p><img src='cid:a@b'>", subtype="html")
    body = message.get_payload()[1]  # type: ignore[index]
    body.add_related(SCAN, "image", "png", cid="<a@b>")  # type: ignore[union-attr]
    (image,) = images(parse(message.as_bytes(), "a.eml"))
    assert SAID in "".join(image.text.split())


def test_the_same_picture_is_read_once_in_a_file_and_not_again_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    context = ParseContext(page_texts=Texts(), on_page=lambda *done: told.append(done))
    first, second = images(parse(in_word(SCAN, "一", "二"), "a.docx", context=context))
    assert told == [(1, 1)]
    assert (first.text[0], second.text[0]) == ("一", "二")
    assert first.text[1:] == second.text[1:]
    monkeypatch.setattr("clew.indexing.parsers.recognition._lines", lambda _: pytest.fail("read again"))
    (again,) = images(parse(in_powerpoint(SCAN), "a.pptx", context=context))
    assert again.text[2:] == first.text[1:]


def test_pictures_beyond_the_limit_keep_their_own_text_and_are_counted() -> None:
    parsed = parse(in_word(SCAN), "a.docx", context=ParseContext(ParseOptions(ocr_max_pages=0)))
    assert [block.text for block in images(parsed)] == ["说明"]
    assert parsed.warnings == ("The text of 1 pictures was not recognised: indexing.ocr.max_pages allows no more.",)


@pytest.mark.parametrize("data", [SCAN[:3000], b"\x89PNG\r\n\x1a\n", b"no picture"])
def test_a_damaged_picture_does_not_spoil_its_document(data: bytes) -> None:
    assert [block.text for block in images(parse(in_word(data), "a.docx"))] == ["说明"]
