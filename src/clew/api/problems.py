"""Errors as RFC 9457 problem details. No traceback and no internal name ever leaves the server."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from clew.errors import (
    ClewError,
    ConflictError,
    FileFailedError,
    InputError,
    NotFoundError,
    ServiceError,
    ServiceUnavailableError,
    SettingsError,
    StorageBusyError,
    StorageError,
    StorageFullError,
)

MEDIA_TYPE = "application/problem+json"
UNEXPECTED = "Something went wrong inside Clew. The server's log says what; trying again may help."

# The first class that fits decides, so children stand before their parents.
_KINDS: tuple[tuple[type[ClewError], int, str, str], ...] = (
    (NotFoundError, 404, "not-found", "Not found"),
    (ConflictError, 409, "conflict", "Conflict"),
    (SettingsError, 422, "settings", "Impossible setting"),
    (InputError, 422, "input", "Impossible request"),
    (FileFailedError, 422, "file-failed", "The file cannot be read"),
    (ServiceUnavailableError, 503, "service-unavailable", "A model or server cannot be reached"),
    (ServiceError, 502, "service-refused", "A model or server refused"),
    (StorageFullError, 507, "storage-full", "No space left"),
    (StorageBusyError, 503, "storage-busy", "The data is in use"),
    (StorageError, 500, "storage", "The data cannot be read or written"),
    (ClewError, 500, "internal", "Error"),
)
_HTTP_TITLES = {400: "Bad request", 404: "Not found", 405: "Method not allowed", 413: "Too large"}


def problem(status: int, kind: str, title: str, detail: str, *, errors: Sequence[dict[str, str]] = ()) -> JSONResponse:
    """A problem-details response; ``kind`` becomes the ``type`` URN that programs can compare."""
    # What went wrong may quote what cannot be encoded.
    detail = detail.encode("utf-8", "replace").decode("utf-8")
    body: dict[str, Any] = {"type": f"urn:clew:{kind}", "title": title, "status": status, "detail": detail}
    if errors:
        body["errors"] = list(errors)
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def title_and_detail(error: BaseException) -> tuple[str, str]:
    """How an error reads to a person, for places that are no HTTP response (the ``error`` event of a stream)."""
    if isinstance(error, ClewError):
        _, _, title = _kind_of(error)
        return title, str(error)
    return "Error", UNEXPECTED


def status_of(error: ClewError) -> int:
    """The HTTP status that an error has."""
    return _kind_of(error)[0]


def install(app: FastAPI) -> None:
    """Make every error of ``app`` a problem-details response."""
    app.add_exception_handler(ClewError, _clew_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def _kind_of(error: ClewError) -> tuple[int, str, str]:
    return next((status, kind, title) for cls, status, kind, title in _KINDS if isinstance(error, cls))


def _clew_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ClewError)
    status, kind, title = _kind_of(error)
    if status == 500:
        logging.getLogger(__name__).error("%s %s", request.method, request.url.path, exc_info=error)
    response = problem(status, kind, title, str(error))
    if error.transient and status != 507:
        response.headers["Retry-After"] = "1"
    return response


def _validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = [
        {
            "path": ".".join(str(part) for part in item["loc"] if part not in {"body", "query", "path"}),
            "message": message,
        }
        for item in error.errors()
        if (message := str(item["msg"]))
    ]
    detail = "; ".join(f"{item['path']}: {item['message']}" if item["path"] else item["message"] for item in errors)
    return problem(422, "invalid-request", "The request is not valid", detail, errors=errors)


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if any(isinstance(cause, OSError) and cause.errno == errno.ENOSPC for cause in _causes(error)):
        return _disk_full()
    title = _HTTP_TITLES.get(error.status_code, "Error")
    detail = str(error.detail)
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}; /api/v1/openapi.json lists what there is."
    response = problem(error.status_code, title.lower().replace(" ", "-"), title, detail)
    response.headers.update(error.headers or {})
    return response


def _unexpected(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return _disk_full()
    return problem(500, "internal", "Error", UNEXPECTED)


def _disk_full() -> JSONResponse:
    return problem(
        507, "storage-full", "No space left", "The disk is full: nothing was stored. Make space and try again."
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
