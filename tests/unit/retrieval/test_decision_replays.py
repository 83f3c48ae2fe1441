"""The page replays decisions by itself; the cases that hold it to these functions hold for them too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.config import ComplexitySettings, KindSettings
from clew.retrieval.complexity import replay
from clew.retrieval.kind import replay_kind
from clew.trace import ComplexityDecision, KindDecision

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "decision_replays.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES["complexity"], ids=lambda case: str(case["name"]))
def test_complexity(case: dict[str, Any]) -> None:
    settings = ComplexitySettings(**(CASES["complexity_defaults"] | case["thresholds"]))
    assert replay(ComplexityDecision(question="q", **case["decision"]), settings) == case["mode"]


@pytest.mark.parametrize("case", CASES["kind"], ids=lambda case: str(case["name"]))
def test_kind(case: dict[str, Any]) -> None:
    settings = KindSettings(**(CASES["kind_defaults"] | case["thresholds"]))
    assert replay_kind(KindDecision(**({"question": "risk factors"} | case["decision"])), settings) == case["kind"]
