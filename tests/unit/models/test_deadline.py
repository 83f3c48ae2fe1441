"""A call that outlasts its time-out is left alone."""

from __future__ import annotations

import threading

import pytest

from clew.errors import ServiceUnavailableError
from clew.models.deadline import within


def test_a_result_and_an_error_come_through() -> None:
    assert within(5, "It", lambda: 7) == 7
    with pytest.raises(KeyError):
        within(5, "It", lambda: {}["missing"])


def test_a_call_that_does_not_end_is_left_alone_and_named() -> None:
    never = threading.Event()
    try:
        with pytest.raises(ServiceUnavailableError, match=r"The oracle did not answer within 0\.05 s"):
            within(0.05, "The oracle", never.wait)
    finally:
        never.set()
