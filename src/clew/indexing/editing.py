"""Passages that people edit or disable: laid over what was read, at every chunking of the file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clew.indexing.chunking import chunk_file
from clew.indexing.fragments import CountTokens, TokenOffsets
from clew.indexing.hashing import content_hash
from clew.types import Block, BlockType, ChildChunk, ParentChunk, ParsedFile, PassageEdit, Section

_PARAGRAPH_END = re.compile(r"\n\s*\n")


def apply_edits(
    parents: Sequence[ParentChunk],
    children: Sequence[ChildChunk],
    edits: Mapping[str, PassageEdit],
    *,
    count_tokens: CountTokens,
    token_offsets: TokenOffsets,
    child_tokens: int,
    overlap_tokens: int,
) -> tuple[list[ParentChunk], list[ChildChunk]]:
    """The chunks of a file with its edits, by id of the parent; an edit whose parent is not there changes nothing.

    A parent keeps its id and place whatever it says now. Its children are made anew from the new text, with ids that
    no unedited child has, and are marked on the page where the old text stands. A disabled parent has none.
    """
    old: dict[str, list[ChildChunk]] = {}
    for child in children:
        old.setdefault(child.parent_id, []).append(child)
    new_parents: list[ParentChunk] = []
    new_children: list[ChildChunk] = []
    for parent in parents:
        own = old.get(parent.chunk_id, [])
        if (edit := edits.get(parent.chunk_id)) is not None:
            if edit.text is not None:
                parent, own = _rewritten(
                    parent, own, edit.text, child_tokens, overlap_tokens, count_tokens, token_offsets
                )
            if not edit.enabled:
                parent, own = replace(parent, enabled=False), []
        new_parents.append(parent)
        new_children += own
    return new_parents, [replace(child, ordinal=i) for i, child in enumerate(new_children)]


def blocks_of(parents: Sequence[ParentChunk]) -> list[Block]:
    """What there is to read in edited passages, a block each."""
    return [_paragraph(i, parent.text, parent) for i, parent in enumerate(parents) if parent.enabled]


def _paragraph(ordinal: int, text: str, parent: ParentChunk) -> Block:
    kind = BlockType.PARAGRAPH
    return Block(ordinal, kind, text, content_hash(kind, text), parent.page, section_path=parent.section_path)


def _rewritten(
    parent: ParentChunk,
    children: Sequence[ChildChunk],
    text: str,
    child_tokens: int,
    overlap_tokens: int,
    count_tokens: CountTokens,
    token_offsets: TokenOffsets,
) -> tuple[ParentChunk, list[ChildChunk]]:
    paragraphs = filter(None, (paragraph.strip() for paragraph in _PARAGRAPH_END.split(text)))
    blocks = tuple(_paragraph(i, paragraph, parent) for i, paragraph in enumerate(paragraphs))
    section = Section(parent.section_path, parent.section_titles, len(parent.section_titles))
    (whole,), chunked = chunk_file(
        parent.file_id,
        ParsedFile("", "", "", None, blocks, (section,)),
        count_tokens=count_tokens,
        token_offsets=token_offsets,
        # Beyond what the text has, so that the passage stays one.
        parent_tokens=2 * max(child_tokens, count_tokens(text)),
        child_tokens=child_tokens,
        overlap_tokens=overlap_tokens,
    )
    regions = tuple(dict.fromkeys(region for child in children for region in child.regions))
    own = [
        replace(child, chunk_id=_edited_id(parent, child), parent_id=parent.chunk_id, regions=regions)
        for child in chunked
    ]
    return replace(parent, text=whole.text, tokens=whole.tokens, edited=True), own


def _edited_id(parent: ParentChunk, child: ChildChunk) -> str:
    return hashlib.sha256(f"{parent.chunk_id}\0{child.chunk_id}".encode()).hexdigest()[:32]
