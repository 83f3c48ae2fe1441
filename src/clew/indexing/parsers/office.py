"""Office Open XML packages: ZIP archives of XML parts with relationships, read within limits."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator

from lxml import etree

from clew.errors import DamagedFileError, EncryptedFileError, FileFailedError

# What an honest document does not reach and a decompression bomb does.
MAX_PART_BYTES = 512 * 2**20
MAX_BYTES = 2 * 2**30
_RELATIONSHIP = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
RELATION_ID = f"{_RELATIONSHIP}id"
RELATION_EMBED = f"{_RELATIONSHIP}embed"


class Package:
    """The parts of a package, by name (``word/document.xml``)."""

    def __init__(self, data: bytes, name: str) -> None:
        self._name = name
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise self._damaged(error) from error
        self._read = 0
        self._members = {member.filename.replace("\\", "/"): member for member in self._archive.infolist()}

    def __contains__(self, part: str) -> bool:
        return part in self._members

    def names(self) -> Iterator[str]:
        """The names of all parts."""
        return iter(self._members)

    def read(self, part: str) -> bytes:
        """A part's bytes. Raises FileFailedError where it is damaged, encrypted or too large."""
        member = self._members.get(part)
        if member is None:
            raise self._damaged(f"it has no part {part}")
        if member.flag_bits & 0x1:
            raise EncryptedFileError(f"{self._name}: the file needs a password. Remove the password and add it again.")
        self._refuse_above(MAX_PART_BYTES, member.file_size, part)
        self._refuse_above(MAX_BYTES, self._read + member.file_size, part)
        try:
            with self._archive.open(member) as stream:
                # What the listing says of its size may be a lie.
                content = stream.read(MAX_PART_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise self._damaged(error) from error
        self._read += len(content)
        self._refuse_above(MAX_PART_BYTES, len(content), part)
        return content

    def xml(self, part: str) -> etree._Element:
        """The root of an XML part. Raises FileFailedError."""
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
        )
        content = self.read(part)
        try:
            return etree.fromstring(content, parser)
        except etree.XMLSyntaxError as error:
            if getattr(error, "code", None) == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
                raise self._damaged(f"{part} is nested too deeply to be read") from error
            try:
                recovered = etree.fromstring(content, etree.XMLParser(recover=True, resolve_entities=False))
            except etree.XMLSyntaxError as error:
                raise self._damaged(error) from error
            if recovered is None:
                raise self._damaged(f"{part} is no XML") from None
            return recovered

    def relations(self, part: str) -> dict[str, str]:
        """Relationship ids of a part → names of the parts inside the package that they lead to."""
        folder, _, base = part.rpartition("/")
        listing = f"{folder}/_rels/{base}.rels" if folder else f"_rels/{base}.rels"
        if listing not in self:
            return {}
        found = {}
        for relation in self.xml(listing):
            identifier, target = relation.get("Id"), relation.get("Target")
            if identifier and target and relation.get("TargetMode") != "External":
                absolute = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                found[identifier] = posixpath.normpath(absolute)
        return found

    def _refuse_above(self, limit: int, size: int, part: str) -> None:
        if size > limit:
            raise FileFailedError(
                f"{self._name}: the file unpacks to more than {limit // 2**20} MB (at {part}) and is not read. "
                "Split the document, or save it without its pictures."
            )

    def _damaged(self, reason: object) -> DamagedFileError:
        return DamagedFileError(
            f"{self._name}: the file is damaged ({reason}). Open it in Office and save it again, or copy it again."
        )


def local_name(element: etree._Element) -> str:
    """An element's tag without its namespace; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: etree._Element | None, name: str) -> str | None:
    """The value of an attribute by its local name (strict and transitional files differ in namespaces)."""
    if element is None:
        return None
    direct = element.get(name)
    if direct is not None:
        return direct
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), None)


def child(element: etree._Element | None, *path: str) -> etree._Element | None:
    """The first descendant along a path of local names."""
    for name in path:
        if element is None:
            return None
        element = next((e for e in element if local_name(e) == name), None)
    return element


def children(element: etree._Element | None) -> Iterator[etree._Element]:
    """The children of an element; none where there is no element."""
    return iter(()) if element is None else iter(element)


def descendants(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Descendants with one of these local names, in document order."""
    wanted = set(names)
    return (e for e in element.iterdescendants() if local_name(e) in wanted)


def chart_text(package: Package, part: str) -> str:
    """A chart's title and cached data, one line a series."""
    root = package.xml(part)
    title = next(descendants(root, "title"), None)
    lines = ["".join(str(t.text or "") for t in descendants(title, "t"))] if title is not None else []
    for series in descendants(root, "ser"):
        name = _cached(child(series, "tx"))
        labels, values = _cached(child(series, "cat")), _cached(child(series, "val"))
        labels = labels or _cached(child(series, "xVal"))
        values = values or _cached(child(series, "yVal"))
        pairs = [f"{label}: {value}" for label, value in zip(labels, values, strict=False)] if labels else values
        lines.append(" | ".join([*name[:1], *pairs]))
    return "\n".join(line for line in lines if line.strip())


def _cached(element: etree._Element | None) -> list[str]:
    if element is None:
        return []
    return [_tidy(str(v.text or "")) for point in descendants(element, "pt") for v in descendants(point, "v")]


def _tidy(value: str) -> str:
    """A stored number without the noise of its last binary digits; other text as it is."""
    try:
        return f"{float(value):.15g}" if "." in value else value
    except ValueError:
        return value
