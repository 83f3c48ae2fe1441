"""What routes are given: the one :class:`~clew.app.Clew` of this server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, BinaryIO, Protocol

from fastapi import Depends, Request

from clew.storage.base import Conversation, Message
from clew.types import AnswerEvent, Block, ChildChunk, File, FileStatus, KnowledgeBase, ParentChunk, Section


class SearchResult(Protocol):
    """Hits, best first, and the trace of how they were found."""

    @property
    def hits(self) -> Sequence[Any]: ...

    @property
    def trace(self) -> Any: ...


class Check(Protocol):
    """One line of ``clew doctor``."""

    @property
    def name(self) -> str: ...

    @property
    def ok(self) -> bool: ...

    @property
    def detail(self) -> str: ...


class Clew(Protocol):
    """The part of the library's facade that the API uses; every call may block."""

    def create_kb(
        self, name: str, *, description: str = "", settings: Mapping[str, Any] | None = None
    ) -> KnowledgeBase: ...
    def kb(self, name_or_id: str) -> KnowledgeBase: ...
    def list_kbs(self) -> list[KnowledgeBase]: ...
    def update_kb(
        self,
        name_or_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> KnowledgeBase: ...
    def delete_kb(self, name_or_id: str) -> None: ...
    def count_files(self, kb: str) -> Mapping[FileStatus, int]: ...

    def add_file(self, kb: str, name: str, source: BinaryIO, *, source_path: str = "") -> tuple[File, bool]: ...
    def update_file(self, file_id: str, name: str, source: BinaryIO) -> File: ...
    def file(self, file_id: str) -> File: ...
    def list_files(
        self,
        kb: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        status: FileStatus | None = None,
        text: str = "",
    ) -> list[File]: ...
    def remove_file(self, file_id: str) -> None: ...
    def blocks(self, file_id: str) -> list[Block]: ...
    def sections(self, file_id: str) -> list[Section]: ...
    def file_parents(self, file_id: str) -> list[ParentChunk]: ...
    def file_children(self, file_id: str) -> list[ChildChunk]: ...
    def open_original(self, file_id: str) -> BinaryIO: ...

    def search(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        files: Sequence[str] | None = None,
        sections: Any = None,
        mode: Any = "auto",
        kind: Any = "auto",
    ) -> SearchResult: ...
    def start_answer(
        self,
        question: str,
        *,
        kbs: Sequence[str],
        conversation_id: str | None = None,
        files: Sequence[str] | None = None,
        sections: Any = None,
        mode: Any = "auto",
        kind: Any = "auto",
    ) -> str: ...
    def answer_events(self, message_id: str, after: int = 0) -> Iterator[tuple[int, AnswerEvent]]: ...
    def stop_answer(self, message_id: str) -> None: ...

    def conversation(self, conversation_id: str) -> Conversation: ...
    def list_conversations(self, *, offset: int = 0, limit: int = 50) -> list[Conversation]: ...
    def rename_conversation(self, conversation_id: str, title: str) -> None: ...
    def delete_conversation(self, conversation_id: str) -> None: ...
    def messages(self, conversation_id: str) -> list[Message]: ...

    def check(self) -> Sequence[Check]: ...


def get_clew(request: Request) -> Clew:
    """The Clew that :func:`clew.api.server.create_app` was given."""
    clew: Clew = request.app.state.clew
    return clew


ClewDep = Annotated[Clew, Depends(get_clew)]
