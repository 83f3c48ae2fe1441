from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from clew.api.server import create_app
from clew.config import ComplexitySettings
from clew.errors import StorageError
from clew.evaluation.runs import Outcome, summarise
from clew.evaluation.stored import decisions_run, retrieval_run, save_run, stored_runs
from clew.trace import ComplexityDecision
from fakes.clew import FakeClew

OUTCOMES = [Outcome("1", (1, 3), 10.0, 1, 0, "single"), Outcome("2", (2, None), 30.0, 1, 0, "single")]
DECISIONS = [
    ComplexityDecision("a", "multi", "rules", 0.8, {"entity_count": 2}),
    ComplexityDecision("b", "single", "rules", 0.1, {"entity_count": 1}),
    ComplexityDecision("c", "multi", "rules", 0.9, {"entity_count": 2}),
]


def test_a_run_of_eval_has_its_table_and_curves() -> None:
    run = retrieval_run("corpus.jsonl", {"single": OUTCOMES}, {"single": summarise(OUTCOMES, [2])})

    assert run["modes"]["single"]["recall@2"] == 0.5
    assert run["curves"]["single"]["recall"][:4] == [0.25, 0.5, 0.75, 0.75]
    assert run["curves"]["single"]["all_support"][:4] == [0.0, 0.0, 0.5, 0.5]
    assert len(run["curves"]["single"]["recall"]) == 20


def test_a_run_of_decisions_has_a_curve_for_every_threshold() -> None:
    run = decisions_run("labelled.jsonl", DECISIONS, ["multi", "single", "single"], ComplexitySettings())

    assert run["agreement"]["precision"] == 0.5
    assert run["curves"].keys() == run["thresholds"].keys()
    curve = {row["threshold"]: row for row in run["curves"]["fallback_rules_threshold"]}
    assert curve[0.4]["multi_share"] == 0.6667
    assert [row["threshold"] for row in run["curves"]["rules_multi_threshold"]][-1] == 1.0


def test_runs_are_listed_latest_first_also_over_http(tmp_path: Path) -> None:
    run = retrieval_run("corpus.jsonl", {"single": OUTCOMES}, {"single": summarise(OUTCOMES, [2])})
    save_run(tmp_path, {**run, "created_at": "2026-01-01T00:00:00+00:00"})
    save_run(tmp_path / "eval", {**run, "created_at": "2026-01-03T00:00:00+00:00", "corpus": "inner"})
    labelled = decisions_run("labelled.jsonl", DECISIONS, ["multi", "single", "single"], ComplexitySettings())
    save_run(tmp_path, {**labelled, "created_at": "2026-01-02T00:00:00+00:00"})
    (tmp_path / "evaluations" / "broken.json").write_text("{")
    (tmp_path / "evaluations" / "other.json").write_text(json.dumps({"kind": "other"}))

    assert [run["created_at"][:10] for run in stored_runs(tmp_path)] == ["2026-01-03", "2026-01-02", "2026-01-01"]
    client = TestClient(create_app(FakeClew(data=tmp_path)), base_url="http://127.0.0.1:8765")  # type: ignore[arg-type]
    listed = client.get("/api/v1/evaluations").json()
    assert [run["kind"] for run in listed] == ["retrieval", "decisions", "retrieval"]
    assert listed[0]["curves"]["single"]["recall"][1] == 0.5
    assert listed[1]["curves"]["rules_multi_threshold"][0]["threshold"] == 0.0


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "evaluations").write_text("a file")
    with pytest.raises(StorageError, match="evaluations"):
        save_run(tmp_path, {"kind": "retrieval"})
