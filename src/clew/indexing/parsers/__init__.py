"""Parsers by media type: bytes become blocks with sections.

What a file is, its content says first (signatures, members of a ZIP archive, streams of an OLE container), its name
second. Formats that Clew does not read are refused by name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from clew.errors import DamagedFileError, EmptyFileError, FileFailedError, InputError, UnsupportedFileError
from clew.indexing.parsers.base import Parser
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext, ParseOptions
from clew.indexing.parsers.detection import MediaType, detect
from clew.indexing.sections import build_sections
from clew.types import ParsedFile

__all__ = ["MediaType", "ParseContext", "ParseOptions", "detect", "parse", "parser_for"]

# Modules (and their function, where it is not ``parse``), imported when a file of their type comes: a PDF library
# need not be loaded to read a note.
_PARSERS = {
    MediaType.TEXT: "clew.indexing.parsers.text",
    MediaType.CSV: "clew.indexing.parsers.spreadsheets:parse_csv",
    MediaType.XLSX: "clew.indexing.parsers.spreadsheets:parse_xlsx",
    MediaType.MARKDOWN: "clew.indexing.parsers.markdown",
    MediaType.HTML: "clew.indexing.parsers.html",
    MediaType.DOCX: "clew.indexing.parsers.docx",
    MediaType.PPTX: "clew.indexing.parsers.pptx",
    MediaType.PDF: "clew.indexing.parsers.pdf",
    MediaType.IMAGE: "clew.indexing.parsers.image",
    MediaType.EPUB: "clew.indexing.parsers.epub",
    MediaType.EML: "clew.indexing.parsers.eml",
    MediaType.MSG: "clew.indexing.parsers.msg",
    MediaType.RTF: "clew.indexing.parsers.rtf",
    MediaType.JSON: "clew.indexing.parsers.structured",
    MediaType.XLS: "clew.indexing.parsers.xls",
}
_WITH_CONTEXT = {MediaType.PDF, MediaType.IMAGE, MediaType.EML, MediaType.MSG}
"""Their parsers take a :class:`ParseContext` too."""
_TEXT_IS_PICTURES = {MediaType.PDF, MediaType.IMAGE}
"""They recognise text by pages; the pictures inside of all other files are recognised one by one."""


def parse(
    data: bytes | Path,
    name: str = "",
    *,
    media_type: MediaType | None = None,
    context: ParseContext = DEFAULT_CONTEXT,
) -> ParsedFile:
    """The blocks and sections of a file, given as bytes or as a path.

    ``name`` is the file's name (default: the path's); ``media_type`` overrides what its content says;
    ``context`` holds the options.

    Raises:
        FileFailedError: the file is empty, damaged, encrypted or of a format that Clew does not read.
        InputError: there is no such path, or it cannot be opened.
    """
    if isinstance(data, Path):
        name = name or data.name
        data = _read(data)
    if not data:
        raise EmptyFileError(f"{name}: the file is empty (0 bytes). Check that it was saved or copied completely.")
    kind = media_type or detect(data, name)
    try:
        parsed = build_sections(parser_for(kind, name, context)(data, name))
        if kind not in _TEXT_IS_PICTURES and context.options.ocr and parsed.pictures:
            parsed = import_module("clew.indexing.parsers.picture_texts").with_picture_texts(parsed, name, context)
        if context.depth and context.options.pictures:
            return parsed
        pictures = import_module("clew.indexing.parsers.pictures") if context.options.pictures else None
        return replace(parsed, pictures=pictures.reduced(parsed.pictures) if pictures else {})
    except FileFailedError:
        raise
    except RecursionError as error:
        raise DamagedFileError(f"{name}: the file is nested too deeply to be read.") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError) as error:
        # A parser met what its author did not foresee: the file fails, with the kind of fault, and alone.
        raise DamagedFileError(
            f"{name}: the file cannot be read as {kind.label} ({type(error).__name__}: {error}). "
            "Open it in the program that made it and save it again."
        ) from error


def parser_for(kind: MediaType, name: str, context: ParseContext = DEFAULT_CONTEXT) -> Parser:
    """The parser of a media type. Raises UnsupportedFileError where there is none; ``name`` is for its message."""
    module, _, function = _PARSERS.get(kind, "").partition(":")
    if not module:
        raise UnsupportedFileError(f"{name}: {kind.label} files are not read. {kind.advice}")
    parser = getattr(import_module(module), function or "parse")
    return partial(parser, context=context) if kind in _WITH_CONTEXT else parser


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file.") from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror or error}).") from error
