"""Text recognition on pictures and on pages of a PDF without text; the models are those of the package."""

import io
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from clew.errors import DamagedFileError, FileFailedError, UnsupportedFileError
from clew.indexing.parsers import parse
from clew.indexing.parsers.context import ParseContext, ParseOptions
from clew.types import BlockType, ParsedFile
from fakes.pdf_file import PdfPage, pdf

SCAN = Path(__file__).parents[3] / "data" / "scan_zh.png"
ROWS = (("项目", "2023年", "2022年"), ("营业收入", "1,234.56", "1,133.66"), ("净利润", "98.70", "87.20"))


def encoded(image: Image.Image, format: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, resolution=144)
    return buffer.getvalue()


def squeezed(parsed: ParsedFile) -> str:
    return "".join("".join(block.text for block in parsed.blocks).split())


def test_a_picture_gives_heading_text_and_ruled_table_with_boxes() -> None:
    parsed = parse(SCAN)
    assert (parsed.media_type, parsed.pages, parsed.language) == ("image/png", 1, "zh")
    heading, text, table = parsed.blocks
    assert (heading.type, heading.text.replace(" ", "")) == (BlockType.HEADING, "第三章经营情况")
    assert "公司实现营业收入1,234.56万元，同比增长8.9%" in text.text.replace(" ", "")
    assert "Net profit attributable to shareholders was 98.7 million." in text.text
    assert table.table is not None
    assert table.table.rows == ROWS
    assert table.bbox is not None
    # Drawn at 60 to 920 of 1,000 pixels; the longer side counts 842 points.
    assert (table.bbox.x0, table.bbox.x1) == pytest.approx((60 * 0.842, 920 * 0.842), abs=4)
    assert table.section_path == heading.section_path != ""


@pytest.mark.parametrize("turn", [Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180])
def test_a_page_on_its_side_or_head_is_turned(turn: Image.Transpose) -> None:
    with Image.open(SCAN) as image:
        parsed = parse(encoded(image.convert("RGB").transpose(turn), "JPEG"), "photo.jpg")
    assert "公司实现营业收入1,234.56万元" in squeezed(parsed)
    table = next(block for block in parsed.blocks if block.table)
    assert table.table is not None
    assert table.table.rows == ROWS
    assert table.bbox is not None
    if turn is Image.Transpose.ROTATE_90:  # what was at the left is now at the bottom
        assert (table.bbox.y0, table.bbox.y1) == pytest.approx((80 * 0.842, 940 * 0.842), abs=4)


def test_only_the_pages_without_text_are_recognised() -> None:
    with Image.open(SCAN) as image:
        scan = pypdfium2.PdfDocument(encoded(image.convert("RGB"), "PDF"))
    lines = (
        "The first page has a text layer, and nothing is recognised on it although it has a picture.",
        "A text of some length tells that the text layer is all of what a reader sees on this page.",
    )
    written = pypdfium2.PdfDocument(pdf(PdfPage().lines(50, 100, *lines).image(50, 300, 400, 300)))
    written.import_pages(scan)
    buffer = io.BytesIO()
    written.save(buffer)
    told: list[tuple[int, int]] = []
    parsed = parse(buffer.getvalue(), "mixed.pdf", context=ParseContext(on_page=lambda *done: told.append(done)))
    assert told == [(1, 1)]
    assert parsed.warnings == ()
    assert [block.page for block in parsed.blocks if block.table] == [2]
    assert "nothing is recognised on it" in parsed.blocks[0].text
    assert [block.type for block in parsed.blocks if block.page == 2].count(BlockType.IMAGE) == 0


class Texts(dict[str, str]):
    """Implements ``PageTexts``."""

    def put(self, key: str, text: str) -> None:
        self[key] = text


@pytest.mark.parametrize("turn", [None, Image.Transpose.ROTATE_90])
def test_a_page_that_is_known_is_not_read_again(turn: Image.Transpose | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with Image.open(SCAN) as image:
        picture = image.convert("RGB")
        data = encoded(picture.transpose(turn) if turn else picture, "PDF")
    context = ParseContext(page_texts=Texts())
    first = parse(data, "scan.pdf", context=context)
    monkeypatch.setattr("clew.indexing.parsers.recognition._lines", lambda _: pytest.fail("read again"))
    assert parse(data, "scan.pdf", context=context) == first
    assert "公司实现营业收入1,234.56万元" in squeezed(first)


def test_pages_beyond_the_limit_are_named() -> None:
    with Image.open(SCAN) as image:
        grey = image.convert("RGB")
        buffer = io.BytesIO()
        grey.save(buffer, "PDF", save_all=True, append_images=[grey, grey])
    context = ParseContext(ParseOptions(ocr_max_pages=1))
    parsed = parse(buffer.getvalue(), "long.pdf", context=context)
    assert {block.page for block in parsed.blocks if block.type is not BlockType.IMAGE} == {1}
    assert parsed.warnings[0].startswith("Pages 2, 3 (2 in all) are scans and were not read")
    assert "indexing.ocr.max_pages" in parsed.warnings[0]


def test_without_recognition_scans_and_pictures_say_which_setting_it_is() -> None:
    off = ParseContext(ParseOptions(ocr=False))
    with pytest.raises(FileFailedError, match=r"scan\.pdf: its pages are scans .* Set indexing\.ocr\.enabled"):
        parse(pdf(PdfPage().image(0, 0, 595, 842)), "scan.pdf", context=off)
    with pytest.raises(FileFailedError, match=r"Set indexing\.ocr\.enabled"):
        parse(SCAN, context=off)
    mixed = pdf(PdfPage().text(50, 100, "A page with text"), PdfPage().image(0, 0, 595, 842))
    parsed = parse(mixed, "mixed.pdf", context=off)
    assert parsed.warnings == ("Page 2: no text layer, and text recognition is off (indexing.ocr).",)


def test_a_picture_without_text_fails_with_what_to_do() -> None:
    with pytest.raises(FileFailedError, match="no text was recognised on the picture"):
        parse(encoded(Image.new("RGB", (300, 300), "red"), "PNG"), "red.png")


def test_damaged_and_foreign_pictures_fail_alone() -> None:
    with pytest.raises(DamagedFileError, match=r"cut\.png: the picture is damaged or cut off"):
        parse(SCAN.read_bytes()[:3000], "cut.png")
    with pytest.raises(DamagedFileError, match="the name says image"):
        parse(b"no picture at all", "text.jpg")
    with pytest.raises(UnsupportedFileError, match="Save it as JPEG or PNG"):
        parse(b"\x00\x00\x00\x18ftypheic" + b"\0" * 50, "photo.heic")


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked() -> None:
    bomb = encoded(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(bomb) < 1_000_000
    with pytest.raises(FileFailedError, match=r"20000 × 20000 pixels|damaged"):
        parse(bomb, "bomb.png")
