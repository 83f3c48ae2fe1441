"""Knowledge bases."""

from __future__ import annotations

from fastapi import APIRouter, status

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.app import Clew
from clew.types import FileStatus, KnowledgeBase

router = APIRouter(prefix="/kbs", tags=["knowledge bases"])


def _shaped(clew: Clew, kb: KnowledgeBase) -> schemas.KnowledgeBase:
    counts = clew.count_files(kb.kb_id)
    files = schemas.FileCounts(**{status.value: counts.get(status, 0) for status in FileStatus})
    return schemas.KnowledgeBase(
        kb_id=kb.kb_id,
        name=kb.name,
        description=kb.description,
        created_at=kb.created_at,
        embedder=kb.embedder,
        settings=kb.settings,
        files=files,
    )


@router.get("")
def list_kbs(clew: ClewDep) -> list[schemas.KnowledgeBase]:
    """All knowledge bases, by name."""
    return [_shaped(clew, kb) for kb in clew.list_kbs()]


@router.post("", status_code=status.HTTP_201_CREATED)
def create_kb(new: schemas.NewKnowledgeBase, clew: ClewDep) -> schemas.KnowledgeBase:
    """Create a knowledge base; its name must be free."""
    return _shaped(clew, clew.create_kb(new.name, description=new.description, settings=new.settings))


@router.get("/{kb_id}")
def get_kb(kb_id: str, clew: ClewDep) -> schemas.KnowledgeBase:
    """One knowledge base, by id or name."""
    return _shaped(clew, clew.kb(kb_id))


@router.patch("/{kb_id}")
def change_kb(kb_id: str, change: schemas.KnowledgeBaseChange, clew: ClewDep) -> schemas.KnowledgeBase:
    """Rename, describe, or set settings."""
    kb = clew.update_kb(kb_id, settings=change.settings, name=change.name, description=change.description)
    return _shaped(clew, kb)


@router.delete("/{kb_id}", status_code=status.HTTP_204_NO_CONTENT)
def delete_kb(kb_id: str, clew: ClewDep) -> None:
    """Delete a knowledge base with all its files."""
    clew.delete_kb(kb_id)
