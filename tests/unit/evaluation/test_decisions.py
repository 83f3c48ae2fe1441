from pathlib import Path

import pytest

from clew.config import ComplexitySettings
from clew.errors import InputError, SettingsError
from clew.evaluation.decisions import (
    agreement,
    draw_curves,
    read_decision,
    replay_all,
    threshold_curve,
    training_rows,
)
from clew.retrieval.complexity.cascade import decide
from clew.trace import ComplexityDecision, to_json

SETTINGS = ComplexitySettings()


def decision(rule_score: float, mode: str = "single", entities: int = 2) -> ComplexityDecision:
    features = {"entity_count": entities, "version": "1"} | dict.fromkeys(
        ("comparison", "logic", "entities", "bridge", "length"), 0.5
    )
    return ComplexityDecision(f"q{rule_score}", mode, "fallback", rule_score, features)  # type: ignore[arg-type]


def test_other_thresholds_change_what_they_should() -> None:
    decisions = [decision(0.3), decision(0.5, "multi"), decision(0.8, "multi")]
    assert replay_all(decisions, SETTINGS).changed == ()
    lower = SETTINGS.model_copy(update={"fallback_rules_threshold": 0.3})
    result = replay_all(decisions, lower)
    assert result.modes == ("multi", "multi", "multi")
    assert result.changed == (0,)


def test_agreement_with_labels() -> None:
    row = agreement(["multi", "multi", "single", "single"], ["multi", "single", "multi", "single"])
    assert (row.n, row.accuracy, row.precision, row.recall, row.f1, row.multi_share) == (4, 0.5, 0.5, 0.5, 0.5, 0.5)
    assert agreement(["single"], ["multi"]).precision == 0.0
    with pytest.raises(InputError, match="no labelled"):
        agreement([], [])


def test_a_curve_runs_from_all_multi_to_none() -> None:
    decisions = [decision(0.3), decision(0.6, "multi")]
    curve = threshold_curve(decisions, ["single", "multi"], SETTINGS, "fallback_rules_threshold")
    assert (curve[0][0], curve[0][1].multi_share) == (0.0, 1.0)
    assert (curve[-1][0], curve[-1][1].multi_share) == (1.0, 0.0)
    assert max(row.f1 for _, row in curve) == 1.0
    with pytest.raises(SettingsError, match="nonsense"):
        threshold_curve(decisions, ["single", "multi"], SETTINGS, "nonsense_threshold")


def test_a_decision_survives_its_record() -> None:
    made = decide("Who founded the company that acquired YouTube?", settings=SETTINGS)
    assert read_decision(to_json(made)).mode == made.mode
    assert read_decision({**to_json(made), "field_of_a_later_version": 1}).question == made.question
    with pytest.raises(InputError, match="no recorded decision"):
        read_decision({"question": "only"})


def test_training_rows_hold_the_five_features_in_order() -> None:
    row = training_rows([decision(0.3)], ["multi"])[0]
    assert row["label"] == "multi"
    assert row["features"] == [0.5] * 5


def test_curves_become_a_picture(tmp_path: Path) -> None:
    curve = threshold_curve([decision(0.3)], ["multi"], SETTINGS, "fallback_rules_threshold")
    out = tmp_path / "curves.png"
    draw_curves({"fallback_rules_threshold": curve}, {"fallback_rules_threshold": 0.4}, out)
    assert out.read_bytes().startswith(b"\x89PNG")
