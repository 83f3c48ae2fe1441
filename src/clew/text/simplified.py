"""Traditional Chinese characters as their simplified ones, so that either script finds the other.

The dictionary that cuts and tags Chinese text knows simplified words only, and a question in one script is meant to
find a document in the other. Each character becomes one character: places in the text stay what they are.
"""

from __future__ import annotations

from functools import cache

import opencc

_FIRST, _LAST = 0x3400, 0x9FFF


def to_simplified(text: str) -> str:
    """``text`` with each traditional character replaced; as long as ``text``."""
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, str]:
    characters = [chr(code) for code in range(_FIRST, _LAST + 1)]
    simplified = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(old): new for old, new in zip(characters, simplified, strict=True) if old != new and len(new) == 1}
