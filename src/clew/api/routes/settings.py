"""Settings: what they are, what they mean; the models can be set, tried and saved."""

from __future__ import annotations

from fastapi import APIRouter

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.config import KB_SECTIONS, Settings, set_by_environment

router = APIRouter(prefix="/settings", tags=["settings"])


@router.get("")
def get_settings(clew: ClewDep) -> schemas.SettingsView:
    """All settings with their meaning and limits; keys are never shown."""
    return schemas.SettingsView(
        values=clew.settings.model_dump(mode="json", include={"models", *KB_SECTIONS}),
        json_schema=Settings.model_json_schema(),
        kb_sections=sorted(KB_SECTIONS),
        from_environment=set_by_environment(),
    )
