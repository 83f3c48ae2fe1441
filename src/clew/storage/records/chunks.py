"""Blocks, sections, parents and children of files, by version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, FromClause, Select, bindparam, delete, insert, select, text

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
    PassageEdit,
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
        edits: Mapping[str, PassageEdit] | None = None,
    ) -> None:
        key = {"file_id": file_id, "version": version}
        rows = {
            "blocks": [key | _block_row(block) for block in parsed.blocks],
            "sections": [key | _section_row(section) for section in parsed.sections],
            "parents": [key | _parent_row(parent) for parent in parents],
            "children": [key | _child_row(child) for child in children],
        }
        with self._db.write() as connection:
            counts = {name: len(found) for name, found in rows.items()}
            _begin_version(connection, file_id, version, parsed, counts, edits or {})
            for name, found in rows.items():
                insert_rows(connection, insert(_TABLES[name]), found)

    def blocks(
        self, file_id: str, version: int | None = None, *, offset: int = 0, limit: int | None = None
    ) -> list[Block]:
        rows = self._of_file(_BLOCK, file_id, version, order=blocks.c.ordinal, offset=offset, limit=limit)
        return [_block(*row) for row in rows]

    def parsed(self, file_id: str) -> ParsedFile | None:
        query = (
            select(file_versions, files.c.file_key.label("wanted"))
            .join(files, (files.c.file_id == file_versions.c.file_id) & (files.c.version == file_versions.c.version))
            .where(files.c.file_id == file_id)
        )
        with self._db.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None or row["file_key"] != row["wanted"]:
            return None
        return ParsedFile(
            row["title"],
            row["language"],
            row["media_type"],
            row["pages"],
            tuple(self.blocks(file_id, row["version"])),
            tuple(self.sections(file_id, version=row["version"])),
            tuple(row["warnings"]),
        )

    def sections(
        self,
        file_id: str,
        *,
        prefix: str = "",
        version: int | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> list[Section]:
        below = _below(sections.c.path, prefix)
        rows = self._of_file(_SECTION, file_id, version, *below, order=sections.c.path, offset=offset, limit=limit)
        return [_section(*row) for row in rows]

    def parents(self, chunk_ids: Iterable[str]) -> dict[str, ParentChunk]:
        return {row[0]: _parent(*row) for row in self._by_id(_FIND_PARENTS, chunk_ids)}

    def children(self, chunk_ids: Iterable[str]) -> dict[str, ChildChunk]:
        return {row[0]: _child(*row) for row in self._by_id(_FIND_CHILDREN, chunk_ids)}

    def file_parents(
        self,
        file_id: str,
        *,
        version: int | None = None,
        prefix: str = "",
        first: int = 0,
        last: int | None = None,
        disabled: bool = False,
    ) -> list[ParentChunk]:
        conditions = [*_below(parents.c.section_path, prefix), parents.c.ordinal >= first]
        if not disabled:
            conditions.append(parents.c.enabled)
        if last is not None:
            conditions.append(parents.c.ordinal <= last)
        rows = self._of_file(_PARENT, file_id, version, *conditions, order=parents.c.ordinal)
        return [_parent(*row) for row in rows]

    def file_children(
        self, file_id: str, *, version: int | None = None, parent_ids: Iterable[str] | None = None
    ) -> list[ChildChunk]:
        of_parents = [] if parent_ids is None else [children.c.parent_id.in_(list(parent_ids))]
        return [_child(*row) for row in self._of_file(_CHILD, file_id, version, *of_parents, order=children.c.ordinal)]

    def _of_file(
        self,
        columns: _Columns,
        file_id: str,
        version: int | None,
        *conditions: ColumnElement[bool],
        order: ColumnElement[Any],
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Sequence[Any]]:
        table = columns[0].table
        query = select(*columns).where(table.c.file_id == file_id, *conditions).order_by(order)
        query = query.offset(offset or None).limit(limit)
        query = _published(query, table) if version is None else query.where(table.c.version == version)
        with self._db.read() as connection:
            return connection.execute(query).all()

    def _by_id(self, query: Select[Any], chunk_ids: Iterable[str]) -> list[Sequence[Any]]:
        rows: list[Sequence[Any]] = []
        with self._db.read() as connection:
            for group in in_groups(chunk_ids):
                rows += connection.execute(query, {"chunk_ids": group}).all()
        return rows


_Columns = Sequence[Column[Any]]

# Columns in the order of the fields: a search reads hundreds of rows, and by position costs a third less than by name.
_BLOCK = [
    blocks.c[name]
    for name in (
        "ordinal", "type", "text", "content_hash", "page", "bbox", "level", "section_path", "grid", "language",
    )
]  # fmt: skip
_SECTION = [sections.c[name] for name in ("path", "titles", "level", "page", "summary", "summary_source")]
_PARENT = [
    parents.c[name]
    for name in (
        "chunk_id", "file_id", "ordinal", "section_path", "section_titles", "text", "tokens", "page", "page_end",
        "enabled", "edited",
    )
]  # fmt: skip
_CHILD = [
    children.c[name]
    for name in (
        "chunk_id", "parent_id", "file_id", "ordinal", "section_path", "section_titles", "text", "tokens", "start",
        "end", "regions",
    )
]  # fmt: skip
_TABLES = {"blocks": blocks, "sections": sections, "parents": parents, "children": children}


def _published(query: Select[Any], table: FromClause) -> Select[Any]:
    """Only rows of the version that the file has published."""
    return query.join(files, (files.c.file_id == table.c.file_id) & (files.c.version == table.c.version))


def _searchable(columns: _Columns) -> Select[Any]:
    """Chunks by ``chunk_ids`` in published versions of completed, enabled files.

    The chunks are looked up first, and by themselves: PostgreSQL, as long as it has no statistics after a large ingest,
    would else read whole files. Built once, because building costs as much as running it.
    """
    table = columns[0].table
    found = (
        select(*columns, table.c.version)
        .where(table.c.chunk_id.in_(bindparam("chunk_ids", expanding=True)))
        .cte("found")
    )
    found = found.prefix_with("MATERIALIZED", dialect="postgresql")
    chunks = select(*[found.c[column.name] for column in columns])
    return _published(chunks, found).where(files.c.status == FileStatus.COMPLETED.value, files.c.enabled)


_FIND_PARENTS = _searchable(_PARENT).where(text("found.enabled"))
_FIND_CHILDREN = _searchable(_CHILD)


def _below(column: ColumnElement[str], prefix: str) -> list[ColumnElement[bool]]:
    """Paths that start with ``prefix``, as a range that the index serves."""
    if not prefix:
        return []
    return [column >= prefix, column < prefix[:-1] + chr(ord(prefix[-1]) + 1)]


def _begin_version(
    connection: Connection,
    file_id: str,
    version: int,
    parsed: ParsedFile,
    counts: dict[str, int],
    edits: Mapping[str, PassageEdit],
) -> None:
    """Drop what an interrupted attempt left of the version and write its own row."""
    file = connection.execute(select(files).where(files.c.file_id == file_id)).mappings().one_or_none()
    if file is None:
        raise NotFoundError(f"There is no file {file_id!r}")
    if file["status"] != FileStatus.PROCESSING or file["writing"] != version:
        raise ConflictError(
            f"Version {version} of {file['name']} is not being written: it is published, ended, or a newer began"
        )
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
        "edits": edits_row(edits),
    }
    connection.execute(insert(file_versions), row)


def edits_row(edits: Mapping[str, PassageEdit]) -> dict[str, Any] | None:
    """Edits as JSON."""
    return {chunk_id: asdict(edit) for chunk_id, edit in edits.items()} or None


def edits_of(value: dict[str, Any] | None) -> dict[str, PassageEdit]:
    """The opposite of :func:`edits_row`."""
    return {chunk_id: edit_of(edit) for chunk_id, edit in (value or {}).items()}


def edit_of(value: dict[str, Any]) -> PassageEdit:
    """One edit from its JSON."""
    return PassageEdit(tuple(value["section_titles"]), value["text"], value["enabled"])


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


def _block(
    ordinal: int,
    kind: str,
    text: str,
    content_hash: str,
    page: int | None,
    box: list[float] | None,
    level: int | None,
    path: str,
    grid: dict[str, Any] | None,
    language: str | None,
) -> Block:
    return Block(
        ordinal,
        BlockType(kind),
        text,
        content_hash,
        page,
        None if box is None else BBox(*box),
        level,
        path,
        None if grid is None else _grid(grid),
        language,
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


def _section(path: str, titles: list[str], *rest: Any) -> Section:
    return Section(path, tuple(titles), *rest)


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
        "enabled": parent.enabled,
        "edited": parent.edited,
    }


def _parent(chunk_id: str, file_id: str, ordinal: int, path: str, titles: list[str], *rest: Any) -> ParentChunk:
    return ParentChunk(chunk_id, file_id, ordinal, path, tuple(titles), *rest)


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


def _child(
    chunk_id: str,
    parent_id: str,
    file_id: str,
    ordinal: int,
    path: str,
    titles: list[str],
    text: str,
    tokens: int,
    start: int,
    end: int,
    regions: list[list[Any]],
) -> ChildChunk:
    places = tuple([Region(page, BBox(*box) if box else None) for page, *box in regions])
    return ChildChunk(
        chunk_id, parent_id, file_id, ordinal, path, tuple(titles), text, tokens, start, end, places
    )  # fmt: skip
