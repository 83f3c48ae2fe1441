"""Workbooks and CSV files."""

from pathlib import Path

import pytest

from clew.errors import EmptyFileError, FileFailedError
from clew.indexing.parsers import MediaType, parse
from clew.indexing.parsers.spreadsheets import format_value
from clew.types import CellSpan, ParsedFile
from fakes.office_files import package

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def workbook(sheets: dict[str, str], strings: tuple[str, ...] = (), formats: tuple[int, ...] = (0,)) -> bytes:
    listed = "".join(f'<sheet name="{name}" r:id="rId{i}"/>' for i, name in enumerate(sheets))
    links = "".join(f'<Relationship Id="rId{i}" Target="worksheets/s{i}.xml"/>' for i in range(len(sheets)))
    styles = "".join(f'<xf numFmtId="{number}"/>' for number in formats)
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": f"<workbook {MAIN} {LINKS}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships>{links}</Relationships>",
            "xl/sharedStrings.xml": f"<sst {MAIN}>{''.join(f'<si><t>{s}</t></si>' for s in strings)}</sst>",
            "xl/styles.xml": f"<styleSheet {MAIN}><cellXfs>{styles}</cellXfs></styleSheet>",
            **{f"xl/worksheets/s{i}.xml": f"<worksheet {MAIN}>{x}</worksheet>" for i, x in enumerate(sheets.values())},
        }
    )


def read(sheet: str, **parts: tuple[str, ...] | tuple[int, ...]) -> ParsedFile:
    return parse(workbook({"数据": sheet}, **parts), "book.xlsx")  # type: ignore[arg-type]


def test_values_as_shown_formulas_and_merged_cells() -> None:
    sheet = (
        '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
        '<row r="2"><c r="A2" t="inlineStr"><is><t>收入\n合计</t></is></c><c r="B2" s="1"><v>1234.5</v></c>'
        '<c r="C2" s="2"><v>0.125</v></c></row>'
        '<row r="3"><c r="A3" t="inlineStr"><is><t>零</t></is></c><c r="B3"><f>B2*0</f><v>0</v></c>'
        '<c r="C3"><f>B2*2</f></c></row></sheetData>'
        '<mergeCells><mergeCell ref="B1:C1"/></mergeCells>'
    )
    parsed = read(sheet, strings=("项目", "2023年"), formats=(0, 4, 10))
    table = parsed.blocks[1].table
    assert parsed.blocks[0].text == "数据"
    assert table is not None
    assert table.rows == (("项目", "2023年", ""), ("收入合计", "1,234.50", "12.50%"), ("零", "0", "=B2*2"))
    assert table.spans == (CellSpan(0, 1, 1, 2),)
    assert table.header_rows == 1


def test_blank_rows_part_tables() -> None:
    rows = "".join(
        f'<row r="{r}"><c r="A{r}" t="inlineStr"><is><t>{a}</t></is></c><c r="B{r}"><v>{b}</v></c></row>'
        for r, a, b in [(1, "x", 1), (2, "y", 2), (5, "z", 3), (6, "w", 4)]
    )
    assert [b.text for b in read(f"<sheetData>{rows}</sheetData>").blocks[1:]] == ["x | 1\ny | 2", "z | 3\nw | 4"]


@pytest.mark.parametrize(
    ("raw", "pattern", "shown"),
    [
        ("45291", "yyyy-mm-dd", "2023-12-31"),
        ("45291.5", "yyyy/m/d h:mm", "2023-12-31 12:00"),
        ("45291", 'yyyy"年"m"月"', "2023-12"),
        ("0.5", "h:mm", "12:00"),
        ("0.30000000000000004", "General", "0.3"),
        ("-1234567.891", "#,##0.00;[Red]-#,##0.00", "-1,234,567.89"),
        ("0.1234", "0.0%", "12.3%"),
        ("59", "000000", "000059"),
        ("1618.5", "0.00", "1618.50"),
        ("1.5", '_ * #,##0.00_ ;_ * "-"??_ ', "1.50"),
        ("text", "0", "text"),
    ],
)
def test_number_formats(raw: str, pattern: str, shown: str) -> None:
    assert format_value(raw, pattern) == shown


def test_csv_with_quotes_line_breaks_and_its_own_delimiter() -> None:
    parsed = parse('项目;金额\n"甲;乙";5\n"两\n行";6\n'.encode("gbk"), "x.csv")
    assert parsed.blocks[0].text == "项目 | 金额\n甲;乙 | 5\n两行 | 6"
    assert parse(b"a\tb\n1,5\t2\n", "x.tsv").blocks[0].text == "a | b\n1,5 | 2"
    with pytest.raises(EmptyFileError):
        parse(b" \n", "x.csv")
    huge = "x" * 200_000
    assert huge in parse(f"a,b\n{huge},1\n".encode(), "x.csv").blocks[0].text


def test_old_workbooks_give_the_same_sections_and_tables() -> None:
    parsed = parse(Path(__file__).parents[3] / "data" / "questions.xls")
    assert [section.title for section in parsed.sections[1:]] == ["Example Test", "Format Abbr.", "Readme"]
    tables = [block.table for block in parsed.blocks if block.table]
    assert tables[0].rows[0][:3] == ("MC", "What is 2+2?", "4")
    assert ("ESS", "Essay") in tables[1].rows
    cut = (Path(__file__).parents[3] / "data" / "questions.xls").read_bytes()[:4000]
    with pytest.raises(FileFailedError, match=r"cut\.xls: .*damaged"):
        parse(cut, "cut.xls", media_type=MediaType.XLS)


def test_cells_of_more_than_128_kilobytes_are_kept_whole() -> None:
    long = "很长的说明。" * 40_000
    csv = parse(f'项目,说明\n甲,"{long}"\n乙,短\n'.encode(), "a.csv").blocks[0].table
    cell = f'<c r="B2" t="inlineStr"><is><t>{long}</t></is></c>'
    rows = '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
    xlsx = read(f'<sheetData>{rows}<row r="2"><c r="A2"><v>3</v></c>{cell}</row></sheetData>').blocks[1].table
    assert csv is not None
    assert xlsx is not None
    assert csv.rows[1][1] == xlsx.rows[1][1] == long
