"""What the fake Clew makes of a file and of a question: blocks and chunks, words in common, a trace, an answer."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2

from clew.errors import DamagedFileError
from clew.trace import ComplexityDecision, KindDecision, MultiHopStep, RetrievalTrace, StageTrace
from clew.types import BBox, Block, BlockType, ChildChunk, File, ParentChunk, Region


@dataclass(frozen=True)
class FakeHit:
    """One hit, shaped as the facade's."""

    chunk_id: str
    file_id: str
    file: str
    section_path: str
    section_titles: tuple[str, ...]
    page: int | None
    text: str
    score: float
    rerank_score: float | None = None
    representations: tuple[str, ...] = ("bm25",)
    round: int = 1


@dataclass(frozen=True)
class FakeContent:
    """What was read from a file."""

    pages: int | None
    blocks: list[Block]
    parents: list[ParentChunk]
    children: list[ChildChunk]


def digest(data: bytes) -> str:
    """SHA-256, as hex."""
    return hashlib.sha256(data).hexdigest()


def words_of(text: str) -> set[str]:
    """Latin words and pairs of Chinese characters."""
    latin = re.findall(r"[a-z0-9]{2,}", text.lower())
    han = re.findall(r"[\u4e00-\u9fff]", text)
    return {*latin, *("".join(pair) for pair in itertools.pairwise(han))}


def answer_text(citations: Sequence[Mapping[str, Any]]) -> str:
    """The first quotes with their marks."""
    if not citations:
        return "The documents do not hold an answer to this."
    return "\n\n".join(f"{citation['quote']} [{citation['number']}]" for citation in citations[:3])


def trace_of(question: str, hits: Sequence[FakeHit], mode: Any) -> RetrievalTrace:
    features = {"comparison": 0.0, "logic": 0.4, "entities": 0.5, "bridge_entities": 1.0, "length": 0.2}
    score = 0.82 if mode == "multi" else 0.08
    decision = ComplexityDecision(question, mode, "rules", score, features, thresholds={"rules_multi_threshold": 0.75})
    rows = [
        {"chunk_id": h.chunk_id, "file": h.file, "section_titles": h.section_titles, "page": h.page, "score": h.score,
         "new": True} for h in hits
    ]  # fmt: skip
    rounds = [MultiHopStep(1, question, question, [], rows, len(rows), mode == "multi", "", ms=12.0)]
    if mode == "multi":
        rounds[0].why = "The second part of the question is still open."
        rounds.append(MultiHopStep(2, f"{question} (part 2)", question, ["part"], [], 0, False, "Nothing new.", ms=9.0))
    return RetrievalTrace(
        question=question,
        rewritten=question,
        complexity=decision,
        kind=KindDecision(question, "fact", "r1", 0.9),
        rounds=rounds,
        stages=[StageTrace("context", len(rows), len(rows), 1.5)],
        stop_reason="no_new_chunks" if mode == "multi" else "single",
        uncertain=mode == "multi",
        chunks=len(rows),
        ms={"total": 40.0},
    )


def read_content(file: File, data: bytes) -> FakeContent:
    """A block, a parent and a child for each paragraph, or each line of a PDF. Raises DamagedFileError."""
    pages = _pdf_pages(data) if file.media_type == "application/pdf" else _text_pages(data)
    content = FakeContent(max((region.page for _, region in pages if region), default=None), [], [], [])
    titles = (file.name.rsplit(".", 1)[0],)
    for number, (text, region) in enumerate(pages):
        page = region.page if region else None
        bbox = region.bbox if region else None
        hash_ = digest(text.encode())
        block = Block(number, BlockType.PARAGRAPH, text, hash_, page, bbox, section_path="0001/")
        tokens = len(text) // 3
        parent = ParentChunk(
            f"{file.file_id}-p{number}", file.file_id, number, "0001/", titles, text, tokens, page, page
        )
        child = ChildChunk(
            f"{file.file_id}-c{number}", parent.chunk_id, file.file_id, number, "0001/", titles, text, tokens, 0,
            len(text), (region,) if region else (),
        )  # fmt: skip
        content.blocks.append(block)
        content.parents.append(parent)
        content.children.append(child)
    return content


def _text_pages(data: bytes) -> list[tuple[str, Region | None]]:
    text = data.decode("utf-8", "replace")
    if not text.strip():
        raise DamagedFileError("The file is empty; upload one with text in it.")
    if "DAMAGED" in text:
        raise DamagedFileError("The file is damaged and cannot be read; save it again in its program.")
    return [(part.strip(), None) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _pdf_pages(data: bytes) -> list[tuple[str, Region | None]]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise DamagedFileError("The PDF is damaged and cannot be opened; save it again in its program.") from error
    pages: list[tuple[str, Region | None]] = []
    for index in range(len(document)):
        text_page = document[index].get_textpage()
        height = document[index].get_height()
        for number in range(text_page.count_rects()):
            left, bottom, right, top = text_page.get_rect(number)
            text = text_page.get_text_bounded(left, bottom, right, top).strip()
            if len(text) > 8:
                pages.append((text, Region(index + 1, BBox(left, height - top, right, height - bottom))))
    if not pages:
        raise DamagedFileError("The PDF holds no text.")
    return pages
