"""Whether records, search index and originals agree, and how they are brought together again.

The records are the truth. An interrupted write leaves entries and originals that no record names: they are harmless,
because search shows only what the records call current, and are swept at the next start. What is missing can only come
from outside (a restored backup, a damaged folder); looking for it reads every file's rows and is done on request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from clew.errors import ClewError
from clew.indexing.arrivals import Arrivals
from clew.indexing.embedding import MADE_AS
from clew.indexing.pipeline import IndexingPipeline
from clew.storage.base import Records, SearchIndex
from clew.types import File, FileStatus, KnowledgeBase, Representation

_Repair = Callable[[], object]
Disagreement = Literal[
    "stale entries",
    "missing entries",
    "outdated entries",
    "unknown original",
    "missing original",
    "damaged original",
    "unneeded cache",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in which the stores do not agree; ``detail`` says what, in words a person understands."""

    kind: Disagreement
    kb_id: str
    file_id: str
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Compares the stores of one data folder. ``indexed_again`` is told of files whose entries were made anew, but for
    those of their summaries."""

    pipeline: IndexingPipeline
    arrivals: Arrivals
    indexed_again: Callable[[File], None]

    def sweep(self) -> list[Finding]:
        """Delete what interrupted writes left behind."""
        left = (*self._stale(), *self._unknown_originals(), *self._unneeded())
        return [_repaired(finding, repair) for finding, repair in left]

    def examine(self, *, repair: bool = False) -> list[Finding]:
        """Compare everything; with ``repair`` also put right what can be: leftovers go, missing entries are made anew
        from the records. A missing or damaged original cannot be made again."""
        found: list[Finding] = []
        left = (*self._stale(), *self._unknown_originals(), *self._unneeded())
        for finding, mend in (*left, *self._outdated(), *self._missing()):
            found.append(_repaired(finding, mend) if repair and mend is not None else finding)
        return found

    def _outdated(self) -> Iterator[tuple[Finding, _Repair]]:
        for finding in outdated(self.pipeline.records, self.pipeline.index):
            yield finding, partial(self._make_anew, finding.kb_id)

    def _make_anew(self, kb_id: str) -> None:
        """Write the entries of all files again, over the old ones; marked when all are there, so that an interrupted
        repair is begun again. Vectors that the encoder would make alike come from the cache."""
        for file in self.pipeline.records.list_files(kb_id):
            if file.status is FileStatus.COMPLETED:
                self._index_again(file)
            elif file.version:  # a person may go back to it
                self.pipeline.index_version(file.file_id, file.version, lambda *_: None)
        self.pipeline.index.mark(kb_id, MADE_AS)

    def _stale(self) -> Iterator[tuple[Finding, _Repair]]:
        index, records = self.pipeline.index, self.pipeline.records
        for kb in records.list_kbs():
            entries = index.files(kb.kb_id)
            # Read after the index: a version that was written meanwhile is known by now.
            wanted = {file.file_id: _wanted_versions(file) for file in records.list_files(kb.kb_id)}
            for (file_id, version), count in entries.items():
                if version not in wanted.get(file_id, ()):
                    detail = f"the search index of {kb.name} holds {count} entries of version {version}, which is gone"
                    finding = Finding("stale entries", kb.kb_id, file_id, detail)
                    yield finding, partial(index.delete, kb.kb_id, file_id, version=version)

    def _unknown_originals(self) -> Iterator[tuple[Finding, _Repair]]:
        originals = self.pipeline.originals
        # In this order: what arrives is recorded before it ceases to be arriving.
        stored = set(originals.keys())
        arriving = self.arrivals.keys()
        for key in sorted(stored - arriving - self.pipeline.records.file_keys()):
            finding = Finding("unknown original", "", "", f"the original {key} belongs to no file")
            yield finding, partial(originals.delete, key)

    def _unneeded(self) -> Iterator[tuple[Finding, _Repair]]:
        if count := self.pipeline.records.unneeded_cached():
            detail = f"the caches hold {count} vectors or texts that no file needs"
            yield Finding("unneeded cache", "", "", detail), partial(self.pipeline.records.unneeded_cached, drop=True)

    def _missing(self) -> Iterator[tuple[Finding, _Repair | None]]:
        records = self.pipeline.records
        stored = set(self.pipeline.originals.keys())
        for kb in records.list_kbs():
            for file in records.list_files(kb.kb_id):
                for key in sorted(records.file_keys(file.file_id) - stored):
                    detail = f"the original {key} of {file.name} is gone; upload the file again"
                    yield Finding("missing original", kb.kb_id, file.file_id, detail), None
                if file.file_key in stored and self._digest(file.file_key) != file.content_hash:
                    detail = f"the original of {file.name} is not what was uploaded; upload the file again"
                    yield Finding("damaged original", kb.kb_id, file.file_id, detail), None
                # The index of attachments lies in memory and is filled when they are asked.
                if file.status is FileStatus.COMPLETED and not kb.conversation_id:
                    yield from self._missing_entries(kb, file)

    def _digest(self, file_key: str) -> str:
        with self.pipeline.originals.local_path(file_key) as path, path.open("rb") as original:
            return hashlib.file_digest(original, "sha256").hexdigest()

    def _missing_entries(self, kb: KnowledgeBase, file: File) -> Iterator[tuple[Finding, _Repair]]:
        pipeline = self.pipeline
        switched = pipeline.settings.for_kb(kb.settings).representations
        chunks = {child.chunk_id for child in pipeline.records.file_children(file.file_id)}
        indexed = pipeline.index.chunks(kb.kb_id, file.file_id, file.version)
        for representation in (Representation.BM25, Representation.L1, Representation.L2, Representation.L3):
            missing = chunks - indexed.get(representation, frozenset())
            if representation is Representation.L1 and len(missing) < len(chunks):
                continue  # it has one entry for all children of a parent
            if missing and getattr(switched, representation):
                detail = f"{len(missing)} of {len(chunks)} chunks of {file.name} are not in the {representation} index"
                yield Finding("missing entries", kb.kb_id, file.file_id, detail), partial(self._index_again, file)
                return

    def _index_again(self, file: File) -> None:
        self.pipeline.index_version(file.file_id, file.version, lambda *_: None)
        self.indexed_again(file)


def outdated(records: Records, index: SearchIndex) -> Iterator[Finding]:
    """The knowledge bases whose index was made in another way than questions are looked up now: by another tokenizer,
    or of other texts."""
    for kb in records.list_kbs():
        made_as = None if kb.conversation_id else index.made_as(kb.kb_id)
        if made_as not in (None, MADE_AS):
            detail = (
                f"the search index of {kb.name} was made by another version of Clew ({made_as or 'unmarked'}, now "
                f"{MADE_AS}), so that some questions find less in it; `clew doctor --deep --repair` makes it anew"
            )
            yield Finding("outdated entries", kb.kb_id, "", detail)


def _wanted_versions(file: File) -> set[int]:
    return {file.version, file.writing} if file.status is FileStatus.PROCESSING else {file.version}


def _repaired(finding: Finding, repair: _Repair) -> Finding:
    try:
        repair()
    except ClewError as error:
        return replace(finding, detail=f"{finding.detail}; it could not be repaired: {error}")
    return replace(finding, repaired=True)
