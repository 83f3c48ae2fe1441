"""Answers that outlive their connection: each answer is a run with an append-only log of events.

A run works in its own thread and writes what it produces to its message. Any number of readers follow the log from
any point; a reader that goes away stops nothing. Every log ends with exactly one of ``done``, ``error``,
``stopped``.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clew.errors import ClewError
from clew.storage.base import ConversationRecords, Message
from clew.types import AnswerEvent

TERMINAL = frozenset({"done", "error", "stopped"})
_SAVE_SECONDS = 1.0
_KEPT_RUNS = 200


class AnswerRun:
    """One answer being written. ``message_id`` names the message it fills."""

    def __init__(
        self,
        message_id: str,
        events: Iterator[AnswerEvent],
        records: ConversationRecords,
        at_early_end: Callable[[], AnswerEvent] | None = None,
    ) -> None:
        self.message_id = message_id
        self._events = events
        self._at_early_end = at_early_end
        self._records = records
        self._log: list[AnswerEvent] = []
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"answer-{message_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the run to stop; what there is stays stored. Nothing happens where it has ended."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the run."""
        self._thread.join(timeout)

    @property
    def ended(self) -> bool:
        """Whether the log is complete."""
        with self._changed:
            return bool(self._log) and self._log[-1].type in TERMINAL

    def follow(self, after: int = 0) -> Iterator[tuple[int, AnswerEvent]]:
        """The events after sequence number ``after`` (the first has 1), until the terminal one.

        A position beyond the end of a complete log gives nothing.
        """
        position = max(0, after)
        while True:
            with self._changed:
                while len(self._log) <= position:
                    if self._log and self._log[-1].type in TERMINAL:
                        return
                    self._changed.wait()
                fresh = self._log[position:]
            for event in fresh:
                position += 1
                yield position, event

    def _work(self) -> None:
        answer = _Answer(self.message_id, self._records)
        end: AnswerEvent
        try:
            for event in self._events:
                if self._stop.is_set():
                    break
                answer.take(event)
                self._append(event)
            end = _stopped() if self._stop.is_set() else _done(self.message_id)
        except ClewError as error:
            end = AnswerEvent("error", {"title": type(error).__name__, "detail": str(error)})
        except Exception as error:  # noqa: BLE001 - a fault of ours must end the stream, not leave it open
            traceback.print_exc()
            detail = f"An internal error ended the answer ({type(error).__name__}); please report it."
            end = AnswerEvent("error", {"title": "InternalError", "detail": detail})
        finally:
            close = getattr(self._events, "close", None)
            if close is not None:
                close()
        if end.type != "done" and self._at_early_end is not None:
            last = self._at_early_end()
            answer.note(last)
            self._append(last)
        # Stored before the reader sees the end, so that a reload right after it finds the whole message.
        try:
            answer.save(status=end.type, detail=str(end.data.get("detail", "")))
        except ClewError as error:  # the conversation was deleted meanwhile, or there is no room
            end = AnswerEvent("error", {"title": type(error).__name__, "detail": str(error)})
        self._append(end)

    def _append(self, event: AnswerEvent) -> None:
        with self._changed:
            self._log.append(event)
            self._changed.notify_all()


class _Answer:
    """Collects a run's events into its message."""

    def __init__(self, message_id: str, records: ConversationRecords) -> None:
        self._message_id = message_id
        self._records = records
        self._text: list[str] = []
        self._usage: dict[str, Any] = {}
        self._saved = time.monotonic()

    def take(self, event: AnswerEvent) -> None:
        """Note the event, and store now and then what there is."""
        self.note(event)
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._records.update_message(self._message_id, content="".join(self._text))
            self._saved = time.monotonic()

    def note(self, event: AnswerEvent) -> None:
        if event.type == "delta":
            self._text.append(event.data["text"])
        elif event.type == "sources":
            self._usage["citations"] = event.data["sources"]
        elif event.type == "notice":
            self._usage["notice"] = event.data["text"]
        elif event.type == "usage":
            self._usage.update(event.data)
        elif event.type in {"retrieval_plan", "retrieval_done"}:
            self._usage[event.type] = dict(event.data)

    def save(self, status: str, detail: str) -> None:
        if detail:
            self._usage["error"] = detail
        self._records.update_message(self._message_id, content="".join(self._text), status=status, usage=self._usage)


class AnswerRuns:
    """The runs of this process; ended ones are kept for a while so that readers can come back."""

    def __init__(self, records: ConversationRecords) -> None:
        self._records = records
        self._runs: OrderedDict[str, AnswerRun] = OrderedDict()
        self._lock = threading.Lock()
        self.closed = False
        """Whether no more may be written."""

    def start(
        self,
        message_id: str,
        events: Iterator[AnswerEvent],
        at_early_end: Callable[[], AnswerEvent] | None = None,
    ) -> AnswerRun:
        """Begin a run that fills the message ``message_id``. Where it is stopped or fails, ``at_early_end`` gives the
        event before the terminal one."""
        run = AnswerRun(message_id, events, self._records, at_early_end)
        with self._lock:
            self._runs[message_id] = run
            ended = [key for key, old in self._runs.items() if old.ended]
            for key in ended[: max(0, len(self._runs) - _KEPT_RUNS)]:
                del self._runs[key]
        run.start()
        return run

    def get(self, message_id: str) -> AnswerRun | None:
        """The run of a message, while it is kept."""
        with self._lock:
            return self._runs.get(message_id)

    def forget(self, message_id: str) -> None:
        """Stop the run of a message that is being deleted, and tell nobody of it any more."""
        with self._lock:
            run = self._runs.pop(message_id, None)
        if run is not None:
            run.stop()

    def close(self) -> None:
        """Stop all runs and wait until they are stored."""
        self.closed = True
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.stop()
        for run in runs:
            run.join(timeout=10)


def stored_events(message: Message) -> Iterator[AnswerEvent]:
    """The events of an answer whose log is gone, rebuilt from its message; consecutive deltas are one."""
    usage: Mapping[str, Any] = message.usage
    if "retrieval_plan" in usage:
        yield AnswerEvent("retrieval_plan", usage["retrieval_plan"])
    for step in usage.get("retrieval_trace", {}).get("rounds", []):
        yield AnswerEvent("retrieval_step", {key: value for key, value in step.items() if key != "stages"})
    if "retrieval_done" in usage:
        yield AnswerEvent("retrieval_done", usage["retrieval_done"])
    if "citations" in usage:
        yield AnswerEvent("sources", {"sources": usage["citations"]})
    if message.content:
        yield AnswerEvent("delta", {"text": message.content})
    if "notice" in usage:
        yield AnswerEvent("notice", {"text": usage["notice"]})
    if "retrieval_trace" in usage:
        keys = ("tokens", "tokens_by_part", "finish_reason", "retrieval_trace")
        yield AnswerEvent("usage", {key: usage[key] for key in keys if key in usage})
    if message.status == "error":
        yield AnswerEvent("error", {"title": "Error", "detail": usage.get("error", "")})
    elif message.status == "done":
        yield _done(message.message_id)
    else:
        yield _stopped()


def _done(message_id: str) -> AnswerEvent:
    return AnswerEvent("done", {"message_id": message_id, "status": "done"})


def _stopped() -> AnswerEvent:
    return AnswerEvent("stopped", {})
