"""What a question shows of its kind: observations that point to a summary or to a fact (spec 3.3, step r1).

Each signal is one observation in [0, 1] and points one way only; ``kind.py`` weighs them, and the reasons of a
decision are the signals that weighed most. The patterns stand in ``kind_signals.toml``; every question is read with
the Chinese and the English ones, so that mixed questions need no case of their own.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from clew.text.language import count_words
from clew.types import QuestionKind

SIGNALS_VERSION = "1"
"""Goes up with every change of a pattern; the weights have to be fitted again then."""
LONG_FROM, LONG_TO = 28.0, 48.0
"""Words between which the signal ``long`` rises from 0 to 1; two Han characters count as a word."""

_MAX_CHARACTERS = 2000
"""Of a longer question only the beginning is read."""
_PART = re.compile("@([A-Z_]+)@")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class KindSignal:
    """One observation: where it points, the weight it has before anything is fitted, and what it says in words."""

    points_to: QuestionKind
    prior: float
    says: str
    pattern: re.Pattern[str] | None
    """None where the observation is no pattern."""


def kind_signals(question: str) -> dict[str, float]:
    """The signals above 0, by name, each in (0, 1]. Never raises."""
    text = normalised(question)
    found = {name: 1.0 for name, signal in SIGNALS.items() if signal.pattern and signal.pattern.search(text)}
    polite = _POLITE.match(text)
    if _REQUEST.match(text, polite.end() if polite else 0):
        found["opening_request"] = 1.0
    length = (count_words(text) - LONG_FROM) / (LONG_TO - LONG_FROM)
    if length > 0:
        found["long"] = round(min(length, 1.0), 4)
    return found


def normalised(question: str) -> str:
    """The question in NFKC with single spaces, cut to a length that patterns read quickly."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", question[:_MAX_CHARACTERS])).strip()


def _compiled(parts: Mapping[str, str], *patterns: str) -> re.Pattern[str]:
    def expanded(text: str) -> str:
        return _PART.sub(lambda match: expanded(parts[match[1]]), text.replace("\n", ""))

    return re.compile("|".join(expanded(pattern) for pattern in patterns), re.IGNORECASE)


def _signal(entry: Mapping[str, Any], parts: Mapping[str, str]) -> KindSignal:
    patterns = [entry[language] for language in ("zh", "en") if language in entry]
    pattern = _compiled(parts, *patterns) if patterns else None
    return KindSignal(entry["points_to"], entry["prior"], entry["says"], pattern)


_DATA = tomllib.loads(resources.files(__package__).joinpath("kind_signals.toml").read_text(encoding="utf-8"))
_POLITE = _compiled(_DATA["parts"], "@POLITE@")
_REQUEST = _compiled(_DATA["parts"], "@REQUEST@")
SIGNALS: Mapping[str, KindSignal] = {name: _signal(entry, _DATA["parts"]) for name, entry in _DATA["signals"].items()}
"""By name, in the order of the file."""
