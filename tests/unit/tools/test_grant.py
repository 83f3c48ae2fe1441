"""Grants: arguments narrow, never widen, and reveal nothing."""

from __future__ import annotations

import pytest

from clew.errors import NotFoundError
from clew.tools.grant import EVERYTHING, Grant, granted_kbs
from clew.types import KnowledgeBase

A, B = KnowledgeBase("kb_a", "a", "2026"), KnowledgeBase("kb_b", "b", "2026")


def test_without_names_all_that_is_granted_is_read() -> None:
    assert granted_kbs(EVERYTHING, [A, B], []) == [A, B]
    assert granted_kbs(Grant(frozenset({"kb_b"})), [A, B], []) == [B]


def test_what_is_not_granted_looks_like_what_does_not_exist() -> None:
    grant = Grant(frozenset({"kb_b"}))
    assert granted_kbs(grant, [A, B], ["b", "kb_b"]) == [B]
    messages = set()
    for name in ("a", "x"):
        with pytest.raises(NotFoundError) as error:
            granted_kbs(grant, [A, B], [name])
        messages.add(str(error.value).replace(repr(name), "?"))
    assert len(messages) == 1


def test_narrowing_only_ever_takes_away() -> None:
    grant = Grant(frozenset({"kb_a"}), frozenset({"f1", "f2"}))
    assert grant.narrowed_to_kbs(["kb_a", "kb_b"]).kb_ids == {"kb_a"}
    assert grant.narrowed_to_kbs([]).kb_ids == frozenset()
    assert grant.files(["f2", "f3"]) == {"f2"}
    assert grant.files(None) == {"f1", "f2"}
    assert EVERYTHING.files(["f3"]) == {"f3"}
    assert EVERYTHING.files(None) is None
