"""What a file is: by its content first, by its name second."""

from __future__ import annotations

import io
import re
import zipfile
from enum import StrEnum
from pathlib import PurePath

from clew.errors import DamagedFileError, EncryptedFileError, UnsupportedFileError


class MediaType(StrEnum):
    """Formats that Clew tells apart, with their media types."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    CSV = "text/csv"
    JSON = "application/json"
    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    EPUB = "application/epub+zip"
    EML = "message/rfc822"
    DOC = "application/msword"
    XLS = "application/vnd.ms-excel"
    PPT = "application/vnd.ms-powerpoint"
    MSG = "application/vnd.ms-outlook"
    RTF = "application/rtf"
    ODF = "application/vnd.oasis.opendocument"
    ZIP = "application/zip"
    ARCHIVE = "application/x-archive"
    IMAGE = "image/*"
    HEIC = "image/heic"
    MEDIA = "application/x-media"
    PROGRAM = "application/x-executable"
    OLE = "application/x-ole-storage"

    @property
    def label(self) -> str:
        """What people call it."""
        return _LABELS[self]

    @property
    def advice(self) -> str:
        """What to do with a file of this type where Clew does not read it."""
        return _ADVICE.get(self, "Save it as PDF or DOCX and add that.")


_LABELS = {
    MediaType.TEXT: "text",
    MediaType.MARKDOWN: "Markdown",
    MediaType.HTML: "HTML",
    MediaType.CSV: "CSV",
    MediaType.JSON: "JSON",
    MediaType.PDF: "PDF",
    MediaType.DOCX: "Word (.docx)",
    MediaType.PPTX: "PowerPoint (.pptx)",
    MediaType.XLSX: "Excel (.xlsx)",
    MediaType.EPUB: "EPUB",
    MediaType.EML: "e-mail (.eml)",
    MediaType.DOC: "old Word (.doc)",
    MediaType.XLS: "old Excel (.xls)",
    MediaType.PPT: "old PowerPoint (.ppt)",
    MediaType.MSG: "Outlook (.msg)",
    MediaType.RTF: "RTF",
    MediaType.ODF: "OpenDocument",
    MediaType.ZIP: "ZIP archive",
    MediaType.ARCHIVE: "archive",
    MediaType.IMAGE: "image",
    MediaType.HEIC: "HEIC photo",
    MediaType.MEDIA: "sound or video",
    MediaType.PROGRAM: "program",
    MediaType.OLE: "old Office",
}
_ADVICE = {
    MediaType.DOC: "Save it as DOCX and add that.",
    MediaType.XLS: "Save it as XLSX or CSV and add that.",
    MediaType.PPT: "Save it as PPTX or PDF and add that.",
    MediaType.MSG: "Save the message as EML or PDF and add that.",
    MediaType.RTF: "Save it as DOCX and add that.",
    MediaType.ZIP: "Unpack it and add the files inside.",
    MediaType.ARCHIVE: "Unpack it and add the files inside.",
    MediaType.HEIC: "Save it as JPEG or PNG and add that.",
    MediaType.MEDIA: "Add its transcript as text.",
    MediaType.PROGRAM: "Only documents can be added.",
}
_SIGNATURES = (
    (b"{\\rtf", MediaType.RTF),
    (b"\x89PNG\r\n\x1a\n", MediaType.IMAGE),
    (b"\xff\xd8\xff", MediaType.IMAGE),
    (b"GIF8", MediaType.IMAGE),
    (b"II*\x00", MediaType.IMAGE),
    (b"MM\x00*", MediaType.IMAGE),
    (b"BM", MediaType.IMAGE),
    (b"\x1f\x8b", MediaType.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", MediaType.ARCHIVE),
    (b"Rar!\x1a\x07", MediaType.ARCHIVE),
    (b"BZh", MediaType.ARCHIVE),
    (b"\xfd7zXZ\x00", MediaType.ARCHIVE),
    (b"ID3", MediaType.MEDIA),
    (b"OggS", MediaType.MEDIA),
    (b"\x1aE\xdf\xa3", MediaType.MEDIA),
    (b"\x7fELF", MediaType.PROGRAM),
    (b"MZ", MediaType.PROGRAM),
)
_EXTENSIONS = {
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
    ".mdx": MediaType.MARKDOWN,
    ".html": MediaType.HTML,
    ".htm": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".csv": MediaType.CSV,
    ".tsv": MediaType.CSV,
    ".json": MediaType.JSON,
    ".jsonl": MediaType.JSON,
    ".ndjson": MediaType.JSON,
    ".eml": MediaType.EML,
    ".txt": MediaType.TEXT,
    ".text": MediaType.TEXT,
    ".log": MediaType.TEXT,
}
_BINARY_EXTENSIONS = {
    ".pdf": MediaType.PDF,
    ".docx": MediaType.DOCX,
    ".docm": MediaType.DOCX,
    ".pptx": MediaType.PPTX,
    ".xlsx": MediaType.XLSX,
    ".epub": MediaType.EPUB,
    ".doc": MediaType.DOC,
    ".xls": MediaType.XLS,
    ".ppt": MediaType.PPT,
    ".msg": MediaType.MSG,
    ".zip": MediaType.ZIP,
    ".png": MediaType.IMAGE,
    ".jpg": MediaType.IMAGE,
    ".jpeg": MediaType.IMAGE,
    ".tif": MediaType.IMAGE,
    ".tiff": MediaType.IMAGE,
    ".webp": MediaType.IMAGE,
}
_BRANDS = {b"avif": MediaType.IMAGE} | dict.fromkeys((b"heic", b"heix", b"hevc", b"mif1", b"msf1"), MediaType.HEIC)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("WordDocument", MediaType.DOC),
    ("PowerPoint Document", MediaType.PPT),
    ("Workbook", MediaType.XLS),
    ("Book", MediaType.XLS),
    ("__substg1.0_", MediaType.MSG),
)
_HTML_START = re.compile(
    rb"^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype html|<html|<head|<body)", re.I | re.S
)
_MAIL_START = re.compile(rb"\A(?:[A-Za-z-]+:[^\n]*\n(?:[ \t][^\n]*\n)*){2,}")
_MAIL_HEADERS = re.compile(rb"^(?:from|received|return-path|message-id|mime-version):", re.I | re.M)


def detect(data: bytes, name: str) -> MediaType:
    """The media type of a file's content; text formats are told apart by the name.

    Raises:
        EncryptedFileError: an Office file behind a password.
        DamagedFileError: a binary format by name that the content does not bear out, or a broken archive.
        UnsupportedFileError: a ZIP archive or OLE container of an unknown kind.
    """
    extension = PurePath(name.lower()).suffix
    head = data[:4096]
    kind = _binary_type(data, head, name)
    if kind is not None:
        return kind
    if extension in _BINARY_EXTENSIONS:
        claimed = _BINARY_EXTENSIONS[extension]
        if _HTML_START.match(head):
            return MediaType.HTML  # a page that was saved under an Office name, as many exports are
        raise DamagedFileError(
            f"{name}: the name says {claimed.label}, but the content is something else or is cut off. "
            "Open it in the program that made it and save it again."
        )
    if _is_html(head) and extension not in (".md", ".markdown", ".txt"):
        return MediaType.HTML
    if extension not in _EXTENSIONS and _MAIL_START.match(head) and _MAIL_HEADERS.search(head):
        return MediaType.EML
    return _EXTENSIONS.get(extension, MediaType.TEXT)


def _binary_type(data: bytes, head: bytes, name: str) -> MediaType | None:
    if b"%PDF-" in head[:1024]:
        return MediaType.PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(data, name)
    if head.startswith(_OLE):
        return _ole_type(data, name)
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return MediaType.IMAGE if head[8:12] == b"WEBP" else MediaType.MEDIA
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], MediaType.MEDIA)
    for signature, kind in _SIGNATURES:
        # Two letters may begin a sentence; only with binary content after them are they a signature.
        if head.startswith(signature) and (len(signature) > 3 or b"\x00" in head[:256] or signature[0] > 0x7E):
            return kind
    return None


def _is_html(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "ignore").encode("utf-8", "ignore")
    return bool(_HTML_START.match(head.removeprefix(b"\xef\xbb\xbf")))


def _zip_type(data: bytes, name: str) -> MediaType:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            mimetype = archive.read("mimetype")[:100] if "mimetype" in names else b""
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, NotImplementedError) as error:
        raise DamagedFileError(
            f"{name}: the file is damaged or cut off ({error}). Copy or download it again."
        ) from error
    for member, kind in (
        ("word/", MediaType.DOCX),
        ("ppt/", MediaType.PPTX),
        ("xl/", MediaType.XLSX),
    ):
        if "[Content_Types].xml" in names and any(n.startswith(member) for n in names):
            return kind
    if mimetype.startswith(b"application/epub"):
        return MediaType.EPUB
    if mimetype.startswith(b"application/vnd.oasis"):
        return MediaType.ODF
    return MediaType.ZIP


def _ole_type(data: bytes, name: str) -> MediaType:
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise EncryptedFileError(
            f"{name}: the file is protected with a password. Open it in Office, remove the password and add it again."
        )
    for stream, kind in _OLE_STREAMS:
        if stream.encode("utf-16-le") in data:
            return kind
    raise UnsupportedFileError(f"{name}: this old Office format cannot be read. {MediaType.DOC.advice}")
