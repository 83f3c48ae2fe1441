"""What a one-paragraph change to a long PDF report costs, against its first ingestion.

    python benchmarks/update.py REPORT.pdf [--models DIR] [--page N] [--no-encoder]

The report is ingested, one line of running text on a page in its middle is replaced by another, and the changed PDF is
put under the same file id. Prints seconds, passages that the encoder read, and the change report of the update. With
``--no-encoder`` the encoder is replaced by one that costs nothing: what is left is what an update cannot reuse.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from clew.app import Clew
from clew.models.base import Embedder
from clew.types import File, FileStatus, FloatArray

_LINE = 0.7  # of the page's width
_GAP = 6.0  # points
_NEW = "This line was changed by the benchmark and says something new."


class CountingEmbedder:
    """An embedder, and how many passages it encoded."""

    def __init__(self, inner: Embedder, *, encodes: bool) -> None:
        self.inner = inner
        self.encodes = encodes
        self.passages = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """As the embedder does, or at random."""
        self.passages += len(texts)
        if not self.encodes:
            random = np.random.default_rng(len(texts)).normal(size=(len(texts), self.inner.dimension))
            return np.asarray(random / np.linalg.norm(random, axis=1, keepdims=True), np.float32)
        vectors: FloatArray = self.inner.embed_passages(texts)
        return vectors


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--models", default="")
    parser.add_argument("--page", type=int, default=0, help="from 1; 0: the middle one")
    parser.add_argument("--no-encoder", action="store_true")
    arguments = parser.parse_args()
    original = arguments.report.read_bytes()
    changed, pages = with_changed_line(original, arguments.page)
    with tempfile.TemporaryDirectory() as data, opened(Path(data), arguments.models) as clew:
        embedder = CountingEmbedder(clew.embedder, encodes=not arguments.no_encoder)
        clew.__dict__["embedder"] = embedder
        embedder.embed_queries(["warm"])
        embedder.count_tokens("warm")
        clew.create_kb("reports")
        clew.jobs.start()
        begun = time.perf_counter()
        file = clew.add_file("reports", arguments.report.name, io.BytesIO(original))[0]
        first = finished(clew, file, begun, embedder)
        clew.wait([file.file_id], summaries=True)
        print(f"{pages} pages, {clew.file(file.file_id).counts}")
        embedder.passages = 0
        begun = time.perf_counter()
        clew.update_file(file.file_id, arguments.report.name, io.BytesIO(changed))
        second = finished(clew, file, begun, embedder)
        print(f"first ingestion: {first[0]:.1f} s, {first[1]} passages encoded")
        print(f"update:          {second[0]:.1f} s, {second[1]} passages encoded")
        print(f"share:           {second[0] / first[0]:.1%} of the time, {second[1] / first[1]:.1%} of the passages")
        print(clew.file(file.file_id).changes)
        hits = clew.search("Which line was changed by the benchmark?", kbs=["reports"]).hits
        print(f"the new line is found: {any(_NEW[:20] in hit.text for hit in hits)}")


def opened(data: Path, models: str) -> Clew:
    """A Clew on an empty folder."""
    return Clew.open(data, overrides={"models": {"folder": models}} if models else {})


def finished(clew: Clew, file: File, begun: float, embedder: CountingEmbedder) -> tuple[float, int]:
    """Seconds since ``begun`` and passages encoded, once the file is completed."""
    done = clew.wait([file.file_id])[0]
    if done.status is not FileStatus.COMPLETED:
        raise SystemExit(done.reason)
    return time.perf_counter() - begun, embedder.passages


def with_changed_line(pdf: bytes, page_number: int) -> tuple[bytes, int]:
    """The PDF with one line of running text replaced, and its number of pages."""
    document = pypdfium2.PdfDocument(pdf)
    middle = len(document) // 2
    numbers = [page_number - 1] if page_number else sorted(range(len(document)), key=lambda n: abs(n - middle))
    page, line = next(found for number in numbers if (found := long_line(document[number])) is not None)
    left, bottom, _, _ = line[0].get_bounds()
    for piece in line:
        page.remove_obj(piece)
    new = pdfium.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", 9.0)
    text = ctypes.create_string_buffer((_NEW + "\0").encode("utf-16-le"))
    pdfium.FPDFText_SetText(new, ctypes.cast(text, ctypes.POINTER(ctypes.c_ushort)))
    pdfium.FPDFPageObj_Transform(new, 1, 0, 0, 1, left, bottom)
    pdfium.FPDFPage_InsertObject(page.raw, new)
    page.gen_content()
    changed = io.BytesIO()
    document.save(changed)
    return changed.getvalue(), len(document)


def long_line(page: Any) -> tuple[Any, list[Any]] | None:
    """The page and the text objects of one of its lines that reaches across it without gaps, as running text does."""
    lines: dict[int, list[Any]] = {}
    for piece in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT], max_depth=1):
        lines.setdefault(round(piece.get_bounds()[1] / 4), []).append(piece)
    for line in sorted(lines.values(), key=len, reverse=True):
        line.sort(key=lambda piece: piece.get_bounds()[0])
        bounds = [piece.get_bounds() for piece in line]
        gaps = [after[0] - before[2] for before, after in pairwise(bounds)]
        if bounds[-1][2] - bounds[0][0] > _LINE * page.get_width() and max(gaps, default=0.0) < _GAP:
            return page, line
    return None


if __name__ == "__main__":
    main()
