"""Clew as an OpenAI-compatible endpoint: every knowledge base is a model (``docs/openai.md``).

Only what such clients know is promised; citations, trace and notice come in the extra field ``clew``, which they pass
on untouched. A request carries its whole conversation, so nothing is stored, and a client that goes away stops the
answer.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.api.events import END, FIRST_EVENT_SECONDS, HEARTBEAT, HEARTBEAT_SECONDS, STREAM_HEADERS, Reader
from clew.api.problems import status_of, title_and_detail
from clew.api.routes.search import section_values
from clew.app import Clew
from clew.errors import ClewError, InputError
from clew.retrieval.rewriting import Turn
from clew.types import AnswerEvent, KnowledgeBase

_RETRIEVAL_EVENTS = frozenset({"retrieval_plan", "retrieval_step", "retrieval_done", "notice"})


class _Open(schemas.Sent):
    # Clients send what they know of; what does not apply here is ignored, as other endpoints do.
    model_config = ConfigDict(extra="ignore")


class ContentPart(_Open):
    type: str = Field(examples=["text"])
    text: str = ""


class RequestMessage(_Open):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class ClewExtension(schemas.Sent):
    """What a request may ask of Clew beyond the protocol (``extra_body`` of the official client)."""

    model_config = ConfigDict(extra="forbid")
    kbs: schemas.KbNames = Field([], description="Further knowledge bases beside the one that `model` names.")
    files: list[str] | None = Field(None, description="Read only these files.")
    sections: list[schemas.SectionFilter] | None = Field(None, description="Read only these sections.")
    retrieval_mode: Literal["auto", "single", "multi"] = "auto"
    kind: Literal["auto", "fact", "summary"] = "auto"


class StreamOptions(_Open):
    include_usage: bool | None = None


class CompletionRequest(_Open):
    """The last message of the user is the question; the messages before it are the conversation."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"model": "annual reports", "messages": [{"role": "user", "content": "2023年的营业收入？"}]}]
        },
    )
    model: Annotated[str, StringConstraints(min_length=1)] = Field(description="Name or id of a knowledge base.")
    messages: list[RequestMessage] = Field(min_length=1)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(1, ge=1, le=1, description="Clew gives one answer.")
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    clew: ClewExtension = ClewExtension()


class CompletionModel(BaseModel):
    id: str = Field(examples=["annual reports"])
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "clew"
    clew: dict[str, Any] = Field(description="kb_id and description of the knowledge base.")


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[CompletionModel]


class CompletionUsage(BaseModel):
    """Tokens of all language models that took part; 0 where none is configured."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class AnswerMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str


class CompletionChoice(BaseModel):
    index: int = 0
    message: AnswerMessage
    finish_reason: Literal["stop", "length"] = "stop"
    logprobs: None = None


class Findings(BaseModel):
    """How the answer was found."""

    citations: list[schemas.Citation] = []
    retrieval_trace: schemas.Trace | None = None
    uncertainty_notice: str | None = None


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    clew: Findings


class ErrorBody(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAIError(BaseModel):
    error: ErrorBody


class _Route(APIRoute):
    """Errors in the form that OpenAI clients read, instead of problem details."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                path = ".".join(str(part) for part in first["loc"] if part != "body")
                return JSONResponse(_error(f"{path}: {first['msg']}", 400, param=path), 400)
            except HTTPException as error:  # a body that is no JSON
                return JSONResponse(_error(str(error.detail), error.status_code), error.status_code)
            except ClewError as error:
                status = status_of(error)
                if status >= 500:
                    logging.getLogger(__name__).error("%s failed", request.url.path, exc_info=error)
                return JSONResponse(_error(str(error), status), status)

        return handled


router = APIRouter(
    prefix="/v1",
    tags=["OpenAI-compatible"],
    route_class=_Route,
    responses={"default": {"model": OpenAIError, "description": "What went wrong, as OpenAI clients expect it."}},
)


@router.get("/models")
def list_models(clew: ClewDep) -> ModelList:
    """The knowledge bases, as models."""
    return ModelList(data=[_model(kb) for kb in clew.list_kbs()])


@router.get("/models/{model:path}")
def get_model(model: str, clew: ClewDep) -> CompletionModel:
    """One knowledge base, by name or id."""
    return _model(clew.kb(model))


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    responses={200: {"description": "The answer, or its pieces where `stream` is set.",
                     "content": {"text/event-stream": {}}}},
)  # fmt: skip
async def chat_completions(request: CompletionRequest, clew: ClewDep) -> Response | ChatCompletion:
    """Answer the last message from the knowledge base that `model` names."""
    completion = _Completion(request.model)
    events = await run_in_threadpool(_answer, clew, request)
    if not request.stream:
        return await run_in_threadpool(completion.whole, events)
    reader = Reader(events)
    await reader.ready(FIRST_EVENT_SECONDS)
    options = request.stream_options or StreamOptions()
    pieces = completion.stream(reader, include_usage=bool(options.include_usage))
    return StreamingResponse(pieces, media_type="text/event-stream", headers=STREAM_HEADERS)


class _Completion:
    """One answer on its way to the client."""

    def __init__(self, model: str) -> None:
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self._text: list[str] = []
        self._findings: dict[str, Any] = {}
        self._usage = CompletionUsage()
        self._finish_reason: Literal["stop", "length"] = "stop"

    def whole(self, events: Iterator[AnswerEvent]) -> ChatCompletion:
        for event in events:
            self._take(event)
        message = AnswerMessage(content="".join(self._text))
        choice = CompletionChoice(message=message, finish_reason=self._finish_reason)
        findings = Findings.model_validate(self._findings)
        return ChatCompletion(**self._head, choices=[choice], usage=self._usage, clew=findings)

    async def stream(self, reader: Reader, *, include_usage: bool) -> AsyncIterator[bytes]:
        try:
            yield self._chunk({"role": "assistant", "content": ""})
            while (event := await reader.next(HEARTBEAT_SECONDS)) is not END:
                if event is None:
                    yield HEARTBEAT
                    continue
                self._take(event)
                if event.type == "delta":
                    yield self._chunk({"content": event.data["text"]})
                elif event.type in _RETRIEVAL_EVENTS:
                    yield self._chunk({}, clew={"event": event.type, "data": dict(event.data)})
            findings = Findings.model_validate(self._findings).model_dump(mode="json")
            yield self._chunk({}, finish_reason=self._finish_reason, clew=findings)
            if include_usage:
                yield _data({**self._head, "object": _CHUNK, "choices": [], "usage": self._usage.model_dump()})
            yield b"data: [DONE]\n\n"
        except Exception as error:
            if not isinstance(error, ClewError):
                logging.getLogger(__name__).error("a completion broke", exc_info=error)
            _, detail = title_and_detail(error)
            yield _data(_error(detail, status_of(error) if isinstance(error, ClewError) else 500))
        finally:
            reader.close()

    def _take(self, event: AnswerEvent) -> None:
        if event.type == "delta":
            self._text.append(event.data["text"])
        elif event.type == "sources":
            self._findings["citations"] = event.data["sources"]
        elif event.type == "notice":
            self._findings["uncertainty_notice"] = event.data["text"]
        elif event.type == "usage":
            self._findings["retrieval_trace"] = event.data["retrieval_trace"]
            self._finish_reason = "length" if event.data["finish_reason"] == "length" else "stop"
            tokens = event.data["tokens"]
            prompt, completion = int(tokens["prompt_tokens"]), int(tokens["completion_tokens"])
            self._usage = CompletionUsage(
                prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
            )

    def _chunk(self, delta: Mapping[str, Any], *, finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return _data({**self._head, "object": _CHUNK, "choices": [choice], **more})


_CHUNK = "chat.completion.chunk"


def _answer(clew: Clew, request: CompletionRequest) -> Iterator[AnswerEvent]:
    turns = [turn for turn in map(_turn, request.messages) if turn is not None]
    if not turns or turns[-1].role != "user":
        raise InputError("The last message has to be the user's question.")
    return clew.answer(
        turns[-1].text,
        kbs=[request.model, *request.clew.kbs],
        history=turns[:-1],
        files=request.clew.files,
        sections=section_values(request.clew.sections),
        mode=request.clew.retrieval_mode,
        kind=request.clew.kind,
        max_tokens=request.max_completion_tokens or request.max_tokens,
        temperature=request.temperature,
    )


def _turn(message: RequestMessage) -> Turn | None:
    """A message as a turn of the conversation. System prompts and tool results are none: Clew's own rules hold."""
    if message.role != "user" and message.role != "assistant":
        return None
    if isinstance(message.content, list):
        other = {part.type for part in message.content} - {"text", "refusal"}
        if other:
            raise InputError(f"Messages may hold text only, not {', '.join(sorted(other))}.")
        text = "\n".join(part.text for part in message.content)
    else:
        text = message.content or ""
    return Turn(message.role, text)


def _model(kb: KnowledgeBase) -> CompletionModel:
    created = int(datetime.fromisoformat(kb.created_at).timestamp())
    return CompletionModel(id=kb.name, created=created, clew={"kb_id": kb.kb_id, "description": kb.description})


def _error(message: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    code = "model_not_found" if status == 404 else None
    return OpenAIError(error=ErrorBody(message=message, type=kind, param=param, code=code)).model_dump()


def _data(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
