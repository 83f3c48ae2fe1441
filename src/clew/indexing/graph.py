"""The edges of the passage–entity graph that a file brings along: which chunk is about what.

A passage links to another where its text names what that other one is about. The names of what a chunk is about are
found here, at index time and without any model: section titles, the file's title, and the subject and aliases that
the chunk's first sentence defines. The mentions are read from the text of the few passages that a question walks
over (:mod:`clew.retrieval.graph_walk`), so that a new file never changes what is stored for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.text.names import names_of_title, subject_names
from clew.types import ChildChunk

# A section's or file's name leads to its beginning; deeper in, the text no longer says what its title names.
_CHUNKS_OF_SECTION = 3
_CHUNKS_OF_FILE = 2


def chunk_names(children: Sequence[ChildChunk], file_title: str) -> dict[str, tuple[str, ...]]:
    """Folded names with the ids of the chunks that are about them, in reading order."""
    names: dict[str, dict[str, None]] = {}
    taken: dict[tuple[str, str], int] = {}

    def add(place: str, name: str, chunk_id: str, limit: int) -> None:
        count = taken.get((place, name), 0)
        if count < limit:
            taken[place, name] = count + 1
            names.setdefault(name, {})[chunk_id] = None

    for child in children:
        for name in names_of_title(file_title):
            add("", name, child.chunk_id, _CHUNKS_OF_FILE)
        width = len(child.section_path) // max(1, len(child.section_titles)) if child.section_titles else 0
        for depth, title in enumerate(child.section_titles, start=1):
            for name in names_of_title(title):
                add(child.section_path[: depth * width], name, child.chunk_id, _CHUNKS_OF_SECTION)
        for name in subject_names(child.text):
            names.setdefault(name, {})[child.chunk_id] = None
    return {name: tuple(ids) for name, ids in names.items()}
