"""Deterministic tokenizers for tests of chunking."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z0-9]{1,4}|\S")


class PieceTokenizer:
    """Four Latin letters or digits, or any other character that is no space, make a token."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _PIECE.finditer(text)]

    def count_tokens(self, text: str) -> int:
        return len(self.token_offsets(text))


class AwkwardTokenizer:
    """Bytes as tokens (an ideograph is three with the same span) and one more for the beginning of each text.

    So the parts of a text have more tokens than they had inside it, and white space counts.
    """

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        offsets = [(0, 0)] if text else []
        for index, character in enumerate(text):
            offsets += [(index, index + 1)] * len(character.encode("utf-8", "replace"))
        return offsets

    def count_tokens(self, text: str) -> int:
        return len(self.token_offsets(text))
