"""Settings given on the command line as ``path=value``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clew.config import merged, nested
from clew.errors import SettingsError


def overlay_of(assignments: Sequence[str]) -> dict[str, Any]:
    """``["a.b=1"]`` as ``{"a": {"b": 1}}``; values are JSON, else text. Raises SettingsError for anything else."""
    overlay: dict[str, Any] = {}
    for assignment in assignments:
        path, sign, value = assignment.partition("=")
        if not sign:
            raise SettingsError(f"{assignment}: write a setting as path=value, for example retrieval.bm25_b=0.5.")
        overlay = merged(overlay, nested(path.strip(), _value(value.strip())))
    return overlay


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def remove_path(overlay: dict[str, Any], path: str) -> None:
    """Take a dotted path out of an overlay; nothing happens where it is not there."""
    *sections, key = path.split(".")
    for section in sections:
        overlay = overlay.get(section, {})
    overlay.pop(key, None)
