"""Blocks, sections, parents and children of files, by version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, insert, select
from sqlalchemy.engine import RowMapping

from clew.errors import ConflictError, NotFoundError
from clew.storage.records.database import Database, in_groups, insert_rows
from clew.storage.records.tables import blocks, children, file_versions, files, parents, sections
from clew.types import (
    BBox,
    Block,
    BlockType,
    CellSpan,
    ChildChunk,
    FileStatus,
    ParentChunk,
    ParsedFile,
    Region,
    Section,
)
from clew.types import (
    Table as Grid,
)


class SqlChunks:
    """Implements ``ChunkRecords``."""

    _db: Database

    def stage(
        self,
        file_id: str,
        version: int,
        parsed: ParsedFile,
        parents: Sequence[ParentChunk],
        children: Sequence[ChildChunk],
    ) -> None:
        key = {"file_id": file_id, "version": version}
        rows = {
            "blocks": [key | _block_row(block) for block in parsed.blocks],
            "sections": [key | _section_row(section) for section in parsed.sections],
            "parents": [key | _parent_row(parent) for parent in parents],
            "children": [key | _child_row(child) for child in children],
        }
        with self._db.write() as connection:
            _begin_version(connection, file_id, version, parsed, {name: len(found) for name, found in rows.items()})
            for name, found in rows.items():
                insert_rows(connection, insert(_TABLES[name]), found)

    def blocks(self, file_id: str, version: int | None = None) -> list[Block]:
        return [_block(row) for row in self._of_file(blocks, file_id, version, order=blocks.c.ordinal)]

    def sections(self, file_id: str, *, prefix: str = "", version: int | None = None) -> list[Section]:
        rows = self._of_file(sections, file_id, version, *_below(sections.c.path, prefix), order=sections.c.path)
        return [_section(row) for row in rows]

    def parents(self, chunk_ids: Iterable[str]) -> dict[str, ParentChunk]:
        return {row["chunk_id"]: _parent(row) for row in self._by_id(parents, chunk_ids)}

    def children(self, chunk_ids: Iterable[str]) -> dict[str, ChildChunk]:
        return {row["chunk_id"]: _child(row) for row in self._by_id(children, chunk_ids)}

    def file_parents(
        self,
        file_id: str,
        *,
        version: int | None = None,
        prefix: str = "",
        first: int = 0,
        last: int | None = None,
    ) -> list[ParentChunk]:
        conditions = [*_below(parents.c.section_path, prefix), parents.c.ordinal >= first]
        if last is not None:
            conditions.append(parents.c.ordinal <= last)
        rows = self._of_file(parents, file_id, version, *conditions, order=parents.c.ordinal)
        return [_parent(row) for row in rows]

    def file_children(self, file_id: str, *, version: int | None = None) -> list[ChildChunk]:
        return [_child(row) for row in self._of_file(children, file_id, version, order=children.c.ordinal)]

    def _of_file(
        self,
        table: Table,
        file_id: str,
        version: int | None,
        *conditions: ColumnElement[bool],
        order: ColumnElement[Any],
    ) -> Sequence[RowMapping]:
        query = select(table).where(table.c.file_id == file_id, *conditions).order_by(order)
        query = _published(query, table) if version is None else query.where(table.c.version == version)
        with self._db.read() as connection:
            return connection.execute(query).mappings().all()

    def _by_id(self, table: Table, chunk_ids: Iterable[str]) -> list[RowMapping]:
        searchable = _published(select(table), table).where(
            files.c.status == FileStatus.COMPLETED.value, files.c.enabled
        )
        found: list[RowMapping] = []
        with self._db.read() as connection:
            for group in in_groups(chunk_ids):
                found += connection.execute(searchable.where(table.c.chunk_id.in_(group))).mappings()
        return found


_TABLES = {"blocks": blocks, "sections": sections, "parents": parents, "children": children}


def _published(query: Select[Any], table: Table) -> Select[Any]:
    """Only rows of the version that the file has published."""
    return query.join(files, (files.c.file_id == table.c.file_id) & (files.c.version == table.c.version))


def _below(column: ColumnElement[str], prefix: str) -> list[ColumnElement[bool]]:
    """Paths that start with ``prefix``, as a range that the index serves."""
    if not prefix:
        return []
    return [column >= prefix, column < prefix[:-1] + chr(ord(prefix[-1]) + 1)]


def _begin_version(
    connection: Connection, file_id: str, version: int, parsed: ParsedFile, counts: dict[str, int]
) -> None:
    """Drop what an interrupted attempt left of the version and write its own row."""
    file = connection.execute(select(files).where(files.c.file_id == file_id)).mappings().one_or_none()
    if file is None:
        raise NotFoundError(f"There is no file {file_id!r}")
    if version <= file["version"]:
        raise ConflictError(f"Version {version} of {file['name']} is published already; stage a newer one")
    connection.execute(
        delete(file_versions).where(file_versions.c.file_id == file_id, file_versions.c.version == version)
    )
    row = {name: file[name] for name in ("name", "media_type", "size", "file_key", "content_hash")} | {
        "file_id": file_id,
        "version": version,
        "title": parsed.title,
        "language": parsed.language,
        "pages": parsed.pages,
        "counts": counts,
        "warnings": list(parsed.warnings),
    }
    connection.execute(insert(file_versions), row)


def _box_row(box: BBox) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]


def _grid_row(grid: Grid) -> dict[str, Any]:
    return {
        "rows": [list(row) for row in grid.rows],
        "header_rows": grid.header_rows,
        "spans": [[span.row, span.column, span.rows, span.columns] for span in grid.spans],
        "continued": grid.continued,
    }


def _grid(value: dict[str, Any]) -> Grid:
    return Grid(
        rows=tuple(tuple(row) for row in value["rows"]),
        header_rows=value["header_rows"],
        spans=tuple(CellSpan(*span) for span in value["spans"]),
        continued=value["continued"],
    )


def _block_row(block: Block) -> dict[str, Any]:
    return {
        "ordinal": block.ordinal,
        "type": block.type.value,
        "text": block.text,
        "content_hash": block.content_hash,
        "page": block.page,
        "bbox": None if block.bbox is None else _box_row(block.bbox),
        "level": block.level,
        "section_path": block.section_path,
        "grid": None if block.table is None else _grid_row(block.table),
        "language": block.language,
    }


def _block(row: RowMapping) -> Block:
    return Block(
        ordinal=row["ordinal"],
        type=BlockType(row["type"]),
        text=row["text"],
        content_hash=row["content_hash"],
        page=row["page"],
        bbox=None if row["bbox"] is None else BBox(*row["bbox"]),
        level=row["level"],
        section_path=row["section_path"],
        table=None if row["grid"] is None else _grid(row["grid"]),
        language=row["language"],
    )


def _section_row(section: Section) -> dict[str, Any]:
    return {
        "path": section.path,
        "titles": list(section.titles),
        "level": section.level,
        "page": section.page,
        "summary": section.summary,
        "summary_source": section.summary_source,
    }


def _section(row: RowMapping) -> Section:
    return Section(
        path=row["path"],
        titles=tuple(row["titles"]),
        level=row["level"],
        page=row["page"],
        summary=row["summary"],
        summary_source=row["summary_source"],
    )


def _parent_row(parent: ParentChunk) -> dict[str, Any]:
    return {
        "chunk_id": parent.chunk_id,
        "ordinal": parent.ordinal,
        "section_path": parent.section_path,
        "section_titles": list(parent.section_titles),
        "text": parent.text,
        "tokens": parent.tokens,
        "page": parent.page,
        "page_end": parent.page_end,
    }


def _parent(row: RowMapping) -> ParentChunk:
    return ParentChunk(
        chunk_id=row["chunk_id"],
        file_id=row["file_id"],
        ordinal=row["ordinal"],
        section_path=row["section_path"],
        section_titles=tuple(row["section_titles"]),
        text=row["text"],
        tokens=row["tokens"],
        page=row["page"],
        page_end=row["page_end"],
    )


def _child_row(child: ChildChunk) -> dict[str, Any]:
    return {
        "chunk_id": child.chunk_id,
        "parent_id": child.parent_id,
        "ordinal": child.ordinal,
        "section_path": child.section_path,
        "section_titles": list(child.section_titles),
        "text": child.text,
        "tokens": child.tokens,
        "start": child.start,
        "end": child.end,
        "regions": [[region.page, *(_box_row(region.bbox) if region.bbox else ())] for region in child.regions],
    }


def _child(row: RowMapping) -> ChildChunk:
    return ChildChunk(
        chunk_id=row["chunk_id"],
        parent_id=row["parent_id"],
        file_id=row["file_id"],
        ordinal=row["ordinal"],
        section_path=row["section_path"],
        section_titles=tuple(row["section_titles"]),
        text=row["text"],
        tokens=row["tokens"],
        start=row["start"],
        end=row["end"],
        regions=tuple(Region(page, BBox(*box) if box else None) for page, *box in row["regions"]),
    )
