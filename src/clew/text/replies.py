"""Reading what a language model replied: whatever stands around it, and however loosely it is typed."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from clew.text.thinking import without_thinking

READ_CHARACTERS = 50_000
"""A structured reply has a few hundred characters; what is longer is cut before it is searched for anything."""
_MAX_OBJECTS = 64

_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|[(（]?\d{1,2}[.)、．:：）])\s*")


def plain_reply(text: str) -> str:
    """The reply's text: without thoughts, without a code fence or quotation marks around the whole of it."""
    text = without_thinking(text[:READ_CHARACTERS])
    fenced = _FENCE.match(text)
    text = fenced[1].strip() if fenced else text
    quoted = len(text) > 1 and text[0] + text[-1] in ('""', "“”", "「」")
    return text[1:-1].strip() if quoted else text


def listed_reply(text: str) -> list[str]:
    """The lines of a reply without bullets and numbers; also of a JSON list of texts."""
    text = plain_reply(text)
    if text.startswith("["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list):
            return [" ".join(item.split()) for item in value if isinstance(item, str) and item.strip()]
    lines = (" ".join(_LIST_MARK.sub("", line).split()) for line in text.splitlines())
    return [line for line in lines if line]


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text, also in Python's spelling (single quotes, True, None), as some models write it."""
    decoder = json.JSONDecoder()
    position, tried = text.find("{"), 0
    while position >= 0 and tried < _MAX_OBJECTS:
        tried += 1
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            value, end = _python_literal(text, position)
        if isinstance(value, dict):
            yield value
        position = text.find("{", max(end, position + 1))


def quoted_reply(text: str) -> str | None:
    """What a reply holds that is one JSON string as a whole; None for any other."""
    text = text.strip()
    if not text.startswith('"'):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) and value != text else None


def _python_literal(text: str, start: int) -> tuple[Any, int]:
    end = text.find("}", start)
    while 0 <= end < start + 5000:
        try:
            return ast.literal_eval(text[start : end + 1]), end + 1
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            end = text.find("}", end + 1)
    return None, start + 1
