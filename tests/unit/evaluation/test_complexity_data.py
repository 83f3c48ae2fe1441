"""Measures of the complexity evaluation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from clew.evaluation.complexity_data import binary_scores, load_labelled, wilson_interval


def test_wilson_interval() -> None:
    assert wilson_interval(95, 100) == pytest.approx((0.888, 0.978), abs=0.001)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_scores_of_a_mixed_decision() -> None:
    truth = [True, True, True, False, False]
    said = [True, True, False, True, False]
    scores = binary_scores(truth, said, [0.9, 0.8, 0.3, 0.6, 0.1])
    assert (scores.accuracy, scores.precision, scores.recall) == (0.6, 2 / 3, 2 / 3)
    assert scores.macro_f1 == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert scores.auc == pytest.approx(5 / 6)


def test_equal_rankings_count_half_and_one_label_has_no_auc() -> None:
    assert binary_scores([True, False], [True, True], [0.5, 0.5]).auc == 0.5
    assert binary_scores([True, True], [True, False], [0.5, 0.2]).auc is None


def test_labelled_questions_are_read_once_with_their_family(tmp_path: Path) -> None:
    (tmp_path / "complexity").mkdir()
    (tmp_path / "retrieval").mkdir()
    rows = [
        {"question": "a?", "label": "multi", "source": "MuSiQue-dev"},
        {"question": "a?", "label": "multi", "source": "MuSiQue-train"},
        {"question": "b?", "label": "single", "source": "KgCLUE"},
    ]
    queries = [{"question": "c?", "type": "integration"}, {"question": "d?", "type": "single-hop"}]
    for path, lines in (("complexity/complexity.en", rows), ("retrieval/rgb_zh.queries", queries)):
        with gzip.open(tmp_path / f"{path}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.write("\n".join(json.dumps(row) for row in lines))
    found = [(item.question, item.multi, item.family, item.language) for item in load_labelled(tmp_path)]
    assert found == [
        ("a?", True, "MuSiQue", "en"),
        ("b?", False, "KgCLUE", "en"),
        ("c?", True, "RGB", "zh"),
        ("d?", False, "RGB", "zh"),
    ]
