"""Knowledge bases, files and section trees as pages of lines, each page within a number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from clew.errors import InputError, NotFoundError
from clew.tools.result import CountTokens, ToolResult, cut_to
from clew.types import File, FileStatus, ParentChunk, Section

# Of the tokens of a page, what its first and last line take.
_ROOM_FOR_FRAME = 80


def paged(
    head: str, entries: Iterable[str], page: int, *, max_tokens: int, count_tokens: CountTokens, what: str
) -> ToolResult:
    """One page of entries: as many in their order as fit into ``max_tokens``. An entry that alone is too long is cut.

    Raises InputError for a page that does not exist.
    """
    pages = _packed(entries, max(1, max_tokens - _ROOM_FOR_FRAME), count_tokens)
    if not 1 <= page <= max(1, len(pages)):
        raise InputError(f"page {page}: there are {max(1, len(pages))} pages.")
    shown = pages[page - 1] if pages else []
    before, after = sum(map(len, pages[: page - 1])), sum(map(len, pages[page:]))
    total = before + len(shown) + after
    notes = []
    if total > len(shown):
        notes.append(f"{total - len(shown)} of {total} {what} are on other pages; this is page {page} of {len(pages)}.")
    lines = [cut_to(head, _ROOM_FOR_FRAME // 2, count_tokens), *shown, *(f"Not read: {note}" for note in notes)]
    text = "\n".join(line for line in lines if line)
    data = {"page": page, "pages": max(1, len(pages)), "total": total}
    return ToolResult(text, count_tokens(text), not_read=notes, data=data)


def file_lines(files: Sequence[File]) -> list[str]:
    """A line per file: name, id, size in pages and passages, or why it cannot be read."""
    return [f"{file.name} ({file.file_id}): {_state(file)}" for file in files]


def _state(file: File) -> str:
    if file.status is FileStatus.FAILED:
        return f"failed, cannot be searched: {file.reason}"
    if file.status is FileStatus.PROCESSING:
        return "is being read, cannot be searched yet"
    if not file.enabled:
        return "switched off, cannot be searched"
    counts = f"{file.counts.get('parents', 0)} passages, {max(0, file.counts.get('sections', 1) - 1)} sections"
    pages = f"{file.pages} pages, " if file.pages else ""
    title = f"{file.title}; " if file.title and file.title != file.name else ""
    return f"{title}{pages}{counts}"


def section_lines(sections: Sequence[Section], below: str) -> list[str]:
    """A line per section directly below the path ``below``: path, title, page, subsections, summary."""
    parent_of = {section.path: _above(section.path) for section in sections if section.path}
    counts = Counter(parent_of.values())
    lines = []
    for section in sections:
        if section.path and parent_of[section.path] == below:
            inside = f", {counts[section.path]} subsections" if counts[section.path] else ""
            page = f", p. {section.page}" if section.page else ""
            summary = f": {' '.join(section.summary.split())}" if section.summary else ""
            lines.append(f"{section.path} {section.title}{page}{inside}{summary}")
    return lines


def section_at(sections: Sequence[Section], path: str) -> Section:
    """The section with that path. Raises NotFoundError."""
    found = next((section for section in sections if section.path == path), None)
    if found is None:
        raise NotFoundError(f"There is no section {path!r} in this file; browse_sections without one shows the first.")
    return found


def passage_texts(parents: Sequence[ParentChunk]) -> list[str]:
    """The passages' texts with their pages."""
    return [(f"(p. {parent.page}) " if parent.page else "") + parent.text for parent in parents]


def _above(path: str) -> str:
    """``0003/0002/`` → ``0003/``."""
    head, _, _ = path.rstrip("/").rpartition("/")
    return f"{head}/" if head else ""


def _packed(entries: Iterable[str], room: int, count_tokens: CountTokens) -> list[list[str]]:
    pages: list[list[str]] = []
    left = 0
    for entry in entries:
        line = cut_to(entry, room, count_tokens)
        tokens = count_tokens(line) + 1
        if not pages or tokens > left:
            pages.append([])
            left = room
        pages[-1].append(line)
        left -= tokens
    return pages
