"""JSON and JSON Lines: objects become sections, flat records a table, everything else lines of key and value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clew.errors import DamagedFileError, EmptyFileError
from clew.indexing.parsers.base import BlockBuilder, file_stem, make_table, one_line
from clew.indexing.parsers.encodings import decode_text
from clew.types import ParsedFile

MEDIA_TYPE = "application/json"

_TITLE_KEYS = ("title", "name", "heading", "subject", "标题", "名称", "doc_name", "id", "key")
_LONG = 200
"""A text of more characters is a paragraph of its own."""
_MAX_COLUMNS = 60


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of a JSON file. Raises FileFailedError where it is empty or no JSON."""
    if not data.strip():
        raise EmptyFileError(f"{name}: the file is empty.")
    decoded = decode_text(data, name)
    builder = BlockBuilder()
    value = _loaded(decoded.text, name)
    title = _title_of(value)
    _add(value, 0, builder)
    return builder.finish(name, MEDIA_TYPE, title=title or file_stem(name), warnings=filter(None, [decoded.warning]))


def _loaded(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except ValueError:
            pass
        raise DamagedFileError(
            f"{name}: this is no JSON ({error}). Correct the file, or add it as text with the ending .txt."
        ) from error


def _add(value: Any, level: int, builder: BlockBuilder) -> None:
    """The blocks of a value; ``level`` is that of the heading above it."""
    if isinstance(value, Mapping):
        _add_fields({key: each for key, each in value.items() if _is_scalar(each)}, builder)
        for key, each in value.items():
            if not _is_scalar(each) and each:
                builder.heading(str(key), level + 1)
                _add(each, level + 1, builder)
    elif isinstance(value, list):
        _add_list(value, level, builder)
    else:
        builder.paragraph(_shown(value))


def _add_list(values: Sequence[Any], level: int, builder: BlockBuilder) -> None:
    columns = _columns(values)
    if all(map(_is_scalar, values)):
        builder.list(f"- {one_line(_shown(value))}" for value in values)
    elif columns:
        rows = [[_shown(record.get(column, "")) for column in columns] for record in values]
        builder.table(make_table([columns, *rows]))
    else:
        for number, value in enumerate(values, start=1):
            builder.heading(_title_of(value) or str(number), level + 1)
            _add(value, level + 1, builder)


def _columns(values: Sequence[Any]) -> list[str]:
    """The keys of flat records of short values, which make a table; none where they are anything else."""
    if len(values) < 2 or not all(isinstance(value, Mapping) for value in values):
        return []
    keys = list(dict.fromkeys(key for value in values for key in value))
    cells = [each for value in values for each in value.values()]
    short = all(_is_scalar(each) and len(_shown(each)) <= _LONG for each in cells)
    return keys if short and 1 < len(keys) <= _MAX_COLUMNS else []


def _add_fields(fields: Mapping[str, Any], builder: BlockBuilder) -> None:
    lines: list[str] = []
    for key, value in fields.items():
        text = _shown(value)
        if not text:
            continue
        if len(text) <= _LONG:
            lines.append(f"{key}: {one_line(text)}")
            continue
        if lines:
            builder.list(lines)
            lines = []
        builder.paragraph(f"{key}: {text}")
    if lines:
        builder.list(lines)


def _title_of(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    found = (value.get(key) for key in _TITLE_KEYS)
    return next((one_line(str(each)) for each in found if isinstance(each, str | int) and str(each).strip()), "")[:120]


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
