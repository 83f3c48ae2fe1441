import gzip
import json
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.evaluation.datasets import read_corpus, read_queries


def write(path: Path, *rows: object) -> Path:
    text = "\n".join(json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_corpus(tmp_path: Path, name: str) -> None:
    corpus = read_corpus(write(tmp_path / name, {"id": 1, "title": None, "text": "t"}))
    assert (corpus[0].id, corpus[0].title, corpus[0].text) == ("1", "", "t")


def test_groups_win_over_ids(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.jsonl",
        {"id": "1", "question": "q", "supporting_ids": ["a", "b"], "supporting_groups": [["a", "b"]]},
        {"id": "2", "question": "q", "supporting_ids": ["a", "b", "a"]},
        {"id": "3", "question": "q", "supporting_ids": []},
    )
    groups = [q.groups for q in read_queries(path)]
    assert groups == [(frozenset("ab"),), (frozenset("a"), frozenset("b")), ()]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{}\n", "row 1"), (b"not json\n", "line 1"), (b"[1]\n", "line 1"), (b"\xff\xfe", "cannot be read")],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_corpus(path)


def test_missing_file_and_repeated_ids(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.jsonl"):
        read_corpus(tmp_path / "gone.jsonl")
    with pytest.raises(InputError, match="twice"):
        read_corpus(write(tmp_path / "c.jsonl", {"id": 1, "text": "a"}, {"id": "1", "text": "b"}))


def test_damaged_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": 1, "text": "a"}')[:-6])
    with pytest.raises(InputError, match=r"c\.jsonl\.gz"):
        read_corpus(path)
