"""A conversation's files between their storing and a question: what can be read of them now, and waiting for more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from clew.config import Settings
from clew.errors import NotFoundError
from clew.indexing.attaching import index_again
from clew.indexing.attachments import attached_kb_id
from clew.indexing.pipeline import IndexingPipeline
from clew.retrieval.attached_question import with_attachments
from clew.retrieval.attachments import SignalPackage, signal_package
from clew.retrieval.pipeline import RetrievalRequest
from clew.retrieval.recall import SearchedKb
from clew.storage.base import Records
from clew.types import KnowledgeBase

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """What of the attachments can be read. Safe to use from several threads.

    ``pipeline`` gives the write flow, which fills an index that has forgotten them; it is asked only where needed.
    """

    records: Records
    pipeline: Callable[[], IndexingPipeline]

    def package(self, conversation_id: str, settings: Settings) -> SignalPackage:
        """The signal package of this moment. Raises NotFoundError for an unknown conversation."""
        self.records.get_conversation(conversation_id)
        attachments = self.records.attachments(conversation_id)
        tokens = settings.retrieval.attachment_context_tokens
        return signal_package(conversation_id, attached_kb_id(conversation_id), attachments, self.records, tokens)

    def wait(self, conversation_id: str, settings: Settings, *, embedded: bool, timeout: float) -> SignalPackage:
        """The signal package once all files are read (``embedded``: and their vectors are ready), or after ``timeout``
        seconds."""
        deadline = time.monotonic() + timeout
        while True:
            package = self.package(conversation_id, settings)
            behind = package.bm25_scope - package.semantic_scope if embedded else frozenset()
            waiting = behind or any(file.status == "processing" for file in package.files)
            if not waiting or time.monotonic() > deadline:
                return package
            time.sleep(_POLL_SECONDS)

    def join(self, request: RetrievalRequest, conversation_id: str, settings: Settings) -> RetrievalRequest:
        """The request with the conversation's files beside its knowledge bases, once they are read (or for
        ``attachments.wait_seconds`` are not). Where it names no knowledge base, ``settings`` are those that hold."""
        if not self.records.attachments(conversation_id):
            return request
        used = request.kbs[0].settings if request.kbs else settings
        package = self.wait(conversation_id, used, embedded=False, timeout=settings.attachments.wait_seconds)
        pipeline = self.pipeline()
        try:
            kb = self.records.get_kb(package.kb_id)
        except NotFoundError:  # all were skipped
            kb = KnowledgeBase(package.kb_id, package.kb_id, "", conversation_id=conversation_id)
        else:
            index_again(pipeline, conversation_id, package.kb_id)
        return with_attachments(request, package, SearchedKb(kb, used, pipeline.embedder))
