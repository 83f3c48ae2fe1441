"""What EML and MSG share: a message becomes a header paragraph, its body, and a section for each attachment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module

from clew.errors import EmptyFileError, FileFailedError
from clew.indexing.parsers.base import BlockBuilder, image_type, one_line
from clew.indexing.parsers.context import ParseContext
from clew.indexing.parsers.html import add_html
from clew.indexing.parsers.html_dom import payload_of
from clew.indexing.parsers.text import add_text
from clew.types import ParsedFile

_MAX_DEPTH = 3
_MAX_ATTACHMENTS = 200
_MAX_ATTACHED_BYTES = 500_000_000
_WORTH_READING = 12
"""A body of fewer characters than this is a signature's picture or a blank; the other form of it is taken."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file inside a message. ``content_id``: what the body shows it by (a logo, a screenshot), where it was not
    attached on purpose."""

    name: str
    data: bytes
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A message; ``headers`` are pairs of name and value for people, in order."""

    subject: str = ""
    headers: Sequence[tuple[str, str]] = ()
    text: str = ""
    html: str = ""
    attachments: Sequence[Attachment] = ()
    warnings: Sequence[str] = field(default=())


def parsed_mail(message: MailMessage, name: str, media_type: str, context: ParseContext) -> ParsedFile:
    """The blocks of a message, those of its attachments below a heading each.

    An attachment that cannot be read is a warning; the message is read all the same. Raises EmptyFileError where
    there is nothing in it.
    """
    builder = BlockBuilder()
    warnings = list(message.warnings)
    builder.paragraph("\n".join(f"{label}: {one_line(value)}" for label, value in message.headers if value.strip()))
    _add_body(message, builder)
    for attachment in _within_limits(message.attachments, warnings):
        warnings.extend(_attach(attachment, builder, context))
    if not len(builder):
        raise EmptyFileError(f"{name}: the message is empty: no text, no attachment that can be read.")
    return builder.finish(name, media_type, title=message.subject, warnings=warnings)


def _add_body(message: MailMessage, builder: BlockBuilder) -> None:
    """The formatted body where there is one: it has tables, lists and headings that the plain one has lost."""
    before = len(builder)
    if message.html.strip():
        # Bold lines in mail are names and buttons.
        add_html(message.html, builder, find_headings=False, payload=partial(_picture, message))
    read = sum(len(block.text) for block in builder.blocks[before:])
    if read < min(_WORTH_READING, len(message.text.strip())):
        add_text(message.text, builder)


def _picture(message: MailMessage, source: str) -> bytes:
    """The bytes of a picture that the body shows."""
    shown = source.removeprefix("cid:")
    found = (attachment.data for attachment in message.attachments if attachment.content_id == shown)
    return next(found, b"") or payload_of(source)


def _within_limits(attachments: Sequence[Attachment], warnings: list[str]) -> Iterator[Attachment]:
    size = 0
    for number, attachment in enumerate(attachments):
        size += len(attachment.data)
        if number >= _MAX_ATTACHMENTS or size > _MAX_ATTACHED_BYTES:
            left = len(attachments) - number
            warnings.append(f"{left} attachments were not read: there are too many. Save them and add them as files.")
            return
        yield attachment


def _attach(attachment: Attachment, builder: BlockBuilder, context: ParseContext) -> Sequence[str]:
    """Adds an attachment as a section; returns what could not be read of it."""
    if context.depth >= _MAX_DEPTH:
        return [f"{attachment.name}: attached inside of {_MAX_DEPTH} other messages, and not read."]
    if attachment.content_id and image_type(attachment.data):
        return []  # the body shows it
    # The parsers' package imports this module.
    parsers = import_module("clew.indexing.parsers")
    try:
        parsed: ParsedFile = parsers.parse(attachment.data, attachment.name, context=context.inside())
    except FileFailedError as error:
        return [] if attachment.content_id else [f"Attachment {error}"]
    builder.heading(attachment.name, 1)
    builder.attached(parsed.blocks, parsed.pictures, below=1)
    return [f"Attachment {attachment.name}: {warning}" for warning in parsed.warnings]
