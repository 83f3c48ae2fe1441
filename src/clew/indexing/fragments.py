"""Blocks → fragments: the pieces that a chunk is never cut inside of (a sentence, a list item, a row, a line of code).

Every fragment fits into a child chunk. What is longer is cut here: at a clause, a cell or a space where one is near
the limit, else exactly between two tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from clew.indexing.parsers.base import table_lines
from clew.text.sentences import sentence_spans
from clew.types import Block, BlockType, Table

CountTokens = Callable[[str], int]
TokenOffsets = Callable[[str], list[tuple[int, int]]]

_CLAUSE_END = re.compile(r"[，、；：,;:](?=\s|[^\x00-\x7f]|$)\s*|\s\|\s|\s+")
_CAPTION_MARK = re.compile(
    r"^(?:[附续]?表|图表|Table|Exhibit|Schedule)[\s\u3000]*[\dA-Z一二三四五六七八九十]|单位|币种|人民币|[（(](?:万|亿|千|百万)?元[）)]"
    r"|\bunits?\b|\bin (?:thousands|millions|billions)\b|unaudited|未经审计",
    re.I,
)
_ENDS_LIKE_SENTENCE = re.compile(r"[。！？；;!?]$|[a-z]{2,}\.$")
_TICK_BOXES = re.compile("[□√☑☐☒✓✔].{0,6}(?:适用|是|否)|^(?:不适用|无|None|Not applicable)")
_MAX_CAPTION_CHARS = 100
_MAX_CAPTION_LINES = 2
_PART_MARGIN = 2
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_ONE_PASS_CHARS = 50_000
# A paragraph or list of less than this share of a child is one fragment: to split it buys nothing.
_SMALL_SHARE = 5


@dataclass(frozen=True, slots=True)
class Lead:
    """What a part of a split table repeats before its rows: caption, unit line and header rows."""

    text: str
    tokens: int


@dataclass(slots=True)
class Fragment:
    """An indivisible piece of a section's text. Never changed once it is made (not frozen: there are many of them).

    ``separator`` stands before it unless it begins a chunk; ``unit`` numbers the paragraph, list, table or code that
    it belongs to, ``unit_tokens`` is that unit's size; ``blocks`` are the blocks that its text comes from.
    """

    text: str
    tokens: int
    separator: str
    blocks: tuple[Block, ...]
    unit: int
    unit_tokens: int
    opens_unit: bool
    keeps_together: bool
    """Its unit should not be split where it fits (tables, code)."""
    lead: Lead | None = None


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """The two functions of an embedder that chunking needs."""

    count: CountTokens
    offsets: TokenOffsets


@dataclass(slots=True)
class _Draft:
    text: str
    tokens: int
    separator: str
    blocks: tuple[Block, ...]
    lead: Lead | None = None


def fragments_of(blocks: Sequence[Block], tokenizer: Tokenizer, limit: int) -> list[Fragment]:
    """The fragments of one section's blocks, in order; none longer than ``limit`` tokens with its lead."""
    fragments: list[Fragment] = []
    for unit, members in enumerate(_units(blocks)):
        block = members[-1]
        drafts = list(_drafts(members, tokenizer, limit))
        total = sum(draft.tokens for draft in drafts)
        together = block.type in (BlockType.TABLE, BlockType.CODE)
        fragments.extend(
            Fragment(
                text=draft.text,
                tokens=draft.tokens,
                separator=draft.separator if index else "\n\n",
                blocks=draft.blocks,
                unit=unit,
                unit_tokens=total,
                opens_unit=index == 0,
                keeps_together=together,
                lead=draft.lead,
            )
            for index, draft in enumerate(drafts)
        )
    return fragments


def _units(blocks: Sequence[Block]) -> Iterator[tuple[Block, ...]]:
    """Blocks alone, but a table with the caption and unit lines that stand right before it."""
    waiting: list[Block] = []
    for block in blocks:
        if block.type is BlockType.TABLE:
            split = len(waiting)
            while split and len(waiting) - split < _MAX_CAPTION_LINES and is_caption(waiting[split - 1]):
                split -= 1
            yield from ((single,) for single in waiting[:split])
            yield (*waiting[split:], block)
            waiting = []
        elif block.text.strip():
            waiting.append(block)
            if len(waiting) > _MAX_CAPTION_LINES:
                yield (waiting.pop(0),)
    yield from ((single,) for single in waiting)


def is_caption(block: Block) -> bool:
    """Whether a block may be the caption or unit line of the table that follows it."""
    text = block.text
    if block.type is not BlockType.PARAGRAPH or len(text) > _MAX_CAPTION_CHARS or _TICK_BOXES.search(text):
        return False
    return bool(_CAPTION_MARK.search(text)) or not _ENDS_LIKE_SENTENCE.search(text)


def _drafts(members: tuple[Block, ...], tokenizer: Tokenizer, limit: int) -> Iterator[_Draft]:
    block = members[-1]
    if block.type is BlockType.TABLE and block.table is not None:
        yield from _table_drafts(members, block.table, tokenizer, limit)
        return
    text = block.text
    # One pass over the whole block tells the size of each piece; a huge block is counted piece by piece.
    offsets = tokenizer.offsets(text) if len(text) <= _ONE_PASS_CHARS else None
    if offsets is not None:
        whole = limit - _PART_MARGIN if block.type is BlockType.CODE else limit // _SMALL_SHARE
        if len(offsets) <= whole:
            yield _Draft(text, len(offsets), "", (block,))
            return
    done = 0
    for start, end in _spans(block):
        piece, separator = text[start:end], text[done:start]
        tokens = limit + 1
        if offsets is not None:
            tokens = bisect_left(offsets, (end, 0)) - bisect_left(offsets, (start, 0))
        if tokens <= limit - _PART_MARGIN:
            yield _Draft(piece, tokens, separator, (block,))
        else:
            yield from _within(piece, separator, (block,), tokenizer, limit)
        done = end


def _spans(block: Block) -> list[tuple[int, int]]:
    """Where a block may be cut: spans of its sentences, or of the lines of code, lists and tables.

    Between them is white space only.
    """
    text = block.text
    if block.type in (BlockType.CODE, BlockType.LIST, BlockType.TABLE):
        return [match.span() for match in _LINE.finditer(text)]
    spans: list[tuple[int, int]] = []
    done = 0
    for _, end in [*sentence_spans(text), (len(text), len(text))]:
        piece = text[done:end]
        if piece.strip():
            spans.append((done + len(piece) - len(piece.lstrip()), done + len(piece.rstrip())))
            done = end
    return spans


def _within(text: str, separator: str, blocks: tuple[Block, ...], tokenizer: Tokenizer, limit: int) -> Iterator[_Draft]:
    tokens = tokenizer.count(text)
    if tokens <= limit:
        yield _Draft(text, tokens, separator, blocks)
        return
    for start, end, part_tokens in cut_by_tokens(text, tokenizer, limit):
        yield _Draft(text[start:end], part_tokens, separator if start == 0 else "", blocks)


def cut_by_tokens(text: str, tokenizer: Tokenizer, limit: int) -> Iterator[tuple[int, int, int]]:
    """Spans ``(start, end, tokens)`` that cover ``text`` without gaps, each at most ``limit`` tokens on its own.

    Reads the text in windows, so the work grows with its length and not with its square.
    """
    window_chars = max(16 * limit, 1024)
    position = 0
    while position < len(text):
        window = text[position : position + window_chars]
        last = position + len(window) >= len(text)
        offsets = tokenizer.offsets(window)
        begin = first = 0
        while begin < len(window):
            left = len(offsets) - first
            if left <= limit - _PART_MARGIN and not last and begin:
                break  # too little to fill a part: go on in a new window
            end, tokens = _part(window, begin, offsets, first, tokenizer, limit)
            yield position + begin, position + end, tokens
            begin = end
            while first < len(offsets) and offsets[first][0] < begin:
                first += 1
        position += begin


def _part(
    window: str, begin: int, offsets: Sequence[tuple[int, int]], first: int, tokenizer: Tokenizer, limit: int
) -> tuple[int, int]:
    """End and size of the part that begins at ``begin``, whose first token is ``offsets[first]``."""
    left = len(offsets) - first
    # What is left for two parts is halved, so that no crumb remains.
    take = min(limit, left) if not limit < left <= 2 * limit else (left + 1) // 2
    while True:
        behind = first + take
        end = offsets[behind][0] if behind < len(offsets) else len(window)
        end = max(end, begin + 1)
        if behind < len(offsets):
            end = _clause_end(window, begin, end)
        tokens = tokenizer.count(window[begin:end])
        if tokens <= limit or end == begin + 1 or take <= 1:
            return end, tokens
        # A piece of a text may need more tokens alone than it had inside.
        take = max(1, min(take - (tokens - limit), take - 1))


def _clause_end(text: str, begin: int, end: int) -> int:
    """The last clause, cell or word end in the last quarter before ``end``, else ``end``."""
    nearest = end
    for match in _CLAUSE_END.finditer(text, begin + (end - begin) * 3 // 4, end):
        nearest = match.end()
    return nearest


def _table_drafts(members: tuple[Block, ...], table: Table, tokenizer: Tokenizer, limit: int) -> Iterator[_Draft]:
    """A table's rows. Caption and header rows go before the first row and are the lead of the others."""
    block = members[-1]
    captions = [member.text for member in members[:-1]]
    rows = [line for line in table_lines(table) if line.strip(" |")]
    header = min(table.header_rows, max(len(rows) - 1, 0))
    lead = _lead(captions, rows[:header], tokenizer, limit)
    opening = [*captions, *rows[:header]]
    first: list[_Draft] = []
    if opening and lead is not None and lead.text == "\n".join(opening):
        first = [_Draft(lead.text, lead.tokens, "", members)]
    else:
        for line, source in zip(opening, [*members[:-1], *[block] * header], strict=True):
            first.extend(_within(line, "\n", (source,), tokenizer, limit))
    room = limit - (lead.tokens + 1 if lead else 0)
    body: list[_Draft] = []
    for row in rows[header:]:
        body.extend(_within(row, "\n", (block,), tokenizer, room))
    for draft in body:
        draft.lead = lead
    if first and body:
        # A header never stands alone at the end of a chunk.
        text = f"{first[-1].text}\n{body[0].text}"
        tokens = tokenizer.count(text)
        if tokens <= limit:
            joint = first.pop()
            body[0] = _Draft(text, tokens, joint.separator, joint.blocks)
    yield from first
    yield from body


def _lead(captions: Sequence[str], headers: Sequence[str], tokenizer: Tokenizer, limit: int) -> Lead | None:
    """The longest of what may be repeated that leaves half of a child chunk to the rows."""
    for lines in ([*captions, *headers], [*captions[-1:], *headers], headers, captions[-1:]):
        text = "\n".join(lines)
        if text and (tokens := tokenizer.count(text)) <= limit // 2:
            return Lead(text, tokens)
    return None


def blocks_of(fragments: Iterable[Fragment]) -> tuple[Block, ...]:
    """The blocks that fragments come from, in order, each once."""
    seen: dict[int, Block] = {}
    for fragment in fragments:
        for block in fragment.blocks:
            seen.setdefault(block.ordinal, block)
    return tuple(seen.values())
