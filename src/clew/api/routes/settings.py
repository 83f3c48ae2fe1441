"""Settings: what they are, what they mean; the models can be set, tried and saved."""

from __future__ import annotations

from fastapi import APIRouter

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.app import Clew
from clew.config import KB_SECTIONS, Settings, set_by_environment

router = APIRouter(prefix="/settings", tags=["settings"])


def _view(clew: Clew) -> schemas.SettingsView:
    values = clew.settings.model_dump(mode="json", include=set(KB_SECTIONS))
    return schemas.SettingsView(
        values=values | {"models": clew.saved_models.model_dump(mode="json")},
        json_schema=Settings.model_json_schema(),
        kb_sections=sorted(KB_SECTIONS),
        from_environment=set_by_environment(),
        restart_needed=clew.saved_models != clew.settings.models,
    )


@router.get("")
def get_settings(clew: ClewDep) -> schemas.SettingsView:
    """The settings with their meaning and limits; keys are never shown."""
    return _view(clew)


@router.put("/models")
def save_models(change: schemas.ModelsChange, clew: ClewDep) -> schemas.SettingsView:
    """Save the models in clew.toml. They are used at once, but for the embedder."""
    clew.save_models(change.models)
    return _view(clew)


@router.post("/models/test")
def try_model(trial: schemas.ModelTrial, clew: ClewDep) -> schemas.Check:
    """Whether a model would work; nothing is saved."""
    return schemas.Check.model_validate(clew.try_model(trial.part, trial.settings))
