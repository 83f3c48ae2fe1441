"""Files attached to conversations."""

from __future__ import annotations

from fastapi import APIRouter, UploadFile, status

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.api.routes.files import name_of

router = APIRouter(prefix="/conversations/{conversation_id}/attachments", tags=["attachments"])


@router.get("")
def attachments(conversation_id: str, clew: ClewDep) -> schemas.Attachments:
    """The attachments, the newest last, and what of them can be read how."""
    package = clew.attachments(conversation_id)
    return schemas.Attachments(
        files=[schemas.Attachment.model_validate(file) for file in package.files],
        semantic_scope=sorted(package.semantic_scope),
        bm25_scope=sorted(package.bm25_scope),
        stuff_texts=list(package.stuff_texts),
    )


@router.post("", status_code=status.HTTP_201_CREATED)
def attach(conversation_id: str, file: UploadFile, clew: ClewDep) -> schemas.Attachment:
    """Attach a file. It is stored and queued; a question waits a while until it is read. A file beyond a limit is noted
    as skipped. The same bytes again make a file the newest."""
    attached = clew.attach(conversation_id, name_of(file), file.file)
    found = next(f for f in clew.attachments(conversation_id).files if f.file_id == attached.attachment_id)
    return schemas.Attachment.model_validate(found)


@router.delete("/{file_id}", status_code=status.HTTP_204_NO_CONTENT)
def remove(conversation_id: str, file_id: str, clew: ClewDep) -> None:
    """Take a file away again."""
    clew.remove_attachment(conversation_id, file_id)
