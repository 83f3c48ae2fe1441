"""Review in the terminal and by CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from multihop_classifier.cli import main
from multihop_classifier.training import review
from multihop_classifier.training.rows import Row, RowsError, read_rows, write_rows


def given() -> list[Row]:
    texts = ("红楼梦的作者是谁？", "=SUM(A1)", 'Who said "a, b"?', "line\nbreak", "reviewed already")
    return [Row(question=text, label="single", reviewed=text == "reviewed already") for text in texts]


def filled(path: Path, verdicts: Sequence[str], **how: str) -> None:
    """What a spreadsheet does with the file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    with path.open("w", encoding=how.get("encoding", "utf-8"), newline="") as file:
        writer = csv.DictWriter(file, review.COLUMNS, delimiter=how.get("delimiter", ","))
        writer.writeheader()
        writer.writerows(line | {"verdict": verdict} for line, verdict in zip(lines, verdicts, strict=True))


@pytest.mark.parametrize(("encoding", "delimiter"), [("utf-8", ","), ("utf-8-sig", ";"), ("gb18030", "\t")])
def test_csv_round_trip(tmp_path: Path, encoding: str, delimiter: str) -> None:
    path, rows = tmp_path / "review.csv", given()
    review.write_csv(path, rows)
    assert "'=SUM" in path.read_text("utf-8-sig")
    filled(path, ["OK", "multi", "drop", ""], encoding=encoding, delimiter=delimiter)
    after = review.read_csv(path, rows)
    assert [(row.question, row.label, row.reviewed) for row in after] == [
        ("红楼梦的作者是谁？", "single", True),
        ("=SUM(A1)", "multi", True),
        ("line\nbreak", "single", False),
        ("reviewed already", "single", True),
    ]
    counts = review.count(after)
    assert (counts.reviewed, counts.changed, counts.by_label) == (3, 1, {"single": 2, "multi": 1})
    assert "497 more" in counts.told(500)


def test_second_round_asks_for_the_rest_only(tmp_path: Path) -> None:
    path, rows = tmp_path / "review.csv", given()
    review.write_csv(path, rows)
    filled(path, ["ok", "ok", "", ""])
    review.write_csv(path, review.read_csv(path, rows))
    with path.open(encoding="utf-8-sig", newline="") as file:
        assert [line["question"] for line in csv.DictReader(file)] == ['Who said "a, b"?', "line\nbreak"]


def test_unknown_verdict_and_foreign_file_are_refused(tmp_path: Path) -> None:
    path, rows = tmp_path / "review.csv", given()
    review.write_csv(path, rows)
    filled(path, ["ok", "maybe", "", ""])
    with pytest.raises(RowsError, match="'maybe'"):
        review.read_csv(path, rows)
    filled(path, ["ok", "", "", ""])
    with pytest.raises(RowsError, match="other rows"):
        review.read_csv(path, rows[1:])
    path.write_text("question\nwho\n", "utf-8")
    with pytest.raises(RowsError, match="no columns"):
        review.read_csv(path, rows)
    with pytest.raises(RowsError, match="cannot be read"):
        review.read_csv(tmp_path / "nowhere.csv", rows)


def answers(*said: str) -> Callable[[str], str]:
    left = list(said)

    def ask(_: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


def reviewed(*said: str) -> tuple[list[Row], list[str], int]:
    told: list[str] = []
    saved: list[Sequence[Row]] = []
    rows = review.review_in_terminal(given(), ask=answers(*said), tell=told.append, save=saved.append, needed=500)
    if saved:
        assert saved[-1] == rows
    return rows, told, len(saved)


def test_terminal_takes_answers_until_the_end() -> None:
    rows, told, saves = reviewed("", "m", "what", "d", "n")
    assert [(row.label, row.reviewed) for row in rows] == [
        ("single", True),
        ("multi", True),
        ("single", False),
        ("single", True),
    ]
    assert any("'what' is no answer" in line for line in told)
    assert told[-1].startswith("3 of 4 reviewed")
    assert saves == 4


@pytest.mark.parametrize("said", [("m",), ("m", "q")])
def test_terminal_may_be_left_and_keeps_what_was_said(said: tuple[str, ...]) -> None:
    rows, _, saves = reviewed(*said)
    assert [row.reviewed for row in rows] == [True, False, False, False, True]
    assert saves == 1


def test_terminal_goes_back() -> None:
    rows, _, _ = reviewed("b", "d", "b", "s", "q")
    assert len(rows) == 5
    assert rows[0].reviewed
    assert not (rows[0].model_extra or {}).get("label_was")


def test_correction_that_is_taken_back_counts_as_none() -> None:
    once = review.decide(given()[0], "multi")
    assert (once.model_extra or {})["label_was"] == "single"
    assert not (review.decide(once, "single").model_extra or {}).get("label_was")


def test_commands_make_and_review_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, table = str(tmp_path / "seeds.jsonl"), str(tmp_path / "review.csv")
    main(["seeds", "--out", rows, "--count", "8"])
    main(["review", rows, "--to-csv", table])
    filled(Path(table), ["ok"] * 7 + ["drop"])
    main(["review", rows, "--from-csv", table])
    assert "1 dropped. 7 of 7 reviewed" in capsys.readouterr().out
    main(["review", rows, "--counts"])
    assert "493 more" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_:
        main(["seeds", "--out", rows])
    assert exit_.value.code == 2
    assert "exists already" in capsys.readouterr().err


def test_training_refuses_too_little_review_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    path = tmp_path / "rows.jsonl"
    features = {"features": [0, 0, 0, 0, 0], "features_version": "1"}
    write_rows(path, [Row.model_validate(row.model_dump() | features) for row in given()])
    assert len(read_rows(path)) == 5
    with pytest.raises(SystemExit):
        main(["train", str(path), "--encoder", str(tmp_path), "--out", str(tmp_path / "out")])
    assert "1 of 5 rows are reviewed" in capsys.readouterr().err
