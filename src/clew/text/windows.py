"""A piece of a long text around the place that matters."""

from __future__ import annotations

from collections.abc import Callable


def window_around(text: str, start: int, end: int, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """About ``tokens`` tokens of ``text`` with its span from ``start`` to ``end`` inside, cut at line ends where
    possible. A span that is longer than that comes back whole."""
    total = max(1, count_tokens(text))
    if total <= tokens:
        return text
    size = max(end - start, int(len(text) * tokens / total * 0.9))
    first = max(0, min(start - (size - (end - start)) // 2, len(text) - size))
    last = min(len(text), first + size)
    line = text.find("\n", first, start)
    if first > 0 and line >= 0:
        first = line + 1
    line = text.rfind("\n", end, last)
    if last < len(text) and line >= 0:
        last = line
    return text[first:last]
