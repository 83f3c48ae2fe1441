from __future__ import annotations

from pathlib import Path

from clew.api.document import document

COMMITTED = Path(__file__).parents[3] / "web" / "openapi.json"


def test_the_client_of_the_page_is_generated_from_the_current_routes() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == document(), "run `npm run generate` in web/ and commit the result"
