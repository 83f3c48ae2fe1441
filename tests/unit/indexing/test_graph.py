"""What chunks are about."""

from __future__ import annotations

from clew.indexing.graph import chunk_names
from clew.types import ChildChunk


def child(i: int, path: str, titles: tuple[str, ...], text: str = "Some text.") -> ChildChunk:
    return ChildChunk(f"c{i}", f"p{i}", "f", i, path, titles, text, 3, 0, len(text))


def test_section_titles_lead_to_the_beginning_of_their_section() -> None:
    children = [child(i, "0001/", ("Henry Edwards (actor)",)) for i in range(5)]
    names = chunk_names(children, "")
    assert names["henry edwards"] == ("c0", "c1", "c2")
    assert names["henry edwards actor"] == ("c0", "c1", "c2")


def test_a_parent_section_leads_to_its_first_chunks_and_equal_titles_are_kept_apart() -> None:
    children = [
        child(0, "0001/0001/", ("Edwards", "Life")),
        child(1, "0001/0002/", ("Edwards", "Work")),
        child(2, "0002/0001/", ("Vane", "Life")),
    ]
    names = chunk_names(children, "Actors of the Silent Era")
    assert names["edwards"] == ("c0", "c1")
    assert names["life"] == ("c0", "c2")
    assert names["actors of the silent era"] == ("c0", "c1")


def test_a_definition_names_its_own_chunk() -> None:
    names = chunk_names([child(0, "", (), "Boden's Boy is a film."), child(1, "", (), "It was a success.")], "")
    assert names == {"boden boy": ("c0",)}
