"""Health and doctor."""

from __future__ import annotations

from fastapi import APIRouter

from clew import __version__
from clew.api import schemas
from clew.api.deps import ClewDep

health = APIRouter(tags=["system"])
router = APIRouter(tags=["system"])


@health.get("/health")
async def get_health() -> schemas.Health:
    """Answers at once and touches nothing: the process is up."""
    return schemas.Health(version=__version__)


@router.get("/doctor")
def doctor(clew: ClewDep) -> list[schemas.Check]:
    """Checks every part by name."""
    return [schemas.Check.model_validate(check) for check in clew.check()]


@router.get("/doctor/deep")
def deep_doctor(clew: ClewDep) -> list[schemas.Finding]:
    """Compares records, search index and originals; where they agree, nothing is found."""
    return [schemas.Finding.model_validate(finding) for finding in clew.examine()]


@router.post("/doctor/repair")
def repair(clew: ClewDep) -> list[schemas.Finding]:
    """Compares them and puts right what can be."""
    return [schemas.Finding.model_validate(finding) for finding in clew.examine(repair=True)]
