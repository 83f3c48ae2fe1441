"""The API keeps to its own OpenAPI document, whatever it is sent: no 5xx, no undocumented status, media type or shape.

A bounded, repeatable run of schemathesis on the application over a real Clew, in which half of the ids are real.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS

from clew.api.server import create_app
from clew.app import Clew

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")

EXAMPLES = 6
_PROMISED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_WHATEVER_IS_SENT = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

app = create_app(None)
schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers={"Host": "localhost"})
real_ids: dict[str, str] = {}
"""Path parameter → an id that exists."""


@pytest.fixture(scope="module", autouse=True)
def clew(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Iterator[None]:
    """Something of every kind, so that requests can succeed."""
    folder = tmp_path_factory.mktemp("schema") / "data"
    with Clew.open(folder, overrides={"models": {"folder": str(models_folder)}}) as clew:
        app.state.clew = clew
        kb = clew.create_kb("notes")
        file, _ = clew.add_file(
            "notes", "rivers.md", io.BytesIO(b"# Rivers\n\n## The Danube\n\nIt is 2,850 km long.\n")
        )
        clew.wait([file.file_id], timeout=60)
        talk = clew.create_conversation("talk", (kb.kb_id,)).conversation_id
        clew.attach(talk, "note.txt", io.BytesIO(b"The Rhine is shorter."))
        list(clew.ask("How long is the Danube?", kbs=["notes"], conversation_id=talk))
        message = clew.messages(talk)[-1].message_id
        real_ids.update(kb_id=kb.kb_id, file_id=file.file_id, conversation_id=talk, message_id=message, model="notes")
        real_ids["chunk_id"] = clew.file_parents(file.file_id)[0].chunk_id
        yield
        app.state.clew = None


@schema.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Every second id is a real one, told by the length of what was generated, so that a run can be repeated."""
    if not path_parameters:
        return path_parameters
    return {
        name: real_ids[name] if name in real_ids and len(str(value)) % 2 == 0 else value
        for name, value in path_parameters.items()
    }


@schema.parametrize()
@_WHATEVER_IS_SENT
def test_whatever_is_sent(case: schemathesis.Case) -> None:
    # Deleting would leave nothing to succeed on.
    if case.method == "DELETE":
        case.path_parameters = {name: f"no-{value}" for name, value in (case.path_parameters or {}).items()}
    case.call_and_validate(headers={"Host": "localhost"}, checks=[CHECKS.get_one(name) for name in _PROMISED])
