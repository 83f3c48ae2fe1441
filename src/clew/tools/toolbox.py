"""The tools themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.answering.prompts import unmentioned_note
from clew.app import Clew
from clew.errors import InputError, NotFoundError
from clew.retrieval.kind import KindChoice
from clew.retrieval.pipeline import RetrievalResult
from clew.tools.browsing import file_lines, paged, passage_texts, section_at, section_lines
from clew.tools.grant import EVERYTHING, Grant, granted_kbs
from clew.tools.result import ToolResult, passages_result
from clew.types import File, FileStatus, KnowledgeBase, RetrievalMode, SectionFilter

DEFAULT_TOKENS, MIN_TOKENS, MAX_TOKENS = 3000, 200, 16_000
_NAMED_FILES = 5


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    max_tokens: int = Field(DEFAULT_TOKENS, ge=MIN_TOKENS, le=MAX_TOKENS, description="Upper limit of the result.")


class Section(BaseModel):
    """A section of a file and everything below it."""

    model_config = ConfigDict(extra="forbid")
    file_id: str
    section_path: str = Field(examples=["0003/0002/"])


class KbRagArguments(_Arguments):
    question: str = Field(min_length=1, max_length=8000, description="One question that stands on its own.")
    kbs: list[str] = Field([], description="Names or ids of knowledge bases; none means all.")
    files: list[str] | None = Field(None, description="Read only the files with these ids.")
    sections: list[Section] | None = Field(None, description="Read only these sections of files.")
    kind: Literal["auto", "fact", "summary"] = Field("auto", description="Whether a fact or a summary is wanted.")
    retrieval_mode: Literal["auto", "single", "multi"] = Field(
        "single", description="`single` for one look-up; `multi` or `auto` where the question has several steps."
    )


class AttachmentRagArguments(_Arguments):
    conversation_id: str = Field(description="The conversation whose attached files are asked.")
    question: str = Field(min_length=1, max_length=8000, description="One question that stands on its own.")
    kbs: list[str] = Field([], description="Knowledge bases to read beside the attachments; none means none.")
    kind: Literal["auto", "fact", "summary"] = Field("auto", description="Whether a fact or a summary is wanted.")
    retrieval_mode: Literal["auto", "single", "multi"] = Field("single", description="As for kb_rag.")


class ListArguments(_Arguments):
    page: int = Field(1, ge=1)


class BrowseArguments(_Arguments):
    kb: str | None = Field(None, description="Name or id of a knowledge base: lists its files.")
    file_id: str | None = Field(None, description="Id of a file: lists its sections.")
    section_path: str = Field("", description="Path of a section: lists the sections below it and gives its own text.")
    page: int = Field(1, ge=1)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, what it is for, and a JSON schema of its arguments."""

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[..., ToolResult]

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return self.arguments.model_json_schema()

    def as_openai(self) -> dict[str, Any]:
        """The tool as chat models that speak OpenAI's protocol take it."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}

    def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run with arguments as a model wrote them. Raises InputError where they do not fit the schema."""
        try:
            checked = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
            raise InputError(f"{self.name}: {'; '.join(problems)}") from error
        return self.run(**{name: getattr(checked, name) for name in self.arguments.model_fields})


class Tools:
    """Clew's tools for one holder, who may read what ``grant`` says. Every result is cited, bounded in tokens, and
    says what was not read. Safe to use from several threads.

    All methods raise ClewError: InputError for impossible arguments, NotFoundError for what does not exist or is not
    granted.
    """

    def __init__(self, clew: Clew, grant: Grant = EVERYTHING) -> None:
        self.clew = clew
        self.grant = grant

    def all(self) -> list[Tool]:
        """The tools with their schemas."""
        return [
            Tool(
                "kb_rag",
                "Find passages that answer a question in the user's own documents, with citations. Ask one question at "
                "a time; cite what you use as [number]. The result says what was not read.",
                KbRagArguments,
                self.kb_rag,
            ),
            Tool(
                "attachment_rag",
                'Find passages that answer a question in the files attached to a conversation, with citations. "This '
                'file" means the newest. The result names files that could not be read.',
                AttachmentRagArguments,
                self.attachment_rag,
            ),
            Tool(
                "list_knowledge_bases",
                "List the knowledge bases (sets of documents) that can be asked, with how many files they hold.",
                ListArguments,
                self.list_knowledge_bases,
            ),
            Tool(
                "browse_sections",
                "Walk through documents page by page: the files of a knowledge base (kb), the sections of a file with "
                "their summaries (file_id), or what a section holds, down to its text (file_id and section_path).",
                BrowseArguments,
                self.browse_sections,
            ),
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the tool ``name`` with arguments as a model wrote them."""
        tool = next((tool for tool in self.all() if tool.name == name), None)
        if tool is None:
            raise NotFoundError(f"There is no tool {name!r}.")
        return tool.call(arguments)

    def kb_rag(
        self,
        question: str,
        *,
        kbs: Sequence[str] = (),
        files: Iterable[str] | None = None,
        sections: Iterable[SectionFilter | Section] | None = None,
        kind: KindChoice = "auto",
        retrieval_mode: RetrievalMode = "single",
        max_tokens: int = DEFAULT_TOKENS,
    ) -> ToolResult:
        """Passages that answer the question. One look-up by default, because an agent has split its question already;
        fact or summary is decided."""
        found = granted_kbs(self.grant, self.clew.list_kbs(), kbs)
        if not found:
            return self._nothing("There are no knowledge bases yet.")
        result = self.clew.search(
            question,
            kbs=[kb.kb_id for kb in found],
            files=self.grant.files(files),
            sections=None if sections is None else [SectionFilter(s.file_id, s.section_path) for s in sections],
            mode=retrieval_mode,
            kind=kind,
            overlay={"retrieval": {"context_budget_tokens": max(100, max_tokens - MIN_TOKENS // 2)}},
        )
        notes = _not_in_context(result)
        if files is None and sections is None:
            notes += self._unreadable(found)
        return self._passages(result, notes, max_tokens)

    def attachment_rag(
        self,
        question: str,
        *,
        conversation_id: str,
        kbs: Sequence[str] = (),
        kind: KindChoice = "auto",
        retrieval_mode: RetrievalMode = "single",
        max_tokens: int = DEFAULT_TOKENS,
    ) -> ToolResult:
        """Passages of a conversation's attachments, and of ``kbs``, that answer the question; small files come
        whole."""
        if not self.grant.allows_conversation(conversation_id):
            raise NotFoundError(f"There is no conversation {conversation_id!r}")
        if not self.clew.attachments(conversation_id).files:
            return self._nothing("Nothing is attached to this conversation.")
        found = granted_kbs(self.grant, self.clew.list_kbs(), kbs) if kbs else []
        room = max(100, max_tokens - MIN_TOKENS // 2)
        result = self.clew.search(
            question,
            kbs=[kb.kb_id for kb in found],
            files=self.grant.file_ids,
            mode=retrieval_mode,
            kind=kind,
            overlay={"retrieval": {"context_budget_tokens": room, "attachment_context_tokens": room}},
            conversation_id=conversation_id,
        )
        notes = [
            f"{file['name']}: {file['reason'] or file['status']}."
            for file in result.trace.attachments
            if file["status"] != "ready"
        ]
        return self._passages(result, [*notes, *_not_in_context(result)], max_tokens)

    def list_knowledge_bases(self, *, page: int = 1, max_tokens: int = DEFAULT_TOKENS) -> ToolResult:
        """The knowledge bases, by name."""
        kbs = granted_kbs(self.grant, self.clew.list_kbs(), ())
        head = f"{len(kbs)} knowledge bases:" if kbs else "There are no knowledge bases yet."
        lines = map(self._kb_line, kbs)
        return paged(head, lines, page, max_tokens=max_tokens, count_tokens=self._count, what="knowledge bases")

    def browse_sections(
        self,
        *,
        kb: str | None = None,
        file_id: str | None = None,
        section_path: str = "",
        page: int = 1,
        max_tokens: int = DEFAULT_TOKENS,
    ) -> ToolResult:
        """One page of a knowledge base's files, or of what a section (none: the whole file) holds: the sections below
        it with their summaries, then its own text."""
        if file_id is None:
            if kb is None:
                raise InputError("browse_sections: name a knowledge base (kb) or a file (file_id).")
            (found,) = granted_kbs(self.grant, self.clew.list_kbs(), [kb])
            files = [file for file in self.clew.list_files(found.kb_id) if self.grant.allows_file(file.file_id)]
            head = f"{found.name} has {len(files)} files:"
            return paged(head, file_lines(files), page, max_tokens=max_tokens, count_tokens=self._count, what="files")
        file = self._file(file_id, kb)
        sections = self.clew.sections(file.file_id)
        titles = section_at(sections, section_path).titles if section_path else ()
        own = [p for p in self.clew.file_parents(file.file_id) if p.section_path == section_path and p.enabled]
        entries = [*section_lines(sections, section_path), *passage_texts(own)]
        head = " > ".join([file.name, *titles]) + ":"
        return paged(head, entries, page, max_tokens=max_tokens, count_tokens=self._count, what="entries")

    # --- inside ------------------------------------------------------------------------------------------------

    def _count(self, text: str) -> int:
        return self.clew.embedder.count_tokens(text)

    def _nothing(self, text: str) -> ToolResult:
        return ToolResult(text, self._count(text))

    def _passages(self, result: RetrievalResult, notes: list[str], max_tokens: int) -> ToolResult:
        trace = result.trace
        head = "" if result.evidence else "Nothing about this was found."
        if trace.uncertain:
            head = f"Uncertain: {trace.uncertain_reason or 'the evidence may not be complete'}.\n{head}".strip()
        if nothing := unmentioned_note(trace.unmentioned, "en"):
            head = f"{nothing}\n{head}".strip()
        decision, kind = trace.complexity, trace.kind
        data = {
            "question": trace.rewritten,
            "mode": decision.mode if decision else "single",
            "kind": kind.kind if kind else "fact",
            "rounds": len(trace.rounds),
            "uncertain": trace.uncertain,
        }
        return passages_result(result.evidence, head, notes, max_tokens=max_tokens, count_tokens=self._count, data=data)

    def _file(self, file_id: str, kb: str | None) -> File:
        """The file, if it is granted and belongs to the knowledge base that was named."""
        file = self.clew.file(file_id)
        known = {found.kb_id for found in granted_kbs(self.grant, self.clew.list_kbs(), () if kb is None else [kb])}
        if file.kb_id not in known or not self.grant.allows_file(file_id):
            raise NotFoundError(f"There is no file {file_id!r}")
        return file

    def _kb_line(self, kb: KnowledgeBase) -> str:
        counts = self.clew.count_files(kb.kb_id)
        files = ", ".join(f"{counts[status]} {status}" for status in FileStatus if counts[status]) or "empty"
        description = f": {' '.join(kb.description.split())}" if kb.description else ""
        return f"{kb.name} ({kb.kb_id}), files: {files}{description}"

    def _unreadable(self, kbs: Sequence[KnowledgeBase]) -> list[str]:
        """What of the knowledge bases no search sees."""
        notes = []
        for status, says in ((FileStatus.PROCESSING, "still being read"), (FileStatus.FAILED, "failed")):
            names = [
                file.name
                for kb in kbs
                for file in self.clew.list_files(kb.kb_id, status=status)
                if self.grant.allows_file(file.file_id)
            ]
            if names:
                more = f" and {len(names) - _NAMED_FILES} more" if len(names) > _NAMED_FILES else ""
                notes.append(f"{len(names)} files {says}: {', '.join(names[:_NAMED_FILES])}{more}.")
        return notes


def _not_in_context(result: RetrievalResult) -> list[str]:
    """How many sections, or passages, matched whose text is not among what is given."""
    sections = result.trace.sections
    if sections is not None and not sections.fallback:
        rest = sections.matched - sections.read
        return [f"{rest} of {sections.matched} sections that match; browse_sections shows them."] if rest > 0 else []
    rest = sum(not any(hit.text in evidence.text for evidence in result.evidence) for hit in result.hits)
    if not result.evidence or not rest:
        return []
    return [f"{rest} lower-ranked matches; ask more narrowly, or restrict files or sections, to see them."]
