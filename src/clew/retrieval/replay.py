"""A stored question asked again: what its trace asked for, and what differs between two traces (spec 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from clew.errors import InputError


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two traces of a question do not share: what, and how it was in each."""

    what: str
    before: Any
    after: Any


def find_trace(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trace in what ``clew search --json``, the page's export, or a stored message holds.

    Raises InputError where there is none that can be replayed.
    """
    for candidate in (value, value.get("trace"), value.get("retrieval_trace"), value.get("usage")):
        if isinstance(candidate, Mapping):
            if "request" in candidate and "rounds" in candidate:
                return candidate
            if candidate is not value and "retrieval_trace" in candidate:
                return find_trace(candidate)
    raise InputError("This holds no trace that can be replayed; use the output of `clew search --json`.")


def request_of(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The search request (as in the HTTP API) that a trace answers. The rewritten question is asked, because a
    conversation's earlier messages are not part of the trace. Raises InputError."""
    request = trace.get("request")
    if not isinstance(request, Mapping):
        raise InputError("The trace does not say what was asked for; it comes from an older version of Clew.")
    return {
        "question": str(trace["rewritten"]),
        "kbs": list(request["kbs"]),
        "files": request.get("files"),
        "sections": request.get("sections"),
        "retrieval_mode": request.get("mode", "auto"),
        "kind": request.get("kind", "fact"),
        "settings": dict(request.get("settings", {})),
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """What differs between two traces of one question, in the order in which it came about; times are ignored."""
    found: list[Difference] = []
    for what, was, now in _compared(before, after):
        if was != now:
            found.append(Difference(what, was, now))
    return found


def _compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for decision, names in (("complexity", ("mode", "source", "rule_score")), ("kind", ("kind", "source", "score"))):
        was, now = _part(before, decision), _part(after, decision)
        for name in names:
            yield f"{decision}.{name}", was.get(name), now.get(name)
    was, now = _part(before, "sections"), _part(after, "sections")
    for name in ("scope", "matched", "read", "fallback"):
        yield f"sections.{name}", was.get(name), now.get(name)
    yield "planner", before.get("planner"), after.get("planner")
    old, new = before.get("rounds", ()), after.get("rounds", ())
    yield "rounds", len(old), len(new)
    for number, (was, now) in enumerate(zip(old, new, strict=False), start=1):
        yield f"round {number}: sub-question", was.get("sub_question"), now.get("sub_question")
        yield f"round {number}: hits", _ids(was.get("hits", ())), _ids(now.get("hits", ()))
    yield "stop_reason", before.get("stop_reason"), after.get("stop_reason")
    yield "uncertain", before.get("uncertain"), after.get("uncertain")
    yield "context", _ids(_stage(before, "context")), _ids(_stage(after, "context"))


def _part(trace: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], trace.get(name) or {})


def _stage(trace: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    return next((stage["ranking"] for stage in trace.get("stages", ()) if stage["name"] == name), ())


def _ids(ranking: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(entry["chunk_id"]) for entry in ranking]
