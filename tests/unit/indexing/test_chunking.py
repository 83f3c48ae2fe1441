"""Chunking: limits, nothing lost, nothing twice, stable ids."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.chunking import chunk_file
from clew.indexing.parsers.base import BlockBuilder, make_table
from clew.indexing.sections import build_sections
from clew.types import BBox, BlockType, CellSpan, ChildChunk, ParentChunk, ParsedFile, Region, Table
from fakes.tokenizers import AwkwardTokenizer, PieceTokenizer

PIECES = PieceTokenizer()


def chunk(
    builder: BlockBuilder, tokenizer: PieceTokenizer | AwkwardTokenizer = PIECES, **limits: int
) -> tuple[list[ParentChunk], list[ChildChunk]]:
    return chunk_parsed(build_sections(builder.finish("f.txt", "text/plain", title="T")), tokenizer, **limits)


def chunk_parsed(
    parsed: ParsedFile, tokenizer: PieceTokenizer | AwkwardTokenizer = PIECES, **limits: int
) -> tuple[list[ParentChunk], list[ChildChunk]]:
    return chunk_file(
        "file",
        parsed,
        count_tokens=tokenizer.count_tokens,
        token_offsets=tokenizer.token_offsets,
        **({"parent_tokens": 128, "child_tokens": 32, "overlap_tokens": 8} | limits),
    )


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


def uncovered(parent: ParentChunk, children: list[ChildChunk]) -> str:
    """What of a parent's text no child covers."""
    left = list(parent.text)
    for child in children:
        if child.parent_id == parent.chunk_id:
            left[child.start : child.end] = [" "] * (child.end - child.start)
    return squeeze("".join(left))


def test_short_file_is_one_parent_and_one_child() -> None:
    builder = BlockBuilder()
    builder.heading("第一章 总则", 1)
    builder.paragraph("本公司成立于 2001 年。")
    builder.list(["- 甲", "- 乙"])
    parents, children = chunk(builder)
    assert [p.text for p in parents] == ["本公司成立于 2001 年。\n\n- 甲\n- 乙"]
    assert [c.text for c in children] == [parents[0].text]
    assert children[0].section_titles == ("第一章 总则",)
    assert (children[0].start, children[0].end) == (0, len(parents[0].text))


def test_a_parent_never_crosses_a_section() -> None:
    builder = BlockBuilder()
    builder.paragraph("前言。")
    for title in ("甲", "乙"):
        builder.heading(title, 1)
        builder.paragraph(f"{title}的内容。")
    parents, _ = chunk(builder)
    assert [(p.section_path, p.section_titles, p.text) for p in parents] == [
        ("", (), "前言。"),
        ("0001/", ("甲",), "甲的内容。"),
        ("0002/", ("乙",), "乙的内容。"),
    ]


def test_a_heading_without_anything_below_it_is_still_found() -> None:
    builder = BlockBuilder()
    builder.heading("第一章", 1)
    builder.heading("第一节", 2)
    builder.paragraph("内容。")
    builder.heading("第二节 已废止", 2)
    parents, _ = chunk(builder)
    assert [p.text for p in parents] == ["内容。", "第二节 已废止"]


def test_children_end_with_sentences_and_overlap() -> None:
    builder = BlockBuilder()
    sentences = [f"这是第{i:02d}句话，它不长。" for i in range(12)]
    builder.paragraph("".join(sentences))
    parents, children = chunk(builder, overlap_tokens=14)
    assert len(parents) == 1 + (PIECES.count_tokens("".join(sentences)) > 128)
    assert all(child.text.endswith("。") for child in children)
    for before, after in itertools.pairwise(children):
        if before.parent_id == after.parent_id:
            assert after.start < before.end
            assert PIECES.count_tokens(parents[0].text[after.start : before.end]) <= 14


def test_overlap_of_long_sentences_begins_at_a_clause() -> None:
    builder = BlockBuilder()
    builder.paragraph("公司的营业收入比上年增长了许多，净利润也随之上升。" * 3)
    parents, children = chunk(builder, child_tokens=40, overlap_tokens=12)
    assert children[1].text.startswith("净利润也随之上升。公司的")
    assert children[1].text == parents[0].text[children[1].start : children[1].end]


def test_long_table_repeats_its_header_and_has_each_row_once() -> None:
    builder = BlockBuilder()
    builder.paragraph("公司主要数据如下。")
    builder.paragraph("单位：元")
    rows = [["项目", "2019年", "2018年"], *([f"row{i:03d}", f"{i}", f"{i}"] for i in range(60))]
    builder.table(make_table(rows))
    parents, children = chunk(builder)
    assert len(parents) > 1
    for parent in parents[1:]:
        assert parent.text.startswith("单位：元\n项目 | 2019年 | 2018年\nrow")
    with_rows = [child for child in children if "row" in child.text]
    for child in with_rows:
        assert "单位：元\n项目 | 2019年 | 2018年\nrow" in child.text
    shown = re.findall(r"row(\d{3})", "".join(child.text for child in with_rows))
    assert shown == [f"{i:03d}" for i in range(60)]
    assert shown == re.findall(r"row(\d{3})", "".join(parent.text for parent in parents))
    for parent in parents:
        assert uncovered(parent, children) in ("", squeeze("单位：元项目|2019年|2018年"))


def test_merged_cells_read_well_alone() -> None:
    builder = BlockBuilder()
    grid = [["项目", "2019年", ""], ["", "收入", "成本"], ["华东", "1", "2"], ["", "3", "4"]]
    spans = [CellSpan(0, 1, 1, 2), CellSpan(0, 0, 2, 1), CellSpan(2, 0, 2, 1)]
    builder.table(make_table(grid, header_rows=2, spans=spans))
    parents, _ = chunk(builder)
    assert parents[0].text.split("\n") == [
        "项目 | 2019年 | 2019年",
        "项目 | 收入 | 成本",
        "华东 | 1 | 2",
        "华东 | 3 | 4",
    ]


def test_code_stays_whole_where_it_fits() -> None:
    builder = BlockBuilder()
    builder.paragraph("Some words before it that take a good part of the child. " * 2)
    code = "def f(x):\n\n    return [\n        x,\n    ]"
    builder.code(code)
    _, children = chunk(builder)
    assert code in children[-1].text
    long = "\n".join(f"    value{i} = {i}" for i in range(40))
    builder.code(long)
    parents, children = chunk(builder)
    assert long in parents[-1].text or len(parents) > 1
    assert all(child.text.split("\n")[-1].strip().startswith("value") for child in children[-5:])


@pytest.mark.parametrize("tokenizer", [PieceTokenizer(), AwkwardTokenizer()])
@pytest.mark.parametrize("text", ["x" * 10_000, "字" * 5_000, "a, " * 4_000, "😀" * 2_000, "e\u0301" * 3_000])
def test_nothing_exceeds_the_limit_whatever_the_input(tokenizer: Any, text: str) -> None:
    builder = BlockBuilder()
    builder.paragraph(text)
    builder.code(text)
    builder.list([text])
    builder.table(make_table([["h", text], [text, "x"], ["y", text]]))
    parents, children = chunk(builder, tokenizer)
    assert max(tokenizer.count_tokens(parent.text) for parent in parents) <= 128
    assert max(tokenizer.count_tokens(child.text) for child in children) <= 32
    for made in [*parents, *children]:
        assert made.tokens == pytest.approx(tokenizer.count_tokens(made.text), rel=0.1, abs=2)


def test_regions_are_those_of_the_blocks_a_child_covers() -> None:
    builder = BlockBuilder()
    boxes = [BBox(0, i, 1, i + 1) for i in range(4)]
    for i, box in enumerate(boxes):
        builder.paragraph(f"段落{i}有二十个字左右所以三段放得下吗不一定。", page=i + 1, bbox=box)
    parents, children = chunk(builder, overlap_tokens=0)
    assert [r for c in children for r in c.regions] == [Region(i + 1, box) for i, box in enumerate(boxes)]
    assert (parents[0].page, parents[0].page_end) == (1, 4)


def test_repeated_passages_get_different_ids() -> None:
    builder = BlockBuilder()
    for _ in range(3):
        builder.heading("释义", 1)
        builder.paragraph("同上。")
    parents, children = chunk(builder)
    assert len({p.chunk_id for p in parents}) == 3
    assert len({c.chunk_id for c in children} | {p.chunk_id for p in parents}) == 6


WORDS = st.text(alphabet="ab 甲乙，。.|\n\t", min_size=1, max_size=60)
LONG = st.integers(20, 120).map(lambda n: "很长" * n)
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("paragraph"), st.one_of(WORDS, LONG)),
        st.tuples(st.just("list"), st.lists(WORDS, max_size=8)),
        st.tuples(st.just("code"), WORDS),
        st.tuples(st.just("heading"), st.sampled_from(["甲", "乙", "丙"])),
        st.tuples(st.just("image"), st.just("")),
    ),
    min_size=1,
    max_size=14,
)


def built(blocks: list[tuple[str, Any]]) -> BlockBuilder:
    builder = BlockBuilder()
    builder.paragraph("起点。")
    for kind, value in blocks:
        if kind == "heading":
            builder.heading(value, 1 + "甲乙丙戊".index(value) % 2)
        else:
            getattr(builder, kind)(value)
    return builder


@settings(deadline=None, max_examples=150)
@given(BLOCKS, st.sampled_from([PieceTokenizer(), AwkwardTokenizer()]), st.integers(0, 16))
def test_nothing_lost_nothing_twice_in_order_within_limits(blocks: Any, tokenizer: Any, overlap: int) -> None:
    builder = built(blocks)
    parsed = build_sections(builder.finish("f.txt", "text/plain", title="T"))
    parents, children = chunk_parsed(parsed, tokenizer, overlap_tokens=overlap)
    body = "".join(b.text for b in parsed.blocks if b.type is not BlockType.HEADING)
    with_text = {b.section_path for b in parsed.blocks if b.type is not BlockType.HEADING and b.text.strip()}
    assert squeeze("".join(p.text for p in parents if p.section_path in with_text)) == squeeze(body)
    by_id = {parent.chunk_id: parent for parent in parents}
    assert len(by_id) == len(parents)
    assert len({child.chunk_id for child in children}) == len(children)
    for parent in parents:
        assert tokenizer.count_tokens(parent.text) <= 128
        assert uncovered(parent, children) == ""
    end: dict[str, int] = {}
    for child in children:
        parent = by_id[child.parent_id]
        assert tokenizer.count_tokens(child.text) <= 32
        assert child.text == parent.text[child.start : child.end]
        assert child.section_path == parent.section_path
        before = end.get(child.parent_id, 0)
        again = parent.text[child.start : max(before, child.start)]
        assert tokenizer.count_tokens(again) <= overlap + 2
        assert child.end > before
        end[child.parent_id] = child.end


TABLES = st.tuples(
    st.integers(1, 6), st.integers(1, 40), st.integers(0, 3), st.integers(1, 30), st.sampled_from(["", "单位：元"])
)


@settings(deadline=None, max_examples=80)
@given(TABLES, st.sampled_from([PieceTokenizer(), AwkwardTokenizer()]))
def test_every_row_once_whatever_the_table(shape: Any, tokenizer: Any) -> None:
    columns, rows, headers, length, unit = shape
    grid = [[f"h{i}{'标题' * length}"] + ["h"] * (columns - 1) for i in range(headers)]
    grid += [[f"<{i}>"] + ["1" * length] * (columns - 1) for i in range(rows)]
    builder = BlockBuilder()
    builder.paragraph("前文在此。")
    builder.paragraph(unit)
    builder.table(make_table(grid, header_rows=headers))
    parents, children = chunk(builder, tokenizer)
    expected = [str(i) for i in range(rows)]
    assert re.findall(r"<(\d+)>", "".join(c.text for c in children)) == expected
    assert re.findall(r"<(\d+)>", "".join(p.text for p in parents)) == expected
    assert all(tokenizer.count_tokens(c.text) <= 32 for c in children)
    assert all(tokenizer.count_tokens(p.text) <= 128 for p in parents)


@st.composite
def merged_tables(draw: st.DrawFn, mark: str) -> tuple[Table, list[str], list[str]]:
    """A table with cells merged over rows and columns and up to three header rows; the texts of its plain body cells in
    order, and those of its merged ones. Every text stands between marks, so none is part of another."""
    columns, headers, body = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(st.integers(1, 16))
    taken: set[tuple[int, int]] = set()
    spans: list[CellSpan] = []
    for _ in range(draw(st.integers(0, 4))):
        row, column = draw(st.integers(0, headers + body - 1)), draw(st.integers(0, columns - 1))
        high, wide = draw(st.integers(1, 4)), draw(st.integers(1, columns))
        bottom = headers if row < headers else headers + body  # a header cell does not reach into the body
        cells = {
            (i, j) for i in range(row, min(row + high, bottom)) for j in range(column, min(column + wide, columns))
        }
        if len(cells) > 1 and not cells & taken:
            taken |= cells
            bounds = max(i for i, _ in cells) - row + 1, max(j for _, j in cells) - column + 1
            spans.append(CellSpan(row, column, *bounds))
    first = {(span.row, span.column) for span in spans}
    word = draw(st.sampled_from(["", "值", "a longer word "])) * draw(st.integers(1, 4))
    texts = {
        (i, j): f"<{mark}{i}.{j}>{word}"
        for i in range(headers + body)
        for j in range(columns)
        if (i, j) not in taken or (i, j) in first
    }
    rows = [[texts.get((i, j), "") for j in range(columns)] for i in range(headers + body)]
    table = make_table(rows, header_rows=headers, spans=spans)
    plain = [f"<{mark}{i}.{j}>" for i, j in texts if i >= table.header_rows and (i, j) not in first]
    return table, plain, [f"<{mark}{i}.{j}>" for i, j in first if i >= table.header_rows]


@settings(deadline=None, max_examples=120)
@given(merged_tables("a"), merged_tables("b"), st.booleans(), st.sampled_from([PieceTokenizer(), AwkwardTokenizer()]))
def test_every_cell_is_kept_of_merged_tables_and_of_tables_across_pages(
    one: Any, other: Any, continued: bool, tokenizer: Any
) -> None:
    builder = BlockBuilder()
    builder.paragraph("前文在此。", page=1)
    builder.table(one[0], page=1)
    builder.table(replace(other[0], continued=continued), page=2)
    parents, children = chunk(builder, tokenizer)
    for made, limit in ((parents, 128), (children, 32)):
        assert all(tokenizer.count_tokens(part.text) <= limit for part in made)
        said = "".join(part.text for part in made)
        plain = [*one[1], *other[1]]
        assert [mark for mark in re.findall(r"<[ab]\d+\.\d+>", said) if mark in plain] == plain
        assert all(mark in said for mark in [*one[2], *other[2]])
    by_id = {parent.chunk_id: parent for parent in parents}
    assert len({child.chunk_id for child in children}) == len(children)
    assert all(child.section_path == by_id[child.parent_id].section_path for child in children)


@settings(deadline=None, max_examples=60)
@given(BLOCKS)
def test_ids_stay_when_a_section_is_inserted_before(blocks: Any) -> None:
    plain = chunk(built(blocks))
    shifted = chunk(built([("heading", "甲"), ("paragraph", "新内容，别处没有。"), ("heading", "戊"), *blocks]))
    titled = {chunk.chunk_id for chunks in plain for chunk in chunks if chunk.section_titles[:1] == ("甲",)}
    assert titled <= {chunk.chunk_id for chunks in shifted for chunk in chunks}


def test_a_change_in_a_long_section_moves_few_chunks() -> None:
    def chunks(changed: int | None) -> set[str]:
        builder = BlockBuilder()
        for i in range(400):
            extra = "这里多了一句话，而且还不短，足以推动后面的内容。" if i == changed else ""
            builder.paragraph(f"第{i}段说明公司在该年度的经营情况以及相关的数据。{extra}")
        return {child.chunk_id for child in chunk(builder)[1]}

    before = chunks(None)
    moved = [len(chunks(changed) - before) for changed in (20, 130, 275)]
    assert sum(moved) / len(moved) < len(before) * 0.1


def test_work_grows_with_length_not_with_its_square() -> None:
    def seconds(n: int) -> float:
        builder = BlockBuilder()
        builder.paragraph("x" * n)
        builder.paragraph("这是一句普通的话。" * (n // 10))
        parsed = build_sections(builder.finish("f", "text/plain"))
        started = time.process_time()
        chunk_parsed(parsed, parent_tokens=1024, child_tokens=256)
        return time.process_time() - started

    seconds(1_000)
    assert seconds(200_000) < 40 * max(seconds(20_000), 0.01)
