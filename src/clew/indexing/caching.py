"""The caches as one file uses them, so that what they hold goes with the last that needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.errors import ConflictError
from clew.storage.base import CacheNeed, Records
from clew.types import FloatArray

_RECOGNISED = "recognised page"


@dataclass(frozen=True, slots=True)
class FileCache:
    """Implements ``VectorCache`` and ``BlockCache`` on behalf of a version. What a model was paid for to read or to
    summarise it serves the next one as well, whatever becomes of this one. Asking for something notes its use; raises
    ConflictError once version or file is gone."""

    records: Records
    file_id: str
    version: int
    need: CacheNeed = "version"

    def get_vectors(self, model: str, keys: Sequence[str]) -> dict[str, FloatArray]:
        """See :class:`~clew.storage.base.VectorCache`."""
        self.records.use_cached(self.file_id, self.version, keys, self.need)
        return self.records.get_vectors(model, keys)

    def put_vectors(self, model: str, vectors: Mapping[str, FloatArray]) -> None:
        """See :class:`~clew.storage.base.VectorCache`."""
        self.records.put_vectors(model, vectors)
        self._keep(vectors)

    def get_outputs(self, task: str, model: str, keys: Sequence[str]) -> dict[str, str]:
        """See :class:`~clew.storage.base.BlockCache`."""
        self.records.use_cached(self.file_id, self.version, keys, self.need)
        return self.records.get_outputs(task, model, keys)

    def put_outputs(self, task: str, model: str, outputs: Mapping[str, str]) -> None:
        """See :class:`~clew.storage.base.BlockCache`."""
        self.records.put_outputs(task, model, outputs)
        self._keep(outputs)

    def _keep(self, keys: Iterable[str]) -> None:
        """Version or file may have gone since it was asked for them: then nothing of its text may stay."""
        try:
            self.records.use_cached(self.file_id, self.version, keys, self.need)
        except ConflictError:
            self.records.unneeded_cached(drop=True)
            raise


@dataclass(frozen=True, slots=True)
class CachedPageTexts:
    """Implements ``PageTexts``: what text recognition read from pictures of pages."""

    cache: FileCache

    def get(self, key: str) -> str | None:
        """See :class:`~clew.indexing.parsers.context.PageTexts`."""
        return self.cache.get_outputs(_RECOGNISED, "", [key]).get(key)

    def put(self, key: str, text: str) -> None:
        """See :class:`~clew.indexing.parsers.context.PageTexts`."""
        self.cache.put_outputs(_RECOGNISED, "", {key: text})
