"""Which of Clew's two languages a text is in."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["zh", "en"]

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Body of a regular expression class: Han characters, simplified and traditional."""

_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(f"[^\\W\\d_{HAN}]+")
_SPELLED = re.compile(f"[^\\W_{HAN}]+(?:['’.-][^\\W_{HAN}]+)*")
# One Han character weighs as much as one word of another script: a Chinese question stays Chinese although the names
# in it are English, and an English one stays English although it quotes a Chinese term.
_SHARE = 0.3


def detect_language(text: str) -> Language:
    """``zh`` where at least 30 % of the words are Han characters (each counts as a word), else ``en``."""
    han = len(_HAN.findall(text))
    if not han:
        return "en"
    return "zh" if han >= _SHARE * (han + len(_WORD.findall(text))) else "en"


def count_words(text: str) -> float:
    """Length in words; two Han characters count as one word."""
    return len(_HAN.findall(text)) / 2 + len(_SPELLED.findall(text))
