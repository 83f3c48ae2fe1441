"""HTML pages."""

from clew.indexing.parsers import parse
from clew.types import CellSpan, ParsedFile


def read(body: str, head: str = "") -> ParsedFile:
    return parse(f"<html><head>{head}</head><body>{body}</body></html>".encode(), "page.html")


def shown(parsed: ParsedFile) -> list[tuple[str, str]]:
    return [(block.type.value, block.text) for block in parsed.blocks]


def test_headings_paragraphs_lists_and_code() -> None:
    parsed = read(
        "<h1>标题</h1>loose <b>text</b><p>one<br>two</p><h2>Sub</h2>"
        "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><ol start=3><li>d</ol>"
        '<pre class="language-python">if x:\n    y</pre><h2>Last</h2><p>公司\n收入</p>',
        "<title>My page</title><script>var x = 1</script>",
    )
    assert shown(parsed) == [
        ("heading", "标题"),
        ("paragraph", "loose text"),
        ("paragraph", "one\ntwo"),
        ("heading", "Sub"),
        ("list", "- a\n  - b\n- c\n3. d"),
        ("code", "if x:\n    y"),
        ("heading", "Last"),
        ("paragraph", "公司收入"),
    ]
    assert parsed.title == "My page"
    assert parsed.blocks[5].language == "python"


def test_scripts_hidden_text_and_navigation_go() -> None:
    parsed = read(
        "<nav>menu</nav><div style='display: none'>secret</div><div class='footer'><a href=x>about</a></div>"
        "<script>x()</script><style>p {}</style><p>content</p><div role=navigation>more</div>"
    )
    assert shown(parsed) == [("paragraph", "content")]


def test_tables_become_a_full_grid() -> None:
    parsed = read(
        "<table><tr><th rowspan=2>项目<th colspan=2>2019年</tr><tr><th>收入<th>成本</tr>"
        "<tr><td rowspan=2>华东<td>1<td>2</tr><tr><td>3<td>4</tr></table>"
    )
    table = parsed.blocks[0].table
    assert table is not None
    assert table.rows == (("项目", "2019年", ""), ("", "收入", "成本"), ("华东", "1", "2"), ("", "3", "4"))
    assert set(table.spans) == {CellSpan(0, 0, 2, 1), CellSpan(0, 1, 1, 2), CellSpan(2, 0, 2, 1)}
    assert table.header_rows == 2
    assert parsed.blocks[0].text.split("\n")[3] == "华东 | 3 | 4"


def test_signs_in_cells_of_their_own_join_their_numbers() -> None:
    widths = "<tr><td style='width:1%'/><td style='width:1%'/><td/><td/><td/><td/><td/></tr>"
    parsed = read(
        f"<table>{widths}"
        "<tr><td><td colspan=3>2022<td colspan=3>2023</tr>"
        "<tr><td>Revenue:<td colspan=6></tr>"
        "<tr><td>Net sales<td>$<td>513,983<td><td>$<td>574,785<td></tr>"
        "<tr><td>Net income (loss)<td colspan=2>(2,722<td>)<td colspan=2>30,425<td></tr>"
        "<tr><td>Growth<td colspan=2>9<td>%<td colspan=2>12<td>%</tr></table>"
    )
    table = parsed.blocks[0].table
    assert table is not None
    assert table.rows == (
        ("", "2022", "2023"),
        ("Revenue:", "", ""),
        ("Net sales", "$513,983", "$574,785"),
        ("Net income (loss)", "(2,722)", "30,425"),
        ("Growth", "9%", "12%"),
    )
    assert table.header_rows == 1


def test_layout_tables_are_walked() -> None:
    parsed = read("<table><tr><td><h2>A</h2><table><tr><td>x<td>1</tr><tr><td>y<td>2</tr></table></td></tr></table>")
    assert shown(parsed) == [("heading", "A"), ("table", "x | 1\ny | 2")]
    bullets = read("<table><tr><td>•<td>first</tr></table><table><tr><td>•<td>second</tr></table>")
    assert shown(bullets) == [("list", "• first\n• second")]


def test_filings_mark_headings_by_type_only() -> None:
    def line(text: str, style: str = "") -> str:
        return f'<div><span style="font-size:10pt;{style}">{text}</span></div>'

    bold, both = "font-weight:700", "font-weight:700;font-style:italic"
    body = (
        line("PART I", bold)
        + f"<table><tr><td>{line('Item 1.', bold)}<td>{line('Business', both)}</tr></table>"
        + line("General", bold)
        + line("We sell things, as Item 1A says.")
        + line("Risks of <i>growth</i>", both)
        + line("Growth may end.")
        + line("12")
        + "<hr>"
        + line("Item 1A. Risk Factors", bold)
        + line("Item 1A is important. It goes on for a while.")
    )
    parsed = read(body)
    assert [(s.path, s.title) for s in parsed.sections if s.path] == [
        ("0001/", "PART I"),
        ("0001/0001/", "Item 1. Business"),
        ("0001/0001/0001/", "General"),
        ("0001/0001/0001/0001/", "Risks of growth"),
        ("0001/0002/", "Item 1A. Risk Factors"),
    ]
    assert "12" not in [block.text for block in parsed.blocks]


def test_pages_without_any_markup_of_headings() -> None:
    lines = [
        "甲公司",
        "2019年年度报告",
        "第一节 概要",
        "一、业务",
        "正文在这里。",
        "第二节 数据",
        "见下表，如 3.2.1 节所述。",
    ]
    parsed = read("".join(f"<h>{line}</h><br/>" for line in lines))
    assert [s.titles for s in parsed.sections if s.path] == [
        ("第一节 概要",),
        ("第一节 概要", "一、业务"),
        ("第二节 数据",),
    ]
    assert parsed.title == "甲公司 2019年年度报告"


def test_inline_xbrl_names_company_form_and_year() -> None:
    facts = (
        "<div style='display:none'><ix:nonNumeric name='dei:EntityRegistrantName'>ACME, INC.</ix:nonNumeric>"
        "<ix:nonNumeric name='dei:DocumentType'>10-Q</ix:nonNumeric>"
        "<ix:nonNumeric name='dei:DocumentFiscalYearFocus'>2024</ix:nonNumeric>"
        "<ix:nonNumeric name='dei:DocumentFiscalPeriodFocus'>Q2</ix:nonNumeric></div>"
    )
    assert read(f"{facts}<p>Text.</p>", "<title>acme-20240630</title>").title == "ACME, INC. 10-Q 2024 Q2"


def test_charset_comes_from_the_meta_tag_where_the_bytes_agree() -> None:
    page = '<html><head><meta charset="{}"></head><body><p>中文的合同和公司章程</p></body></html>'
    for declared, used in (("gb2312", "gbk"), ("big5", "gbk"), ("utf-8", "gbk"), ("gbk", "utf-8")):
        assert read_bytes(page.format(declared).encode(used)) == "中文的合同和公司章程"
    assert read_bytes("<p>中文</p>".encode("utf-16")) == "中文"


def read_bytes(data: bytes) -> str:
    return parse(data, "page.html").blocks[0].text


def test_hostile_pages() -> None:
    deep = "<div>" * 5_000 + "<p>inside</p>"
    assert [block.text for block in read(deep + "<p>after</p>").blocks] == ["inside", "after"]
    wide = read("<table><tr><td colspan=999999 rowspan=999999>a<td>b</tr><tr><td>1<td>2</tr></table>")
    assert wide.blocks[0].table is not None
    assert len(wide.blocks[0].table.rows[0]) <= 4
