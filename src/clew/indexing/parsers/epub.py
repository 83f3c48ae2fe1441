"""EPUB: the chapters of an e-book in the order of its spine, titled by its table of contents where they are not."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote

from lxml import etree

from clew.errors import DamagedFileError, EncryptedFileError
from clew.indexing.parsers.base import BlockBuilder, one_line
from clew.indexing.parsers.encodings import decode_text
from clew.indexing.parsers.html import add_html
from clew.indexing.parsers.html_dom import payload_of
from clew.indexing.parsers.office import Package, attribute, child, children, descendants, local_name
from clew.types import BlockType, ParsedFile

MEDIA_TYPE = "application/epub+zip"

_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_MAX_CHAPTERS = 20_000


def parse(data: bytes, name: str) -> ParsedFile:
    """Blocks of an e-book. Raises FileFailedError where it is damaged, protected or empty."""
    package = Package(data, name)
    _refuse_protected(package, name)
    opf = _package_document(package, name)
    root = package.xml(opf)
    manifest = {
        attribute(item, "id") or "": item for item in descendants(root, "item") if attribute(item, "href") is not None
    }
    titles = _contents(package, opf, root, manifest)
    builder = BlockBuilder()
    warnings: list[str] = []
    for part in _spine(opf, root, manifest):
        if part not in package:
            warnings.append(f"The chapter {part} is missing in the file.")
            continue
        chapter = BlockBuilder()
        page = package.read(part)
        add_html(decode_text(page, name, "utf-8").text, chapter, payload=partial(_picture, package, part))
        title = titles.get(part)
        if title and not any(block.type is BlockType.HEADING for block in chapter.blocks[:5]):
            builder.heading(title[0], title[1])
            below = title[1]
        else:
            below = 0
        builder.attached(chapter.blocks, chapter.pictures, below=below)
    return builder.finish(name, MEDIA_TYPE, title=_metadata(root, "title"), warnings=warnings)


def _refuse_protected(package: Package, name: str) -> None:
    """Refuses a book whose chapters are encrypted; embedded fonts often are, and do not matter."""
    listing = "META-INF/encryption.xml"
    if listing not in package:
        return
    for reference in descendants(package.xml(listing), "CipherReference"):
        if (attribute(reference, "URI") or "").lower().endswith((".xhtml", ".html", ".htm", ".xml")):
            raise EncryptedFileError(
                f"{name}: the e-book is protected against copying (DRM). Only books without protection can be added."
            )


def _package_document(package: Package, name: str) -> str:
    container = "META-INF/container.xml"
    if container in package:
        for root_file in descendants(package.xml(container), "rootfile"):
            path = attribute(root_file, "full-path")
            if path and path in package:
                return path
    found = next((part for part in package.names() if part.endswith(".opf")), None)
    if found is None:
        raise DamagedFileError(f"{name}: the e-book has no list of its parts (an .opf file). Download it again.")
    return found


def _spine(opf: str, root: etree._Element, manifest: dict[str, etree._Element]) -> Iterator[str]:
    """The parts that are read, in order; without a spine all pages in the order of the manifest."""
    listed = [attribute(item, "idref") or "" for item in children(child(root, "spine"))]
    wanted = [manifest[identifier] for identifier in listed if identifier in manifest] or list(manifest.values())
    for item in wanted[:_MAX_CHAPTERS]:
        navigation = "nav" in (attribute(item, "properties") or "").split()
        if not navigation and attribute(item, "media-type") in _PAGES:
            yield _resolved(opf, attribute(item, "href") or "")


def _contents(
    package: Package, opf: str, root: etree._Element, manifest: dict[str, etree._Element]
) -> dict[str, tuple[str, int]]:
    """Title and level of the first entry that leads to each part, from the navigation document or the older NCX."""
    found: dict[str, tuple[str, int]] = {}
    for item in manifest.values():
        part = _resolved(opf, attribute(item, "href") or "")
        if part not in package:
            continue
        if "nav" in (attribute(item, "properties") or "").split():
            for link in descendants(package.xml(part), "a"):
                level = max(1, sum(1 for parent in link.iterancestors() if local_name(parent) == "ol"))
                _note(found, part, attribute(link, "href"), "".join(map(str, link.itertext())), level)
        elif attribute(item, "media-type") == "application/x-dtbncx+xml":
            for point in descendants(package.xml(part), "navPoint"):
                level = 1 + sum(1 for parent in point.iterancestors() if local_name(parent) == "navPoint")
                label = child(point, "navLabel", "text")
                text = "" if label is None else str(label.text or "")
                _note(found, part, attribute(child(point, "content"), "src"), text, level)
    return found


def _note(found: dict[str, tuple[str, int]], part: str, href: str | None, text: str, level: int) -> None:
    title = one_line(text)
    if href and title:
        found.setdefault(_resolved(part, href.partition("#")[0]), (title, level))


def _picture(package: Package, part: str, source: str) -> bytes:
    """The bytes of a picture that a chapter shows."""
    target = _resolved(part, source)
    return package.read(target) if target in package else payload_of(source)


def _metadata(root: etree._Element, name: str) -> str:
    return next((one_line(str(e.text or "")) for e in descendants(root, name) if (e.text or "").strip()), "")


def _resolved(part: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(href)))
