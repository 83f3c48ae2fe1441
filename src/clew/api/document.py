"""The OpenAPI document that the page's client is generated from: ``python -m clew.api.document > web/openapi.json``."""

from __future__ import annotations

import json

from clew.api.server import create_app


def document() -> str:
    """The document as JSON text, the same for the same code."""
    return json.dumps(create_app(None).openapi(), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(document(), end="")
