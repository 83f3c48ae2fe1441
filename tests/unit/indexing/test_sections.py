"""The section tree."""

from clew.indexing.parsers.base import BlockBuilder
from clew.indexing.sections import build_sections
from clew.types import BlockType, ParsedFile


def build(*headings: tuple[int, str], preamble: str = "") -> ParsedFile:
    builder = BlockBuilder()
    builder.paragraph(preamble)
    for level, title in headings:
        builder.heading(title, level)
        builder.paragraph(f"body of {title}")
    return build_sections(builder.finish("file.txt", "text/plain", title="File"))


def paths(parsed: ParsedFile) -> dict[str, str]:
    return {section.title: section.path for section in parsed.sections}


def test_paths_titles_and_depths() -> None:
    parsed = build((1, "A"), (2, "A1"), (2, "A2"), (1, "B"), (2, "B1"), preamble="before")
    assert [(s.path, s.titles, s.level) for s in parsed.sections] == [
        ("", ("File",), 0),
        ("0001/", ("A",), 1),
        ("0001/0001/", ("A", "A1"), 2),
        ("0001/0002/", ("A", "A2"), 2),
        ("0002/", ("B",), 1),
        ("0002/0001/", ("B", "B1"), 2),
    ]
    assert parsed.blocks[0].section_path == ""
    assert [b.section_path for b in parsed.blocks if b.text in ("A2", "body of A2")] == ["0001/0002/"] * 2


def test_skipped_levels_make_no_empty_sections() -> None:
    assert paths(build((1, "A"), (4, "deep"), (3, "less deep"), (2, "second"), (1, "B"))) == {
        "File": "",
        "A": "0001/",
        "deep": "0001/0001/",
        "less deep": "0001/0002/",
        "second": "0001/0003/",
        "B": "0002/",
    }


def test_a_file_that_begins_below_its_top_level() -> None:
    assert paths(build((3, "intro"), (1, "A"))) == {"File": "", "intro": "0001/", "A": "0002/"}


def test_one_ten_is_not_below_one_one() -> None:
    found = paths(build((1, "1"), *((2, f"1.{i}") for i in range(1, 13)), (3, "1.12.1")))
    assert found["1.1"] == "0001/0001/"
    assert found["1.10"] == "0001/0010/"
    assert not found["1.10"].startswith(found["1.1"])
    assert found["1.12.1"].startswith(found["1.12"])


def test_more_siblings_than_four_digits_hold() -> None:
    parsed = build(*((1, f"h{i}") for i in range(10_050)), (2, "last"))
    ordered = [section.path for section in parsed.sections]
    assert ordered == sorted(ordered)
    assert len(set(ordered)) == len(ordered)
    assert ordered[-1] == "10050/00001/"


def test_a_sentence_marked_as_heading_is_a_paragraph() -> None:
    sentence = "本公司全体董事、监事、高级管理人员承诺本招股意向书及其摘要不存在任何虚假、误导性陈述或重大遗漏。"
    parsed = build((1, "A"), (2, sentence))
    assert set(paths(parsed)) == {"File", "A"}
    demoted = next(b for b in parsed.blocks if b.text == sentence)
    assert demoted.type is BlockType.PARAGRAPH
    assert demoted.level is None
