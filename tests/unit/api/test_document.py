"""The OpenAPI document: its examples are requests that the API takes, and every request that has a body shows one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clew.api.server import create_app

Json = dict[str, Any]
DOCUMENT: Json = create_app(None).openapi()


def places(value: Any, path: str = "#") -> Iterator[tuple[str, Json]]:
    """Every object of the document that has examples."""
    if isinstance(value, dict):
        if isinstance(value.get("examples"), list):
            yield path, value
        for key, item in value.items():
            yield from places(item, f"{path}/{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, f"{path}/{number}")


WITH_EXAMPLES = dict(places(DOCUMENT))


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_an_example_is_valid(path: str) -> None:
    schema = {"components": DOCUMENT["components"], **WITH_EXAMPLES[path]}
    Draft202012Validator.check_schema(schema)
    for example in schema["examples"]:
        Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(example)


def bodies() -> Iterator[tuple[str, Json]]:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                yield f"{method.upper()} {path}", content["application/json"]["schema"]


@pytest.mark.parametrize(("operation", "schema"), list(bodies()))
def test_a_json_request_shows_an_example(operation: str, schema: Json) -> None:
    names = [part["$ref"].rsplit("/", 1)[1] for part in schema.get("anyOf", [schema]) if "$ref" in part]
    assert any(DOCUMENT["components"]["schemas"][name].get("examples") for name in names), operation


def test_every_operation_has_a_summary_a_tag_and_says_what_goes_wrong() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            assert operation.get("summary") or operation.get("description"), (method, path)
            assert operation.get("tags") or path == "/health", (method, path)
            assert "default" in operation["responses"] or path == "/health", (method, path)
