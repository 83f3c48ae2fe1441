"""Conversations and their messages."""

from __future__ import annotations

import json
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Response, status

from clew.answering.export import as_json, as_markdown
from clew.api import schemas
from clew.api.deps import ClewDep

router = APIRouter(prefix="/conversations", tags=["conversations"])


@router.get("")
def list_conversations(
    clew: ClewDep,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.ConversationPage:
    """Conversations, the latest first."""
    found = clew.list_conversations(offset=offset, limit=limit + 1)
    items = [schemas.Conversation.model_validate(conversation) for conversation in found[:limit]]
    return schemas.ConversationPage(items=items, more=len(found) > limit)


@router.post("", status_code=status.HTTP_201_CREATED)
def create(new: schemas.NewConversation, clew: ClewDep) -> schemas.Conversation:
    """An empty conversation, for files to be attached before the first question, which becomes its title."""
    kb_ids = tuple(clew.kb(name).kb_id for name in new.kbs)
    return schemas.Conversation.model_validate(clew.create_conversation(new.title, kb_ids))


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
    """Delete a conversation with its messages and attachments."""
    clew.delete_conversation(conversation_id)


@router.get("/{conversation_id}/messages")
def messages(
    conversation_id: str,
    clew: ClewDep,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=500, description="All of them where it is not given.")] = None,
    latest_first: bool = False,
) -> list[schemas.Message]:
    """The messages, the oldest first unless ``latest_first``; those of the assistant carry trace, citations and notice
    in ``usage``."""
    found = clew.messages(conversation_id, offset=offset, limit=limit, latest_first=latest_first)
    return [schemas.Message.model_validate(message) for message in found]


@router.get(
    "/{conversation_id}/export",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}, "application/json": {}}}},
)
def export(
    conversation_id: str,
    clew: ClewDep,
    format: Annotated[Literal["markdown", "json"], Query(description="JSON holds the whole traces.")] = "markdown",
) -> Response:
    """The conversation as a file."""
    conversation, messages = clew.conversation(conversation_id), clew.messages(conversation_id)
    if format == "json":
        text, media_type, ending = (
            json.dumps(as_json(conversation, messages), ensure_ascii=False),
            "application/json",
            "json",
        )
    else:
        text, media_type, ending = as_markdown(conversation, messages), "text/markdown; charset=utf-8", "md"
    name = quote(f"{conversation.title or conversation_id}.{ending}", safe="")
    return Response(
        text, media_type=media_type, headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    )


@router.put("/{conversation_id}/messages/{message_id}/feedback", status_code=status.HTTP_204_NO_CONTENT)
def set_feedback(conversation_id: str, message_id: str, feedback: schemas.Feedback, clew: ClewDep) -> None:
    """Say whether an answer was good; stored with the message, and replaced by the next."""
    clew.set_feedback(conversation_id, message_id, feedback.model_dump())


@router.delete("/{conversation_id}/messages/{message_id}/feedback", status_code=status.HTTP_204_NO_CONTENT)
def delete_feedback(conversation_id: str, message_id: str, clew: ClewDep) -> None:
    """Take the feedback back."""
    clew.set_feedback(conversation_id, message_id, None)
