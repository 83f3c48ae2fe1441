"""Representations: what of a chunk is searched, and its vectors.

A vector depends on the embedder and on all that the encoder saw, so it is cached under the hash of exactly that
text: an update embeds only what is new, and a crash loses at most one batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clew.models.base import Embedder
from clew.storage.base import IndexEntry, VectorCache
from clew.text import tokenizing
from clew.text.tokenizing import tokenize
from clew.types import ChildChunk, FloatArray, Representation

VERSION = 1
"""Raise it whenever other texts, titles or fields go into the entries of the search index."""
MADE_AS = f"terms {tokenizing.VERSION}, entries {VERSION}"
"""How the entries of an index that is written now are made."""

BATCH = 64
# Titles tell the encoder what a bare table row is about, but must not crowd out the passage.
TITLE_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """What embedding a file's chunks cost: passages encoded now, and vectors that were known already."""

    encoded: int
    reused: int

    def __add__(self, other: EmbeddingReport) -> EmbeddingReport:
        return EmbeddingReport(self.encoded + other.encoded, self.reused + other.reused)


def encoder_text(child: ChildChunk, file_title: str) -> str:
    """What the encoder sees of a child: the file's title, the nearest section titles and the child's text."""
    return "\n".join([*context_titles(child, file_title), child.text])


def index_terms(child: ChildChunk, file_title: str) -> tuple[str, ...]:
    """What BM25 sees of a child: the tokens of its titles and its text."""
    return tuple(tokenize("\n".join([*context_titles(child, file_title), child.text])))


def embed_children(
    children: Sequence[ChildChunk],
    file_title: str,
    embedder: Embedder,
    cache: VectorCache,
    *,
    on_progress: Callable[[float], None] = lambda _: None,
) -> tuple[dict[str, FloatArray], EmbeddingReport]:
    """Vectors of all children by chunk id, encoding only what the cache does not know.

    ``on_progress`` receives the share done, from 0 to 1. Raises ServiceError where the embedder does; what was
    encoded until then stays in the cache.
    """
    texts = {child.chunk_id: encoder_text(child, file_title) for child in children}
    return embed_texts(texts, embedder, cache, on_progress=on_progress)


def embed_texts(
    texts: Mapping[str, str],
    embedder: Embedder,
    cache: VectorCache,
    *,
    on_progress: Callable[[float], None] = lambda _: None,
) -> tuple[dict[str, FloatArray], EmbeddingReport]:
    """As :func:`embed_children`, for passages of any kind by any id."""
    keys = {chunk_id: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for chunk_id, text in texts.items()}
    known = cache.get_vectors(embedder.name, list(set(keys.values())))
    missing: dict[str, str] = {}
    for chunk_id, key in keys.items():
        if key not in known:
            missing.setdefault(key, texts[chunk_id])
    reused = len(known)
    done = 0
    for batch in _batches(sorted(missing.items(), key=lambda item: len(item[1]))):
        vectors = embedder.embed_passages([text for _, text in batch])
        fresh = {key: vectors[i] for i, (key, _) in enumerate(batch)}
        cache.put_vectors(embedder.name, fresh)
        known.update(fresh)
        done += len(batch)
        on_progress(done / len(missing))
    return {chunk_id: known[key] for chunk_id, key in keys.items()}, EmbeddingReport(len(missing), reused)


def index_entries(
    children: Sequence[ChildChunk],
    version: int,
    file_title: str,
    vectors: dict[str, FloatArray] | None,
    *,
    bm25: bool,
) -> Iterator[IndexEntry]:
    """One index entry per child, carrying its terms (where ``bm25``) and its ``l2`` vector (where there is one)."""
    for child in children:
        representation = Representation.BM25 if vectors is None else Representation.L2
        vector = None if vectors is None else vectors[child.chunk_id]
        yield entry_of(child, version, representation, vector, terms=index_terms(child, file_title) if bm25 else ())


def entry_of(
    child: ChildChunk,
    version: int,
    representation: Representation,
    vector: FloatArray | None,
    *,
    terms: tuple[str, ...] = (),
    part: int = 0,
    section_path: str | None = None,
) -> IndexEntry:
    """The entry of one representation of a child; ``section_path`` where it stands for another section than its own."""
    return IndexEntry(
        chunk_id=child.chunk_id,
        parent_id=child.parent_id,
        file_id=child.file_id,
        version=version,
        section_path=child.section_path if section_path is None else section_path,
        representation=representation,
        vector=vector,
        terms=terms,
        part=part,
    )


def context_titles(child: ChildChunk, file_title: str) -> list[str]:
    """The file's title and the nearest section titles, as far as there are any."""
    titles = " > ".join(child.section_titles)
    return [part for part in (file_title[:TITLE_CHARACTERS], titles[-TITLE_CHARACTERS:]) if part]


def _batches(items: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
