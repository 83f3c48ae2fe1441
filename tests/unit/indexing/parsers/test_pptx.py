"""Presentations."""

from clew.indexing.parsers import parse
from fakes.office_files import package

NAMES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def shape(text: str, holder: str | None = None, y: int = 0) -> str:
    kind = "" if holder is None else f'<p:ph type="{holder}"/>'
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("|"))
    place = f'<p:spPr><a:xfrm><a:off x="0" y="{y}"/><a:ext cx="12700" cy="12700"/></a:xfrm></p:spPr>'
    return f"<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr>{place}<p:txBody>{lines}</p:txBody></p:sp>"


def slide(*shapes: str) -> str:
    return f"<p:sld {NAMES}><p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld></p:sld>"


def presentation(*slides: str) -> bytes:
    ids = "".join(f'<p:sldId r:id="r{i}"/>' for i in range(len(slides)))
    links = "".join(f'<Relationship Id="r{i}" Target="slides/s{i}.xml"/>' for i in range(len(slides)))
    return package(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{links}</Relationships>",
            **{f"ppt/slides/s{i}.xml": content for i, content in enumerate(slides)},
        }
    )


def test_a_slide_is_a_page_and_a_section_read_from_top_to_bottom() -> None:
    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></a:tc>"

    merged = cell("头", 'gridSpan="2"')
    rows = f'<a:tr>{merged}<a:tc hMerge="1"/></a:tr><a:tr>{cell("甲")}{cell("1")}</a:tr>'
    place = '<p:xfrm><a:off x="0" y="500000"/><a:ext cx="1" cy="1"/></p:xfrm>'
    table = f'<p:graphicFrame>{place}<a:tbl><a:tblPr firstRow="1"/>{rows}</a:tbl></p:graphicFrame>'
    title, body = shape("年度总结", "title"), shape("一|二", "body", 200_000)
    data = presentation(
        slide(shape("下面", y=900_000), table, body, title, shape("3", "sldNum")),
        slide(shape("没有标题")),
    )
    parsed = parse(data, "deck.pptx")
    assert [(b.type.value, b.page, b.text) for b in parsed.blocks] == [
        ("heading", 1, "年度总结"),
        ("list", 1, "- 一\n- 二"),
        ("table", 1, "头\n甲 | 1"),
        ("paragraph", 1, "下面"),
        ("heading", 2, "2"),
        ("paragraph", 2, "没有标题"),
    ]
    assert (parsed.title, parsed.pages) == ("年度总结", 2)
