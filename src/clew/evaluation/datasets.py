"""Question sets and corpora as JSON lines, gzipped or not.

Corpus rows: ``{"id", "title", "text"}``. Query rows: ``{"id", "question", "answer", "supporting_ids"}`` and, where one
of several passages suffices, ``supporting_groups``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.errors import InputError


@dataclass(frozen=True, slots=True)
class Passage:
    """A corpus row."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and its support: every group needs one of its passages; unanswerable questions have no group."""

    id: str
    question: str
    answer: str
    groups: tuple[frozenset[str], ...]
    type: str = ""
    sentences: tuple[str, ...] = ()
    """Sentences that answer the question, where the set names them: they say which part of a long passage supports."""


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON lines file. Raises InputError naming the line that is none."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _object(path, number, line)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); name a JSON lines file, gzipped or not.") from error


def read_corpus(path: Path) -> list[Passage]:
    """All passages, in order. Raises InputError for a row without id or text, or an id given twice."""
    passages = [Passage(str(row["id"]), str(row.get("title") or ""), str(row["text"])) for row in _rows(path, "text")]
    if len({p.id for p in passages}) != len(passages):
        raise InputError(f"{path}: the same id occurs twice; ids must be unique.")
    return passages


def read_queries(path: Path) -> list[LabelledQuestion]:
    """All questions, in order. Raises InputError for a row without id or question."""
    return [
        LabelledQuestion(
            id=str(row["id"]),
            question=str(row["question"]),
            answer=str(row.get("answer") or ""),
            groups=_groups(row),
            type=str(row.get("type") or ""),
            sentences=tuple(map(str, row.get("reference_sentences") or ())),
        )
        for row in _rows(path, "question")
    ]


def _groups(row: dict[str, Any]) -> tuple[frozenset[str], ...]:
    if row.get("supporting_groups"):
        return tuple(frozenset(map(str, group)) for group in row["supporting_groups"] if group)
    return tuple(frozenset({str(id)}) for id in dict.fromkeys(row.get("supporting_ids") or []))


def _rows(path: Path, field: str) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(read_jsonl(path), start=1):
        if "id" not in row or field not in row:
            raise InputError(f"{path}, row {number}: needs the fields 'id' and {field!r}.")
        yield row


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{path}, line {number}: not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}, line {number}: a JSON object is expected.")
    return value
