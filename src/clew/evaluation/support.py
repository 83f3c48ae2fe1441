"""Which parents support a question: all of a supporting passage, or those that hold a sentence that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.evaluation.datasets import LabelledQuestion
from clew.types import ParentChunk

Groups = tuple[frozenset[str], ...]
"""Groups of parent ids, of each of which one has to be found."""


def supporting_parents(question: LabelledQuestion, parents: Mapping[str, Sequence[ParentChunk]]) -> Groups:
    """``parents`` by passage id. Where the set names sentences there is a group for each that is found, whatever its
    white space; empty where a passage is not there, or none of the sentences is."""
    passages = {id for group in question.groups for id in group}
    if not question.groups or not all(parents.get(id) for id in passages):
        return ()
    if not question.sentences:
        return tuple(frozenset(p.chunk_id for id in group for p in parents[id]) for group in question.groups)
    texts = {p.chunk_id: _squeezed(p.text) for id in passages for p in parents[id]}
    wanted = [sentence for sentence in map(_squeezed, question.sentences) if sentence]
    groups = [frozenset(id for id, text in texts.items() if sentence in text) for sentence in wanted]
    return tuple(group for group in groups if group)


def _squeezed(text: str) -> str:
    return "".join(text.split())
