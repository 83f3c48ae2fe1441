"""Outlook messages (MSG): properties and attachments in an OLE container [MS-OXMSG]."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import olefile

from clew.errors import DamagedFileError, UnsupportedFileError
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.mail import Attachment, MailMessage, parsed_mail
from clew.indexing.parsers.rtf import compressed_rtf, rtf_body
from clew.types import ParsedFile

MEDIA_TYPE = "application/vnd.ms-outlook"

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS = "0C1A", "5D01", "0C1F"
_TO, _CC = "0E04", "0E03"
_DATA, _LONG_NAME, _SHORT_NAME, _CONTENT_ID = "3701", "3707", "3704", "3712"
_SENT, _DELIVERED = 0x00390040, 0x0E060040
_UNICODE, _STRING, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"
_ATTACHMENT = "__attach_version1.0_"
_MAX_DEPTH = 4
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def parse(data: bytes, name: str, context: ParseContext = DEFAULT_CONTEXT) -> ParsedFile:
    """Blocks of a message and of its attachments. Raises FileFailedError."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            message = _Storage(container, (), name).message()
    except (OSError, struct.error, IndexError) as error:
        raise DamagedFileError(
            f"{name}: the message is damaged ({error}). Save it in Outlook again, or as EML."
        ) from error
    return parsed_mail(message, name, MEDIA_TYPE, context)


class _Storage:
    """One message inside the container: the file's own, or an attached one below ``path``."""

    def __init__(self, container: olefile.OleFileIO, path: tuple[str, ...], name: str) -> None:
        self._container = container
        self._path = path
        self._name = name

    def message(self) -> MailMessage:
        sender = self._text(_SENDER_NAME)
        address = self._text(_SENDER_SMTP) or self._text(_SENDER_ADDRESS)
        if "@" in address and address != sender:
            sender = f"{sender} <{address}>".strip()
        subject = self._text(_SUBJECT)
        headers = (("From", sender), ("To", self._text(_TO)), ("Cc", self._text(_CC)), ("Date", self._date()),
                   ("Subject", subject))  # fmt: skip
        text, html = self._text(_BODY), self._text(_HTML)
        packed = self._stream(_RTF + _BINARY)
        if not text.strip() and not html.strip() and packed:
            text, html = rtf_body(compressed_rtf(packed))
        attachments, warnings = [], []
        for attachment in self._attachments():
            if isinstance(attachment, Attachment):
                attachments.append(attachment)
            else:
                warnings.append(attachment)
        return MailMessage(subject, headers, text, html, attachments, warnings)

    def _attachments(self) -> Iterator[Attachment | str]:
        depth = len(self._path)
        below = [e[depth] for e in self._container.listdir() if len(e) > depth + 1 and tuple(e[:depth]) == self._path]
        storages = sorted({name for name in below if name.startswith(_ATTACHMENT)})
        for number, storage in enumerate(storages, start=1):
            inside = _Storage(self._container, (*self._path, storage), self._name)
            title = inside._text(_LONG_NAME) or inside._text(_SHORT_NAME) or inside._text("3001")
            data = inside._stream(_DATA + _BINARY)
            if data:
                yield Attachment(
                    title or f"attachment {number}", data, content_id=inside._text(_CONTENT_ID).strip("<>")
                )
            elif self._container.exists([*inside._path, f"__substg1.0_{_DATA}{_OBJECT}"]):
                yield from self._attached_message(inside, title or f"message {number}")

    def _attached_message(self, inside: _Storage, title: str) -> Iterator[Attachment | str]:
        """A message attached as an object: its text as a text file; its own attachments beside it."""
        if len(self._path) >= 2 * _MAX_DEPTH:
            yield f"{title}: attached inside of {_MAX_DEPTH} other messages, and not read."
            return
        path = (*inside._path, f"__substg1.0_{_DATA}{_OBJECT}")
        message = _Storage(self._container, path, self._name).message()
        head = "\n".join(f"{label}: {value}" for label, value in message.headers if value.strip())
        body, suffix = (f"{head}\n\n{message.text}", ".txt")
        if message.html.strip() and not message.text.strip():
            lines = "<br>".join(head.replace("&", "&amp;").replace("<", "&lt;").split("\n"))
            body, suffix = f"<html><body><p>{lines}</p>{message.html}</body></html>", ".html"
        yield Attachment(f"{title}{suffix}", body.encode("utf-8", "replace"))
        yield from message.attachments
        yield from message.warnings

    def _stream(self, tag: str) -> bytes:
        path = [*self._path, f"__substg1.0_{tag}"]
        if not self._container.exists(path) or self._container.get_type(path) != olefile.STGTY_STREAM:
            return b""
        with self._container.openstream(path) as stream:
            data = stream.read()
        return bytes(data)

    def _text(self, property: str) -> str:
        wide = self._stream(property + _UNICODE)
        if wide:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = (self._stream(property + _STRING) or self._stream(property + _BINARY)).rstrip(b"\0")
        if not narrow:
            return ""
        try:
            return decode_text(narrow, self._name).text
        except UnsupportedFileError:
            return ""

    def _date(self) -> str:
        """When it was sent, else delivered; a property of fixed size, hence in the list of properties."""
        path = [*self._path, "__properties_version1.0"]
        if not self._container.exists(path):
            return ""
        with self._container.openstream(path) as stream:
            listed = stream.read()
        found = dict(_times(listed[32 if not self._path else 24 :]))
        return next((found[tag] for tag in (_SENT, _DELIVERED) if tag in found), "")


def _times(entries: bytes) -> Iterator[tuple[int, str]]:
    for start in range(0, len(entries) - 15, 16):
        tag, _, value = struct.unpack_from("<IIQ", entries, start)
        if tag in (_SENT, _DELIVERED):
            try:
                yield tag, (_EPOCH + timedelta(microseconds=value // 10)).strftime("%Y-%m-%d %H:%M %z")
            except OverflowError:
                continue
