"""Chat: a question in, a streamed (or whole) cited answer out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response, status
from starlette.concurrency import run_in_threadpool

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.api.events import answer_stream, last_event_id
from clew.api.routes.search import file_values, section_values
from clew.app import Clew
from clew.errors import ServiceUnavailableError
from clew.storage.base import Message

router = APIRouter(prefix="/chat", tags=["chat"])

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events in the order retrieval_plan, retrieval_step …, retrieval_done, sources, delta …, "
        "notice, usage, and one of done, error, stopped; `id` counts them for Last-Event-ID.",
        "content": {"text/event-stream": {}},
    }
}


def _start(clew: Clew, request: schemas.ChatRequest) -> str:
    kbs = request.kbs
    if not kbs and request.conversation_id is not None:
        kbs = list(clew.conversation(request.conversation_id).kb_ids)
    return clew.start_answer(
        request.question,
        kbs=kbs,
        conversation_id=request.conversation_id,
        files=file_values(clew, kbs, request.files, request.where),
        sections=section_values(request.sections),
        mode=request.retrieval_mode,
        kind=request.kind,
    )


def _whole(clew: Clew, message_id: str) -> schemas.ChatResponse:
    error = next((event.data for _, event in clew.answer_events(message_id, 0) if event.type == "error"), None)
    message = clew.message(message_id)
    if error is not None and not message.content:
        raise ServiceUnavailableError(str(error.get("detail", "The answer broke off; ask again.")))
    return _response(message)


def _response(message: Message) -> schemas.ChatResponse:
    usage = dict(message.usage)
    return schemas.ChatResponse(
        conversation_id=message.conversation_id,
        message_id=message.message_id,
        answer=message.content,
        status=message.status,
        citations=usage.pop("citations", []),
        retrieval_trace=usage.pop("retrieval_trace", None),
        uncertainty_notice=usage.pop("notice", None),
        usage=usage,
    )


@router.post("", response_model=schemas.ChatResponse, responses=_EVENTS)
async def chat(request: schemas.ChatRequest, clew: ClewDep) -> Response | schemas.ChatResponse:
    """Ask. Streamed as server-sent events unless ``stream`` is false; the header Clew-Message-Id names the answer."""
    message_id = await run_in_threadpool(_start, clew, request)
    if request.stream:
        return await answer_stream(clew.answer_events(message_id, 0), {"Clew-Message-Id": message_id})
    return await run_in_threadpool(_whole, clew, message_id)


@router.get("/{message_id}/events", response_class=Response, responses=_EVENTS)
async def events(message_id: str, request: Request, clew: ClewDep) -> Response:
    """The events of an answer after Last-Event-ID: replayed, then live until the answer ends."""
    return await answer_stream(clew.answer_events(message_id, last_event_id(request)))


@router.post("/{message_id}/stop", status_code=status.HTTP_204_NO_CONTENT)
def stop(message_id: str, clew: ClewDep) -> None:
    """Stop an answer; what was written so far is kept."""
    clew.stop_answer(message_id)
