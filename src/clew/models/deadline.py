"""A call that holds nobody longer than its time-out, whatever the client does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from clew.errors import ServiceUnavailableError

T = TypeVar("T")

_GRACE = 0.05
"""Seconds that a client has beyond its own time-out before it is left alone."""


def within(seconds: float, who: str, call: Callable[[], T]) -> T:
    """The result of ``call``, which is left alone where it outlasts its own time-out of ``seconds``.

    ``who`` names in the message what did not answer. Raises ServiceUnavailableError, and whatever ``call`` raises.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="clew-deadline")
    thread.start()
    thread.join(seconds + _GRACE)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    raise ServiceUnavailableError(f"{who} did not answer within {seconds:g} s.")
