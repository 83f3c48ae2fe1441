"""Conversations and their messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, status

from clew.api import schemas
from clew.api.deps import ClewDep

router = APIRouter(prefix="/conversations", tags=["conversations"])


@router.get("")
def list_conversations(
    clew: ClewDep,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.ConversationPage:
    """Conversations, the latest first."""
    found = clew.list_conversations(offset=offset, limit=limit + 1)
    items = [schemas.Conversation.model_validate(conversation) for conversation in found[:limit]]
    return schemas.ConversationPage(items=items, more=len(found) > limit)


@router.get("/{conversation_id}")
def get_conversation(conversation_id: str, clew: ClewDep) -> schemas.Conversation:
    """One conversation."""
    return schemas.Conversation.model_validate(clew.conversation(conversation_id))


@router.patch("/{conversation_id}")
def rename(conversation_id: str, change: schemas.ConversationChange, clew: ClewDep) -> schemas.Conversation:
    """Give a conversation another title."""
    clew.rename_conversation(conversation_id, change.title)
    return schemas.Conversation.model_validate(clew.conversation(conversation_id))


@router.delete("/{conversation_id}", status_code=status.HTTP_204_NO_CONTENT)
def delete(conversation_id: str, clew: ClewDep) -> None:
    """Delete a conversation with its messages."""
    clew.delete_conversation(conversation_id)


@router.get("/{conversation_id}/messages")
def messages(conversation_id: str, clew: ClewDep) -> list[schemas.Message]:
    """The messages, the oldest first; those of the assistant carry trace, citations and notice in ``usage``."""
    clew.conversation(conversation_id)
    return [schemas.Message.model_validate(message) for message in clew.messages(conversation_id)]
