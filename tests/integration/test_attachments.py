"""Files attached to conversations, end to end through the library."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.app import Clew
from clew.errors import InputError, NotFoundError
from clew.retrieval.attachments import SignalPackage
from clew.storage.base import Attachment

LONG_CHAPTERS = 60


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Iterator[Clew]:
    """One Clew for all tests here; each test has a conversation of its own."""
    overrides = {
        "models": {"folder": str(models_folder)},
        "summaries": {"enabled": False},
        "attachments": {"max_files": 4, "max_tokens": 20_000, "max_file_bytes": 300_000},
    }
    with Clew.open(tmp_path_factory.mktemp("attached") / "data", overrides=overrides) as clew:
        clew.create_kb("notes")
        file, _ = clew.add_file("notes", "rivers.md", io.BytesIO(b"# Rivers\n\nThe Danube is 2,850 kilometres long.\n"))
        clew.wait([file.file_id], timeout=60)
        yield clew


@pytest.fixture
def talk(clew: Clew) -> str:
    return clew.create_conversation("talk").conversation_id


def attach(clew: Clew, talk: str, name: str, text: str | bytes) -> Attachment:
    return clew.attach(talk, name, io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def settled(clew: Clew, talk: str) -> SignalPackage:
    package = clew.wait_for_attachments(talk, embedded=True, timeout=60)
    assert not [file for file in package.files if file.status == "processing"]
    return package


def answer(clew: Clew, talk: str, question: str, kbs: tuple[str, ...] = ()) -> tuple[str, dict[str, object]]:
    """The answer's text and its stored usage."""
    events = list(clew.ask(question, kbs=kbs, conversation_id=talk))
    assert events[-1].type == "done", events[-1]
    return "".join(e.data["text"] for e in events if e.type == "delta"), dict(clew.messages(talk)[-1].usage)


def report(revenue: str) -> str:
    return f"# Annual report of Boreas Ltd\n\nRevenue in 2023 was {revenue} million yuan.\n"


def long_text(secret: str) -> str:
    filler = "The committee met, discussed the agenda at length, and adjourned without a decision. " * 12
    chapters = [f"## Chapter {n}\n\n{filler}\n" for n in range(1, LONG_CHAPTERS)]
    chapters.insert(40, f"## The observatory\n\n{secret}\n")
    return "# Minutes\n\n" + "\n".join(chapters)


def test_this_file_is_the_newest(clew: Clew, talk: str) -> None:
    attach(clew, talk, "old report.md", report("111"))
    attach(clew, talk, "new report.md", report("222"))

    for question in ("How much was the revenue in this file?", "这个文件里2023年的收入是多少？"):
        text, usage = answer(clew, talk, question)
        assert "222" in text
        assert "111" not in text
        assert {c["file_name"] for c in usage["citations"]} == {"new report.md"}
        assert usage["retrieval_trace"]["attachments_asked"] == "the newest attachment"

    text, _ = answer(clew, talk, "How much was the revenue according to old report.md?")
    assert "111" in text
    assert "222" not in text
    text, _ = answer(clew, talk, "How much was the revenue of Boreas Ltd in 2023?")
    assert {"111", "222"} <= {word.strip(".,*") for word in text.split()}


def test_a_small_file_is_read_whole_and_a_large_one_is_searched(clew: Clew, talk: str) -> None:
    attach(clew, talk, "minutes.md", long_text("The observatory of Karlsund stands 1,944 metres above the sea."))
    attach(clew, talk, "note.txt", "The password of the archive is heliotrope.")
    package = settled(clew, talk)

    tiers = {file.name: file.tier for file in package.files}
    assert tiers == {"minutes.md": "index", "note.txt": "context"}
    large, small = (file.file_id for file in package.files)
    assert package.bm25_scope == package.semantic_scope == {large, small}
    assert package.stuff_texts == (small,)

    text, usage = answer(clew, talk, "How high above the sea does the observatory of Karlsund stand?")
    assert "1,944 metres" in text
    read = {file["name"]: file["read"] for file in usage["retrieval_trace"]["attachments"]}
    assert read == {"minutes.md": "by words and vectors", "note.txt": "whole"}
    assert usage["citations"][0]["file_name"] == "note.txt", "whole texts stand first"
    context = next(s for s in usage["retrieval_trace"]["stages"] if s["name"] == "context")
    assert context["tokens"] <= clew.settings.retrieval.context_budget_tokens


def test_words_can_be_searched_before_vectors_are_ready(clew: Clew, talk: str) -> None:
    attached = attach(clew, talk, "minutes.md", long_text("The observatory of Vexholm was built in 1877."))
    settled(clew, talk)
    clew.records.update_attachment(attached.attachment_id, embedded=False)

    package = clew.attachments(talk)
    assert package.bm25_scope == {attached.attachment_id}
    assert package.semantic_scope == frozenset()
    result = clew.search("When was the observatory of Vexholm built?", kbs=[], conversation_id=talk)
    assert "1877" in result.evidence[0].text
    assert result.trace.attachments[0]["read"] == "by words"
    assert {name for hit in result.hits for name in hit.representations} == {"bm25"}


def test_knowledge_bases_and_attachments_are_one_pool(clew: Clew, talk: str) -> None:
    attach(clew, talk, "note.txt", "The Danube flows through Vienna. Its delta lies in Romania.")

    _, usage = answer(clew, talk, "How long is the Danube, and through which city does it flow?", ("notes",))
    assert [c["file_name"] for c in usage["citations"]] == ["note.txt", "rivers.md"]
    _, usage = answer(clew, talk, "Compare what this file says about the Danube with the other notes.", ("notes",))
    assert {c["file_name"] for c in usage["citations"]} == {"note.txt", "rivers.md"}
    _, usage = answer(clew, talk, "What does this file say about the Danube?", ("notes",))
    assert {c["file_name"] for c in usage["citations"]} == {"note.txt"}


def test_no_other_conversation_finds_an_attachment(clew: Clew, talk: str) -> None:
    attached = attach(clew, talk, "secret.txt", "The code word of the expedition is amaranth.")
    package = settled(clew, talk)
    other = clew.create_conversation("other").conversation_id
    attach(clew, other, "own.txt", "The expedition starts in May.")
    settled(clew, other)
    question = "What is the code word of the expedition?"

    assert "amaranth" in answer(clew, talk, question)[0]
    text, usage = answer(clew, other, question, ("notes",))
    assert "amaranth" not in text
    assert "secret.txt" not in str(usage)
    for found in (
        clew.search(question, kbs=["notes"]),
        clew.search(question, kbs=["notes"], files=[attached.attachment_id]),
        clew.search(question, kbs=["notes"], files=[attached.attachment_id], conversation_id=other),
    ):
        assert "amaranth" not in "".join(hit.text for hit in found.hits)
        assert "amaranth" not in "".join(e.text for e in found.evidence)
    for look in (
        lambda: clew.search(question, kbs=[package.kb_id]),
        lambda: clew.kb(package.kb_id),
        lambda: clew.list_files(package.kb_id),
        lambda: clew.remove_attachment(other, attached.attachment_id),
        lambda: clew.remove_file(attached.attachment_id),
    ):
        with pytest.raises(NotFoundError):
            look()
    assert [kb.name for kb in clew.list_kbs()] == ["notes"]


def test_the_same_file_in_two_conversations_is_two_files(clew: Clew, talk: str) -> None:
    other = clew.create_conversation("other").conversation_id
    first, second = (attach(clew, t, "note.txt", "The lighthouse of Tarn is white.") for t in (talk, other))
    settled(clew, talk)
    settled(clew, other)
    assert first.attachment_id != second.attachment_id

    clew.delete_conversation(talk)

    assert "white" in answer(clew, other, "Which colour has the lighthouse of Tarn?")[0]
    with pytest.raises(NotFoundError):
        clew.file(first.attachment_id)
    with pytest.raises(NotFoundError):
        clew.attachments(talk)


def test_the_same_bytes_again_become_the_newest(clew: Clew, talk: str) -> None:
    first = attach(clew, talk, "a.md", report("333"))
    attach(clew, talk, "b.md", report("444"))
    settled(clew, talk)
    again = attach(clew, talk, "a again.md", report("333"))

    assert again.attachment_id == first.attachment_id
    assert [file.name for file in settled(clew, talk).files] == ["b.md", "a again.md"]
    assert "333" in answer(clew, talk, "How much was the revenue in this file?")[0]


def test_what_is_skipped_or_failed_is_named(clew: Clew, talk: str) -> None:
    attach(clew, talk, "note.txt", "The ferry to Sandoy leaves at nine.")
    attach(clew, talk, "huge.txt", b"x" * 300_001)
    attach(clew, talk, "long.txt", long_text("") * 4)
    attach(clew, talk, "broken.pdf", b"%PDF-1.7 nothing")
    package = settled(clew, talk)

    tiers = {file.name: file.tier for file in package.files}
    assert tiers == {"note.txt": "context", "huge.txt": "skipped", "long.txt": "skipped", "broken.pdf": "failed"}
    reasons = {file.name: file.reason for file in package.unread}
    assert "attachments.max_file_bytes" in reasons["huge.txt"]
    assert "attachments.max_tokens" in reasons["long.txt"]
    assert reasons["broken.pdf"]
    text, _ = answer(clew, talk, "When does the ferry to Sandoy leave?")
    assert "at nine" in text
    assert all(name in text for name in ("huge.txt", "long.txt", "broken.pdf"))
    text, _ = answer(clew, talk, "What does this file say?")  # the newest, which failed: no other stands in for it
    assert "broken.pdf" in text
    assert "Sandoy" not in text


def test_there_are_only_so_many(clew: Clew, talk: str) -> None:
    for n in range(5):
        attach(clew, talk, f"{n}.txt", f"Number {n} of the list.")
    files = settled(clew, talk).files
    assert [file.status for file in files] == ["ready"] * 4 + ["skipped"]
    assert "attachments.max_files" in files[-1].reason
    clew.remove_attachment(talk, files[0].file_id)
    assert [file.name for file in clew.attachments(talk).files] == ["1.txt", "2.txt", "3.txt", "4.txt"]


def test_attachments_last_only_so_long(clew: Clew, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attached = attach(clew, talk, "note.txt", "The bridge of Orm has nine arches.")
    settled(clew, talk)
    key = clew.file(attached.attachment_id).file_key
    assert clew.clean_attachments() == 0

    later = datetime.now(UTC) + timedelta(hours=clew.settings.attachments.keep_hours + 1)
    monkeypatch.setattr("clew.app._now", lambda: later.isoformat(timespec="microseconds"))
    fresh = clew.create_conversation("fresh").conversation_id
    assert clew.clean_attachments() >= 1

    (file,) = clew.attachments(talk).files
    assert (file.status, "72 hours" in file.reason) == ("skipped", True)
    assert key not in set(clew.originals.keys())
    with pytest.raises(NotFoundError):
        clew.file(attached.attachment_id)
    text, _ = answer(clew, talk, "How many arches has the bridge of Orm?")
    assert "note.txt" in text
    assert "nine" not in text
    assert clew.attachments(fresh).files == ()


def test_a_question_needs_something_to_read(clew: Clew, talk: str) -> None:
    with pytest.raises(InputError, match="attach a file"):
        clew.start_answer("What now?", kbs=[], conversation_id=talk)
    with pytest.raises(NotFoundError):
        attach(clew, "c_nothing", "a.txt", "text")


def test_after_a_restart_attachments_are_found_again(tmp_path: Path, models_folder: Path, clew: Clew) -> None:
    """The index of attachments lies in memory; a new one, as after a restart, is filled from what is stored."""
    talk = clew.create_conversation("talk").conversation_id
    attach(clew, talk, "minutes.md", long_text("The mill of Asker was sold in 1733."))
    settled(clew, talk)
    clew.index.drop(clew.attachments(talk).kb_id)

    result = clew.search("When was the mill of Asker sold?", kbs=[], conversation_id=talk)

    assert "1733" in result.evidence[0].text
    assert set(result.hits[0].representations) == {"bm25", "l2"}


def test_reconciliation_leaves_attachments_alone(clew: Clew, talk: str) -> None:
    attached = attach(clew, talk, "note.txt", "The lock of Hamra has two gates.")
    settled(clew, talk)
    clew.index.drop(clew.attachments(talk).kb_id)  # as after a restart

    assert [finding for finding in clew.examine(repair=True) if finding.file_id == attached.attachment_id] == []
    assert "two gates" in answer(clew, talk, "How many gates has the lock of Hamra?")[0]


def test_a_small_file_is_summed_up_from_its_whole_text(clew: Clew, talk: str) -> None:
    attach(clew, talk, "old.md", "# Bees\n\nBees live in hives and make honey from nectar all summer long.\n")
    attach(
        clew, talk, "new.md",
        "# Harbour of Lund\n\n## History\n\nThe harbour of Lund was built in 1756 by Dutch engineers.\n\n"
        "## Trade\n\nTimber and grain are shipped from the harbour of Lund to England every spring.\n",
    )  # fmt: skip

    text, usage = answer(clew, talk, "Summarise this file.")

    assert usage["retrieval_trace"]["kind"]["kind"] == "summary"
    assert "1756" in text
    assert "Timber and grain" in text
    assert "Bees" not in text
    assert {c["file_name"] for c in usage["citations"]} == {"new.md"}


def test_a_large_file_is_summed_up_before_its_summaries_are_written(clew: Clew, talk: str) -> None:
    secret = "The observatory of Fjell was founded in 1877 by two brothers. Its telescope came from Hamburg by ship."
    attach(clew, talk, "note.txt", "The observatory of Fjell is closed on Mondays.")
    attached = attach(clew, talk, "minutes.md", long_text(secret))
    settled(clew, talk)
    assert clew.file(attached.attachment_id).summary_status == "off"

    result = clew.search("Summarise the section The observatory", kbs=[], conversation_id=talk, kind="summary")

    assert result.trace.sections is not None
    assert [section["titles"][-1] for section in result.trace.sections.sections] == ["The observatory"]
    first, *others = result.evidence
    assert "closed on Mondays" in first.text, "whole texts stand first"
    assert any("telescope came from Hamburg" in e.text for e in others)
    assert all("adjourned without a decision" not in e.text for e in others)
    assert [e.number for e in result.evidence] == list(range(1, len(result.evidence) + 1))
