"""What the holder of a set of tools may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clew.errors import NotFoundError
from clew.types import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Grant:
    """The knowledge bases, files and conversations that tools may read; ``None`` means no restriction of that kind.

    Arguments of a call can only narrow it: what lies outside is answered as if it did not exist.
    """

    kb_ids: frozenset[str] | None = None
    file_ids: frozenset[str] | None = None
    conversation_ids: frozenset[str] | None = None
    """Conversations whose attachments may be read."""

    def allows_kb(self, kb_id: str) -> bool:
        """Whether the knowledge base may be read."""
        return self.kb_ids is None or kb_id in self.kb_ids

    def allows_file(self, file_id: str) -> bool:
        """Whether the file may be read, as far as its id goes."""
        return self.file_ids is None or file_id in self.file_ids

    def narrowed_to_kbs(self, kb_ids: Iterable[str]) -> Grant:
        """The same restricted further to these knowledge bases."""
        wanted = frozenset(kb_ids)
        return replace(self, kb_ids=wanted if self.kb_ids is None else self.kb_ids & wanted)

    def allows_conversation(self, conversation_id: str) -> bool:
        """Whether the attachments of the conversation may be read."""
        return self.conversation_ids is None or conversation_id in self.conversation_ids

    def files(self, wanted: Iterable[str] | None) -> frozenset[str] | None:
        """The files that a request for ``wanted`` (None: all) may read; None where nothing restricts them."""
        if wanted is None:
            return self.file_ids
        return frozenset(wanted) if self.file_ids is None else self.file_ids & frozenset(wanted)


EVERYTHING = Grant()


def granted_kbs(grant: Grant, known: Iterable[KnowledgeBase], names: Iterable[str]) -> list[KnowledgeBase]:
    """The knowledge bases that ``names`` (names or ids; none: all that are granted) stand for.

    Raises NotFoundError, in the same words for what is not granted as for what does not exist.
    """
    granted = [kb for kb in known if grant.allows_kb(kb.kb_id)]
    wanted = list(names)
    if not wanted:
        return granted
    found = {}
    for name in wanted:
        match = next((kb for kb in granted if kb.kb_id == name), None) or next(
            (kb for kb in granted if kb.name == name), None
        )
        if match is None:
            raise NotFoundError(f"There is no knowledge base {name!r}; list_knowledge_bases shows all of them.")
        found[match.kb_id] = match
    return list(found.values())
