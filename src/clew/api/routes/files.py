"""Files: upload, look at, replace, delete."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response, UploadFile, status

from clew.api import schemas
from clew.api.deps import ClewDep
from clew.api.events import file_stream, files_stream
from clew.api.following import FilesFollower
from clew.api.originals import original_response
from clew.app import Clew
from clew.errors import InputError
from clew.types import ChildChunk, File, FileStatus

router = APIRouter(tags=["files"])

Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]
Limit = Annotated[int, Query(ge=1, le=500)]


def name_of(upload: UploadFile) -> str:
    """The file name that an upload came with. Raises InputError where there is none."""
    # Browsers send the bare name, other clients may send a path of any system; only its last part is a name.
    name = PurePosixPath((upload.filename or "").replace("\\", "/")).name.strip()
    if not name:
        raise InputError("The upload has no file name; send it as the multipart field 'file' with a file name.")
    return name


def _utc(time: datetime) -> str:
    """The time as files have it in ``updated_at``."""
    try:
        in_utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{time.isoformat()} lies outside of the calendar.") from error
    return in_utc.isoformat(timespec="microseconds")


def _json(file: File) -> dict[str, Any]:
    return schemas.File.model_validate(file).model_dump(mode="json")


@router.get("/kbs/{kb_id}/files")
def list_files(
    kb_id: str,
    clew: ClewDep,
    status: FileStatus | None = None,
    text: Annotated[str, Query(description="Part of the name, or of company, period, date or type.")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> schemas.FilePage:
    """The files of a knowledge base by their creation, filtered and paged."""
    if text:
        matching = clew.list_files(kb_id, status=status, text=text)
        files, total = matching[offset : offset + limit], len(matching)
    else:
        counts = clew.count_files(kb_id)
        files = clew.list_files(kb_id, offset=offset, limit=limit, status=status)
        total = sum(counts.values()) if status is None else counts.get(status, 0)
    return schemas.FilePage(items=[schemas.File.model_validate(file) for file in files], total=total)


@router.post(
    "/kbs/{kb_id}/files",
    status_code=status.HTTP_201_CREATED,
    responses={200: {"model": schemas.File, "description": "The knowledge base holds the same bytes already."}},
)
def upload(
    kb_id: str,
    file: UploadFile,
    response: Response,
    clew: ClewDep,
    source_path: Annotated[str, Form(description="Where a folder ingest found it, to recognise it next time.")] = "",
) -> schemas.File:
    """Upload one file. It is stored and queued; its status and events say how far it is."""
    stored, new = clew.add_file(kb_id, name_of(file), file.file, source_path=source_path)
    if not new:
        response.status_code = status.HTTP_200_OK
    return schemas.File.model_validate(stored)


@router.post("/kbs/{kb_id}/summaries", status_code=status.HTTP_202_ACCEPTED)
def summarise(kb_id: str, clew: ClewDep, request: schemas.Backfill | None = None) -> list[schemas.File]:
    """Queue the section summaries and questions that files lack under the present settings; returns those files."""
    files = clew.backfill(kb_id, again=request is not None and request.again)
    return [schemas.File.model_validate(file) for file in files]


@router.post("/kbs/{kb_id}/descriptions", status_code=status.HTTP_202_ACCEPTED)
def describe(kb_id: str, clew: ClewDep) -> list[schemas.File]:
    """Have the vision model describe the images, charts and tables that it has not described; returns their files."""
    return [schemas.File.model_validate(file) for file in clew.describe(kb_id)]


@router.get("/files/{file_id}")
def get_file(file_id: str, clew: ClewDep) -> schemas.File:
    """One file."""
    return schemas.File.model_validate(clew.file(file_id))


@router.patch("/files/{file_id}")
def change_file(file_id: str, change: schemas.FileChange, clew: ClewDep) -> schemas.File:
    """Rename a file, hide it from every search and show it again, or correct what is known about it."""
    if change.facts:
        clew.correct_facts(file_id, change.facts)
    return schemas.File.model_validate(clew.change_file(file_id, enabled=change.enabled, name=change.name))


@router.post("/files/{file_id}/restore")
def restore(file_id: str, clew: ClewDep) -> schemas.File:
    """Take a file whose update failed back to its previous version; nothing is read or embedded again."""
    return schemas.File.model_validate(clew.restore_file(file_id))


@router.post("/files/{file_id}/cancel")
def cancel(file_id: str, clew: ClewDep) -> schemas.File:
    """Stop what is being done to a file: an update leaves the previous version, a first ingestion a failed file."""
    return schemas.File.model_validate(clew.cancel_file(file_id))


@router.delete("/files/{file_id}", status_code=status.HTTP_204_NO_CONTENT)
def delete_file(file_id: str, clew: ClewDep) -> None:
    """Delete a file everywhere."""
    clew.remove_file(file_id)


@router.put("/files/{file_id}/content")
def replace(file_id: str, file: UploadFile, clew: ClewDep) -> schemas.File:
    """Upload a new version under the same id; a conflict while another one is being read."""
    return schemas.File.model_validate(clew.update_file(file_id, name_of(file), file.file))


@router.get("/files/{file_id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
def file_events(file_id: str, clew: ClewDep) -> Response:
    """Server-sent events: ``progress`` while the file is processed, then ``done`` with the file."""
    clew.file(file_id)
    return file_stream(lambda: clew.file(file_id), _json)


@router.get("/kbs/{kb_id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
def files_events(
    kb_id: str,
    clew: ClewDep,
    since: Annotated[
        datetime | None, Query(description="Tell also of what changed after this time and is over; else: from now on.")
    ] = None,
) -> Response:
    """Server-sent events of all files of a knowledge base in one stream: ``progress`` of those that are processed or
    summarised, ``file`` with each that comes to an end or changes, ``gone`` with the id of each that is deleted, and
    ``done`` once nothing goes on."""
    kb = clew.kb(kb_id)
    start = _utc(since or datetime.now(UTC))
    return files_stream(FilesFollower(partial(clew.moving_files, kb.kb_id), clew.file, _json, start))


@router.get("/files/{file_id}/original", response_class=Response, responses={206: {}, 304: {}, 416: {}})
def original(file_id: str, request: Request, clew: ClewDep) -> Response:
    """The bytes that were uploaded; parts of them with a Range header."""
    return original_response(clew.file(file_id), clew.open_original(file_id), request)


@router.get("/files/{file_id}/blocks")
def blocks(file_id: str, clew: ClewDep, offset: Offset = 0, limit: Limit = 100) -> schemas.BlockPage:
    """What the parser made of the file, in reading order."""
    found = clew.blocks(file_id, offset=offset, limit=limit)
    items = [schemas.Block.model_validate(block) for block in found]
    return schemas.BlockPage(items=items, total=_total(clew, file_id, "blocks"))


@router.get("/files/{file_id}/sections")
def sections(file_id: str, clew: ClewDep, offset: Offset = 0, limit: Limit = 100) -> schemas.SectionPage:
    """The heading tree in path order, the root first."""
    found = clew.sections(file_id, offset=offset, limit=limit)
    items = [schemas.Section.model_validate(section) for section in found]
    return schemas.SectionPage(items=items, total=_total(clew, file_id, "sections"))


@router.patch("/files/{file_id}/chunks/{chunk_id}")
def edit_chunk(file_id: str, chunk_id: str, change: schemas.PassageChange, clew: ClewDep) -> schemas.File:
    """Change the text of a parent chunk, or disable it; the file is processed again, without reading it anew."""
    return schemas.File.model_validate(clew.edit_chunk(file_id, chunk_id, text=change.text, enabled=change.enabled))


@router.delete("/files/{file_id}/chunks/{chunk_id}/edit")
def reset_chunk(file_id: str, chunk_id: str, clew: ClewDep) -> schemas.File:
    """Take back what was changed in a parent chunk."""
    return schemas.File.model_validate(clew.reset_chunk(file_id, chunk_id))


@router.get("/files/{file_id}/chunks")
def chunks(file_id: str, clew: ClewDep, offset: Offset = 0, limit: Limit = 100) -> schemas.PassagePage:
    """Parent chunks in reading order, each with the child chunks that are searched."""
    parents = clew.file_parents(file_id, offset=offset, limit=limit)
    children: defaultdict[str, list[ChildChunk]] = defaultdict(list)
    for child in clew.file_children(file_id, parent_ids=[parent.chunk_id for parent in parents]):
        children[child.parent_id].append(child)
    items = [
        schemas.Passage(
            parent=schemas.ParentChunk.model_validate(parent),
            children=[schemas.ChildChunk.model_validate(child) for child in children[parent.chunk_id]],
        )
        for parent in parents
    ]
    return schemas.PassagePage(items=items, total=_total(clew, file_id, "parents"))


def _total(clew: Clew, file_id: str, what: str) -> int:
    """How many ``blocks``, ``sections`` or ``parents`` the published version has."""
    return clew.file(file_id).counts.get(what, 0)
