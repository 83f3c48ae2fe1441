"""The write flow: a file becomes blocks, sections, chunks, vectors and index entries, and then visible.

source → parse → enrich → chunk → stage → embed → index → publish

Each stage may be repeated after a crash: staging replaces what an interrupted attempt left, vectors are cached,
index entries are overwritten, and nothing is visible before :meth:`IndexingPipeline.publish`. Each names the version
that it writes, and raises ConflictError once the records say that this version is no longer wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from clew.config import Settings
from clew.errors import ClewError, EmptyFileError, NotFoundError
from clew.indexing.caching import CachedPageTexts, FileCache
from clew.indexing.changes import compare_blocks
from clew.indexing.chunking import chunk_file
from clew.indexing.editing import apply_edits
from clew.indexing.embedding import MADE_AS, EmbeddingReport, embed_children, index_entries
from clew.indexing.enrichment import EnrichmentReport, describable, enrich, with_known_descriptions
from clew.indexing.file_facts import merged_facts, read_facts
from clew.indexing.granularity import embed_granularities
from clew.indexing.graph import chunk_names
from clew.indexing.parse_worker import parse_within
from clew.models.base import Embedder, VisionModel
from clew.models.metering import MeteredVision
from clew.storage.base import Originals, Records, SearchIndex
from clew.types import ChangeReport, File, KnowledgeBase, ParsedFile, SummaryStatus

Progress = Callable[[str, float], None]
"""Receives the stage's name and the share of the whole that is done, from 0 to 1."""

PARSED_TYPE = "application/vnd.clew.parsed+json"
"""The type of originals that were parsed by whoever gave them, and are ingested in the caller's thread."""

# Shares of the whole, so that one bar runs from 0 to 1: the encoder takes most of the time.
_PARSED, _ENRICHED, _STAGED, _EMBEDDED = 0.12, 0.17, 0.2, 0.95
# What a file says about itself stands on its first pages.
_FIRST_PARENTS = 8


@dataclass(slots=True)
class IndexingPipeline:
    """Takes one file from its original to an index. Stateless, but for the vision model, which may be exchanged; safe
    to use from several threads."""

    records: Records
    index: SearchIndex
    originals: Originals
    embedder: Embedder
    settings: Settings
    vision: VisionModel | None = None
    """Says what images, charts and tables show; without one they keep their own text."""

    def stage(self, file_id: str, version: int, progress: Progress) -> Mapping[str, int]:
        """Parse the file's current original, chunk it and write the rows of this version. Where the published version
        was made of the same original (an edit), what was read for it serves again.

        Returns how many blocks, sections, parents and children there are, how often the vision model was asked, how
        often its answer was known already, how many blocks it has not described, and whether the file was read. Raises
        FileFailedError.
        """
        file = self.records.get_file(file_id)
        settings = self._settings_of(file)
        progress("parse", 0.0)
        stored = self.records.parsed(file_id)
        if stored is None:
            parsed = self._parsed(file, settings, progress)
            parsed, report = self._enriched(parsed, file, settings, progress)
        else:
            parsed, report = self._described(stored, file, settings), EnrichmentReport(left=file.undescribed or 0)
        progress("chunk", _ENRICHED)
        counts = self.stage_parsed(file, version, parsed)
        progress("embed", _STAGED)
        asked = {"vision_calls": report.calls, "vision_saved": report.reused, "undescribed": report.left}
        return {**counts, **asked, "read": int(stored is None)}

    def describe(self, file_id: str, check: Callable[[], None]) -> bool:
        """Ask the vision model about a published file's images, charts and tables that it has not described; the next
        staging of the file has its answers. Nothing else changes meanwhile.

        Returns whether there are answers. ``check`` is called now and then and may raise to stop. Raises
        FileFailedError.
        """
        file = self.records.get_file(file_id)
        settings = self._settings_of(file)

        def progress(stage: str, share: float) -> None:
            check()

        parsed = self._parsed(file, settings, progress)
        _, report = self._enriched(parsed, file, settings, progress)
        self.records.update_file(file_id, undescribed=report.left)
        return bool(report.calls or report.reused)

    def _parsed(self, file: File, settings: Settings, progress: Progress) -> ParsedFile:
        with self.originals.local_path(file.file_key) as path:
            return parse_within(
                path,
                file.name,
                settings.indexing,
                pictures=self.vision is not None,
                on_page=lambda done, total: progress("recognise", _PARSED * done / total),
                page_texts=CachedPageTexts(FileCache(self.records, file.file_id, file.writing, "reading")),
            )

    def _described(self, stored: ParsedFile, file: File, settings: Settings) -> ParsedFile:
        if self.vision is None:
            return stored
        cache = FileCache(self.records, file.file_id, file.writing, "reading")
        return with_known_descriptions(stored, self.vision.name, cache, settings.indexing.vision)

    def _enriched(
        self, parsed: ParsedFile, file: File, settings: Settings, progress: Progress
    ) -> tuple[ParsedFile, EnrichmentReport]:
        if self.vision is None:
            return parsed, EnrichmentReport(left=describable(parsed))
        return enrich(
            parsed,
            MeteredVision(self.vision, partial(self.records.add_usage, file.file_id)),
            FileCache(self.records, file.file_id, file.writing, "reading"),
            settings.indexing.vision,
            on_progress=lambda share: progress("enrich", _PARSED + share * (_ENRICHED - _PARSED)),
        )

    def stage_parsed(self, file: File, version: int, parsed: ParsedFile) -> Mapping[str, int]:
        """Chunk what was parsed (with sections) and write the rows of this version."""
        settings = self._settings_of(file)
        parents, children = chunk_file(
            file.file_id,
            parsed,
            count_tokens=self.embedder.count_tokens,
            token_offsets=self.embedder.token_offsets,
            parent_tokens=settings.indexing.parent_tokens,
            child_tokens=settings.indexing.child_tokens,
            overlap_tokens=settings.indexing.overlap_tokens,
        )
        if not children:
            raise EmptyFileError(f"{file.name}: no text was found in it, so there is nothing to search.")
        edits = {parent.chunk_id: file.edits[parent.chunk_id] for parent in parents if parent.chunk_id in file.edits}
        if edits:
            parents, children = apply_edits(
                parents,
                children,
                edits,
                count_tokens=self.embedder.count_tokens,
                token_offsets=self.embedder.token_offsets,
                child_tokens=settings.indexing.child_tokens,
                overlap_tokens=settings.indexing.overlap_tokens,
            )
        self.records.stage(file.file_id, version, parsed, parents, children, edits)
        self.records.stage_names(file.file_id, version, chunk_names(children, parsed.title))
        return {
            "blocks": len(parsed.blocks),
            "sections": len(parsed.sections),
            "parents": len(parents),
            "children": len(children),
        }

    def index_version(self, file_id: str, version: int, progress: Progress) -> EmbeddingReport:
        """Embed the children of a version and write their index entries; nobody sees them before the publish."""
        file = self.records.get_file(file_id)
        kb = self._kb_with_embedder(file)
        settings = self.settings.for_kb(kb.settings)
        children = self.records.file_children(file_id, version=version)
        title = title_of(self.records, file_id, version)
        chosen = settings.representations
        cache = FileCache(self.records, file_id, version)
        vectors, report = None, EmbeddingReport(0, 0)
        if chosen.l2:
            vectors, report = embed_children(
                children,
                title,
                self.embedder,
                cache,
                on_progress=lambda share: progress("embed", _STAGED + share * (_EMBEDDED - _STAGED)),
            )
        entries = list(index_entries(children, version, title, vectors, bm25=chosen.bm25))
        if chosen.l1 or chosen.l3:
            parents = self.records.file_parents(file_id, version=version)
            granularities, more = embed_granularities(
                parents,
                children,
                title,
                self.embedder,
                cache,
                l1=chosen.l1,
                l3=chosen.l3,
                late_chunking=settings.indexing.late_chunking,
            )
            entries += granularities.entries(children, version)
            report = report + more
        progress("index", _EMBEDDED)
        self.index.create(kb.kb_id, self.embedder.dimension, MADE_AS)
        self.index.upsert(kb.kb_id, entries)
        return report

    def publish(
        self,
        file_id: str,
        version: int,
        embedded: EmbeddingReport,
        staged: Mapping[str, int] | None = None,
        *,
        summaries: bool = True,
    ) -> File:
        """Make the version the visible one, then delete what the old one had in the index and its original.

        ``embedded`` and ``staged`` are what :meth:`index_version` and :meth:`stage` returned, for the change report;
        without ``summaries`` none are to follow, whatever the settings say.
        """
        file = self.records.get_file(file_id)
        old_keys = self.records.file_keys(file_id)
        published = self.records.publish(
            file_id,
            version,
            changes=self._changes(file, version, embedded, staged or {}),
            summaries=summaries and self._settings_of(file).summaries.enabled,
            undescribed=(staged or {}).get("undescribed"),
        )
        self.index.delete(file.kb_id, file_id, keep_version=version)
        for key in old_keys - {published.file_key}:
            self.originals.delete(key)
        # Nothing of the old text stays in a cache; an edit has read nothing, and so not said what it needs.
        if staged and staged.get("read"):
            self.records.forget_cached(file_id, version, "reading")
        if published.summary_status is SummaryStatus.OFF:
            self.records.forget_cached(file_id, version, "summaries")
        first_pages = "\n".join(p.text for p in self.records.file_parents(file_id, last=_FIRST_PARENTS - 1))
        facts = merged_facts(read_facts(published.name, published.title, first_pages), published.facts)
        return self.records.update_file(file_id, facts=facts) if facts != published.facts else published

    def abandon(self, file_id: str, version: int, error: ClewError) -> File:
        """Mark the file ``failed`` with the error as its reason and drop what was written of the version."""
        file = self.records.fail(file_id, version, str(error))
        self.index.delete(file.kb_id, file_id, version=version)
        return file

    def discard(self, kb_id: str, file_id: str, version: int) -> None:
        """Drop what was written of a version that is not wanted any more, because it was cancelled or its file deleted.

        The records dropped their rows when they said so; this is for what was written to the index since.
        """
        try:
            published = self.records.get_file(file_id).version == version
        except NotFoundError:
            published = False
        try:
            self.records.get_kb(kb_id)
        except NotFoundError:
            self.index.drop(kb_id)
            return
        if not published:
            self.index.delete(kb_id, file_id, version=version)

    def _changes(
        self, file: File, version: int, embedded: EmbeddingReport, staged: Mapping[str, int]
    ) -> ChangeReport | None:
        if file.version in (0, version):  # the first one, or published before a crash
            return None
        blocks, sections = self.records.blocks, self.records.sections
        compared = compare_blocks(
            blocks(file.file_id, file.version),
            sections(file.file_id, version=file.version),
            blocks(file.file_id, version),
            sections(file.file_id, version=version),
        )
        there = {p.chunk_id for p in self.records.file_parents(file.file_id, version=version, disabled=True)}
        lost = tuple(edit for chunk_id, edit in file.edits.items() if chunk_id not in there)
        return replace(
            compared,
            embeddings_made=embedded.encoded,
            embeddings_saved=embedded.reused,
            vision_calls_made=staged.get("vision_calls", 0),
            vision_calls_saved=staged.get("vision_saved", 0),
            edits_kept=len(file.edits) - len(lost),
            edits_lost=lost,
        )

    def _settings_of(self, file: File) -> Settings:
        return self.settings.for_kb(self.records.get_kb(file.kb_id).settings)

    def _kb_with_embedder(self, file: File) -> KnowledgeBase:
        kb = self.records.get_kb(file.kb_id)
        if not kb.embedder:
            kb = self.records.update_kb(kb.kb_id, embedder=self.embedder.name)
        return kb


def title_of(records: Records, file_id: str, version: int) -> str:
    """The title of a version, which may not be published yet: that of its root section."""
    for section in records.sections(file_id, version=version):
        if section.path == "":
            return section.title
    return ""
