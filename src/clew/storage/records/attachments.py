"""Files attached to conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, delete, insert, select, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import IntegrityError

from clew.errors import ConflictError, NotFoundError
from clew.storage.base import Attachment
from clew.storage.records.database import Database
from clew.storage.records.tables import attachments, conversations
from clew.storage.records.values import now


class SqlAttachments:
    """Implements ``AttachmentRecords``."""

    _db: Database

    def add_attachment(self, attachment: Attachment) -> None:
        row = {
            "attachment_id": attachment.attachment_id,
            "conversation_id": attachment.conversation_id,
            "name": attachment.name,
            "media_type": attachment.media_type,
            "size": attachment.size,
            "created_at": attachment.created_at,
            "tokens": attachment.tokens,
            "embedded": attachment.embedded,
            "skipped": attachment.skipped,
        }
        touch = (
            update(conversations)
            .where(conversations.c.conversation_id == attachment.conversation_id)
            .values(updated_at=now())
        )
        with self._db.write() as connection:
            if not connection.execute(touch).rowcount:
                raise NotFoundError(f"There is no conversation {attachment.conversation_id!r}")
            try:
                connection.execute(insert(attachments), row)
            except IntegrityError as error:
                raise ConflictError(f"There is an attachment {attachment.attachment_id!r} already") from error

    def attachments(self, conversation_id: str) -> list[Attachment]:
        return self._found(select(attachments).where(attachments.c.conversation_id == conversation_id))

    def get_attachment(self, attachment_id: str) -> Attachment:
        found = self._found(select(attachments).where(attachments.c.attachment_id == attachment_id))
        if not found:
            raise NotFoundError(f"There is no attachment {attachment_id!r}")
        return found[0]

    def update_attachment(
        self,
        attachment_id: str,
        *,
        tokens: int | None = None,
        embedded: bool | None = None,
        skipped: str | None = None,
    ) -> None:
        given = {"tokens": tokens, "embedded": embedded, "skipped": skipped}
        changes = {key: value for key, value in given.items() if value is not None}
        if changes:
            with self._db.write() as connection:
                connection.execute(
                    update(attachments).where(attachments.c.attachment_id == attachment_id).values(changes)
                )

    def delete_attachment(self, attachment_id: str) -> None:
        with self._db.write() as connection:
            connection.execute(delete(attachments).where(attachments.c.attachment_id == attachment_id))

    def attachments_unused_since(self, time: str) -> list[Attachment]:
        query = (
            select(attachments)
            .join(conversations, conversations.c.conversation_id == attachments.c.conversation_id)
            .where(conversations.c.updated_at < time, attachments.c.skipped == "")
        )
        return self._found(query)

    def _found(self, query: Select[Any]) -> list[Attachment]:
        with self._db.read() as connection:
            rows: Sequence[RowMapping] = connection.execute(query.order_by(attachments.c.seq)).mappings().all()
        return [
            Attachment(
                attachment_id=row["attachment_id"],
                conversation_id=row["conversation_id"],
                name=row["name"],
                media_type=row["media_type"],
                size=row["size"],
                created_at=row["created_at"],
                tokens=row["tokens"],
                embedded=row["embedded"],
                skipped=row["skipped"],
            )
            for row in rows
        ]
