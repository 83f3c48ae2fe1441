"""Values as both databases can hold them.

PostgreSQL refuses NUL characters, neither database takes lone surrogates, and JSON has no NaN; damaged files and
foreign models produce all three. Such a character becomes U+FFFD (one for one, so offsets hold), such a number null:
better than losing the whole file or answer for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def now() -> str:
    """The time as all records write it: ISO 8601 in UTC with microseconds, so that text order is time order."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def storable_text(text: str) -> str:
    """``text`` with NUL characters and lone surrogates replaced; its length in code points stays."""
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join(_REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def dump_json(value: Any) -> str:
    """``value`` as JSON text, in the order it came; raises TypeError for what JSON does not know."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except ValueError:  # NaN, infinity, or (UnicodeEncodeError) a lone surrogate
        return dump_json(_storable(value))
    return dump_json(_storable(value)) if "\\u0000" in text and "\0" in _characters(value) else text


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def _characters(value: Any) -> set[str]:
    """All characters of all strings in a JSON-like value."""
    if isinstance(value, str):
        return set(value)
    if isinstance(value, Mapping):
        return set().union(*(_characters(k) | _characters(v) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return set().union(*(_characters(item) for item in value))
    return set()
