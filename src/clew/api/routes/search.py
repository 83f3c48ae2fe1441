"""Search: ranking and trace, no answer."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.trace import to_json
from clew.types import SectionFilter

router = APIRouter(tags=["search"])


def section_values(sections: Sequence[schemas.SectionFilter] | None) -> list[SectionFilter] | None:
    """A request's section filters as Clew's values."""
    if sections is None:
        return None
    return [SectionFilter(section.file_id, section.section_path) for section in sections]


@router.post("/search")
def search(request: schemas.SearchRequest, clew: ClewDep) -> schemas.SearchResponse:
    """Find passages; the same code as chat, without the answer."""
    result = clew.search(
        request.question,
        kbs=request.kbs,
        files=request.files,
        sections=section_values(request.sections),
        mode=request.retrieval_mode,
        kind=request.kind,
    )
    hits = [schemas.SearchHit.model_validate(to_json(hit)) for hit in result.hits]
    return schemas.SearchResponse(hits=hits, trace=to_json(result.trace))
