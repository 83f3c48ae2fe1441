"""Writes small PDF files for tests: text in three fonts (one Chinese), lines, images, bookmarks, rotation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

FONTS = {"regular": "F1", "bold": "F2", "chinese": "F3"}


@dataclass
class PdfPage:
    """A page; coordinates are points from the top left corner, as in Clew."""

    width: float = 595
    height: float = 842
    rotate: int = 0
    commands: list[str] = field(default_factory=list)
    images: int = 0

    def text(self, x: float, y: float, text: str, size: float = 10, font: str = "regular") -> PdfPage:
        """Text with its base line at ``y``; font ``chinese`` for any text with Chinese characters."""
        if any(ord(c) > 255 for c in text):
            font = "chinese"
        if font == "chinese":
            shown = "<" + text.encode("utf-16-be").hex() + ">"
        else:
            escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            shown = f"({escaped})"
        self.commands.append(f"BT /{FONTS[font]} {size} Tf {x} {self.height - y} Td {shown} Tj ET")
        return self

    def lines(
        self, x: float, y: float, *texts: str, size: float = 10, pitch: float = 14, font: str = "regular"
    ) -> PdfPage:
        """Lines of text one under the other."""
        for index, text in enumerate(texts):
            self.text(x, y + index * pitch, text, size, font)
        return self

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> PdfPage:
        """A thin stroked line."""
        self.commands.append(f"0.5 w {x0} {self.height - y0} m {x1} {self.height - y1} l S")
        return self

    def grid(self, xs: list[float], ys: list[float]) -> PdfPage:
        """All lines of a table."""
        for x in xs:
            self.rule(x, ys[0], x, ys[-1])
        for y in ys:
            self.rule(xs[0], y, xs[-1], y)
        return self

    def image(self, x: float, y: float, width: float, height: float) -> PdfPage:
        """A grey image."""
        self.images += 1
        self.commands.append(f"q {width} 0 0 {height} {x} {self.height - y - height} cm /Im Do Q")
        return self


def pdf(*pages: PdfPage, outline: list[tuple[str, int]] | None = None, title: str = "") -> bytes:
    """The file; ``outline``: titles with the index of their page."""
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    def stream(data: bytes, extra: str = "") -> int:
        packed = zlib.compress(data)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode {extra} >>\nstream\n".encode()
        return add(head + packed + b"\nendstream")

    catalog, tree = add(""), add("")
    regular = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    bold = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
    descriptor = add(
        "<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0"
        " /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>"
    )
    cid = add(
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000"
        f" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /FontDescriptor {descriptor} 0 R >>"
    )
    chinese = add(
        "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H"
        f" /DescendantFonts [{cid} 0 R] >>"
    )
    picture = stream(
        bytes([128] * 64),
        "/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    kids = []
    for page in pages:
        content = stream("\n".join(page.commands).encode("latin-1"))
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {page.width} {page.height}] /Rotate {page.rotate}"
                f" /Contents {content} 0 R /Resources << /Font << /F1 {regular} 0 R /F2 {bold} 0 R /F3 {chinese} 0 R >>"
                f" /XObject << /Im {picture} 0 R >> >> >>"
            )
        )
    objects[tree - 1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{k} 0 R' for k in kids)}] >>".encode()
    root = ""
    if outline:
        top = add("")
        first = len(objects) + 1
        for index, (text, at) in enumerate(outline):
            links = (f" /Prev {first + index - 1} 0 R" if index else "") + (
                f" /Next {first + index + 1} 0 R" if index + 1 < len(outline) else ""
            )
            name = ("\ufeff" + text).encode("utf-16-be").hex()
            add(f"<< /Title <{name}> /Parent {top} 0 R /Dest [{kids[at]} 0 R /Fit]{links} >>")
        objects[top - 1] = f"<< /First {first} 0 R /Last {len(objects)} 0 R /Count {len(outline)} >>".encode()
        root = f" /Outlines {top} 0 R"
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R{root} >>".encode()
    info = add(f"<< /Title ({title}) >>")
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root {catalog} 0 R /Info {info} 0 R >>"
    out += f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF".encode()
    return bytes(out)
