"""Attaching files to conversations, and taking them away again."""

from __future__ import annotations

import mimetypes
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import BinaryIO

from clew.config import AttachmentSettings
from clew.errors import ConflictError, NotFoundError
from clew.indexing.arrivals import Arrivals, bare_name
from clew.storage.base import Attachment, NewFile, Originals, Records, SearchIndex
from clew.types import File, KnowledgeBase

_PREFIX = "attached_"


def attached_kb_id(conversation_id: str) -> str:
    """Id of the knowledge base that holds a conversation's attachments."""
    return _PREFIX + conversation_id


def is_attached(kb_id: str) -> bool:
    """Whether a knowledge base holds attachments."""
    return kb_id.startswith(_PREFIX)


@dataclass(frozen=True, slots=True)
class Attachments:
    """The attachments of all conversations. Safe to use from several threads.

    ``enqueue`` begins to read a file; ``now`` tells the time as records do.
    """

    records: Records
    index: SearchIndex
    originals: Originals
    arrivals: Arrivals
    settings: AttachmentSettings
    enqueue: Callable[[File], None]
    now: Callable[[], str]

    def attach(self, conversation_id: str, name: str, source: BinaryIO) -> Attachment:
        """Store a file and queue its reading; returns at once. A file beyond a limit is noted as skipped, with the
        reason. The same bytes again make the file the newest. Raises NotFoundError for an unknown conversation."""
        self.records.get_conversation(conversation_id)
        name = bare_name(name)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        attachment = Attachment(f"a_{uuid.uuid4().hex[:20]}", conversation_id, name, media_type, 0, self.now())
        held = sum(not known.skipped for known in self.records.attachments(conversation_id))
        if held >= self.settings.max_files:
            reason = (
                f"The conversation has {held} attachments already, and attachments.max_files allows no more; remove "
                "one or begin another conversation."
            )
            return self._added(replace(attachment, skipped=reason))
        with self.arrivals.store(attachment.attachment_id, source) as stored:
            attachment = replace(attachment, size=stored.size)
            if stored.size > self.settings.max_file_bytes:
                reason = (
                    f"{stored.size:,} bytes are more than attachments.max_file_bytes "
                    f"({self.settings.max_file_bytes:,}); add the file to a knowledge base instead."
                )
                return self._added(replace(attachment, skipped=reason))
            new = NewFile(
                attachment.attachment_id,
                self._kb(conversation_id),
                name,
                media_type,
                stored.size,
                stored.file_key,
                stored.content_hash,
            )
            file, is_new = self.records.add_file(new)
        if not is_new:
            return self._again(file.file_id, attachment)
        self._added(attachment)
        self.enqueue(file)
        return attachment

    def remove(self, conversation_id: str, attachment_id: str) -> None:
        """Take one away. Raises NotFoundError where the conversation has no such attachment."""
        attachment = self.records.get_attachment(attachment_id)
        if attachment.conversation_id != conversation_id:
            raise NotFoundError(f"There is no attachment {attachment_id!r}")
        self.records.delete_attachment(attachment_id)
        self._remove_file(attachment)

    def remove_all(self, conversation_id: str) -> None:
        """Take away what the attachments of a conversation hold outside the records, before it is deleted."""
        kb_id = attached_kb_id(conversation_id)
        keys = [file.file_key for file in self.records.list_files(kb_id)]
        self.records.delete_kb(kb_id)
        self.index.drop(kb_id)
        for key in keys:
            self.originals.delete(key)

    def clean(self) -> int:
        """Take away the content of attachments that were kept long enough, and say so in their place; returns how
        many."""
        before = datetime.fromisoformat(self.now()) - timedelta(hours=self.settings.keep_hours)
        old = self.records.attachments_unused_since(before.isoformat(timespec="microseconds"))
        for attachment in old:
            reason = f"It was removed after {self.settings.keep_hours:g} hours without a message; attach it again."
            self.records.update_attachment(attachment.attachment_id, skipped=reason)
            self._remove_file(attachment)
        return len(old)

    def _added(self, attachment: Attachment) -> Attachment:
        self.records.add_attachment(attachment)
        return attachment

    def _again(self, file_id: str, attachment: Attachment) -> Attachment:
        """The known file as the newest attachment, under the name that it has now."""
        with suppress(NotFoundError):
            known = self.records.get_attachment(file_id)
            attachment = replace(attachment, tokens=known.tokens, embedded=known.embedded, skipped=known.skipped)
        self.records.delete_attachment(file_id)
        return self._added(replace(attachment, attachment_id=file_id))

    def _kb(self, conversation_id: str) -> str:
        kb_id = attached_kb_id(conversation_id)
        with suppress(ConflictError):  # it is there, from an earlier attachment or from one at the same time
            self.records.create_kb(KnowledgeBase(kb_id, kb_id, self.now(), conversation_id=conversation_id))
        return kb_id

    def _remove_file(self, attachment: Attachment) -> None:
        with suppress(NotFoundError):
            file = self.records.get_file(attachment.attachment_id)
            self.records.delete_file(file.file_id)
            self.index.delete(file.kb_id, file.file_id)
            self.originals.delete(file.file_key)
