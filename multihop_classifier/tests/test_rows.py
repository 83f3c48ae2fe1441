"""Rows, their split, the stamp of too little review."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multihop_classifier.training.review import decide
from multihop_classifier.training.rows import (
    Row,
    RowsError,
    balance,
    capped,
    features_version,
    read_rows,
    split,
    stamped,
    write_rows,
)


def rows(count: int, label: str = "multi", source: str = "a", **more: object) -> list[Row]:
    return [
        Row.model_validate({"question": f"{source} {label} {number}", "label": label, "source": source, **more})
        for number in range(count)
    ]


def test_rows_are_written_and_read_with_fields_of_their_own(tmp_path: Path) -> None:
    given = [Row.model_validate({"question": "谁写的？", "label": "single", "kind": "property", "reviewed": True})]
    assert write_rows(tmp_path / "new" / "rows.jsonl", given) == 1
    assert read_rows(tmp_path / "new" / "rows.jsonl") == given
    assert json.loads((tmp_path / "new" / "rows.jsonl").read_text("utf-8"))["kind"] == "property"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"question": "who", "label": "both"}', "label"),
        ('{"question": " ", "label": "multi"}', "question"),
        ('{"label": "multi"}', "question"),
        ('{"question": "who", "label": "multi", "features": [2, 0, 0, 0, 0]}', "features.0"),
        ("{", "JSON"),
    ],
)
def test_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "who", "label": "multi"}\n\n' + line + "\n", "utf-8")
    with pytest.raises(RowsError, match="line 3") as error:
        read_rows(path)
    assert says in str(error.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_file_without_rows_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "rows.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RowsError, match=r"rows\.jsonl"):
        read_rows(path)


def test_split_is_eight_one_one_in_each_source_and_label() -> None:
    given = rows(50) + rows(30, "single") + rows(20, "single", "b")
    parts = split(given)
    assert {name: len(part) for name, part in parts.items()} == {"train": 80, "validation": 10, "test": 10}
    of_first = [row for row in parts["validation"] if (row.source, row.label) == ("a", "multi")]
    assert len(of_first) == 5
    assert sorted(row.question for part in parts.values() for row in part) == sorted(row.question for row in given)


def test_split_of_many_small_sources_has_every_part() -> None:
    parts = split([row for number in range(20) for row in rows(3, source=f"s{number}")])
    assert {name: len(part) for name, part in parts.items()} == {"train": 48, "validation": 6, "test": 6}


def test_split_does_not_depend_on_the_order_of_rows() -> None:
    given = rows(40) + rows(40, "single")
    names = [{row.question for row in split(each)["test"]} for each in (given, given[::-1])]
    assert names[0] == names[1]
    assert {row.question for row in split(given, seed=1)["test"]} != names[0]


def test_paraphrases_stay_together() -> None:
    given = [Row(question=f"q{number}", label="multi", group=f"g{number // 4}") for number in range(120)]
    of_group: dict[str, set[str]] = {}
    for name, part in split(given).items():
        for row in part:
            of_group.setdefault(row.group, set()).add(name)
    assert len(of_group) == 30
    assert all(len(names) == 1 for names in of_group.values())


def test_cap_holds_for_each_source_and_label() -> None:
    kept = capped(rows(9) + rows(3, "single") + rows(9, source="b"), 4)
    assert [
        sum(1 for row in kept if (row.source, row.label) == each) for each in (("a", "multi"), ("a", "single"))
    ] == [
        4,
        3,
    ]
    assert len(kept) == 11


def test_labels_and_sources_weigh_the_same_whatever_their_size() -> None:
    given = rows(30, language="en") + rows(10, source="b", language="en") + rows(5, "single", language="en")
    weights = balance(given)
    sums = [sum(weights[:30]), sum(weights[30:40]), sum(weights[40:])]
    assert sums == pytest.approx([11.25, 11.25, 22.5])


def test_source_with_one_label_may_weigh_less() -> None:
    given = rows(10, language="en") + rows(10, "single", language="en") + rows(10, source="b", language="en")
    weights = balance(given, one_label=0.5)
    assert [sum(weights[start : start + 10]) for start in (0, 10, 20)] == pytest.approx([10.0, 15.0, 5.0])


def test_features_of_one_version_are_wanted() -> None:
    whole = rows(2, features=[0, 0, 0, 0, 1], features_version="1")
    assert features_version(whole) == "1"
    with pytest.raises(RowsError, match="1 of 3 rows have no features"):
        features_version([*whole, *rows(1)])
    with pytest.raises(RowsError, match="several versions"):
        features_version([*whole, *rows(1, features=[0, 0, 0, 0, 1], features_version="2")])


def test_recorded_decision_is_a_proposal_until_it_is_reviewed() -> None:
    recorded = {"question": "who", "label": None, "decided": "multi", "features": [0] * 5, "features_version": "1"}
    row = Row.model_validate(recorded)
    assert (row.label, row.reviewed, row.proposed) == ("multi", False, True)
    with pytest.raises(RowsError, match="only what was decided"):
        features_version([row])
    assert features_version([decide(row, "single")]) == "1"
    assert not Row.model_validate(recorded | {"label": "single"}).proposed


def test_too_little_review_is_refused_or_stamped() -> None:
    assert stamped("m", rows(500, reviewed=True), unreviewed=False) == "m"
    few = rows(499, reviewed=True) + rows(10)
    with pytest.raises(RowsError, match=r"499 of 509 rows are reviewed; .* 500.*--unreviewed"):
        stamped("m", few, unreviewed=False)
    assert stamped("m", few, unreviewed=True) == "m-unreviewed"
    assert stamped("m", rows(500, reviewed=True), unreviewed=True) == "m"
