"""Which parents support a question: all of a supporting passage, or those that hold a sentence that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.evaluation.datasets import LabelledQuestion
from clew.types import ParentChunk

Groups = tuple[frozenset[str], ...]
"""Groups of parent ids, of each of which one has to be found."""


class Support:
    """A corpus's parents, by the id of the passage that they were cut from."""

    def __init__(self, parents: Mapping[str, Sequence[ParentChunk]]) -> None:
        self._parents = {passage: [p.chunk_id for p in found] for passage, found in parents.items()}
        self._texts = {p.chunk_id: _squeezed(p.text) for found in parents.values() for p in found}

    def groups(self, question: LabelledQuestion) -> Groups:
        """Where the set names sentences there is a group for each (one for those that stand together): the parents that
        hold it, whatever its white space
        and whatever their passage, since a corpus may hold a text twice. Empty where a passage is not there, or none of
        the sentences is."""
        passages = {id for group in question.groups for id in group}
        if not question.groups or not all(self._parents.get(id) for id in passages):
            return ()
        if not question.sentences:
            return tuple(frozenset(p for id in group for p in self._parents[id]) for group in question.groups)
        wanted = [sentence for sentence in map(_squeezed, question.sentences) if sentence]
        groups = [frozenset(id for id, text in self._texts.items() if sentence in text) for sentence in wanted]
        return tuple(dict.fromkeys(group for group in groups if group))


def _squeezed(text: str) -> str:
    return "".join(text.split())
