"""Blocks with their sections → parent chunks (what is read) and child chunks (what is searched).

A section's blocks become fragments (:mod:`clew.indexing.fragments`); fragments are packed in order into parents, and
each parent's fragments into children. Chunk ids name what a chunk says and where it belongs, not where it stands: the
titles of its section, the hash of its text and which occurrence of that text it is. So a chunk keeps its id when a
section is inserted before it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from clew.indexing.fragments import CountTokens, Fragment, Tokenizer, TokenOffsets, blocks_of, fragments_of
from clew.indexing.sections import titles_by_path
from clew.types import Block, BlockType, ChildChunk, ParentChunk, ParsedFile, Region

# Up to this share of a limit the sum of the parts' tokens is taken for the whole's; it differs by a few. Beyond it the
# whole is counted: tokenising is most of the work of chunking.
_SURE = 0.85
# A parent that is this full may end early at a block that its hash picks (one in four). The same blocks are picked
# whatever stands before them, so an insertion moves the ends of a few parents and not of all that follow.
_ANCHOR_FROM = 0.6
_ANCHORS = 4
_CLAUSE_START = re.compile(r"(?<=[。！？，、；：])\s*(?=\S)|(?<=[,;:.!?])\s+(?=\S)|\n(?=\S)")


def chunk_file(
    file_id: str,
    parsed: ParsedFile,
    *,
    count_tokens: CountTokens,
    token_offsets: TokenOffsets,
    parent_tokens: int = 1024,
    child_tokens: int = 256,
    overlap_tokens: int = 32,
) -> tuple[list[ParentChunk], list[ChildChunk]]:
    """Parents and children of a file whose sections are built, both in reading order.

    A parent lies inside one section and has at most ``parent_tokens``, a child inside one parent and at most
    ``child_tokens`` (both as ``count_tokens`` counts; a chunk's ``tokens`` are exact near its limit, else the sum of
    its sentences'). Text that
    follows text in the same parent begins with up to ``overlap_tokens`` of what came before; rows of tables and code
    never repeat, instead a part of a table repeats the caption, unit line and header rows.

    Headings are not part of a chunk's text (they are its ``section_titles``), except where a section holds nothing
    else. A file without any text gives no chunks.
    """
    tokenizer = Tokenizer(count_tokens, token_offsets)
    child_tokens = min(child_tokens, parent_tokens)
    overlap_tokens = min(overlap_tokens, child_tokens // 2)
    titles = titles_by_path(parsed.sections)
    identify = _Identities(file_id)
    parents: list[ParentChunk] = []
    children: list[ChildChunk] = []
    for path, blocks in _sections_with_text(parsed.blocks):
        section_titles = titles.get(path, ())
        fragments = fragments_of(blocks, tokenizer, child_tokens)
        for start, end, head, text, tokens in _pack(
            fragments, parent_tokens, tokenizer, _ParentPacker(fragments, parent_tokens)
        ):
            group = fragments[start:end]
            pages = [block.page for block in blocks_of(group) if block.page is not None]
            parent = ParentChunk(
                chunk_id=identify("parent", section_titles, text),
                file_id=file_id,
                ordinal=len(parents),
                section_path=path,
                section_titles=section_titles,
                text=text,
                tokens=tokens,
                page=min(pages, default=None),
                page_end=max(pages, default=None),
            )
            parents.append(parent)
            packer = _ChildPacker(group, child_tokens, overlap_tokens, text, _spans(group, head))
            children.extend(_children(parent, packer, tokenizer, identify, len(children)))
    return parents, children


def _children(
    parent: ParentChunk, packer: _ChildPacker, tokenizer: Tokenizer, identify: _Identities, first: int
) -> Iterator[ChildChunk]:
    packed = _pack(packer.fragments, packer.limit, tokenizer, packer)
    for ordinal, (start, end, head, text, tokens) in enumerate(packed, start=first):
        yield ChildChunk(
            chunk_id=identify("child", parent.section_titles, text),
            parent_id=parent.chunk_id,
            file_id=parent.file_id,
            ordinal=ordinal,
            section_path=parent.section_path,
            section_titles=parent.section_titles,
            text=text,
            tokens=tokens,
            start=packer.spans[start][0] if head.start is None else head.start,
            end=packer.spans[end - 1][1],
            regions=_regions(packer.fragments[start if head.reach is None else head.reach : end]),
        )


class _Identities:
    """Chunk ids of one file."""

    def __init__(self, file_id: str) -> None:
        self._file_id = file_id
        self._occurrences: Counter[bytes] = Counter()

    def __call__(self, kind: str, titles: Sequence[str], text: str) -> str:
        normal = " ".join(text.split())
        key = "\x1e".join((self._file_id, kind, "\x1f".join(titles), normal)).encode("utf-8", "replace")
        identity = hashlib.sha256(key).digest()
        self._occurrences[identity] += 1
        occurrence = self._occurrences[identity]
        return hashlib.sha256(identity + str(occurrence).encode()).hexdigest()[:32]


def _sections_with_text(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Each section's path and the blocks that its chunks are made of."""
    groups = [(path, list(group)) for path, group in groupby(blocks, key=lambda block: block.section_path)]
    for index, (path, group) in enumerate(groups):
        body = [block for block in group if block.type is not BlockType.HEADING]
        if any(block.text.strip() for block in body):
            yield path, body
            continue
        following = groups[index + 1][0] if index + 1 < len(groups) else None
        if following is None or not following.startswith(path):
            headings = [block for block in group if block.text.strip()]
            if headings:
                yield path, headings


@dataclass(frozen=True, slots=True)
class _Head:
    """What a chunk begins with before its first own fragment: an overlap or a table's lead."""

    tokens: int = 0
    prefix: str = ""
    """Text that is not in the parent at this place."""
    start: int | None = None
    """Where the overlap begins in the parent."""
    reach: int | None = None
    """The first fragment that the overlap touches."""


_NO_HEAD = _Head()


class _Packer(Protocol):
    """What differs between packing parents and packing children."""

    def head(self, start: int) -> _Head:
        """What a chunk that begins with fragment ``start`` has before it."""
        ...

    def text(self, start: int, end: int, head: _Head) -> str:
        """The chunk of fragments ``start`` to ``end`` (exclusive)."""
        ...

    def ends_before(self, fragment: Fragment, size: int, cost: int, left: int) -> bool:
        """Whether a chunk of ``size`` tokens ends here; ``left``: tokens from its beginning to the end of all."""
        ...


def _pack(
    fragments: Sequence[Fragment], limit: int, tokenizer: Tokenizer, packer: _Packer
) -> Iterator[tuple[int, int, _Head, str, int]]:
    """Groups of fragments whose text has at most ``limit`` tokens: ``(start, end, head, text, tokens)``."""
    sums = _sums_to_the_end(fragments)
    start = 0
    while start < len(fragments):
        head = packer.head(start)
        if head.tokens + fragments[start].tokens > limit:
            head = _NO_HEAD
        size = head.tokens + fragments[start].tokens
        left = head.tokens + sums[start]
        end = start + 1
        while end < len(fragments):
            fragment = fragments[end]
            cost = fragment.tokens + (1 if fragment.separator else 0)
            if size + cost > limit or packer.ends_before(fragment, size, cost, left):
                break
            size += cost
            end += 1
        text = packer.text(start, end, head)
        tokens = size
        if size > _SURE * limit:
            tokens = tokenizer.count(text)
            while tokens > limit and (end - start > 1 or head is not _NO_HEAD):
                # The whole has more tokens than its parts promised.
                if end - start > 1:
                    end = _moved_back(fragments, start, end, tokens - limit)
                else:
                    head = _NO_HEAD
                text = packer.text(start, end, head)
                tokens = tokenizer.count(text)
        yield start, end, head, text, tokens
        start = end


def _moved_back(fragments: Sequence[Fragment], start: int, end: int, excess: int) -> int:
    while end - start > 1 and excess > 0:
        end -= 1
        excess -= max(fragments[end].tokens, 1)
    return end


def _sums_to_the_end(fragments: Sequence[Fragment]) -> list[int]:
    sums = [0] * (len(fragments) + 1)
    for index in range(len(fragments) - 1, -1, -1):
        fragment = fragments[index]
        sums[index] = sums[index + 1] + fragment.tokens + (1 if fragment.separator else 0)
    return sums


def _ends_before(fragment: Fragment, size: int, left: int, limit: int) -> bool:
    """Whether a chunk ends early: before a unit that should not be split, or where two halves are left."""
    if fragment.opens_unit and size + fragment.unit_tokens > limit:
        fits_alone = fragment.keeps_together and fragment.unit_tokens <= limit
        return fits_alone or 2 * size >= limit
    divisible = fragment.opens_unit or not fragment.keeps_together or fragment.unit_tokens > limit
    return divisible and limit < left <= 2 * limit and 2 * size >= left


@dataclass(frozen=True, slots=True)
class _ParentPacker:
    fragments: Sequence[Fragment]
    limit: int

    def head(self, start: int) -> _Head:
        return _lead_head(self.fragments[start])

    def text(self, start: int, end: int, head: _Head) -> str:
        return "".join(_parts(self.fragments[start:end], head))

    def ends_before(self, fragment: Fragment, size: int, cost: int, left: int) -> bool:
        if not fragment.opens_unit:
            return False
        if size >= _ANCHOR_FROM * self.limit and left > self.limit and _is_anchor(fragment):
            return True
        return _ends_before(fragment, size, left, self.limit)


@dataclass(frozen=True, slots=True)
class _ChildPacker:
    fragments: Sequence[Fragment]
    limit: int
    overlap: int
    parent: str
    spans: Sequence[tuple[int, int]]

    def head(self, start: int) -> _Head:
        lead = _lead_head(self.fragments[start])
        if lead is not _NO_HEAD or not start or not self.overlap or self.fragments[start].keeps_together:
            return lead
        return self._overlap(start)

    def _overlap(self, start: int) -> _Head:
        """Whole fragments before ``start`` that fit into the overlap, else the last clauses of the one before it."""
        tokens = 0
        index = start
        while index and not self.fragments[index - 1].keeps_together:
            cost = self.fragments[index - 1].tokens + 1
            if tokens + cost > self.overlap:
                break
            tokens += cost
            index -= 1
        if index < start:
            return _Head(tokens, "", self.spans[index][0], index)
        before = self.fragments[start - 1]
        if before.keeps_together:
            return _NO_HEAD
        reach = int(len(before.text) * (self.overlap - 1) / max(before.tokens, 1))
        clause = _CLAUSE_START.search(before.text, max(len(before.text) - reach, 1))
        if not clause or clause.end() >= len(before.text):
            return _NO_HEAD
        share = (len(before.text) - clause.end()) / len(before.text)
        return _Head(int(share * before.tokens) + 1, "", self.spans[start - 1][0] + clause.end(), start - 1)

    def text(self, start: int, end: int, head: _Head) -> str:
        begin = self.spans[start][0] if head.start is None else head.start
        return head.prefix + self.parent[begin : self.spans[end - 1][1]]

    def ends_before(self, fragment: Fragment, size: int, cost: int, left: int) -> bool:
        return _ends_before(fragment, size, left, self.limit)


def _is_anchor(fragment: Fragment) -> bool:
    return int(fragment.blocks[0].content_hash[:8], 16) % _ANCHORS == 0


def _lead_head(fragment: Fragment) -> _Head:
    lead = fragment.lead
    return _Head(lead.tokens + 1, f"{lead.text}\n") if lead else _NO_HEAD


def _parts(fragments: Sequence[Fragment], head: _Head) -> Iterator[str]:
    yield head.prefix
    for index, fragment in enumerate(fragments):
        if index:
            yield fragment.separator
        yield fragment.text


def _spans(fragments: Sequence[Fragment], head: _Head) -> list[tuple[int, int]]:
    """Where each fragment stands in the text of all."""
    spans: list[tuple[int, int]] = []
    position = len(head.prefix)
    for index, fragment in enumerate(fragments):
        position += len(fragment.separator) if index else 0
        spans.append((position, position + len(fragment.text)))
        position += len(fragment.text)
    return spans


def _regions(fragments: Sequence[Fragment]) -> tuple[Region, ...]:
    regions = (Region(block.page, block.bbox) for block in blocks_of(fragments) if block.page is not None)
    return tuple(dict.fromkeys(regions))
