"""Files attached to a conversation: what of them can be read how, and what a question asks them for.

A :class:`SignalPackage` describes all attachments of a conversation at one moment. A question narrows it to the files
that it is about (:func:`asked_about`); small ones among these are read whole, as far as their budget goes
(:func:`stuffed`), the others are searched: by words in ``bm25_scope``, by vectors in ``semantic_scope``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

from clew.errors import NotFoundError
from clew.storage.base import Attachment, Records
from clew.types import Candidate, ChildChunk, Evidence, File, FileStatus, ParentChunk

Tier = Literal["context", "index", "skipped", "failed"]
"""``context``: so small that its whole text is read; ``index``: searched; ``skipped``: beyond a limit, not read;
``failed``: cannot be read."""

_THIS = re.compile(
    r"[这该本此](?:个|份|篇|张|封|本|一?个)?(?:文件|文档|附件|报告|合同|表格?|图片?|文章|邮件|资料|pdf|PPT|word|excel)|"
    r"(?:刚才|刚刚|刚|最新|上面|最后)(?:上传|添加|发)?的?(?:那[个份])?(?:文件|文档|附件)|"
    r"\b(?:this|the (?:attached|uploaded|new|newest|latest|last))\s+"
    r"(?:file|document|attachment|report|contract|paper|pdf|table|sheet|spreadsheet|image|picture|slides?|mail|email)\b|"
    r"\bthe attachment\b(?!s)",
    re.IGNORECASE,
)
_THESE = re.compile(
    r"这些|这[两二三四几]|两[个份]|所有(?:文件|附件)|各[个份]?(?:文件|附件)|每[个份](?:文件|附件)|"
    r"\b(?:these|both|all(?: the)?|two) (?:files|documents|attachments|reports|contracts)\b|\b(?:files|attachments)\b",
    re.IGNORECASE,
)
_MIN_NAME = 3
_DISTINCT = re.compile(r"[\d\s_\-—.]|[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """One attachment: what it is and how it can be read."""

    file_id: str
    name: str
    media_type: str
    size: int
    created_at: str
    tier: Tier
    tokens: int = 0
    """Of its whole text; 0 until it is read."""
    status: Literal["processing", "ready", "skipped", "failed"] = "ready"
    """``processing``: not even its words can be searched yet; ``tier`` is then a guess."""
    embedded: bool = False
    """Whether it can be searched by vectors, too."""
    reason: str = ""
    """Why it is skipped or failed, in words a person understands."""


@dataclass(frozen=True, slots=True)
class SignalPackage:
    """The attachments of one conversation, the newest last, and what of them can be read how."""

    conversation_id: str
    kb_id: str
    """Of the knowledge base that holds their content; nothing else finds it."""
    files: tuple[AttachedFile, ...] = ()
    semantic_scope: frozenset[str] = frozenset()
    """Ids of the files whose vectors are ready."""
    bm25_scope: frozenset[str] = frozenset()
    """Ids of the files whose keyword index is ready."""
    stuff_texts: tuple[str, ...] = ()
    """Ids of the files whose whole text goes into the context, in the order in which it does."""

    @property
    def unread(self) -> tuple[AttachedFile, ...]:
        """Files that no answer can read: skipped, failed or not ready."""
        return tuple(file for file in self.files if file.status != "ready")

    @property
    def searched(self) -> frozenset[str]:
        """Ids of the files that are looked up rather than read whole."""
        return self.bm25_scope - set(self.stuff_texts)

    def only(self, file_ids: frozenset[str]) -> SignalPackage:
        """The package of these files alone."""
        return replace(
            self,
            files=tuple(file for file in self.files if file.file_id in file_ids),
            semantic_scope=self.semantic_scope & file_ids,
            bm25_scope=self.bm25_scope & file_ids,
            stuff_texts=tuple(file_id for file_id in self.stuff_texts if file_id in file_ids),
        )


def signal_package(
    conversation_id: str, kb_id: str, attachments: Sequence[Attachment], records: Records, context_tokens: int
) -> SignalPackage:
    """What there is at this moment. Files of at most ``context_tokens`` tokens are in the tier ``context``; of these
    the newest are read whole until the tokens are used up. Raises StorageError."""
    files = [_attached(attachment, _file_of(attachment, records), context_tokens) for attachment in attachments]
    ready = frozenset(file.file_id for file in files if file.status == "ready")
    embedded = frozenset(file.file_id for file in files if file.embedded)
    package = SignalPackage(conversation_id, kb_id, tuple(files), embedded & ready, ready)
    return _with_stuff(package, context_tokens)


def asked_about(package: SignalPackage, question: str, context_tokens: int) -> tuple[SignalPackage, str]:
    """The package of the files that the question is about, and which these are in words (empty: all).

    A file that is named by its name is meant; "this file" means the newest attachment, whatever became of it.
    """
    chosen, which = _meant(package.files, question)
    if not which:
        return package, ""
    return _with_stuff(package.only(frozenset(file.file_id for file in chosen)), context_tokens), which


def says_this_file(question: str) -> bool:
    """Whether the question is about one attachment alone: "this file", "这个文件"."""
    return bool(_THIS.search(question)) and not _THESE.search(question)


def stuffed(package: SignalPackage, records: Records, budget: int) -> list[Evidence]:
    """The whole texts of ``stuff_texts``, a piece of evidence per passage, numbered from 1 in reading order.

    What does not fit into ``budget`` tokens is left out from the end. Raises StorageError.
    """
    evidence: list[Evidence] = []
    for file_id in package.stuff_texts:
        file = records.get_file(file_id)
        first_children = _by_parent(records.file_children(file_id))
        for parent in records.file_parents(file_id):
            children = first_children.get(parent.chunk_id)
            if children and parent.tokens <= budget:
                budget -= parent.tokens
                evidence.append(_whole(len(evidence) + 1, file, package.kb_id, parent, children))
    return evidence


def as_json(package: SignalPackage) -> list[dict[str, Any]]:
    """The files for a trace: how each of them is read."""
    return [
        {
            "file_id": file.file_id,
            "name": file.name,
            "tier": file.tier,
            "status": file.status,
            "reason": file.reason,
            "tokens": file.tokens,
            "read": _read(package, file),
        }
        for file in package.files
    ]


def _read(package: SignalPackage, file: AttachedFile) -> str:
    if file.file_id in package.stuff_texts:
        return "whole"
    if file.file_id not in package.bm25_scope:
        return "not at all"
    return "by words and vectors" if file.file_id in package.semantic_scope else "by words"


def _file_of(attachment: Attachment, records: Records) -> File | None:
    try:
        return None if attachment.skipped else records.get_file(attachment.attachment_id)
    except NotFoundError:
        return None


def _attached(attachment: Attachment, file: File | None, context_tokens: int) -> AttachedFile:
    tier: Tier = "context" if attachment.tokens <= context_tokens else "index"
    described = AttachedFile(
        attachment.attachment_id,
        attachment.name,
        attachment.media_type,
        attachment.size,
        attachment.created_at,
        tier,
        attachment.tokens,
        embedded=attachment.embedded,
    )
    if attachment.skipped:
        return replace(described, tier="skipped", status="skipped", reason=attachment.skipped)
    if file is None:
        return replace(described, tier="failed", status="failed", reason="Its content is gone; attach it again.")
    if file.status is FileStatus.FAILED:
        return replace(described, tier="failed", status="failed", reason=file.reason)
    if file.status is FileStatus.PROCESSING:
        return replace(described, tier="index", status="processing")
    return described


def _with_stuff(package: SignalPackage, budget: int) -> SignalPackage:
    taken = []
    for file in reversed(package.files):
        if file.status == "ready" and file.tier == "context" and file.tokens <= budget:
            budget -= file.tokens
            taken.append(file.file_id)
    return replace(package, stuff_texts=tuple(taken))


def _meant(files: Sequence[AttachedFile], question: str) -> tuple[Sequence[AttachedFile], str]:
    named = [file for file in files if _names(question, file.name)]
    if named:
        return named, "named in the question"
    if files and says_this_file(question):
        return files[-1:], "the newest attachment"
    return files, ""


def _names(question: str, name: str) -> bool:
    """Whether the question names a file: by its whole name, or without the ending where that is no everyday word."""
    folded, stem = question.casefold(), PurePath(name).stem.casefold()
    if name.casefold() in folded:
        return True
    distinct = len(stem) >= _MIN_NAME and not stem.isdecimal() and bool(_DISTINCT.search(stem))
    return distinct and re.search(rf"(?<![a-z0-9_]){re.escape(stem)}(?![a-z0-9_])", folded) is not None


def _by_parent(children: Sequence[ChildChunk]) -> dict[str, list[ChildChunk]]:
    found: dict[str, list[ChildChunk]] = {}
    for child in children:
        found.setdefault(child.parent_id, []).append(child)
    return found


def _whole(number: int, file: File, kb_id: str, parent: ParentChunk, children: Sequence[ChildChunk]) -> Evidence:
    first = children[0]
    return Evidence(
        number=number,
        candidate=Candidate(first.chunk_id, parent.chunk_id, file.file_id, kb_id, 1.0, ("context",)),
        file_name=file.name,
        file_title=file.title or file.name,
        section_path=parent.section_path,
        section_titles=parent.section_titles,
        text=parent.text,
        passage=parent.text,
        tokens=parent.tokens,
        page=parent.page,
        regions=tuple(region for child in children for region in child.regions),
        facts=file.shown_facts,
    )
