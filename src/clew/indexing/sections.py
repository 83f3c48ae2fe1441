"""The section tree: blocks in reading order become sections with materialised paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from clew.indexing.hashing import content_hash
from clew.indexing.numbering import dense_levels, is_heading_like, is_sentence_like, numbering_level
from clew.types import Block, BlockType, ParsedFile, Section

__all__ = ["build_sections", "dense_levels", "is_heading_like", "numbering_level"]

MIN_ORDINAL_WIDTH = 4


@dataclass(slots=True)
class _Node:
    title: str
    level: int
    page: int | None
    children: list[_Node] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)


def build_sections(parsed: ParsedFile) -> ParsedFile:
    """The same file with its sections, and with every block's ``section_path``.

    The root section has the empty path and the file's title; it holds what comes before the first heading. A
    heading opens a section below the nearest heading before it that has a higher level, so skipped levels make
    no empty sections. Ordinals count siblings from 1, four digits wide; a file with a section of 10,000 or more
    children gets wider ones throughout, so paths always sort in reading order. Titles may repeat.

    A section's ``level`` is its depth: 0 for the root, 1 for the sections below it, and so on.
    """
    root = _Node(parsed.title, 0, _first_page(parsed.blocks))
    stack = [root]
    blocks = [_demoted(block) for block in parsed.blocks]
    for index, block in enumerate(blocks):
        if block.type is BlockType.HEADING:
            level = max(block.level or 1, 1)
            while len(stack) > 1 and stack[-1].level >= level:
                stack.pop()
            node = _Node(block.text, level, block.page)
            stack[-1].children.append(node)
            stack.append(node)
        stack[-1].blocks.append(index)
    sections = _numbered(root, blocks)
    return replace(parsed, blocks=tuple(blocks), sections=tuple(sections))


def _numbered(root: _Node, blocks: list[Block]) -> list[Section]:
    """Sections in reading order; writes the paths into ``blocks``. Iterative: a hostile file may nest deeply."""
    width = max(MIN_ORDINAL_WIDTH, len(str(_most_children(root))))
    sections: list[Section] = []
    waiting: list[tuple[_Node, str, tuple[str, ...]]] = [(root, "", ())]
    while waiting:
        node, path, titles = waiting.pop()
        shown = titles if node is not root else (node.title,)
        sections.append(Section(path=path, titles=shown, level=len(titles), page=node.page))
        for index in node.blocks:
            blocks[index] = replace(blocks[index], section_path=path)
        waiting.extend(
            (child, f"{path}{ordinal:0{width}d}/", (*titles, child.title))
            for ordinal, child in reversed(list(enumerate(node.children, start=1)))
        )
    return sections


def _most_children(root: _Node) -> int:
    most = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        most = max(most, len(node.children))
        waiting.extend(node.children)
    return most


def _demoted(block: Block) -> Block:
    """The block, or a paragraph in its place where a marked heading reads like a sentence."""
    if block.type is BlockType.HEADING and is_sentence_like(block.text):
        paragraph = BlockType.PARAGRAPH
        return replace(block, type=paragraph, level=None, content_hash=content_hash(paragraph, block.text))
    return block


def _first_page(blocks: Sequence[Block]) -> int | None:
    return next((block.page for block in blocks if block.page is not None), None)


def titles_by_path(sections: Iterable[Section]) -> dict[str, tuple[str, ...]]:
    """Titles from the top level down for each path; none for the root, whose title is the file's."""
    return {section.path: section.titles if section.path else () for section in sections}
