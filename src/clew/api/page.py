"""Serves the built web page that lies in this package."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

FOLDER = Path(__file__).parent / "page"
# What only programs ask for: a wrong path there is an error, not the page.
_API_PREFIXES = ("api/", "v1/", "mcp")
# Files with a hash in their name never change; pdf.js' own data changes only with a release.
_IMMUTABLE = ("assets/",)
_CSP = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
_NOT_BUILT = (
    "The web page is not built in this installation. Build it with `npm ci && npm run build` in the folder web/.\n"
)


def install(app: FastAPI, folder: Path = FOLDER) -> None:
    """Serve the page below ``/``; call this after all other routes. Unknown paths get the page, which knows them."""
    root = folder.resolve()

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> Response:
        if path.startswith(_API_PREFIXES):
            raise HTTPException(404)
        index = root / "index.html"
        if not index.is_file():
            return PlainTextResponse(_NOT_BUILT, status_code=503)
        found = (root / path).resolve()
        if path and found.is_file() and found.is_relative_to(root):
            caching = "public, max-age=31536000, immutable" if path.startswith(_IMMUTABLE) else "no-cache"
            return FileResponse(found, headers={"Cache-Control": caching})
        if path.startswith(_IMMUTABLE):
            raise HTTPException(404)
        return FileResponse(index, headers={"Cache-Control": "no-cache", "Content-Security-Policy": _CSP})
