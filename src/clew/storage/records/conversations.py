"""Conversations and their messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import IntegrityError

from clew.errors import ConflictError, NotFoundError
from clew.storage.base import Conversation, Message
from clew.storage.records.database import Database
from clew.storage.records.tables import conversations, messages
from clew.storage.records.values import now


class SqlConversations:
    """Implements ``ConversationRecords``."""

    _db: Database

    def create_conversation(self, conversation: Conversation) -> None:
        row = {
            "conversation_id": conversation.conversation_id,
            "title": conversation.title,
            "created_at": conversation.created_at,
            "updated_at": conversation.updated_at,
            "kb_ids": list(conversation.kb_ids),
        }
        with self._db.write() as connection:
            try:
                connection.execute(insert(conversations), row)
            except IntegrityError as error:
                raise ConflictError(f"There is a conversation {conversation.conversation_id!r} already") from error

    def get_conversation(self, conversation_id: str) -> Conversation:
        query = select(conversations).where(conversations.c.conversation_id == conversation_id)
        with self._db.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise _missing(conversation_id)
        return _conversation(row)

    def list_conversations(self, *, offset: int = 0, limit: int = 50) -> list[Conversation]:
        latest = (conversations.c.updated_at.desc(), conversations.c.seq.desc())
        query = select(conversations).order_by(*latest).offset(offset).limit(limit)
        with self._db.read() as connection:
            return [_conversation(row) for row in connection.execute(query).mappings()]

    def rename_conversation(self, conversation_id: str, title: str, *, instead_of: str | None = None) -> None:
        own = conversations.c.conversation_id == conversation_id
        rename = update(conversations).where(own).values(title=title)
        if instead_of is not None:
            rename = rename.where(conversations.c.title == instead_of)
        with self._db.write() as connection:
            if not connection.execute(rename).rowcount and not connection.execute(select(1).where(own)).first():
                raise _missing(conversation_id)

    def delete_conversation(self, conversation_id: str) -> None:
        with self._db.write() as connection:
            connection.execute(delete(conversations).where(conversations.c.conversation_id == conversation_id))

    def add_message(self, message: Message) -> None:
        row = {
            "message_id": message.message_id,
            "conversation_id": message.conversation_id,
            "role": message.role,
            "content": message.content,
            "created_at": message.created_at,
            "status": message.status,
            "usage": dict(message.usage),
        }
        touch = (
            update(conversations)
            .where(conversations.c.conversation_id == message.conversation_id)
            .values(updated_at=now())
        )
        with self._db.write() as connection:
            if not connection.execute(touch).rowcount:
                raise _missing(message.conversation_id)
            try:
                connection.execute(insert(messages), row)
            except IntegrityError as error:
                raise ConflictError(f"There is a message {message.message_id!r} already") from error

    def update_message(
        self,
        message_id: str,
        *,
        content: str | None = None,
        status: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        given = {"content": content, "status": status, "usage": None if usage is None else dict(usage)}
        changes = {key: value for key, value in given.items() if value is not None}
        if not changes:
            return
        with self._db.write() as connection:
            if not connection.execute(
                update(messages).where(messages.c.message_id == message_id).values(changes)
            ).rowcount:
                raise NotFoundError(f"There is no message {message_id!r}")

    def get_message(self, message_id: str) -> Message:
        query = select(messages).where(messages.c.message_id == message_id)
        with self._db.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"There is no message {message_id!r}")
        return _message(row)

    def messages(
        self, conversation_id: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Message]:
        order = messages.c.seq.desc() if latest_first else messages.c.seq
        query = select(messages).where(messages.c.conversation_id == conversation_id).order_by(order)
        query = query.offset(offset or None).limit(limit)
        with self._db.read() as connection:
            return [_message(row) for row in connection.execute(query).mappings()]


def _missing(conversation_id: str) -> NotFoundError:
    return NotFoundError(f"There is no conversation {conversation_id!r}")


def _conversation(row: RowMapping) -> Conversation:
    return Conversation(
        conversation_id=row["conversation_id"],
        title=row["title"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        kb_ids=tuple(row["kb_ids"]),
    )


def _message(row: RowMapping) -> Message:
    return Message(
        message_id=row["message_id"],
        conversation_id=row["conversation_id"],
        role=row["role"],
        content=row["content"],
        created_at=row["created_at"],
        status=row["status"],
        usage=row["usage"],
    )
