"""Markdown."""

from clew.indexing.parsers import parse
from clew.types import ParsedFile


def read(text: str) -> ParsedFile:
    return parse(text.encode(), "page.md")


def shown(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(block.type.value, block.text) for block in parsed.blocks]


def test_headings_of_both_kinds_and_the_title() -> None:
    parsed = read("# Title\n\nText.\n\nSub\n---\n\nMore *text* with `code` and a [link](http://x.y).\n\n### Deep ###\n")
    assert shown(parsed) == [
        ("heading", "Title"),
        ("paragraph", "Text."),
        ("heading", "Sub"),
        ("paragraph", "More text with code and a link."),
        ("heading", "Deep"),
    ]
    assert [(s.path, s.title) for s in parsed.sections] == [
        ("", "Title"),
        ("0001/", "Title"),
        ("0001/0001/", "Sub"),
        ("0001/0001/0001/", "Deep"),
    ]


def test_a_hash_inside_a_fence_is_no_heading() -> None:
    parsed = read("# A\n\n```python\n# comment\nx = 1\n```\n\n    # indented\n")
    assert shown(parsed) == [("heading", "A"), ("code", "# comment\nx = 1"), ("code", "# indented")]
    assert parsed.blocks[1].language == "python"


def test_tables_with_escaped_pipes() -> None:
    parsed = read("| a | b |\n|---|:-:|\n| 1 \\| 2 | `x` |\n| 3<br>4 | |\n")
    table = parsed.blocks[0].table
    assert table is not None
    assert table.rows == (("a", "b"), ("1 | 2", "x"), ("3 4", ""))
    assert table.header_rows == 1


def test_lists_keep_their_markers_and_levels() -> None:
    parsed = read("- a\n- b\n  1. c\n  2. d\n\n3. e\n4. f\n")
    assert shown(parsed) == [("list", "- a\n- b\n  1. c\n  2. d"), ("list", "3. e\n4. f")]


def test_line_ends_front_matter_and_comments() -> None:
    text = '---\ntitle: "年报"\nauthor: x\n---\n# 第一章\n\n公司\n收入\n\n<!-- hidden -->\n\nnext  \nline\n'
    for variant in (text, text.replace("\n", "\r\n")):
        parsed = read(variant)
        assert parsed.title == "年报"
        assert shown(parsed) == [("heading", "第一章"), ("paragraph", "公司收入"), ("paragraph", "next\nline")]


def test_html_inside() -> None:
    parsed = read(
        "text\n\n<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n\n![chart](c.png)\n"
    )
    assert shown(parsed) == [("paragraph", "text"), ("table", "a | b\n1 | 2"), ("image", "chart")]
