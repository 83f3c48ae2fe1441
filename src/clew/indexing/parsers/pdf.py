"""PDF: text layer, headings, tables and images, through PDFium; pages without text through text recognition."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from clew.errors import DamagedFileError, EmptyFileError, EncryptedFileError, FileFailedError
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext
from clew.indexing.parsers.pdf_blocks import blocks_of_pages
from clew.indexing.parsers.pdf_headings import OutlineEntry
from clew.indexing.parsers.pdf_page import PageContent
from clew.indexing.parsers.pdf_reader import PageReader
from clew.indexing.parsers.pdf_recognised import pages_text, recognise_pages
from clew.indexing.parsers.pictures import drawn_pictures
from clew.types import ParsedFile

MEDIA_TYPE = "application/pdf"

_PDFIUM = threading.Lock()
"""PDFium may be used by one thread at a time."""


def parse(data: bytes, name: str, context: ParseContext = DEFAULT_CONTEXT) -> ParsedFile:
    """Reads a PDF: paragraphs, headings, lists, tables and images in reading order, with page and box.

    The text of pages without a usable text layer is recognised, as far as ``context`` allows it.

    Raises:
        EncryptedFileError: it needs a password.
        DamagedFileError: PDFium cannot read it as a PDF, or none of its pages.
        EmptyFileError: it has no pages, or holds nothing.
        FileFailedError: its pages are scans, and text recognition is off or finds nothing.
    """
    with _PDFIUM:
        document = _open(data, name)
        try:
            contents, warnings = _read(document, name)
            warnings += recognise_pages(document, contents, context)
            outline = _outline(document)
            title = str(document.get_metadata_value("Title") or "")
            _check_text(contents, context, name)
            parsed = blocks_of_pages(contents, name, MEDIA_TYPE, outline=outline, title=title, warnings=warnings)
            pictures = drawn_pictures(document, parsed.blocks) if context.options.pictures else {}
        finally:
            document.close()
    return replace(parsed, pictures=pictures)


def _open(data: bytes, name: str) -> Any:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise EncryptedFileError(
                f"{name}: the PDF is protected with a password. Save it without one and add it again."
            ) from error
        raise DamagedFileError(
            f"{name}: the file is damaged or no PDF ({error}). Open it in a PDF viewer, save it anew and add it again."
        ) from error
    if len(document) == 0:
        document.close()
        raise EmptyFileError(f"{name}: the PDF has no pages. Check that it is the right file.")
    return document


def _read(document: Any, name: str) -> tuple[list[PageContent], list[str]]:
    reader = PageReader(document)
    contents: list[PageContent] = []
    failed: list[int] = []
    for number in range(1, len(document) + 1):
        try:
            contents.append(reader.read(number))
        except pypdfium2.PdfiumError:
            failed.append(number)
            contents.append(PageContent(number, 0, 0))
    if len(failed) == len(contents):
        raise DamagedFileError(f"{name}: none of its {len(contents)} pages can be read. The file is damaged.")
    return contents, [f"{pages_text(failed)} could not be read."] if failed else []


def _outline(document: Any) -> list[OutlineEntry]:
    entries = []
    for bookmark in document.get_toc(max_depth=12):
        dest = bookmark.get_dest()
        index = dest.get_index() if dest is not None else None
        if index is not None and index >= 0:
            entries.append(OutlineEntry(bookmark.get_title(), index + 1, bookmark.level))
    return entries


def _check_text(contents: Sequence[PageContent], context: ParseContext, name: str) -> None:
    if any(content.words for content in contents):
        return
    if not any(content.images for content in contents):
        raise EmptyFileError(f"{name}: no page holds text or images. Check that it is the right file.")
    if context.options.pictures:
        return  # a vision model may tell what they show
    if not context.options.ocr:
        raise FileFailedError(
            f"{name}: its pages are scans without a text layer, and text recognition is off. Set indexing.ocr.enabled, "
            "or run the file through an OCR program and add the result."
        )
    raise FileFailedError(
        f"{name}: its pages are pictures, and no text was recognised on them. Scan it anew with 300 dpi, or add a text "
        "that describes it."
    )
