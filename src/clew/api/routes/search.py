"""Search: ranking and trace, no answer."""

from __future__ import annotations

from fastapi import APIRouter

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.trace import to_json
from clew.types import SectionFilter

router = APIRouter(tags=["search"])


def section_filters(request: schemas.SearchRequest) -> list[SectionFilter] | None:
    """The request's section filters as Clew's values."""
    if request.sections is None:
        return None
    return [SectionFilter(section.file_id, section.section_path) for section in request.sections]


@router.post("/search")
def search(request: schemas.SearchRequest, clew: ClewDep) -> schemas.SearchResponse:
    """Find passages; the same code as chat, without the answer."""
    result = clew.search(
        request.question,
        kbs=request.kbs,
        files=request.files,
        sections=section_filters(request),
        mode=request.retrieval_mode,
        kind=request.kind,
    )
    hits = [schemas.SearchHit.model_validate(to_json(hit)) for hit in result.hits]
    return schemas.SearchResponse(hits=hits, trace=to_json(result.trace))
