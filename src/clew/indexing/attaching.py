"""Files attached to a conversation on their way to an index: found by words at once, by vectors when those are ready.

stage → terms → publish → embed

Their index lies in memory (:mod:`clew.storage.search.memory`) and is built again from records and vector cache.
"""

from __future__ import annotations

from clew.errors import InputError
from clew.indexing.caching import FileCache
from clew.indexing.embedding import embed_children, index_entries
from clew.indexing.pipeline import IndexingPipeline, Progress, title_of
from clew.types import File, FileStatus, Representation


def stage_attached(pipeline: IndexingPipeline, file_id: str, version: int, progress: Progress) -> int:
    """Parse, chunk and stage an attached file and write its terms; returns the tokens of its text.

    Raises FileFailedError, and InputError where the text is longer than ``attachments.max_tokens``.
    """
    pipeline.stage(file_id, version, progress)
    file = pipeline.records.get_file(file_id)
    tokens = sum(parent.tokens for parent in pipeline.records.file_parents(file_id, version=version))
    limit = pipeline.settings.attachments.max_tokens
    if tokens > limit:
        raise InputError(
            f"{file.name} has {tokens:,} tokens, and an attachment may have {limit:,} (attachments.max_tokens); add it "
            "to a knowledge base instead."
        )
    children = pipeline.records.file_children(file_id, version=version)
    pipeline.index.create(file.kb_id, pipeline.embedder.dimension)
    title = title_of(pipeline.records, file_id, version)
    pipeline.index.upsert(file.kb_id, list(index_entries(children, version, title, None, bm25=True)))
    return tokens


def embed_attached(pipeline: IndexingPipeline, file_id: str) -> None:
    """Embed the published version of an attached file and write its vectors beside its terms. Raises ServiceError."""
    _write(pipeline, pipeline.records.get_file(file_id), vectors=True)
    pipeline.records.update_attachment(file_id, embedded=True)


def index_again(pipeline: IndexingPipeline, conversation_id: str, kb_id: str) -> None:
    """Write what the index of a conversation's files has forgotten, or another process made ready; vectors come from
    the cache."""
    embedded = {a.attachment_id for a in pipeline.records.attachments(conversation_id) if a.embedded}
    for file in pipeline.records.list_files(kb_id, status=FileStatus.COMPLETED):
        vectors = file.file_id in embedded
        there = pipeline.index.chunks(kb_id, file.file_id, file.version)
        if Representation.BM25 not in there or (vectors and Representation.L2 not in there):
            _write(pipeline, file, vectors=vectors)


def _write(pipeline: IndexingPipeline, file: File, *, vectors: bool) -> None:
    children = pipeline.records.file_children(file.file_id)
    found = None
    if vectors:
        cache = FileCache(pipeline.records, file.file_id, file.version)
        found, _ = embed_children(children, file.title, pipeline.embedder, cache)
    pipeline.index.create(file.kb_id, pipeline.embedder.dimension)
    pipeline.index.upsert(file.kb_id, list(index_entries(children, file.version, file.title, found, bm25=True)))
