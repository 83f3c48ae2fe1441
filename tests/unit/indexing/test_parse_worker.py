"""Parsing in another process, within limits."""

import os
import signal
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.errors import DamagedFileError, EmptyFileError, FileFailedError, InputError
from clew.indexing import parse_worker
from clew.indexing.parse_worker import ParseLimits, end_workers, parse_file


@pytest.fixture(autouse=True)
def _no_workers_left() -> Iterator[None]:
    end_workers()
    yield
    end_workers()


def test_the_answer_is_the_parsed_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# 标题\n\n正文。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")
    parsed = parse_file(path)
    assert [block.text for block in parsed.blocks] == ["标题", "正文。", "a | b\n1 | 2"]
    assert parsed.blocks[2].section_path == "0001/"
    assert parse_file(path, "b.md").blocks == parsed.blocks


def test_errors_come_through_with_their_class(tmp_path: Path) -> None:
    path = tmp_path / "empty.md"
    path.write_bytes(b"")
    with pytest.raises(EmptyFileError, match=r"empty\.md"):
        parse_file(path)
    with pytest.raises(InputError, match="no such file"):
        parse_file(tmp_path / "missing.md")


def test_a_worker_serves_several_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("一句话。", encoding="utf-8")
    parse_file(path)
    (first,) = parse_worker._idle
    parse_file(path)
    assert parse_worker._idle == [first]


def test_a_file_that_takes_too_long_fails_alone(tmp_path: Path) -> None:
    slow, quick = tmp_path / "slow.txt", tmp_path / "quick.txt"
    os.mkfifo(slow)  # opening it waits for ever
    quick.write_text("一句话。", encoding="utf-8")
    with pytest.raises(FileFailedError, match=r"slow\.txt: parsing took longer than 2 seconds"):
        parse_file(slow, limits=ParseLimits(timeout=2))
    assert parse_file(quick).blocks


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_file_that_needs_too_much_memory_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"a line of text with nothing in it\n" * 3_000_000)
    with pytest.raises(FileFailedError, match=r"big\.txt: parsing needs more than 0\.1 GB"):
        parse_file(path, limits=ParseLimits(memory_bytes=150_000_000))


def test_each_recognised_page_grants_time(tmp_path: Path) -> None:
    ended = threading.Event()
    with parse_worker._Deadline(0.2, ended.set) as deadline:
        deadline.grant(1.0)
        assert not ended.wait(0.5)
        assert ended.wait(5)
        assert deadline.passed


def test_progress_of_recognition_comes_through() -> None:
    told: list[tuple[int, int]] = []
    scan = Path(__file__).parents[2] / "data" / "scan_zh.png"
    assert parse_file(scan, on_page=lambda *done: told.append(done)).blocks
    assert told == [(1, 1)]
    reason = parse_worker._TimedOut(12, 300).reason(ParseLimits(page_timeout=30))
    assert "recognised on 12 of 300 pages" in reason
    assert "longer than 30 seconds" in reason
    assert "indexing.ocr.page_timeout" in reason


def test_a_crash_fails_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("一句话。", encoding="utf-8")
    parse_file(path)
    fifo = tmp_path / "waits.txt"
    os.mkfifo(fifo)
    (worker,) = parse_worker._idle
    threading.Timer(0.5, os.kill, (worker._process.pid, signal.SIGSEGV)).start()
    with pytest.raises(DamagedFileError, match=r"waits\.txt: the parser broke down on this file \(signal 11\)"):
        parse_file(fifo, limits=ParseLimits(timeout=30))
    assert parse_file(path).blocks


def test_a_zip_bomb_is_no_document(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 50_000_000)
    with pytest.raises(FileFailedError, match="Unpack it"):
        parse_file(path)


class Texts:
    """Implements ``PageTexts`` and counts."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.asked: list[bool] = []

    def get(self, key: str) -> str | None:
        self.asked.append(key in self.texts)
        return self.texts.get(key)

    def put(self, key: str, text: str) -> None:
        self.texts[key] = text


def test_texts_of_pages_are_asked_for_and_given(tmp_path: Path) -> None:
    scan = Path(__file__).parents[2] / "data" / "scan_zh.png"
    texts = Texts()
    first = parse_file(scan, page_texts=texts)
    assert "营业收入" in next(iter(texts.texts.values()))
    assert parse_file(scan, page_texts=texts) == first
    assert texts.asked == [False, True]
