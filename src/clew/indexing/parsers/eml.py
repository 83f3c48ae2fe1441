"""E-mail as it is sent (RFC 5322 and MIME)."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message

from clew.errors import DamagedFileError, UnsupportedFileError
from clew.indexing.parsers.base import is_wide, one_line
from clew.indexing.parsers.context import DEFAULT_CONTEXT, ParseContext
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.mail import Attachment, MailMessage, parsed_mail
from clew.types import ParsedFile

MEDIA_TYPE = "message/rfc822"

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MAX_PARTS = 2000
_SOFT_BREAK = re.compile(r"(?<!^-)(\S) \r?\n(?!\s*>)", re.M)
_NAMED = re.compile(r"""name\s*=\s*"?([^";\r\n]+)""", re.I)
_ENCODED_WORDS = re.compile(r"(=\?[^?\s]+\?[BbQq]\?[^?]*\?=)\s+(?==\?)")


def parse(data: bytes, name: str, context: ParseContext = DEFAULT_CONTEXT) -> ParsedFile:
    """Blocks of a message and of its attachments. Raises FileFailedError."""
    # The older policy: the newer one parses addresses as it goes, and fails on what real programs send.
    message = email.message_from_bytes(_from_first_header(data), policy=email.policy.compat32)
    if not message.keys():
        raise DamagedFileError(f"{name}: this is no e-mail: it begins with no header. Save the message again as EML.")
    return parsed_mail(_read(message, name), name, MEDIA_TYPE, context)


def _from_first_header(data: bytes) -> bytes:
    """Without a byte order mark, blank lines and the ``From `` line of a mailbox before the headers."""
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    return data.partition(b"\n")[2] if data.startswith((b"From ", b">From ")) else data


def _read(message: Message, name: str) -> MailMessage:
    texts: list[str] = []
    pages: list[str] = []
    attachments: list[Attachment] = []
    warnings: list[str] = []
    for number, part in enumerate(_leaves(message)):
        if number >= _MAX_PARTS:
            warnings.append(f"Only the first {_MAX_PARTS} parts of the message were read.")
            break
        attached = part.get_content_disposition() == "attachment"
        kind = part.get_content_type()
        file_name = _file_name(part)
        shown_by = "" if attached else one_line(_header(part, "Content-ID")).strip("<>")
        if (
            kind == "message/rfc822"
            or attached
            or ((file_name or shown_by) and kind not in ("text/plain", "text/html"))
        ):
            data = _bytes(part)
            if data:
                attachments.append(Attachment(file_name or _invented_name(part, number), data, shown_by))
        elif kind in ("text/plain", "text/html"):
            (pages if kind == "text/html" else texts).append(_text(part, name))
    headers = [(label, _header(message, label)) for label in _SHOWN]
    subject = one_line(_header(message, "Subject"))
    return MailMessage(subject, headers, "\n\n".join(texts), "<hr>".join(pages), attachments, warnings)


def _leaves(message: Message) -> Iterator[Message]:
    """Parts that hold content; an attached message is one part."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        payload = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(payload, list):
            waiting.extend(child for child in reversed(payload) if isinstance(child, Message))
        else:
            yield part


def _bytes(part: Message) -> bytes:
    if part.get_content_type() == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        return inner.as_bytes() if isinstance(inner, Message) else b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message, name: str) -> str:
    data = _bytes(part)
    if not data.strip():
        return ""
    try:
        text = decode_text(data, name, part.get_content_charset()).text
    except UnsupportedFileError:
        return data.decode("utf-8", "replace")
    if str(part.get_param("format", "")).lower() == "flowed" and part.get_content_type() == "text/plain":
        # RFC 3676: a space at the end of a line says that the paragraph goes on.
        deleted = str(part.get_param("delsp", "")).lower() == "yes"
        text = _SOFT_BREAK.sub(lambda match: match[1] if deleted or is_wide(match[1]) else f"{match[1]} ", text)
    return text


def _header(message: Message, label: str) -> str:
    # ``get`` replaces bytes that are no ASCII; many programs send them as they are.
    return next((_decoded(value) for key, value in message.raw_items() if key.lower() == label.lower()), "")


def _decoded(value: str) -> str:
    """A header in words for people: encoded words decoded, raw bytes by what they say."""
    if any("\udc80" <= char <= "\udcff" for char in value):
        raw = value.encode("utf-8", "surrogateescape")
        try:
            value = decode_text(raw, "").text
        except UnsupportedFileError:
            value = raw.decode("utf-8", "replace")
    # A character may be cut between two encoded words of one charset: their bytes are joined before decoding.
    pieces: list[tuple[bytes, str | None]] = []
    for text, charset in decode_header(_ENCODED_WORDS.sub(r"\1", value)):
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        declared = "utf-8" if isinstance(text, str) else charset
        if pieces and declared is not None and pieces[-1][1] == declared:
            pieces[-1] = (pieces[-1][0] + data, declared)
        else:
            pieces.append((data, declared))
    return "".join(_as_declared(data, charset) for data, charset in pieces)


def _as_declared(data: bytes, charset: str | None) -> str:
    known = {"gb2312": "gb18030", "gbk": "gb18030", None: "latin-1"}.get(charset and charset.lower(), charset)
    try:
        return data.decode(known or "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _file_name(part: Message) -> str:
    found = part.get_filename()
    if found and "\ufffd" in found:
        headers = _header(part, "Content-Disposition") + ";" + _header(part, "Content-Type")
        named = _NAMED.search(headers)
        found = named[1] if named else found
    return one_line(_decoded(found)) if found else ""


def _invented_name(part: Message, number: int) -> str:
    if part.get_content_type() == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        subject = one_line(_header(inner, "Subject")) if isinstance(inner, Message) else ""
        return f"{subject or f'message {number}'}.eml"
    return f"attachment {number}"
