"""The ``clew`` command as people run it: real processes, one data folder, with and without a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.evaluation.stored import stored_runs

RIVERS = "# Rivers\n\n## The Danube\n\nThe Danube rises in the Black Forest and is 2,850 kilometres long.\n"
LAKES = "# Lakes\n\nLake Constance lies between Germany, Austria and Switzerland.\n"


class Command:
    """Runs ``clew`` on one data folder."""

    def __init__(self, data: Path, models: Path) -> None:
        self.data = data
        self.environment = {**os.environ, "CLEW_DATA": str(data), "CLEW_MODELS__FOLDER": str(models)}

    def __call__(self, *words: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "clew", *words], env=self.environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) is ok, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json").stdout)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "clew", *words], env=self.environment, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def clew(tmp_path: Path, models_folder: Path, embedder: object) -> Command:
    return Command(tmp_path / "data", models_folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "rivers.md").write_text(RIVERS)
    (folder / "lakes.md").write_text(LAKES)
    (folder / ".hidden.md").write_text("not for anybody")
    return folder


@pytest.fixture
def server(clew: Command) -> Iterator[str]:
    process = clew.start("serve", "--port", "0")
    url = wait_for_server(clew.data)
    yield url
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert not (clew.data / "server.json").exists()


def wait_for_server(data: Path) -> str:
    for _ in range(600):
        try:
            url = str(json.loads((data / "server.json").read_text())["url"])
            httpx.get(f"{url}/health").raise_for_status()
        except (OSError, ValueError, httpx.HTTPError):
            time.sleep(0.05)
        else:
            return url
    raise AssertionError("the server did not start")


def check_folder(clew: Command, folder: Path) -> None:
    """Adding a folder again and again does only what is to be done."""
    clew("kb", "create", "notes")
    first = clew.json("add", str(folder), "--kb", "notes")
    assert len(first["new"]) == 2
    assert clew.json("add", str(folder), "--kb", "notes")["unchanged"] == sorted(first["new"])
    (folder / "rivers.md").write_text(RIVERS.replace("2,850", "2,857"))
    (folder / "lakes.md").unlink()
    (folder / "hills.md").write_text("# Hills\n\nThe Harz is a range of hills.\n")
    third = clew.json("add", str(folder), "--kb", "notes")
    assert [Path(p).name for p in third["new"]] == ["hills.md"]
    assert [Path(p).name for p in third["updated"]] == ["rivers.md"]
    assert third["changes"][str(folder / "rivers.md")]["blocks_changed"] == 1
    assert [Path(p).name for p in third["gone"]] == ["lakes.md"]
    assert third["file_ids"][str(folder / "rivers.md")] == first["file_ids"][str(folder / "rivers.md")]
    clew("add", str(folder), "--kb", "notes", "--prune")
    found = clew.json("search", "Danube kilometres Constance", "--kb", "notes")
    assert {hit["file"] for hit in found["hits"]} == {"rivers.md", "hills.md"}
    assert "2,857" in found["hits"][0]["text"]
    assert clew.json("kb", "list")[0]["files"]["completed"] == 2


def check_replay(clew: Command, stored: Path) -> None:
    """A stored trace is asked again as it was asked then, and with other settings."""
    clew("kb", "settings", "notes", "--set", "retrieval.rerank_top_k=1")
    found = clew.json("search", "Danube kilometres Constance", "--kb", "notes", "--mode", "single")
    stored.write_text(json.dumps(found))
    clew("kb", "settings", "notes", "--unset", "retrieval.rerank_top_k")
    again = clew.json("search", "--replay", str(stored))
    assert again["differences"] == []
    assert again["trace"]["request"] == found["trace"]["request"]
    other = clew.json("search", "--replay", str(stored), "--set", "retrieval.rerank_top_k=2")
    assert [d["what"] for d in other["differences"]] == ["context"]


def check_tuning(clew: Command, folder: Path) -> None:
    """Recorded and labelled questions are replayed against other thresholds; labelled ones are not recorded."""
    recorded = clew.json("tune", "complexity")
    assert recorded["decisions"] >= 1
    labelled, exported = folder / "labelled.jsonl", folder / "export.jsonl"
    rows = [{"question": "How long is the Danube?", "label": "single"}, {"question": "多瑙河多长？", "label": "single"}]
    labelled.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    moved = ["complexity.rules_single_threshold=0", "complexity.classifier_single_threshold=0"]
    moved += ["complexity.fallback_rules_threshold=0", "complexity.fallback_classifier_threshold=0"]
    sets = [part for each in moved for part in ("--set", each)]
    told = clew.json("tune", "complexity", "--file", str(labelled), "--export", str(exported), *sets)
    assert told["before"]["accuracy"] == 1.0 > told["after"]["accuracy"]
    assert [json.loads(line)["label"] for line in exported.read_text("utf-8").splitlines()] == ["single", "single"]
    assert clew.json("tune", "complexity")["decisions"] == recorded["decisions"]
    assert "nothing_threshold" in clew("tune", "complexity", "--set", "complexity.nothing_threshold=1", ok=False).stderr


def test_folders(clew: Command, folder: Path) -> None:
    check_folder(clew, folder)


def test_commands_go_through_the_running_server(clew: Command, folder: Path, server: str) -> None:
    check_folder(clew, folder)
    routed = json.loads(clew("route", "How long is the Danube?", "--kb", "notes", "--json").stdout)
    assert (routed["mode"], routed["kind"]) == ("single", "fact")
    check_replay(clew, folder.parent / "trace.json")
    check_tuning(clew, folder.parent)
    asked = clew("ask", "How long is the Danube?", "--kb", "notes")
    assert "2,857" in asked.stdout
    assert httpx.get(f"{server}/api/v1/conversations").json()
    events = [json.loads(line) for line in clew("ask", "Danube", "--kb", "notes", "--json").stdout.splitlines()]
    assert events[0]["event"] == "retrieval_plan"
    assert events[-1]["event"] == "done"
    assert all(check["ok"] for check in clew.json("doctor"))
    file_id = clew.json("add", str(folder), "--kb", "notes")["file_ids"][str(folder / "hills.md")]
    clew("remove", file_id)
    assert file_id in clew("remove", file_id, ok=False).stderr


def test_a_second_server_on_the_folder_is_refused(clew: Command, server: str) -> None:
    done = clew("serve", "--port", "0", ok=False)
    assert done.stderr.count("\n") == 1
    assert "data" in done.stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["add", "nowhere.pdf", "--kb", "notes"], "nowhere.pdf"),
        (["search", "x", "--kb", "missing"], "missing"),
        (["search", "x"], "--kb"),
        (["search", "--replay", "nowhere.json"], "nowhere.json"),
        (["ask", "x", "--kb", "missing"], "missing"),
        (["ask", " ", "--kb", "notes"], "empty"),
        (["ask", "x", "--kb", "notes", "--mode", "sometimes"], "sometimes"),
        (["kb", "create", "notes"], "notes"),
        (["kb", "settings", "notes", "--set", "retrieval.nonsense=1"], "retrieval.nonsense"),
        (["kb", "settings", "notes", "--set", "recursion.max_rounds=6"], "recursion.max_rounds"),
        (["remove", "f_unknown"], "f_unknown"),
        (["parse", "nowhere.pdf"], "nowhere.pdf"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], "0.0.0.0"),
        (["eval", "--corpus", "nowhere.jsonl", "--queries", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_clear_line(clew: Command, words: list[str], hint: str) -> None:
    clew("kb", "create", "notes")
    done = clew(*words, ok=False)
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_file_that_fails_is_named_and_the_rest_goes_on(clew: Command, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 cut off")
    clew("kb", "create", "notes")
    done = clew("add", str(folder), "--kb", "notes", ok=False)
    assert "broken.pdf" in done.stderr
    assert len(clew.json("search", "Danube", "--kb", "notes", "--kind", "fact")["hits"]) == 2


def test_parse_shows_blocks_sections_and_chunks(clew: Command, folder: Path) -> None:
    parsed = clew.json("parse", str(folder / "rivers.md"))
    assert parsed["status"] == "completed"
    assert [s["titles"] for s in parsed["sections"]] == [["Rivers"], ["Rivers"], ["Rivers", "The Danube"]]
    assert parsed["children"][0]["text"].startswith("The Danube rises")
    (folder / "empty.md").write_text("")
    failed = json.loads(clew("parse", str(folder / "empty.md"), "--json", ok=False).stdout)
    assert failed["status"] == "failed"
    assert "empty.md" in failed["reason"]


def test_eval_measures_a_small_corpus(clew: Command, tmp_path: Path) -> None:
    corpus, queries, out = tmp_path / "c.jsonl", tmp_path / "q.jsonl", tmp_path / "out.json"
    rows = [{"id": "d", "title": "Danube", "text": RIVERS}, {"id": "c", "title": "Lake Constance", "text": LAKES}]
    corpus.write_text("\n".join(json.dumps(row) for row in rows))
    asked = [
        {"id": "1", "question": "How long is the Danube?", "answer": "2,850 km", "supporting_ids": ["d"]},
        {"id": "2", "question": "Where is Lake Constance?", "answer": "", "supporting_ids": ["c"]},
        {"id": "3", "question": "Which of them is in Africa?", "answer": "", "supporting_ids": []},
    ]
    queries.write_text("\n".join(json.dumps(row) for row in asked))
    clew("eval", "--corpus", str(corpus), "--queries", str(queries), "--mode", "bm25,dense,single", "--k", "1,2",
         "--json", str(out))  # fmt: skip
    result = json.loads(out.read_text())
    assert result["queries"] == 2
    assert result["modes"]["bm25"]["recall@1"] == 1.0
    assert result["modes"]["single"]["all_support@2"] == 1.0
    assert result["modes"]["single"]["ms_p50"] > 0
    (run,) = stored_runs(clew.data)
    assert (run["kind"], run["queries"], run["modes"]) == ("retrieval", 2, result["modes"])
    assert run["curves"]["bm25"]["recall"][0] == 1.0


@pytest.mark.parametrize("served", [False, True], ids=["folder", "server"])
def test_a_file_is_attached_to_one_question(clew: Command, tmp_path: Path, request: Any, served: bool) -> None:
    if served:
        request.getfixturevalue("server")
    note = tmp_path / "depot.txt"
    note.write_text("The code of the depot is 7341.")

    events = [
        json.loads(line)
        for line in clew("ask", "What is the code of the depot?", "--attach", str(note), "--json").stdout.splitlines()
    ]

    assert "7341" in "".join(e["text"] for e in events if e["event"] == "delta")
    assert events[-1]["event"] == "done"
    refused = clew("ask", "What is the code?", "--attach", str(tmp_path / "nothing.txt"), ok=False)
    assert "there is no such file" in refused.stderr
    assert "knowledge base" in clew("ask", "What is the code?", ok=False).stderr


def test_summaries_follow_and_are_asked_for(clew: Command, folder: Path) -> None:
    clew("kb", "create", "notes")
    clew("add", str(folder), "--kb", "notes", "--summaries")
    assert clew("files", "notes").stdout.count("summaries: completed (extractive)") == 2
    assert len(clew.json("summarise", "notes", "--again")) == 2
    question = ("The Danube", "--kb", "notes")
    assert clew.json("search", *question, "--kind", "summary")["trace"]["sections"]["scope"] == "sections"
    assert "use auto, fact or summary" in clew("ask", *question, "--kind", "gist", ok=False).stderr
