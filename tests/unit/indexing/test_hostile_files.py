"""Files that want to take the process down: each fails alone, with its reason, or is read in good time."""

import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.errors import FileFailedError
from clew.indexing.parse_worker import ParseLimits, end_workers, parse_file
from clew.indexing.parsers import office, parse
from fakes.office_files import docx, p
from fakes.pdf_file import PdfPage, pdf


@pytest.fixture(autouse=True, scope="module")
def _no_workers_left() -> Iterator[None]:
    yield
    end_workers()


def test_a_part_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_PART_BYTES", 2**20)
    document = office.Package(docx("", **{"word/document.xml": b" " * 2**21}), "bomb.docx")
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(FileFailedError, match=r"bomb\.docx: the file unpacks to more than 1 MB \(at word/doc"):
        document.read("word/document.xml")


def test_a_listing_that_lies_about_sizes_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_PART_BYTES", 2**20)
    packed = bytearray(docx("", **{"word/document.xml": b" " * (2**21 + 7)}))
    size = (2**21 + 7).to_bytes(4, "little")
    while (at := packed.find(size)) >= 0:
        packed[at : at + 4] = (100).to_bytes(4, "little")
    with pytest.raises(FileFailedError):
        parse(bytes(packed), "lies.docx")


def test_parts_are_limited_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_BYTES", 2**21)
    links = "".join(f'<Relationship Id="r{i}" Target="media/{i}.png"/>' for i in range(5))
    drawn = "".join(f'<w:p><w:r><w:drawing><a:blip r:embed="r{i}"/></w:drawing></w:r></w:p>' for i in range(5))
    pictures = {f"word/media/{i}.png": b"\x89PNG" + b"\0" * 600_000 for i in range(5)}
    data = docx(drawn, **{"word/_rels/document.xml.rels": f"<Relationships>{links}</Relationships>"}, **pictures)
    with pytest.raises(FileFailedError, match=r"many\.docx: the file unpacks to more than 2 MB"):
        parse(data, "many.docx")


def test_entities_that_multiply_are_not_expanded() -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    laughs = f'<!DOCTYPE w [<!ENTITY e0 "ha">{levels}]><w:document><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p>'
    parts = {"word/document.xml": f"{laughs}</w:body></w:document>"}
    with pytest.raises(FileFailedError):
        parse(docx("", **parts), "laughs.docx")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000, "deep.html"),
        (b"<table><tr><td>" * 3_000 + b"deep", "tables.html"),
        (b"> " * 20_000 + b"deep", "quotes.md"),
        (b"- " * 5_000 + b"deep", "lists.md"),
        (b"[" * 8_000 + b"deep" + b"]" * 8_000, "brackets.md"),
        (docx("<w:tbl><w:tr><w:tc>" * 2_000 + p("deep") + "</w:tc></w:tr></w:tbl>" * 2_000), "tables.docx"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_endless_nesting_is_read_or_fails_with_its_reason(data: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    reason = ""
    try:
        said = "".join(block.text for block in parse_file(path, limits=ParseLimits(timeout=60)).blocks)
    except FileFailedError as error:
        said = reason = str(error)
    assert "nested too deeply" in reason or "deep" in said
    assert not reason or reason.startswith(f"{name}: ")


UNITS = ("(", "（一", "1.", "| ", "*_", "<a", "&", "第一", " \t", "...... ", "=-", "$$", "![[", "- ")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("suffix", [".txt", ".md", ".html"])
def test_no_pattern_runs_away(unit: str, suffix: str) -> None:
    text = ("word " + unit * (12_000 // len(unit)) + "!\n").encode()
    started = time.process_time()
    assert parse(text, f"a{suffix}").blocks
    assert time.process_time() - started < 3


def test_a_pdf_of_very_many_pages_stops_at_the_time_limit_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    lines = [f"Line {n} of a page that is like all the others." for n in range(40)]
    path.write_bytes(pdf(*(PdfPage().lines(50, 60, *lines, pitch=18) for _ in range(600))))
    with pytest.raises(
        FileFailedError, match=r"long\.pdf: parsing took longer than 1 seconds.*indexing\.parse_timeout"
    ):
        parse_file(path, limits=ParseLimits(timeout=1))
