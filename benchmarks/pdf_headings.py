"""How many entries of each printed table of contents become sections on the right page?

Run: ``python benchmarks/pdf_headings.py --data DATA [--write docs/formats.md] [name part ...]``, with the folder that
holds ``docs/``. The exit code is 1 where a report has less than 95 %.

The truth is read with PDFium's own text extraction, not with Clew's parser: the lines of contents pages with a title
and a page number. An entry counts as found if a section with that title (case, spaces and punctuation aside, with or
without its label ``Item 1.``, ``第一节``, or in a shorter form: "Balance Sheets" for "Balance Sheets as of June 30")
begins on the right page ± 1. The right page is the printed one where a line with that title stands there, ± 1; else any
page with such a line, since some reports print stale page numbers; and the printed one where no page has such a line.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pypdfium2

from clew.indexing.parsers.pdf import parse
from clew.indexing.sections import build_sections

FOLDERS = ("zh_finance", "en_finance", "section_tree")
ENTRY = re.compile(
    r"^(?P<title>\S.*?)[\s.．·…⋯_]*\s[\s.．·…⋯_]*(?P<page>\d{1,3})$|^(?P<t2>.*?)[.．·…⋯]{3,}\s*(?P<p2>\d{1,3})$"
)
TITLE = re.compile(r"目\s*录|table of contents|^contents$|^index$", re.I | re.M)


def key(text: str) -> str:
    """A title for comparison: letters and digits only."""
    text = unicodedata.normalize("NFKC", text).lower()
    return "".join(c for c in text if c.isalnum())


def printed_contents(texts: list[str]) -> list[tuple[str, int, int]]:
    """Title, printed page and position of the contents page, for each entry of the first contents pages."""
    entries: list[tuple[str, int, int]] = []
    for index, text in enumerate(texts[: max(8, len(texts) // 10)]):
        text = "\n".join(text.splitlines())
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        found: list[tuple[str, int, int]] = []
        before = ""
        for line in lines:
            match = ENTRY.match(line)
            if match:
                title = (match["title"] or match["t2"]).strip(" .．·…⋯_")
                if not re.search(r"[A-Za-z\u4e00-\u9fff]{2}", title):
                    title = before
                elif re.match(r"[a-z(]|\d{4} and |\d\d, \d{4}$", title) and before:
                    title = f"{before} {title}"
                found.append((title, int(match["page"] or match["p2"]), index + 1))
                before = ""
            else:
                before = line
        pages = [page for _, page, _ in found]
        rising = sum(b >= a for a, b in pairwise(pages))
        share = len(found) / max(len(lines), 1)
        titled = bool(TITLE.search(text[:600]))
        if (
            len(found) >= 4
            and rising >= 0.8 * (len(pages) - 1)
            and ((titled and share > 0.2) or (entries and share > 0.5))
        ):
            entries.extend(found)
        elif entries:
            break
    return entries


LABEL = re.compile(
    r"\s*(?:(?:item|part|note|chapter)\s*(?:\d{1,2}[a-c]?|[ivx]{1,4})\b|第.{1,3}[章节]|\d{1,3}(?:\.\d{1,3})*\b|\(?[a-f]\))",
    re.I,
)
SHORTER = re.compile(r"^(?:pcaob|asof|forthe|at)")


def split(text: str) -> tuple[str, str]:
    """A title's label and the rest of it, both as keys."""
    text = unicodedata.normalize("NFKC", text)
    match = LABEL.match(text)
    return (key(match.group()), key(text[match.end() :])) if match else ("", key(text))


def same(title: tuple[str, str], wanted: tuple[str, str]) -> bool:
    """Whether a line or section title is a contents entry: equal, but for the label or a shorter form."""
    (label, rest), (wanted_label, wanted_rest) = title, wanted
    if rest == wanted_rest:
        return bool(rest) or label == wanted_label
    if len(rest) >= 8 and wanted_rest.startswith(rest):
        return len(rest) >= 0.6 * len(wanted_rest) or bool(SHORTER.match(wanted_rest[len(rest) :]))
    if not label.startswith("item") or label != wanted_label:
        return False
    return difflib.SequenceMatcher(None, rest, wanted_rest).ratio() > 0.7


def headings_of(text: str) -> set[tuple[str, str]]:
    """A page's lines, alone and joined with up to three that follow, split as titles."""
    lines = [line for line in text.splitlines() if line.strip()]
    return {split(" ".join(lines[i : i + n])) for i in range(len(lines)) for n in (1, 2, 3, 4)}


@dataclass(frozen=True)
class Measured:
    """One report: its entries, how many became sections on the right page, and a line about each other."""

    name: str
    pages: int
    sections: int
    found: int
    entries: int
    misses: list[str]

    @property
    def share(self) -> float:
        """Of the entries that were found."""
        return self.found / self.entries


def measure(path: Path) -> Measured | None:
    """None where no table of contents is printed."""
    data = path.read_bytes()
    document = pypdfium2.PdfDocument(data)
    texts = [page.get_textpage().get_text_range() for page in document]
    document.close()
    entries = printed_contents(texts)
    if not entries:
        return None
    sections = build_sections(parse(data, path.name)).sections
    titles = [(split(section.title), section.page or 0) for section in sections if section.path]
    contents = {position for _, _, position in entries}
    lines = {p: headings_of(text) for p, text in enumerate(texts, start=1) if p not in contents}
    places = {
        title: [p for p in lines if any(same(line, split(title)) for line in lines[p])] for title, _, _ in entries
    }
    offsets = [place - printed for title, printed, _ in entries for place in places[title]]
    offset = max(set(offsets), key=offsets.count) if offsets else 0
    found = 0
    misses: list[str] = []
    for title, printed, _ in entries:
        near = [p for p in places[title] if abs(p - printed - offset) <= 1] or places[title] or [printed + offset]
        if any(same(t, split(title)) and any(abs(page - place) <= 1 for place in near) for t, page in titles):
            found += 1
        else:
            misses.append(f"{title} … printed {printed}, expected on {near[:5]}")
    return Measured(path.name, len(texts), len(sections), found, len(entries), misses)


def table(measured: Sequence[Measured]) -> Iterator[str]:
    """A row per report."""
    yield "| report | pages | sections | entries | on the right page |"
    yield "| --- | --- | --- | --- | --- |"
    for one in measured:
        yield f"| {one.name} | {one.pages} | {one.sections} | {one.entries} | {one.found} ({one.share:.1%}) |"


def main() -> int:
    """Prints and writes the measure per file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds docs/")
    parser.add_argument("--write", type=Path, help="document whose table between <!-- contents --> marks is replaced")
    parser.add_argument("names", nargs="*", help="only files whose name contains one of these")
    arguments = parser.parse_args()
    measured = []
    for folder in FOLDERS:
        for path in sorted((arguments.data / "docs" / folder).glob("*.pdf")):
            if arguments.names and not any(name in path.name for name in arguments.names):
                continue
            one = measure(path)
            if one is not None:
                measured.append(one)
                print(f"{one.name}: {one.found} of {one.entries} ({one.share:.1%})", flush=True)
                for miss in one.misses:
                    print(f"  missed: {miss}")
    if arguments.write:
        document = arguments.write.read_text()
        head, _, rest = document.partition("<!-- contents -->\n")
        _, _, tail = rest.partition("<!-- end of contents -->")
        rows = "\n".join(table(measured))
        arguments.write.write_text(f"{head}<!-- contents -->\n{rows}\n<!-- end of contents -->{tail}")
    return 0 if all(one.share >= 0.95 for one in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
