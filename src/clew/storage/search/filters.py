"""What an entry's payload holds, and an :class:`IndexFilter` as a filter over it.

A section is stored with all prefixes of its path, each tied to its file, so that "everything below section X of file
F" is one exact match on a keyword.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from typing import Any

import qdrant_edge as edge

from clew.storage.base import IndexEntry, IndexFilter, Posting
from clew.types import Representation

FILE = "file"
FILE_VERSION = "file_version"
SECTIONS = "sections"
REPRESENTATION = "representation"
TERMS = "terms"
INDEXED_KEYWORDS = (FILE, FILE_VERSION, SECTIONS, REPRESENTATION)
_CHUNK = "chunk"
_PARENT = "parent"
_VERSION = "version"
POSTING_FIELDS = [_CHUNK, _PARENT, FILE, _VERSION]


def point_id(chunk_id: str, version: int, representation: Representation, part: int = 0) -> str:
    """The point's id (a UUID): the same entry always has the same one, so that writing it again overwrites it."""
    key = "\0".join((chunk_id, str(version), representation, str(part)))
    return str(uuid.UUID(bytes=hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()))


def payload(entry: IndexEntry) -> dict[str, Any]:
    """What is stored beside an entry's vector or terms."""
    return {
        _CHUNK: entry.chunk_id,
        _PARENT: entry.parent_id,
        FILE: entry.file_id,
        _VERSION: entry.version,
        FILE_VERSION: file_version(entry.file_id, entry.version),
        REPRESENTATION: str(entry.representation),
        SECTIONS: [_section(entry.file_id, prefix) for prefix in _prefixes(entry.section_path)],
    }


def posting(point: Any) -> Posting:
    """A scored point as a posting."""
    stored = point.payload
    return Posting(stored[_CHUNK], stored[_PARENT], stored[FILE], stored[_VERSION], point.score)


def chunk_id(point: Any) -> str:
    """Which chunk a stored point is of."""
    return str(point.payload[_CHUNK])


def file_version(file_id: str, version: int) -> str:
    """File and version as one keyword."""
    return f"{version}@{file_id}"


def split_file_version(value: str) -> tuple[str, int]:
    """The opposite of :func:`file_version`."""
    version, _, file_id = value.partition("@")
    return file_id, int(version)


def admits_nothing(filter: IndexFilter) -> bool:
    """Whether the filter names an empty set of files or sections."""
    return (filter.file_ids is not None and not filter.file_ids) or (
        filter.sections is not None and not filter.sections
    )


def edge_filter(filter: IndexFilter, representation: Representation | None = None) -> edge.Filter | None:
    """The filter in the engine's words; None where it admits everything."""
    must: list[Any] = []
    if filter.file_ids is not None:
        must.append(_any(FILE, filter.file_ids))
    if filter.sections is not None:
        must.append(_section_condition(filter.sections))
    if representation is not None:
        must.append(_any(REPRESENTATION, [str(representation)]))
    must_not: list[Any] = (
        [_any(FILE_VERSION, {file_version(*pair) for pair in filter.excluded})] if filter.excluded else []
    )
    if not must and not must_not:
        return None
    return edge.Filter(must=must or None, must_not=must_not or None)


def file_filter(file_id: str, *, version: int | None = None, keep_version: int | None = None) -> edge.Filter:
    """All entries of a file, or those of one version, or of all its versions but one."""
    if version is not None:
        return edge.Filter(must=[_any(FILE_VERSION, [file_version(file_id, version)])])
    kept: list[Any] = [] if keep_version is None else [_any(FILE_VERSION, [file_version(file_id, keep_version)])]
    return edge.Filter(must=[_any(FILE, [file_id])], must_not=kept or None)


def _section_condition(sections: Iterable[tuple[str, str]]) -> Any:
    whole_files = {file_id for file_id, path in sections if not path}
    below = {_section(file_id, _normalised(path)) for file_id, path in sections if path}
    conditions: list[Any] = []
    if whole_files:
        conditions.append(_any(FILE, whole_files))
    if below:
        conditions.append(_any(SECTIONS, below))
    return conditions[0] if len(conditions) == 1 else edge.Filter(should=conditions)


def _any(key: str, values: Iterable[str]) -> edge.FieldCondition:
    return edge.FieldCondition(key, match=edge.MatchAny(sorted(values)))


def _section(file_id: str, prefix: str) -> str:
    return f"{prefix}@{file_id}"


def _normalised(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def _prefixes(section_path: str) -> list[str]:
    parts = [part for part in section_path.split("/") if part]
    return ["/".join(parts[:count]) + "/" for count in range(1, len(parts) + 1)]
