"""Answers as logs: order, resuming, stopping, exactly one end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clew.answering.runs import TERMINAL, AnswerRun, AnswerRuns, stored_events
from clew.errors import ServiceUnavailableError
from clew.storage.base import Conversation, Message
from clew.storage.records import SqlRecords
from clew.types import AnswerEvent


@pytest.fixture
def records(tmp_path: object) -> Iterator[SqlRecords]:
    records = SqlRecords.open(f"sqlite:///{tmp_path}/records.sqlite")
    records.create_conversation(Conversation("c", "title", "2026-01-01", "2026-01-01"))
    records.add_message(Message("m", "c", "assistant", "", "2026-01-01", "streaming"))
    yield records
    records.close()


def delta(text: str) -> AnswerEvent:
    return AnswerEvent("delta", {"text": text})


def whole(run: AnswerRun, after: int = 0) -> list[tuple[int, str]]:
    return [(number, event.type) for number, event in run.follow(after)]


def test_a_reader_can_come_back_anywhere(records: SqlRecords) -> None:
    run = AnswerRuns(records).start("m", iter([delta("a"), delta("b"), delta("c")]))
    assert whole(run) == [(1, "delta"), (2, "delta"), (3, "delta"), (4, "done")]
    assert whole(run, after=2) == [(3, "delta"), (4, "done")]
    assert whole(run, after=4) == []
    assert whole(run, after=99) == []


def test_the_message_is_whole_when_the_end_is_seen(records: SqlRecords) -> None:
    run = AnswerRuns(records).start("m", iter([delta("a"), delta("b")]))
    whole(run)
    message = records.get_message("m")
    assert (message.content, message.status) == ("ab", "done")


def test_a_reader_that_goes_away_stops_nothing(records: SqlRecords) -> None:
    go_on = threading.Event()

    def events() -> Iterator[AnswerEvent]:
        yield delta("a")
        go_on.wait(10)
        yield delta("b")

    run = AnswerRuns(records).start("m", events())
    reader = run.follow()
    assert next(reader)[1].data == {"text": "a"}
    reader.close()
    go_on.set()
    assert whole(run)[-1] == (3, "done")
    assert records.get_message("m").content == "ab"


def test_stop_keeps_what_there_is_and_closes_the_source(records: SqlRecords) -> None:
    closed = threading.Event()
    reached = threading.Event()

    def events() -> Iterator[AnswerEvent]:
        try:
            yield delta("a")
            reached.wait(10)
            while True:
                yield delta("b")
        finally:
            closed.set()

    run = AnswerRuns(records).start("m", events())
    reader = run.follow()
    next(reader)
    run.stop()
    reached.set()
    assert [event.type for _, event in reader][-1] == "stopped"
    assert closed.is_set()
    message = records.get_message("m")
    assert message.status == "stopped"
    assert message.content.startswith("a")


@pytest.mark.parametrize(
    ("error", "words"),
    [(ServiceUnavailableError("The model is down."), "The model is down."), (ValueError("x"), "internal")],
)
def test_an_error_ends_the_stream_once(records: SqlRecords, error: Exception, words: str) -> None:
    def events() -> Iterator[AnswerEvent]:
        yield delta("half")
        raise error

    run = AnswerRuns(records).start("m", events())
    log = [event for _, event in run.follow()]
    assert [event.type for event in log] == ["delta", "error"]
    assert words in log[-1].data["detail"]
    message = records.get_message("m")
    assert (message.content, message.status) == ("half", "error")


def test_a_log_that_is_gone_is_told_from_the_message(records: SqlRecords) -> None:
    source = [
        AnswerEvent("retrieval_plan", {"mode": "single"}),
        AnswerEvent("retrieval_done", {"rounds": 1}),
        AnswerEvent("sources", {"sources": []}),
        delta("a"),
        delta("b"),
        AnswerEvent("notice", {"text": "careful"}),
        AnswerEvent("usage", {"tokens": {}, "retrieval_trace": {"rounds": []}}),
    ]
    whole(AnswerRuns(records).start("m", iter(source)))
    told = list(stored_events(records.get_message("m")))
    assert [event.type for event in told] == [
        "retrieval_plan", "retrieval_done", "sources", "delta", "notice", "usage", "done",
    ]  # fmt: skip
    assert told[3].data == {"text": "ab"}
    assert sum(event.type in TERMINAL for event in told) == 1


def test_an_answer_that_ends_early_tells_what_it_has_before_its_end(records: SqlRecords) -> None:
    def events() -> Iterator[AnswerEvent]:
        yield delta("a")
        raise ServiceUnavailableError("the model is gone")

    usage = AnswerEvent("usage", {"tokens": {"calls": 1}})
    run = AnswerRuns(records).start("m", events(), lambda: usage)
    assert [name for _, name in whole(run)] == ["delta", "usage", "error"]
    assert records.get_message("m").usage["tokens"] == {"calls": 1}


def test_an_answer_whose_conversation_is_deleted_meanwhile_comes_to_its_end(records: SqlRecords) -> None:
    go_on = threading.Event()

    def events() -> Iterator[AnswerEvent]:
        yield delta("a")
        go_on.wait(10)
        yield delta("b")

    run = AnswerRuns(records).start("m", events())
    records.delete_conversation("c")
    go_on.set()
    assert whole(run)[-1] == (3, "error")
