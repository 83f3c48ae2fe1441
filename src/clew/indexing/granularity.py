"""Coarser and finer vectors beside a child's own: its parent (``l1``) and its sentence windows (``l3``).

Each is a passage of its own, read with its titles. With late chunking all of a parent come from one pass over it,
pooled per span, which takes a third of the time and finds less (``docs/retrieval.md``). A vector is cached under the
hash of all that the encoder saw and, where it was pooled, of the span.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clew.indexing.embedding import BATCH, EmbeddingReport, context_titles, embed_texts, entry_of
from clew.models.base import Embedder, SpanEmbedder
from clew.storage.base import IndexEntry, VectorCache
from clew.text.sentences import sentence_spans
from clew.types import ChildChunk, FloatArray, ParentChunk, Representation

WINDOW_SENTENCES = 3
"""Sentences of a window; neighbouring windows share one."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Granularities:
    """Vectors by chunk id, each chunk's in parts: of the parent at its first child (``l1``), of the child's windows
    (``l3``)."""

    l1: Mapping[str, Sequence[FloatArray]]
    l3: Mapping[str, Sequence[FloatArray]]

    def entries(self, children: Sequence[ChildChunk], version: int) -> Iterator[IndexEntry]:
        """Index entries of all vectors. A parent's entry stands at its first child; recall spreads it."""
        for representation, by_chunk in ((Representation.L1, self.l1), (Representation.L3, self.l3)):
            for child in children:
                for part, vector in enumerate(by_chunk.get(child.chunk_id, ())):
                    yield entry_of(child, version, representation, vector, part=part)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What one vector is made of: a span of a text that has titles in its first ``head`` characters."""

    representation: Representation
    chunk_id: str
    span: Span
    head: int


def embed_granularities(
    parents: Sequence[ParentChunk],
    children: Sequence[ChildChunk],
    file_title: str,
    embedder: Embedder,
    cache: VectorCache,
    *,
    l1: bool,
    l3: bool,
    late_chunking: bool = False,
    on_progress: Callable[[float], None] = lambda _: None,
) -> tuple[Granularities, EmbeddingReport]:
    """The vectors that are switched on, encoding only what the cache does not know.

    ``late_chunking`` needs an embedder that pools spans; with another one it changes nothing. ``on_progress`` receives
    the share done. Raises ServiceError where the embedder does; what was encoded until then stays in the cache.
    """
    pooling = embedder if late_chunking and isinstance(embedder, SpanEmbedder) and embedder.pools_spans else None
    by_parent = defaultdict[str, list[ChildChunk]](list)
    for child in children:
        by_parent[child.parent_id].append(child)
    texts: list[str] = []
    pieces: list[list[_Piece]] = []
    for parent in parents:
        own = by_parent[parent.chunk_id]
        if own:
            head = "\n".join([*context_titles(own[0], file_title), ""])
            texts.append(head + parent.text)
            whole = [(0, len(texts[-1]))] if pooling else _readable(texts[-1], len(head), embedder)
            pieces.append(list(_pieces(texts[-1], len(head), own, whole if l1 else [], l3=l3)))
    if pooling:
        vectors, report = _pooled(texts, pieces, pooling, cache, on_progress)
    else:
        vectors, report = _separate(texts, pieces, embedder, cache, on_progress)
    found: dict[Representation, dict[str, list[FloatArray]]] = {Representation.L1: {}, Representation.L3: {}}
    for piece in (piece for of_parent in pieces for piece in of_parent):
        found[piece.representation].setdefault(piece.chunk_id, []).append(vectors[piece])
    return Granularities(found[Representation.L1], found[Representation.L3]), report


def _pieces(
    text: str, shift: int, children: Sequence[ChildChunk], whole: Sequence[Span], *, l3: bool
) -> Iterator[_Piece]:
    for span in whole:
        yield _Piece(Representation.L1, children[0].chunk_id, span, shift)
    for child in children if l3 else ():
        start, end = shift + child.start, shift + child.end
        for first, last in sentence_windows(text[start:end]):
            yield _Piece(Representation.L3, child.chunk_id, (start + first, start + last), shift)


def sentence_windows(text: str) -> list[Span]:
    """Spans of three sentences, each window beginning with the last sentence of the one before."""
    spans = sentence_spans(text)
    starts = range(0, max(1, len(spans) - 1), WINDOW_SENTENCES - 1)
    return [(group[0][0], group[-1][1]) for i in starts if (group := spans[i : i + WINDOW_SENTENCES])]


def _readable(text: str, shift: int, embedder: Embedder) -> list[Span]:
    """The text behind its titles (the ``shift`` characters in front) in overlapping pieces, each of which the encoder
    reads at once together with the titles."""
    body = text[shift:]
    tokens = embedder.token_offsets(body)
    # Prefix and special tokens take some of what the encoder reads.
    room = max(16, embedder.max_tokens - embedder.count_tokens(text[:shift]) - 16)
    if len(tokens) <= room:
        return [(shift, len(text))]
    overlap = room // 4
    return [
        (shift + tokens[first][0], shift + tokens[min(len(tokens), first + room) - 1][1])
        for first in range(0, len(tokens) - overlap, room - overlap)
    ]


def _pooled(
    texts: Sequence[str],
    pieces: Sequence[Sequence[_Piece]],
    embedder: SpanEmbedder,
    cache: VectorCache,
    on_progress: Callable[[float], None],
) -> tuple[dict[_Piece, FloatArray], EmbeddingReport]:
    model = f"{embedder.name}/spans"
    keys = [[_key(text, piece.span) for piece in of_text] for text, of_text in zip(texts, pieces, strict=True)]
    known = cache.get_vectors(model, [key for of_text in keys for key in of_text])
    missing = [i for i, of_text in enumerate(keys) if any(key not in known for key in of_text)]
    missing.sort(key=lambda i: len(texts[i]))
    for first in range(0, len(missing), BATCH):
        batch = missing[first : first + BATCH]
        spans = [[piece.span for piece in pieces[i]] for i in batch]
        fresh: dict[str, FloatArray] = {}
        for i, vectors in zip(batch, embedder.embed_spans([texts[i] for i in batch], spans), strict=True):
            fresh.update(zip(keys[i], vectors, strict=True))
        cache.put_vectors(model, fresh)
        known.update(fresh)
        on_progress((first + len(batch)) / len(missing))
    named = {
        piece: known[key] for of, own in zip(pieces, keys, strict=True) for piece, key in zip(of, own, strict=True)
    }
    return named, EmbeddingReport(len(missing), len(texts) - len(missing))


def _separate(
    texts: Sequence[str],
    pieces: Sequence[Sequence[_Piece]],
    embedder: Embedder,
    cache: VectorCache,
    on_progress: Callable[[float], None],
) -> tuple[dict[_Piece, FloatArray], EmbeddingReport]:
    seen: dict[str, str] = {}
    ids: dict[_Piece, str] = {}
    for text, of_text in zip(texts, pieces, strict=True):
        for piece in of_text:
            ids[piece] = _key(text, piece.span)
            # The titles tell a piece what it is about, as they do for a child.
            seen[ids[piece]] = text[: piece.head] + text[slice(*piece.span)]
    vectors, report = embed_texts(seen, embedder, cache, on_progress=on_progress)
    return {piece: vectors[id] for piece, id in ids.items()}, report


def _key(text: str, span: Span) -> str:
    return hashlib.sha256(f"{span[0]}:{span[1]}\0{text}".encode("utf-8", "replace")).hexdigest()
