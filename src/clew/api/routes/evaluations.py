"""Runs of the evaluation that are kept in the data folder."""

from __future__ import annotations

from fastapi import APIRouter

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.evaluation.stored import stored_runs

router = APIRouter(prefix="/evaluations", tags=["evaluation"])


@router.get("")
def list_evaluations(clew: ClewDep) -> list[schemas.EvaluationRun]:
    """Runs of ``clew eval`` and ``clew tune complexity``, the latest first."""
    return [schemas.EvaluationRun.model_validate(run) for run in stored_runs(clew.data)]
