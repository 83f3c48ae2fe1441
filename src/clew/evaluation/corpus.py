"""A JSONL corpus as a knowledge base: each row is a section with its title, cut and embedded like any file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clew.app import Clew
from clew.evaluation.datasets import Passage
from clew.indexing.parsers.base import BlockBuilder
from clew.types import FileStatus, ParsedFile, Section

_WIDTH = 6


@dataclass(frozen=True, slots=True)
class CorpusKb:
    """The KB made of a corpus, and which passage each of its sections is."""

    kb_id: str
    passage_of: dict[str, str]
    """section_path → passage id"""


def open_corpus(
    clew: Clew, name: str, passages: Sequence[Passage], *, on_progress: Callable[[str, float], None]
) -> CorpusKb:
    """The KB of a corpus, built where the data folder does not hold it yet; vectors are cached, so a second build
    after an interruption goes on where it stopped."""
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(repr(passage).encode())
    kb_name = f"{name}-{digest.hexdigest()[:12]}"
    kb = next((k for k in clew.list_kbs() if k.name == kb_name), None) or clew.create_kb(kb_name)
    if not clew.list_files(kb.kb_id, status=FileStatus.COMPLETED):
        clew.ingest_parsed(kb.kb_id, name, parsed_corpus(passages), on_progress=on_progress)
    return CorpusKb(kb.kb_id, {_path(i): passage.id for i, passage in enumerate(passages, start=1)})


def parsed_corpus(passages: Sequence[Passage]) -> ParsedFile:
    """The corpus as a parsed file: one section per passage. The file has no title, so none helps the search."""
    builder = BlockBuilder()
    paths: list[str] = []
    sections = [Section("", ("",), 0)]
    for i, passage in enumerate(passages, start=1):
        sections.append(Section(_path(i), (passage.title,), 1))
        builder.paragraph(passage.text)
        paths += [_path(i)] * (len(builder) - len(paths))
    parsed = builder.finish("corpus.jsonl", "application/jsonl")
    blocks = tuple(replace(block, section_path=path) for block, path in zip(parsed.blocks, paths, strict=True))
    return replace(parsed, title="", blocks=blocks, sections=tuple(sections))


def _path(ordinal: int) -> str:
    return f"{ordinal:0{_WIDTH}d}/"
