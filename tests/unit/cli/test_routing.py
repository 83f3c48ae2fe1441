"""``clew route``: both decisions as one JSON object a line, with the titles of a knowledge base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clew.app import Clew
from clew.cli.main import app
from fakes import samples


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one published file, whose sections are “第一章 100%_增长”, “Tables” and “Annex”."""
    folder = tmp_path_factory.mktemp("data")
    with Clew.open(folder) as clew:
        clew.records.create_kb(samples.kb())
        clew.records.add_file(samples.new_file())
        clew.records.stage("f1", 1, samples.parsed(), samples.parents(), samples.children())
        clew.records.publish("f1", 1)
    return folder


def routed(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["route", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_one_question(data: Path) -> None:
    (row,) = routed("请概括第三章的主要内容", "--data", str(data))
    assert (row["kind"], row["kind_source"]) == ("summary", "r1")
    assert row["mode"] in ("single", "multi")
    assert row["source"]


def test_a_file_of_questions(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps({"question": q}) + "\n" for q in ("How many stores?", "Summarise it")), "utf-8")
    assert [row["kind"] for row in routed("--file", str(path), "--data", str(data))] == ["fact", "summary"]


def test_titles_of_the_knowledge_base_make_it_a_summary_and_it_is_recorded(data: Path) -> None:
    assert [row["kind_source"] for row in routed("annex", "--data", str(data))] == ["fallback"]
    assert [row["kind_source"] for row in routed("annex", "--kb", "reports", "--data", str(data))] == ["r2"]
    with Clew.open(data) as clew:
        assert clew.records.decisions("kind")[-1]["titles"] == ["Annex"]
