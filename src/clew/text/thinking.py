"""Reasoning that a language model writes into its reply; it is neither used nor shown."""

from __future__ import annotations

import re

_TAG = r"think|thinking|thought|reasoning|analysis"
_CLOSED = re.compile(rf"<({_TAG})\b[^>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
# Some servers swallow the opening tag, and a reply that is cut off lacks the closing one.
_UNOPENED = re.compile(rf"^.*</(?:{_TAG})\s*>", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(rf"<(?:{_TAG})\b[^>]*>.*$", re.DOTALL | re.IGNORECASE)


def without_thinking(reply: str) -> str:
    """The reply without its reasoning, stripped; empty where there is nothing else."""
    return _UNCLOSED.sub("", _UNOPENED.sub("", _CLOSED.sub("", reply))).strip()
