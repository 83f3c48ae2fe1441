"""Search: ranking, decisions and trace, no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.app import Clew
from clew.evaluation.decisions import read_decision
from clew.trace import ComplexityDecision, to_json
from clew.types import FileFilter, SectionFilter

router = APIRouter(tags=["search"])


def section_values(sections: Sequence[schemas.SectionFilter] | None) -> list[SectionFilter] | None:
    """A request's section filters as Clew's values."""
    if sections is None:
        return None
    return [SectionFilter(section.file_id, section.section_path) for section in sections]


def file_values(
    clew: Clew, kbs: Sequence[str], files: Sequence[str] | None, where: schemas.FileFilter | None
) -> Sequence[str] | None:
    """A request's file filters as ids; None for no restriction."""
    return files if where is None else clew.files_where(kbs, FileFilter(**where.model_dump()), files)


@router.post("/search")
def search(request: schemas.SearchRequest, clew: ClewDep) -> schemas.SearchResponse:
    """Find passages; the same code as chat, without the answer."""
    result = clew.search(
        request.question,
        kbs=request.kbs,
        files=file_values(clew, request.kbs, request.files, request.where),
        sections=section_values(request.sections),
        mode=request.retrieval_mode,
        kind=request.kind,
        overlay=request.settings,
        conversation_id=request.conversation_id,
    )
    hits = [schemas.SearchHit.model_validate(to_json(hit)) for hit in result.hits]
    return schemas.SearchResponse(hits=hits, trace=to_json(result.trace))


@router.post("/route")
def route(request: schemas.RouteRequest, clew: ClewDep) -> schemas.RouteResponse:
    """Decide single or multi, and fact or summary, without looking anything up."""
    return schemas.RouteResponse(
        complexity=clew.route(request.question, kb=request.kb, record=request.record),
        kind=clew.route_kind(request.question, kb=request.kb, record=request.record),
    )


@router.get("/decisions")
def decisions(
    clew: ClewDep,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> list[ComplexityDecision]:
    """The questions that were decided, the latest first, with all that was known of them."""
    return [read_decision(record) for record in clew.decisions(offset=offset, limit=limit, latest_first=True)]


@router.get("/chunks")
def find_chunks(
    clew: ClewDep, ids: Annotated[list[str], Query(alias="id", min_length=1, max_length=200)]
) -> list[schemas.FoundChunk]:
    """Chunks by id, as a trace names them; those that can no longer be searched are missing."""
    return [
        schemas.FoundChunk(
            chunk_id=chunk.chunk_id,
            file_id=file.file_id,
            file=file.name,
            section_titles=list(chunk.section_titles),
            page=chunk.page,
            text=chunk.text,
        )
        for chunk, file in clew.chunks(ids)
    ]
