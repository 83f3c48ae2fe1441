"""A whole training with a tiny encoder, from rows to an answering service. Skipped without the extra ``training``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from multihop_classifier.cli import main
from multihop_classifier.model import Classifier
from multihop_classifier.server import create_app
from multihop_classifier.settings import Settings
from multihop_classifier.training.rows import Row, write_rows
from tiny_encoder import write_tiny_encoder

for needed in ("torch", "transformers", "onnxscript", "matplotlib"):
    pytest.importorskip(needed)

NAMES = ["who", "what", "the", "wrote"]


def questions(count: int, reviewed: int) -> list[Row]:
    """Multi where two things are compared; the label can be read off the words and, half of the time, the features."""
    rows = []
    for number in range(count):
        multi = number % 2 == 0
        words = [NAMES[(number // 4**power) % 4] for power in range(3)]
        text = (
            f"is {words[0]} older than {words[1]} of both {words[2]}" if multi else f"{words[0]} is {' '.join(words)}"
        )
        rows.append(
            Row(
                question=f"{text} {number}",
                label="multi" if multi else "single",
                source=f"s{number % 5}",
                language="en",
                features=[0.5 if multi and number % 3 else 0.0, 0.0, 0.2, 0.0, 0.1],
                features_version="7",
                reviewed=number < reviewed,
            )
        )
    return rows


def train(folder: Path, rows: Sequence[Row], *options: str) -> Path:
    write_rows(folder / "rows.jsonl", rows)
    encoder, out = write_tiny_encoder(folder / "encoder"), folder / "out"
    quick = ["--rate", "3e-3", "--epochs", "4", "--batch", "16", "--name", "tiny"]
    main(["train", str(folder / "rows.jsonl"), "--encoder", str(encoder), "--out", str(out), *quick, *options])
    return out


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ["--leave-out", "s4", "--masked", "0.2", "--freeze", "1", "--showings", "2", "--unreviewed"]
    return train(tmp_path_factory.mktemp("training"), questions(400, reviewed=320), *options)


def report(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "report.json").read_text("utf-8")))


def test_model_learns_and_says_what_it_reached(trained: Path) -> None:
    told = report(trained)
    assert told["rows"] == {"train": 256, "validation": 32, "test": 32}
    assert told["test"]["all"]["f1"] > 0.9
    assert told["test"]["all"]["auc"] > 0.9
    assert sum(map(sum, told["test"]["all"]["confusion"])) == 32
    assert set(told["test"]["source"]) == {"s0", "s1", "s2", "s3"}
    assert told["reviewed"] < 500
    assert told["version"] == "tiny-unreviewed"
    assert told["validation"]["all"]["recall"] >= 0.85
    for picture in ("confusion.png", "epochs.png"):
        assert (trained / picture).read_bytes().startswith(b"\x89PNG")


def test_source_that_is_left_out_is_only_scored(trained: Path) -> None:
    told = report(trained)
    scores = told["sources"]["as_given"]["source"]
    assert list(scores) == ["s4"]
    assert scores["s4"]["total"] == 80
    lines = [json.loads(line) for line in (trained / "left_out.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 80
    assert all(0 <= line["probability"] <= 1 for line in lines)


def test_exported_model_answers_as_the_trained_one_did(trained: Path) -> None:
    classifier = Classifier.load(trained)
    rows = {row.question: row for row in questions(400, reviewed=0)}
    lines = [json.loads(line) for line in (trained / "left_out.jsonl").read_text("utf-8").splitlines()]
    for line in lines[:20]:
        served = classifier.predict(line["question"], rows[line["question"]].features).probability
        assert served == pytest.approx(line["probability"], abs=5e-3)  # frozen states are kept as float16


def test_service_says_that_the_model_is_unreviewed(trained: Path) -> None:
    with TestClient(create_app(Settings(weights=trained))) as client:
        health = client.get("/health").json()
        asked = {
            "question": "is who older than what of both",
            "features": [0.5, 0, 0.2, 0, 0.1],
            "features_version": "7",
        }
        answer = client.post("/predict", json=asked).json()
        long = client.post("/predict", json=asked | {"question": "who wrote " * 200}).json()
    assert health["model_version"] == "tiny-unreviewed"
    assert health["metrics"]["test"]["f1"] == report(trained)["test"]["all"]["f1"]
    assert answer["label"] == "multi"
    assert long["truncated"]


def test_frozen_and_trained_part_together_are_the_whole_model(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415 - only with the extra

    from multihop_classifier.training.encoder import load_encoder  # noqa: PLC0415
    from multihop_classifier.training.reading import StateReader, TokenReader  # noqa: PLC0415

    model, tokenizer = load_encoder(write_tiny_encoder(tmp_path / "encoder", spread=0.3))
    model.freeze(1)
    model.eval()
    texts = ["who wrote both and what", "is the", "who"]
    states, tokens = StateReader(model, tokenizer, tmp_path / "states.safetensors"), TokenReader(model, tokenizer)
    with torch.no_grad():
        whole = tokens.states(tokens.read(texts))[:, 0]
        assert torch.allclose(states.states(states.read(texts))[:, 0], whole, atol=1e-2)
        again = StateReader(model, tokenizer, tmp_path / "states.safetensors")
        assert torch.allclose(again.states(again.read(texts[:1]))[:, 0], whole[:1], atol=1e-2)
        assert (whole[0] - whole[1]).abs().max() > 0.1


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        (questions(40, 40), [], "40 of 40 rows are reviewed"),
        (questions(100, 0), ["--unreviewed", "--freeze", "9"], "2 layers"),
        (questions(40, 0), ["--unreviewed", "--leave-out", "nowhere"], "'nowhere'"),
        (questions(40, 0)[::2], ["--unreviewed"], "lacks a label"),
        (questions(40, 0), ["--unreviewed", "--name", "../x"], "no name"),
        (questions(100, 0), ["--unreviewed", "--centre", "1"], "between 0 and 1"),
    ],
)
def test_impossible_orders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Row], options: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as exit_:
        train(tmp_path, rows, *options)
    assert exit_.value.code == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out" / "model.onnx").exists()


def test_a_threshold_that_was_measured_elsewhere_gets_one_half(tmp_path: Path) -> None:
    options = ["--unreviewed", "--epochs", "1", "--report-only", "--leave-out", "s4", "--centre"]
    by_centre = {}
    for centre in ("0.5", "0.2"):
        out = train(tmp_path / centre, questions(200, 0), *options, centre)
        assert report(out)["centred_at"] == float(centre)
        lines = (out / "left_out.jsonl").read_text("utf-8").splitlines()
        by_centre[centre] = [json.loads(line)["probability"] for line in lines]
    # 0.2 became 0.5: the odds of every question are four times as high.
    for before, after in zip(by_centre["0.5"], by_centre["0.2"], strict=True):
        assert after == pytest.approx(4 * before / (1 + 3 * before), abs=2e-3)


def test_folder_without_an_encoder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(tmp_path / "rows.jsonl", questions(100, 0))
    with pytest.raises(SystemExit):
        main(
            ["train", str(tmp_path / "rows.jsonl"), "--encoder", str(tmp_path), "--out", str(tmp_path), "--unreviewed"]
        )
    assert "no encoder" in capsys.readouterr().err


def test_enough_review_gives_a_plain_version(tmp_path: Path) -> None:
    out = train(tmp_path, questions(520, reviewed=500), "--epochs", "1", "--report-only")
    assert report(out)["version"] == "tiny"
    assert not (out / "model.onnx").exists()
