"""An in-memory Clew behind the same facade, for tests of the API and for working on the page without models.

It reads text and PDF, splits on blank lines, searches by shared words and answers with the best sentences. A file
whose text contains ``DAMAGED`` fails. ``stage_seconds`` and ``word_seconds`` make it slow enough to watch.
"""

from __future__ import annotations

import io
import itertools
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from clew.config import Settings, with_models
from clew.errors import ConflictError, DamagedFileError, InputError, NotFoundError
from clew.retrieval.attachments import AttachedFile, SignalPackage
from clew.storage.base import Attachment, Conversation, Message
from clew.trace import ComplexityDecision, KindDecision, RetrievalTrace, to_json
from clew.types import (
    AnswerEvent,
    Block,
    ChangeReport,
    ChildChunk,
    File,
    FileFilter,
    FileStatus,
    KnowledgeBase,
    ParentChunk,
    PassageEdit,
    Section,
)
from fakes.clew_content import FakeContent, FakeHit, answer_text, digest, read_content, trace_of, words_of

MEDIA_TYPES = {"pdf": "application/pdf", "md": "text/markdown", "html": "text/html", "txt": "text/plain"}
STAGES = ("parse", "chunk", "embed", "index", "publish")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class FakeSearchResult:
    hits: list[FakeHit]
    trace: RetrievalTrace


@dataclass(frozen=True)
class FakeFinding:
    kind: str
    kb_id: str
    file_id: str
    detail: str
    repaired: bool


@dataclass(frozen=True)
class FakeCheck:
    name: str
    ok: bool
    detail: str


@dataclass
class _Stored:
    file: File
    data: bytes
    content: FakeContent = field(default_factory=lambda: FakeContent(None, [], [], []))


@dataclass
class _Answer:
    events: list[AnswerEvent] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    stopped: bool = False

    def add(self, type_: Any, data: Mapping[str, Any]) -> None:
        with self.changed:
            self.events.append(AnswerEvent(type_, data))
            self.changed.notify_all()


class FakeClew:
    """See the module's docstring."""

    def __init__(self, *, stage_seconds: float = 0.0, word_seconds: float = 0.0, data: Path = Path("nowhere")) -> None:
        self.data = data
        self.stage_seconds = stage_seconds
        self.word_seconds = word_seconds
        self.settings = Settings()
        self.saved_models = self.settings.models
        self._ids = itertools.count(1)
        self._kbs: dict[str, KnowledgeBase] = {}
        self._files: dict[str, _Stored] = {}
        self._conversations: dict[str, Conversation] = {}
        self._messages: dict[str, list[Message]] = {}
        self._answers: dict[str, _Answer] = {}
        self._attachments: list[Attachment] = []
        self._decisions: list[dict[str, Any]] = []

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"

    # --- knowledge bases ---------------------------------------------------------------------------------

    def create_kb(
        self, name: str, *, description: str = "", settings: Mapping[str, Any] | None = None
    ) -> KnowledgeBase:
        if any(kb.name == name for kb in self._kbs.values()):
            raise ConflictError(f"There is already a knowledge base '{name}'; choose another name.")
        kb = KnowledgeBase(self._id("kb"), name, _now(), settings or {}, "fake", description)
        self._kbs[kb.kb_id] = kb
        return kb

    def kb(self, name_or_id: str) -> KnowledgeBase:
        for kb in self._kbs.values():
            if name_or_id in {kb.kb_id, kb.name}:
                return kb
        raise NotFoundError(f"There is no knowledge base '{name_or_id}'; `clew kb list` shows all of them.")

    def list_kbs(self) -> list[KnowledgeBase]:
        return sorted(self._kbs.values(), key=lambda kb: kb.name)

    def update_kb(
        self,
        name_or_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> KnowledgeBase:
        kb = self.kb(name_or_id)
        changes = {"settings": settings, "name": name, "description": description}
        kb = replace(kb, **{key: value for key, value in changes.items() if value is not None})
        self._kbs[kb.kb_id] = kb
        return kb

    def delete_kb(self, name_or_id: str) -> None:
        kb_id = self.kb(name_or_id).kb_id
        del self._kbs[kb_id]
        self._files = {key: stored for key, stored in self._files.items() if stored.file.kb_id != kb_id}

    def count_files(self, kb: str) -> Mapping[FileStatus, int]:
        files = self.list_files(kb)
        return {status: sum(file.status is status for file in files) for status in FileStatus}

    # --- files -------------------------------------------------------------------------------------------

    def add_file(self, kb: str, name: str, source: BinaryIO, *, source_path: str = "") -> tuple[File, bool]:
        kb_id = self.kb(kb).kb_id
        data = source.read()
        for stored in self._files.values():
            if stored.file.kb_id == kb_id and stored.file.content_hash == digest(data):
                return stored.file, False
        file = self._new_file(self._id("file"), kb_id, name, data)
        self._files[file.file_id] = _Stored(file, data)
        threading.Thread(target=self._ingest, args=(file.file_id,), daemon=True).start()
        return file, True

    def update_file(self, file_id: str, name: str, source: BinaryIO) -> File:
        old = self._stored(file_id)
        if old.file.status is FileStatus.PROCESSING:
            raise ConflictError(f"'{old.file.name}' is being read already; wait until it is done.")
        data = source.read()
        old.file = replace(self._new_file(file_id, old.file.kb_id, name, data), version=old.file.version)
        old.data = data
        threading.Thread(target=self._ingest, args=(file_id,), daemon=True).start()
        return old.file

    def restore_file(self, file_id: str) -> File:
        stored = self._stored(file_id)
        if stored.file.status is not FileStatus.FAILED or not stored.file.version:
            raise ConflictError(f"'{stored.file.name}' has no earlier version.")
        stored.file = replace(stored.file, status=FileStatus.COMPLETED, reason="")
        return stored.file

    def cancel_file(self, file_id: str) -> File:
        raise ConflictError(f"'{self.file(file_id).name}' is not being processed.")

    def edit_chunk(self, file_id: str, chunk_id: str, *, text: str | None = None, enabled: bool | None = None) -> File:
        stored = self._stored(file_id)
        for number, parent in enumerate(stored.content.parents):
            if parent.chunk_id == chunk_id:
                edit = PassageEdit(parent.section_titles, text, enabled is not False)
                edited = replace(parent, text=text or parent.text, enabled=edit.enabled, edited=text is not None)
                stored.content.parents[number] = edited
                stored.file = replace(stored.file, edits={chunk_id: edit})
                return stored.file
        raise NotFoundError(f"There is no passage '{chunk_id}'.")

    def reset_chunk(self, file_id: str, chunk_id: str) -> File:
        return self.edit_chunk(file_id, chunk_id)

    def change_file(self, file_id: str, *, enabled: bool | None = None, name: str | None = None) -> File:
        given = {"enabled": enabled, "name": name}
        stored = self._stored(file_id)
        stored.file = replace(stored.file, **{key: value for key, value in given.items() if value is not None})
        return stored.file

    def examine(self, *, repair: bool = False) -> list[FakeFinding]:
        return [FakeFinding("stale entries", "kb1", "file1", "3 entries of version 1", repair)]

    def _new_file(self, file_id: str, kb_id: str, name: str, data: bytes) -> File:
        media_type = MEDIA_TYPES.get(name.rsplit(".", 1)[-1].lower(), "application/octet-stream")
        now = _now()
        key = self._id("key")
        return File(file_id, kb_id, name, media_type, len(data), key, digest(data), FileStatus.PROCESSING, 0, now, now)

    def _ingest(self, file_id: str) -> None:
        stored = self._files[file_id]
        for number, stage in enumerate(STAGES):
            stored.file = replace(stored.file, stage=stage, progress=number / len(STAGES))
            time.sleep(self.stage_seconds)
        try:
            stored.content = read_content(stored.file, stored.data)
        except DamagedFileError as error:
            stored.file = replace(stored.file, status=FileStatus.FAILED, reason=str(error), stage="")
            return
        content = stored.content
        counts = {"blocks": len(content.blocks), "sections": 2, "parents": len(content.parents)}
        counts["children"] = len(content.children)
        stored.file = replace(
            stored.file,
            status=FileStatus.COMPLETED,
            version=stored.file.version + 1,
            stage="",
            progress=1.0,
            pages=content.pages,
            counts=counts,
            title=stored.file.name.rsplit(".", 1)[0],
            changes=ChangeReport(blocks_changed=1) if stored.file.version else None,
            updated_at=_now(),
        )

    def _stored(self, file_id: str) -> _Stored:
        if file_id not in self._files:
            raise NotFoundError(f"There is no file '{file_id}'.")
        return self._files[file_id]

    def file(self, file_id: str) -> File:
        return self._stored(file_id).file

    def list_files(
        self,
        kb: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        status: FileStatus | None = None,
        text: str = "",
    ) -> list[File]:
        kb_id = self.kb(kb).kb_id
        files = [s.file for s in self._files.values() if s.file.kb_id == kb_id]
        files = [f for f in files if status in {None, f.status} and text.lower() in f.name.lower()]
        return files[offset:][:limit]

    def correct_facts(self, file_id: str, changes: Mapping[str, Any]) -> File:
        stored = self._stored(file_id)
        facts = {**stored.file.facts, **changes, "corrected": list(changes)}
        stored.file = replace(stored.file, facts={name: value for name, value in facts.items() if value is not None})
        return stored.file

    def files_where(self, kbs: Sequence[str], wanted: FileFilter, among: Sequence[str] | None = None) -> list[str]:
        files = [file for kb in kbs for file in self.list_files(kb) if file.facts.get("period") == wanted.period]
        return [file.file_id for file in files if among is None or file.file_id in among]

    def remove_file(self, file_id: str) -> None:
        self._stored(file_id)
        del self._files[file_id]

    def blocks(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[Block]:
        return self._stored(file_id).content.blocks[offset:][:limit]

    def sections(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[Section]:
        title = self._stored(file_id).file.title
        return [Section("", (title,), 0), Section("0001/", (title,), 1, 1)][offset:][:limit]

    def file_parents(self, file_id: str, *, offset: int = 0, limit: int | None = None) -> list[ParentChunk]:
        return self._stored(file_id).content.parents[offset:][:limit]

    def file_children(self, file_id: str, *, parent_ids: Iterable[str] | None = None) -> list[ChildChunk]:
        children = self._stored(file_id).content.children
        wanted = {child.parent_id for child in children} if parent_ids is None else set(parent_ids)
        return [child for child in children if child.parent_id in wanted]

    def open_original(self, file_id: str) -> BinaryIO:
        return io.BytesIO(self._stored(file_id).data)

    # --- questions ---------------------------------------------------------------------------------------

    def search(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        files: Sequence[str] | None = None,
        sections: Any = None,
        mode: str = "auto",
        kind: str = "auto",
        overlay: Mapping[str, Any] | None = None,
        conversation_id: str | None = None,
    ) -> FakeSearchResult:
        kb_ids = [self.kb(name).kb_id for name in kbs]
        words = words_of(question)
        hits = []
        for stored in self._files.values():
            file = stored.file
            if file.kb_id not in kb_ids or (files is not None and file.file_id not in files):
                continue
            for child in stored.content.children:
                score = len(words & words_of(child.text)) / max(len(words), 1)
                if score > 0:
                    hits.append(
                        FakeHit(
                            child.chunk_id, file.file_id, file.name, child.section_path, child.section_titles,
                            child.page, child.text, score,
                        )
                    )  # fmt: skip
        hits = sorted(hits, key=lambda hit: -hit.score)[: (overlay or {}).get("retrieval", {}).get("rerank_top_k", 5)]
        return FakeSearchResult(hits, trace_of(question, hits, "multi" if mode == "multi" else "single"))

    def route(self, question: str, *, kb: str | None = None, record: bool = True) -> ComplexityDecision:
        if kb is not None:
            self.kb(kb)
        decision = trace_of(question, [], "single").complexity
        assert decision is not None
        if record:
            self._decisions.append(to_json(decision))
        return decision

    def route_kind(self, question: str, *, kb: str | None = None, record: bool = True) -> KindDecision:
        return KindDecision(question, "summary" if "summar" in question.lower() else "fact", "r1", 0.9)

    def decisions(self, *, offset: int = 0, limit: int | None = None, latest_first: bool = False) -> list[Any]:
        found = self._decisions[::-1] if latest_first else self._decisions
        return found[offset:][:limit]

    def chunks(self, chunk_ids: Sequence[str]) -> list[tuple[ChildChunk, File]]:
        return [(c, s.file) for s in self._files.values() for c in s.content.children if c.chunk_id in chunk_ids]

    def start_answer(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        conversation_id: str | None = None,
        files: Sequence[str] | None = None,
        sections: Any = None,
        mode: str = "auto",
        kind: str = "auto",
    ) -> str:
        if not kbs and not (conversation_id and self.attachments(conversation_id).files):
            raise InputError("Name at least one knowledge base.")
        result = self.search(question, kbs=kbs, files=files, mode=mode)
        if conversation_id is None:
            conversation_id = self._id("conversation")
            conversation = Conversation(conversation_id, question[:60], _now(), _now(), tuple(kbs))
            self._conversations[conversation_id] = conversation
            self._messages[conversation_id] = []
        self.conversation(conversation_id)
        message_id = self._id("message")
        messages = self._messages[conversation_id]
        messages.append(Message(self._id("message"), conversation_id, "user", question, _now()))
        messages.append(Message(message_id, conversation_id, "assistant", "", _now(), "streaming"))
        answer = self._answers[message_id] = _Answer()
        threading.Thread(target=self._answer, args=(answer, messages, result), daemon=True).start()
        return message_id

    def _answer(self, answer: _Answer, messages: list[Message], result: FakeSearchResult) -> None:
        message = messages[-1]
        place = len(messages) - 1
        trace = result.trace
        decision = trace.complexity
        assert decision is not None
        plan = {"mode": decision.mode, "source": decision.source, "confidence": decision.confidence, "kind": "fact"}
        plan |= {"conversation_id": message.conversation_id, "message_id": message.message_id}
        answer.add("retrieval_plan", plan)
        for step in trace.rounds:
            names = ("round", "sub_question", "query", "hits", "new_chunks", "goes_on", "why")
            answer.add("retrieval_step", {name: to_json(getattr(step, name)) for name in names})
            time.sleep(self.stage_seconds)
        done = {"rounds": len(trace.rounds), "chunks": trace.chunks, "stop_reason": trace.stop_reason}
        answer.add("retrieval_done", {**done, "uncertain": trace.uncertain})
        citations = [self._citation(number, hit) for number, hit in enumerate(result.hits, 1)]
        answer.add("sources", {"sources": citations})
        text = ""
        status = "done"
        for piece in re.findall(r"\S+\s*|\s+", answer_text(citations)):
            if answer.stopped:
                status = "stopped"
                break
            text += piece
            answer.add("delta", {"text": piece})
            time.sleep(self.word_seconds)
        notice = "No language model is configured." if trace.uncertain else None
        if notice and status == "done":
            answer.add("notice", {"text": notice})
        usage = {"retrieval_trace": to_json(trace), "citations": citations, "notice": notice, "prompt_tokens": 0}
        messages[place] = replace(message, content=text, status=status, usage=usage)
        if status == "done":
            answer.add("usage", {"prompt_tokens": 0, "completion_tokens": 0})
            answer.add("done", {"message_id": message.message_id, "status": "done"})
        else:
            answer.add("stopped", {})

    def _citation(self, number: int, hit: FakeHit) -> dict[str, Any]:
        child = next(c for c in self._stored(hit.file_id).content.children if c.chunk_id == hit.chunk_id)
        return {
            "number": number,
            "chunk_id": hit.chunk_id,
            "file_id": hit.file_id,
            "file_name": hit.file,
            "section_path": hit.section_path,
            "section_titles": list(hit.section_titles),
            "page": hit.page,
            "regions": to_json(child.regions),
            "quote": re.split(r"(?<=[。！？])|(?<=[.!?])\s", hit.text)[0][:2000],
            "text": hit.text,
        }

    def answer_events(self, message_id: str, after: int = 0) -> Iterator[tuple[int, AnswerEvent]]:
        if message_id not in self._answers:
            raise NotFoundError(f"There is no answer '{message_id}'.")
        return self._replay(self._answers[message_id], after)

    def _replay(self, answer: _Answer, after: int) -> Iterator[tuple[int, AnswerEvent]]:
        for number in itertools.count(after + 1):
            with answer.changed:
                answer.changed.wait_for(lambda wanted=number: len(answer.events) >= wanted)
                event = answer.events[number - 1]
            yield number, event
            if event.type in {"done", "error", "stopped"}:
                return

    def stop_answer(self, message_id: str) -> None:
        if message_id not in self._answers:
            raise NotFoundError(f"There is no answer '{message_id}'.")
        self._answers[message_id].stopped = True

    # --- conversations -----------------------------------------------------------------------------------

    def conversation(self, conversation_id: str) -> Conversation:
        if conversation_id not in self._conversations:
            raise NotFoundError(f"There is no conversation '{conversation_id}'.")
        return self._conversations[conversation_id]

    def create_conversation(self, title: str, kb_ids: tuple[str, ...] = ()) -> Conversation:
        conversation = Conversation(self._id("conversation"), title, _now(), _now(), kb_ids)
        self._conversations[conversation.conversation_id] = conversation
        self._messages[conversation.conversation_id] = []
        return conversation

    def attach(self, conversation_id: str, name: str, source: BinaryIO) -> Attachment:
        self.conversation(conversation_id)
        data = source.read()
        media_type = MEDIA_TYPES.get(name.rsplit(".", 1)[-1].lower(), "application/octet-stream")
        skipped = "The file is empty." if not data else ""
        attachment = Attachment(
            self._id("attachment"), conversation_id, name, media_type, len(data), _now(), len(data) // 4, True, skipped
        )
        self._attachments.append(attachment)
        return attachment

    def attachments(self, conversation_id: str) -> SignalPackage:
        self.conversation(conversation_id)
        files = tuple(
            AttachedFile(
                a.attachment_id, a.name, a.media_type, a.size, a.created_at, "skipped" if a.skipped else "context",
                a.tokens, "skipped" if a.skipped else "ready", a.embedded, a.skipped,
            )
            for a in self._attachments
            if a.conversation_id == conversation_id
        )  # fmt: skip
        ready = [file.file_id for file in files if file.status == "ready"]
        return SignalPackage(conversation_id, "", files, frozenset(ready), frozenset(ready), tuple(ready[::-1]))

    def remove_attachment(self, conversation_id: str, attachment_id: str) -> None:
        found = [
            a for a in self._attachments if (a.conversation_id, a.attachment_id) == (conversation_id, attachment_id)
        ]
        if not found:
            raise NotFoundError(f"There is no attachment '{attachment_id}'.")
        self._attachments.remove(found[0])

    def set_feedback(self, conversation_id: str, message_id: str, feedback: Mapping[str, Any] | None) -> None:
        messages = self._messages.get(conversation_id, [])
        for place, message in enumerate(messages):
            if message.message_id == message_id and message.role == "assistant":
                messages[place] = replace(message, usage={**message.usage, "feedback": feedback})
                return
        raise NotFoundError(f"There is no answer '{message_id}'.")

    def list_conversations(self, *, offset: int = 0, limit: int = 50) -> list[Conversation]:
        return sorted(self._conversations.values(), key=lambda c: c.updated_at, reverse=True)[offset:][:limit]

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        self._conversations[conversation_id] = replace(self.conversation(conversation_id), title=title)

    def delete_conversation(self, conversation_id: str) -> None:
        self.conversation(conversation_id)
        del self._conversations[conversation_id]
        del self._messages[conversation_id]

    def messages(
        self, conversation_id: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Message]:
        self.conversation(conversation_id)
        found = self._messages[conversation_id]
        return (found[::-1] if latest_first else list(found))[offset:][:limit]

    def message(self, message_id: str) -> Message:
        found = [m for messages in self._messages.values() for m in messages if m.message_id == message_id]
        if not found:
            raise NotFoundError(f"There is no message '{message_id}'.")
        return found[0]

    def save_models(self, changes: Mapping[str, Any]) -> None:
        self.settings = with_models(self.settings, changes)
        self.saved_models = self.settings.models

    def try_model(self, part: str, changes: Mapping[str, Any]) -> FakeCheck:
        with_models(self.settings, {part: changes})
        return (
            FakeCheck(part, False, "this is the fake") if changes.get("url") == "" else FakeCheck(part, True, "works")
        )

    def check(self) -> list[FakeCheck]:
        return [FakeCheck("records", True, "in memory"), FakeCheck("language model", False, "none is configured")]
