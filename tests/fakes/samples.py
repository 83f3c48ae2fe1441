"""Small files, parsed and chunked, as tests of storage need them."""

from __future__ import annotations

import hashlib

from clew.storage.base import NewFile
from clew.types import (
    BBox,
    Block,
    BlockType,
    CellSpan,
    ChildChunk,
    KnowledgeBase,
    ParentChunk,
    ParsedFile,
    Region,
    Section,
    Table,
)


def kb(kb_id: str = "kb1", name: str = "reports") -> KnowledgeBase:
    return KnowledgeBase(kb_id=kb_id, name=name, created_at="2025-01-01T00:00:00.000000+00:00")


def new_file(file_id: str = "f1", content: str = "v1", *, kb_id: str = "kb1", name: str = "") -> NewFile:
    return NewFile(
        file_id=file_id,
        kb_id=kb_id,
        name=name or f"{file_id}.pdf",
        media_type="application/pdf",
        size=len(content),
        file_key=f"{file_id}/{content}",
        content_hash=hashlib.sha256(content.encode()).hexdigest(),
        source_path=f"/in/{file_id}.pdf",
    )


def parsed(text: str = "Revenue rose.") -> ParsedFile:
    """A file with every kind of value that a block or section can hold."""
    table = Table(
        rows=(("单位：万元", "", "2024"), ("营业收入", "主营", "1,234.50"), ("", "其他", "|")),
        header_rows=1,
        spans=(CellSpan(0, 0, 1, 2), CellSpan(1, 0, 2, 1)),
        continued=True,
    )
    blocks = (
        Block(0, BlockType.HEADING, "第一章 100%_增长", "h0", page=1, level=1, section_path="0001/"),
        Block(1, BlockType.PARAGRAPH, text, "h1", page=1, bbox=BBox(1.5, 2.25, 300.1, 40.0), section_path="0001/"),
        Block(2, BlockType.TABLE, "营业收入 | 主营 | 1,234.50", "h2", page=2, section_path="0001/0001/", table=table),
        Block(3, BlockType.CODE, "print('𝄞')\n", "h3", section_path="0010/", language="python"),
    )
    sections = (
        Section("", ("Annual report",), 0, summary="All in all.", summary_source="extractive"),
        Section("0001/", ("第一章 100%_增长",), 1, page=1),
        Section("0001/0001/", ("第一章 100%_增长", "Tables"), 2, page=2, summary="Numbers.", summary_source="model"),
        Section("0010/", ("Annex",), 1),
    )
    return ParsedFile("Annual report", "zh", "application/pdf", 3, blocks, sections, ("page 3 is empty",))


def parents(file_id: str = "f1", number: int = 3) -> list[ParentChunk]:
    """One parent per section in turn: 0001/, 0001/0001/, 0010/, 0001/ …"""
    paths = ("0001/", "0001/0001/", "0010/")
    return [
        ParentChunk(
            chunk_id=f"{file_id}-p{i}",
            file_id=file_id,
            ordinal=i,
            section_path=paths[i % 3],
            section_titles=("第一章 100%_增长", "Tables")[: 1 + i % 2],
            text=f"Parent {i} 营业收入",
            tokens=6,
            page=i + 1,
            page_end=None if i % 2 else i + 2,
        )
        for i in range(number)
    ]


def children(file_id: str = "f1", number: int = 3, text: str = "Child") -> list[ChildChunk]:
    """One child per parent."""
    return [
        ChildChunk(
            chunk_id=f"{file_id}-c{i}",
            parent_id=f"{file_id}-p{i}",
            file_id=file_id,
            ordinal=i,
            section_path="0001/",
            section_titles=("第一章 100%_增长",),
            text=f"{text} {i}",
            tokens=3,
            start=0,
            end=8,
            regions=(Region(i + 1, BBox(0.1, 0.2, 100.7, 12.0)), Region(i + 2)) if i % 2 == 0 else (),
        )
        for i in range(number)
    ]
