"""Two search indexes as one: which of them holds a knowledge base is told by its id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.storage.base import IndexEntry, IndexFilter, Posting, SearchIndex
from clew.types import FloatArray, Representation


class RoutedIndex:
    """:class:`clew.storage.base.SearchIndex` that passes every call on to ``passing`` where ``passes`` says so of the
    knowledge base, else to ``lasting``."""

    def __init__(self, lasting: SearchIndex, passing: SearchIndex, passes: Callable[[str], bool]) -> None:
        self.lasting = lasting
        self.passing = passing
        self._passes = passes

    def _of(self, kb_id: str) -> SearchIndex:
        return self.passing if self._passes(kb_id) else self.lasting

    def create(self, kb_id: str, dimension: int, made_as: str = "") -> None:
        """See :class:`~clew.storage.base.SearchIndex`, as all that follows."""
        self._of(kb_id).create(kb_id, dimension, made_as)

    def made_as(self, kb_id: str) -> str | None:
        return self._of(kb_id).made_as(kb_id)

    def mark(self, kb_id: str, made_as: str) -> None:
        self._of(kb_id).mark(kb_id, made_as)

    def drop(self, kb_id: str) -> None:
        self._of(kb_id).drop(kb_id)

    def upsert(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        self._of(kb_id).upsert(kb_id, entries)

    def search_text(
        self,
        kb_id: str,
        terms: Sequence[str],
        filter: IndexFilter,
        limit: int,
        *,
        k1: float = 1.2,
        b: float = 0.5,
    ) -> list[Posting]:
        return self._of(kb_id).search_text(kb_id, terms, filter, limit, k1=k1, b=b)

    def search_vector(
        self,
        kb_id: str,
        representation: Representation,
        vector: FloatArray,
        filter: IndexFilter,
        limit: int,
        *,
        exact: bool = False,
    ) -> list[Posting]:
        return self._of(kb_id).search_vector(kb_id, representation, vector, filter, limit, exact=exact)

    def vectors(
        self, kb_id: str, representation: Representation, keys: Sequence[tuple[str, int]]
    ) -> dict[str, FloatArray]:
        return self._of(kb_id).vectors(kb_id, representation, keys)

    def delete(
        self,
        kb_id: str,
        file_id: str,
        *,
        version: int | None = None,
        keep_version: int | None = None,
        representations: Sequence[Representation] | None = None,
    ) -> None:
        self._of(kb_id).delete(
            kb_id, file_id, version=version, keep_version=keep_version, representations=representations
        )

    def files(self, kb_id: str) -> dict[tuple[str, int], int]:
        return self._of(kb_id).files(kb_id)

    def chunks(self, kb_id: str, file_id: str, version: int) -> dict[Representation, frozenset[str]]:
        return self._of(kb_id).chunks(kb_id, file_id, version)

    def optimise(self, kb_id: str) -> None:
        self._of(kb_id).optimise(kb_id)

    def check(self) -> str:
        return self.lasting.check()

    def close(self) -> None:
        self.passing.close()
        self.lasting.close()
