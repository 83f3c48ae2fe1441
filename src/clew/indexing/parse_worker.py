"""Parses files in processes of their own, with limits on time and memory.

A hostile or broken file (a decompression bomb, endless nesting, a crash inside a library) fails alone: whatever ends
the process becomes a :class:`~clew.errors.FileFailedError` with a reason that a person understands. A worker that is
through with a file waits for the next one, so a thousand small files do not start a thousand interpreters.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import clew.errors
import clew.types
from clew.config import IndexingSettings
from clew.errors import ClewError, DamagedFileError, FileFailedError
from clew.indexing.parsers import ParseContext, ParseOptions, parse
from clew.indexing.parsers.context import DEFAULT_CONTEXT, PageTexts
from clew.types import ParsedFile

_LENGTH = struct.Struct(">Q")
# Libraries hold on to memory; a fresh process after so many files keeps it flat.
_FILES_PER_WORKER = 200
_MAX_IDLE = 4
_COMMAND = "from clew.indexing.parse_worker import serve; serve()"


DEFAULT_OPTIONS = ParseOptions()
Pages = Callable[[int, int], None]
"""Told how many of the pages whose text has to be recognised are done."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may take: seconds, seconds for each page whose text is recognised, and bytes.

    A scan goes on past ``timeout`` as long as each page is done within ``page_timeout``. ``memory_bytes`` is what the
    parser may allocate beside what it needs to run at all (enforced on Linux; elsewhere a process has no such limit).
    """

    timeout: float = 600.0
    page_timeout: float = 120.0
    memory_bytes: int = 2_000_000_000


DEFAULT_LIMITS = ParseLimits()


def parse_file(
    path: Path,
    name: str = "",
    *,
    limits: ParseLimits = DEFAULT_LIMITS,
    options: ParseOptions = DEFAULT_OPTIONS,
    on_page: Pages = lambda done, total: None,
    page_texts: PageTexts = DEFAULT_CONTEXT.page_texts,
) -> ParsedFile:
    """The blocks and sections of a file, parsed in another process. Safe to call from several threads.

    ``page_texts`` knows what was recognised on pages of earlier files, and is asked in this process.

    Raises:
        InputError: the path cannot be opened.
        FileFailedError: the file cannot be read, or not within the limits.
    """
    name = name or path.name
    worker = _take()
    done = False
    try:
        outcome = worker.ask((str(path), name, limits.memory_bytes, options), limits, on_page, page_texts)
        done = True
    finally:
        if done:
            _give_back(worker)
        else:
            worker.end()
    if isinstance(outcome, ParsedFile):
        return outcome
    if isinstance(outcome, ClewError):
        raise outcome
    if isinstance(outcome, _TimedOut):
        raise FileFailedError(f"{name}: {outcome.reason(limits)}")
    if outcome == "memory":
        raise FileFailedError(
            f"{name}: parsing needs more than {limits.memory_bytes / 1e9:.1f} GB of memory and was stopped. Split the "
            "file, or raise indexing.parse_memory_bytes."
        )
    raise DamagedFileError(
        f"{name}: the parser broke down on this file ({outcome}). Open it in the program that made it and save it "
        "again."
    )


def parse_within(
    path: Path,
    name: str,
    settings: IndexingSettings,
    *,
    pictures: bool = False,
    on_page: Pages = lambda done, total: None,
    page_texts: PageTexts = DEFAULT_CONTEXT.page_texts,
) -> ParsedFile:
    """:func:`parse_file` with the limits and options of a KB's settings; ``pictures``: a vision model wants them."""
    ocr = settings.ocr
    return parse_file(
        path,
        name,
        limits=ParseLimits(settings.parse_timeout, ocr.page_timeout, settings.parse_memory_bytes),
        options=ParseOptions(ocr.enabled, ocr.dpi, ocr.max_pages, pictures),
        on_page=on_page,
        page_texts=page_texts,
    )


@dataclass(frozen=True, slots=True)
class _TimedOut:
    """The time ran out; ``done`` of ``total`` pages were recognised, none where it was not about that."""

    done: int = 0
    total: int = 0

    def reason(self, limits: ParseLimits) -> str:
        if not self.total:
            return (
                f"parsing took longer than {limits.timeout:g} seconds and was stopped. Split the file, or raise "
                "indexing.parse_timeout."
            )
        return (
            f"its text was recognised on {self.done} of {self.total} pages; the next step took longer than "
            f"{limits.page_timeout:g} seconds and was stopped. Raise indexing.ocr.page_timeout, lower "
            "indexing.ocr.dpi, or split the file."
        )


class _Worker:
    """A child process that parses one file after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._files = 0

    @property
    def usable(self) -> bool:
        """Whether it can take another file."""
        return self._process.poll() is None and self._files < _FILES_PER_WORKER

    def ask(
        self,
        request: tuple[str, str, int, ParseOptions],
        limits: ParseLimits,
        on_page: Pages,
        page_texts: PageTexts,
    ) -> object:
        """The child's answer: a ParsedFile, a ClewError, _TimedOut, ``memory``, or how it ended. On the way it tells
        how many pages are done, and asks for and gives texts of pages."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._files += 1
        pages = (0, 0)
        with _Deadline(limits.timeout, self._process.kill) as deadline:
            try:
                _write(self._process.stdin, pickle.dumps(request))
                while True:
                    match _Answers(io.BytesIO(_read(self._process.stdout))).load():
                        case (int(done), int(total)):
                            pages = (done, total)
                            deadline.grant(limits.page_timeout)
                            on_page(done, total)
                        case ("get", str(key)):
                            _write(self._process.stdin, pickle.dumps(page_texts.get(key)))
                        case ("put", str(key), str(text)):
                            page_texts.put(key, text)
                        case answer:
                            return answer
            except (OSError, EOFError):
                code = self._process.wait()
                if deadline.passed:
                    return _TimedOut(*pages)
                return f"signal {-code}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Stops the child at once."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class _Deadline:
    """Calls ``end`` when the time is up, unless it is left before; time may be granted on the way."""

    def __init__(self, seconds: float, end: Callable[[], None]) -> None:
        self._at = time.monotonic() + seconds
        self._end = end
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Deadline:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._left.set()

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._at

    def grant(self, seconds: float) -> None:
        """At least so many seconds from now."""
        self._at = max(self._at, time.monotonic() + seconds)

    def _watch(self) -> None:
        while not self._left.wait(max(0.0, self._at - time.monotonic())):
            if self.passed:
                self._end()
                return


_idle: list[_Worker] = []
_lock = threading.Lock()


def _take() -> _Worker:
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.usable:
                return worker
            worker.end()
    return _Worker()


def _give_back(worker: _Worker) -> None:
    with _lock:
        if worker.usable and len(_idle) < _MAX_IDLE:
            _idle.append(worker)
            return
    worker.end()


@atexit.register
def end_workers() -> None:
    """Stops the workers that wait for files; the next file starts a new one."""
    with _lock:
        while _idle:
            _idle.pop().end()


class _Answers(pickle.Unpickler):
    """Reads only Clew's own values: a parser that a file has taken over cannot run anything here."""

    _MODULES = (clew.types, clew.errors)

    def find_class(self, module: str, name: str) -> Any:
        for allowed in self._MODULES:
            if module == allowed.__name__ and isinstance(getattr(allowed, name, None), type):
                return getattr(allowed, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no answer")


def _write(stream: BinaryIO | Any, message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def _read(stream: BinaryIO | Any) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    message: bytes = stream.read(length)
    if len(message) < length:
        raise EOFError
    return message


def serve() -> None:
    """The child's loop: a request on standard input, an answer on standard output, until the parent closes."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    while True:
        try:
            path, name, memory_bytes, options = pickle.loads(_read(requests))
        except EOFError:
            return
        context = ParseContext(
            options,
            lambda done, total: _write(answers, pickle.dumps((done, total))),
            _ParentTexts(requests, answers),
        )
        _write(answers, _answer(path, name, memory_bytes, context))


class _ParentTexts:
    """The parent's texts of pages, from the child."""

    def __init__(self, replies: BinaryIO, questions: BinaryIO) -> None:
        self._replies = replies
        self._questions = questions

    def get(self, key: str) -> str | None:
        _write(self._questions, pickle.dumps(("get", key)))
        text: str | None = pickle.loads(_read(self._replies))
        return text

    def put(self, key: str, text: str) -> None:
        _write(self._questions, pickle.dumps(("put", key, text)))


def _answer(path: str, name: str, memory_bytes: int, context: ParseContext) -> bytes:
    result: ParsedFile | ClewError | str
    try:
        with _limited_memory(memory_bytes):
            result = parse(Path(path), name, context=context)
            return pickle.dumps(result)
    except MemoryError:
        return pickle.dumps("memory")
    except ClewError as error:
        result = error
    except Exception as error:  # noqa: BLE001 - the parent names it
        result = f"{type(error).__name__}: {error}"
    return pickle.dumps(result)


@contextlib.contextmanager
def _limited_memory(memory_bytes: int) -> Any:
    if sys.platform != "linux":
        yield
        return
    import resource  # noqa: PLC0415 - exists on Unix only

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + memory_bytes
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
