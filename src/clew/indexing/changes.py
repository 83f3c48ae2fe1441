"""What an update changed: the blocks of two versions of a file, compared by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clew.indexing.sections import titles_by_path
from clew.types import Block, BlockType, ChangeReport, Section

_Place = tuple[tuple[str, ...], BlockType]


def compare_blocks(
    old: Sequence[Block], old_sections: Sequence[Section], new: Sequence[Block], new_sections: Sequence[Section]
) -> ChangeReport:
    """How many blocks stayed, changed, went and came.

    A block stays where its content does, wherever it stands now. Of the others, one of the same type in a section of
    the same titles counts as changed.
    """
    left = Counter(block.content_hash for block in old)
    came: list[Block] = []
    for block in new:
        if left[block.content_hash]:
            left[block.content_hash] -= 1
        else:
            came.append(block)
    went: list[Block] = []
    for block in old:
        if left[block.content_hash]:
            left[block.content_hash] -= 1
            went.append(block)
    changed = (_places(went, old_sections) & _places(came, new_sections)).total()
    return ChangeReport(
        blocks_reused=len(new) - len(came),
        blocks_changed=changed,
        blocks_removed=len(went) - changed,
        blocks_added=len(came) - changed,
    )


def _places(blocks: Sequence[Block], sections: Sequence[Section]) -> Counter[_Place]:
    titles = titles_by_path(sections)
    return Counter((titles.get(block.section_path, ()), block.type) for block in blocks)
