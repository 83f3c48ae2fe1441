"""Tokens of a text where the model's own tokenizer is not at hand."""

from __future__ import annotations

import re

# Every character that is no ASCII letter or digit is a token, words and numbers are one for each four (three)
# characters begun. That is above what the common tokenizers need for ordinary text.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,3}|[^\sA-Za-z0-9]")


def estimated_tokens(text: str) -> int:
    """How many tokens the text has, from above."""
    return len(_TOKEN.findall(text))


def estimated_spans(text: str) -> list[tuple[int, int]]:
    """Code point span of each of these tokens, in order."""
    return [match.span() for match in _TOKEN.finditer(text)]
