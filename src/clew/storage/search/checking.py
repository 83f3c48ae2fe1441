"""What every search index refuses to hold, or to be asked."""

from __future__ import annotations

import numpy as np

from clew.errors import StorageError
from clew.storage.base import IndexEntry
from clew.types import FloatArray, Representation


def check_entry(kb_id: str, entry: IndexEntry, dimension: int) -> None:
    """Raises StorageError where representation and vector do not fit each other or the collection."""
    is_text = entry.representation is Representation.BM25
    if entry.vector is None:
        if not is_text:
            raise StorageError(f"An entry of {kb_id} for {entry.representation} has no vector.")
        return
    if is_text:
        raise StorageError(f"An entry of {kb_id} for bm25 has a vector; give it the vector's representation.")
    check_vector(kb_id, entry.vector, dimension)


def check_vector(kb_id: str, vector: FloatArray, dimension: int) -> None:
    """Raises StorageError for a vector that the collection cannot hold or compare."""
    if vector.shape != (dimension,):
        raise StorageError(
            f"The search index of {kb_id} holds vectors of dimension {dimension}, and one of shape {vector.shape} was "
            "given; use the embedder that its files were indexed with."
        )
    if not np.isfinite(vector).all():
        raise StorageError(f"A vector for the search index of {kb_id} is not finite; check the embedder.")
