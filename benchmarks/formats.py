"""Every file of a folder through the parser, the chunker and, with ``--search``, the keyword index.

    python benchmarks/formats.py --data DATA [--search] [--work WORK] [--write docs/formats.md] [name part ...]

``DATA`` holds ``docs/`` with its ``index.csv``. Each file is parsed as an upload is: in the parse worker, within its
limits. Of what was read it is checked that no chunk is above its limit and that each table row stands in the parents
exactly once. ``--search`` asks for a sentence from the end of each file, which is read from the file by another way
than the parser's where there is one (PDFium's plain text of the last page, the text nodes of an archive's XML), by
keywords alone and expects it among the first five hits. It is one that no other file holds, where there is such a one.

``--work`` keeps the knowledge base and what was measured, so that a run goes on where the last one stopped. ``--write``
replaces the table between the markers of the page.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pypdfium2
from lxml import etree

from clew.app import Clew
from clew.app_models import make_embedder
from clew.config import Settings
from clew.errors import ClewError
from clew.indexing.chunking import chunk_file
from clew.indexing.parse_worker import parse_within
from clew.indexing.parsers.base import table_lines
from clew.models.base import Embedder
from clew.types import BlockType, ParentChunk, ParsedFile

HITS = 5
KB = "formats"
_BEGIN, _END = "<!-- files -->", "<!-- end of files -->"
_ENDINGS = 40
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")
_SPACE = re.compile(r"[\s|]+")
_HYPHEN = "\ufffe"
"""What PDFium gives for a hyphen at the end of a line; the parser mends the word."""
_SHARE = 0.8
"""A sentence counts as found in a passage that has this share of its runs of five characters: PDFium's plain text puts
the lines of neighbouring columns, and the numbers of a formula, in another order than the parser."""


@dataclass
class Outcome:
    """What became of one file."""

    file: str
    format: str
    status: str = "completed"
    reason: str = ""
    pages: int | None = None
    seconds: float = 0.0
    blocks: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    file_id: str = ""
    endings: list[str] = field(default_factory=list)
    """Lines from its end that say enough to be looked for, the last and longest first."""
    sentence: str = ""
    """The one that was looked for."""
    shared: bool = False
    """Whether other files hold it as well, as they do every such line of this one."""
    rank: int | None = None
    """Of the sentence from the end, among the hits of all files."""
    rank_inside: int | None = None
    """Among the hits of this file, where it is not among those of all."""
    parsed: ParsedFile | None = None


def main() -> None:
    """Prints one line a file and what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds docs/")
    parser.add_argument("--search", action="store_true", help="also look for a sentence from the end of each file")
    parser.add_argument("--work", type=Path, help="folder that is kept between runs")
    parser.add_argument("--write", type=Path, help="page whose table is replaced")
    parser.add_argument("names", nargs="*", help="only files whose path contains one of these")
    arguments = parser.parse_args()
    settings = Settings()
    with tempfile.TemporaryDirectory() as temporary, Clew.open(arguments.work or Path(temporary)) as clew:
        kept = clew.data / "outcomes.jsonl"
        outcomes = _kept(kept)
        embedder = make_embedder(clew.settings, clew.data)
        if not clew.list_kbs():
            clew.create_kb(KB, settings={"representations": {"l2": False}})
        for path, format in _files(arguments.data / "docs", arguments.names):
            shown = str(path.relative_to(arguments.data / "docs"))
            if shown not in outcomes:
                outcome = _read(path, shown, format, settings, embedder)
                if arguments.search and outcome.parsed is not None:
                    _ingest(clew, path, outcome)
                outcome.parsed = None
                outcomes[shown] = outcome
                with kept.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
            print(_line(outcomes[shown]), flush=True)
        if arguments.search:
            _search(clew, outcomes)
    print("\n".join(_totals(list(outcomes.values()), searched=arguments.search)))
    if arguments.write:
        _write(arguments.write, list(outcomes.values()), searched=arguments.search)


def _kept(path: Path) -> dict[str, Outcome]:
    """What an earlier run measured, by file."""
    if not path.is_file():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["file"]: Outcome(**row) for row in rows}


def _files(folder: Path, names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if not names or any(name in row["file"] for name in names):
                yield folder / row["file"], row["format"]


def _read(path: Path, shown: str, format: str, settings: Settings, embedder: Embedder) -> Outcome:
    outcome = Outcome(shown, format)
    indexing = settings.indexing
    started = time.perf_counter()
    try:
        parsed = parse_within(path, path.name, indexing)
    except ClewError as error:
        outcome.status, outcome.reason = "failed", str(error).removeprefix(f"{path.name}: ")
        return outcome
    finally:
        outcome.seconds = time.perf_counter() - started
    outcome.parsed, outcome.pages, outcome.warnings = parsed, parsed.pages, parsed.warnings
    outcome.blocks = dict(Counter(block.type.value for block in parsed.blocks).most_common())
    parents, children = chunk_file(
        "f", parsed, count_tokens=embedder.count_tokens, token_offsets=embedder.token_offsets,
        parent_tokens=indexing.parent_tokens, child_tokens=indexing.child_tokens,
        overlap_tokens=indexing.overlap_tokens,
    )  # fmt: skip
    if not children:
        outcome.status, outcome.reason = "failed", "no text was found in it"
    limits = ((parents, indexing.parent_tokens), (children, indexing.child_tokens))
    for chunks, limit in limits:
        above = sum(1 for chunk in chunks if embedder.count_tokens(chunk.text) > limit)
        if above:
            outcome.faults.append(f"{above} chunks above {limit} tokens")
    outcome.faults.extend(_row_faults(parsed, parents))
    return outcome


def _row_faults(parsed: ParsedFile, parents: Sequence[ParentChunk]) -> Iterator[str]:
    """Table rows that the chunks do not hold as often as the tables do; only rows that no other text contains."""
    wanted: Counter[str] = Counter()
    rest: list[str] = []
    for block in parsed.blocks:
        if block.type is BlockType.TABLE and block.table is not None:
            lines = [_squeezed(line) for line in table_lines(block.table)]
            wanted.update(lines[block.table.header_rows :])
            rest.extend(lines[: block.table.header_rows])  # header rows are repeated on purpose
        else:
            rest.append(_squeezed(block.text))
    other = "\n".join(rest)
    whole = "\n".join(_squeezed(line) for parent in parents for line in parent.text.split("\n"))
    lost = twice = 0
    for row, count in wanted.items():
        # A short row may be a part of another one, and a row longer than a chunk is cut.
        if len(row) < 24 or len(row) > 200 or row in other or sum(1 for each in wanted if row in each) > 1:
            continue
        found = whole.count(row)
        lost += found < count
        twice += found > count
    if lost:
        yield f"{lost} table rows lost"
    if twice:
        yield f"{twice} table rows repeated"


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)


def _ingest(clew: Clew, path: Path, outcome: Outcome) -> None:
    assert outcome.parsed is not None
    try:
        outcome.file_id = clew.ingest_parsed(KB, path.name, outcome.parsed).file_id
    except ClewError as error:
        outcome.status, outcome.reason = "failed", str(error)
        return
    outcome.endings = list(dict.fromkeys(_endings(path, outcome.parsed)))[:_ENDINGS]


def _search(clew: Clew, outcomes: Mapping[str, Outcome]) -> None:
    # Two files with the same text are one.
    ids = [file.file_id for file in clew.list_files(KB)]
    texts = {file_id: _plain("".join(block.text for block in clew.blocks(file_id))) for file_id in ids}
    for outcome in outcomes.values():
        if not outcome.endings:
            continue
        others = [text for file_id, text in texts.items() if file_id != outcome.file_id]
        own = next((line for line in outcome.endings if not any(_holds(text, line) for text in others)), None)
        outcome.sentence, outcome.shared = own or outcome.endings[0], own is None
        outcome.rank = _rank(clew, outcome.file_id, outcome.sentence, None)
        if outcome.rank is None:
            outcome.rank_inside = _rank(clew, outcome.file_id, outcome.sentence, [outcome.file_id])
            print(_line(outcome), flush=True)


def _holds(text: str, line: str) -> bool:
    grams = _grams(line)
    return sum(gram in text for gram in grams) >= _SHARE * len(grams)


def _rank(clew: Clew, file_id: str, sentence: str, files: Sequence[str] | None) -> int | None:
    wanted = _grams(sentence)
    result = clew.search(sentence, kbs=[KB], files=files, mode="single", kind="fact")
    for rank, hit in enumerate(result.evidence[:HITS], start=1):
        there = _grams("".join([*hit.section_titles, hit.text]))
        if hit.candidate.file_id == file_id and len(wanted & there) >= _SHARE * len(wanted):
            return rank
    return None


def _plain(text: str) -> str:
    return _squeezed(text.replace(_HYPHEN, "").lower())


def _grams(text: str) -> set[str]:
    text = _plain(text)
    return {text[i : i + 5] for i in range(max(1, len(text) - 4))}


def _endings(path: Path, parsed: ParsedFile) -> Iterator[str]:
    """Sentences, or what of them stands on a line, from the end of the file that say enough to be looked for: those of
    the last page (or part) first, long ones first."""
    texts = [
        [part.strip() for line in text.splitlines() for part in _SENTENCE_END.split(line)]
        for text in _last_texts(path, parsed)
    ]
    # Running headers are no sentences of the text; the last of the texts is that of the parser again.
    often = Counter(line for lines in texts[:-1] for line in set(lines))
    for lines in texts:
        lines = [line for line in lines if often[line] < 2]
        worth = [line for line in lines if len(_squeezed(line)) >= 12 and sum(map(str.isalpha, line)) >= 8]
        yield from (line[:120] for line in sorted(worth[-12:], key=len, reverse=True))
    yield parsed.blocks[-1].text[:120]


def _last_texts(path: Path, parsed: ParsedFile) -> Iterator[str]:
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        document = pypdfium2.PdfDocument(path.read_bytes())
        for number in range(len(document) - 1, max(-1, len(document) - 4), -1):
            yield document[number].get_textpage().get_text_range()
    elif suffix in (".docx", ".pptx", ".xlsx", ".epub"):
        yield "\n".join(_archive_lines(path.read_bytes()))
    yield "\n".join(block.text for block in parsed.blocks[-20:])


def _archive_lines(data: bytes) -> list[str]:
    lines = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        wanted = re.compile(r"word/document\.xml|ppt/slides/slide\d+\.xml|xl/sharedStrings\.xml|.*\.x?html")
        names = [name for name in archive.namelist() if wanted.fullmatch(name)]
        for name in sorted(names, key=lambda n: [int(d) for d in re.findall(r"\d+", n)]):
            root = etree.fromstring(archive.read(name))
            for element in root.iter():
                tag = etree.QName(element).localname if isinstance(element.tag, str) else ""
                if tag in ("p", "si"):
                    texts = [e for e in element.iter() if isinstance(e.tag, str) and etree.QName(e).localname == "t"]
                    lines.append("".join(str(e.text or "") for e in texts))
    return lines


def _line(outcome: Outcome) -> str:
    blocks = ", ".join(f"{count} {kind}" for kind, count in outcome.blocks.items())
    said = [outcome.reason or blocks, *outcome.warnings, *outcome.faults]
    if outcome.sentence and outcome.rank is None:
        said.append(f"{'found only inside the file' if outcome.rank_inside else 'NOT FOUND'}: {outcome.sentence!r}")
    return f"{outcome.file} · {outcome.status} · {outcome.seconds:.1f} s · {' · '.join(said)}"


def _totals(outcomes: Sequence[Outcome], *, searched: bool) -> Iterator[str]:
    completed = [outcome for outcome in outcomes if outcome.status == "completed"]
    faulty = [outcome for outcome in completed if outcome.faults]
    yield f"{len(completed)} of {len(outcomes)} files are completed; {len(faulty)} of them have faulty chunks."
    if searched:
        found = [outcome for outcome in completed if outcome.rank is not None]
        inside = [outcome for outcome in completed if outcome.rank_inside is not None]
        yield (
            f"A sentence from the end is among the first {HITS} hits for {len(found)} of {len(completed)} files, for "
            f"{len(inside)} more when only that file is searched."
        )


def _write(page: Path, outcomes: Sequence[Outcome], *, searched: bool) -> None:
    rows = ["| file | format | status | pages | blocks | note |", "| --- | --- | --- | --- | --- | --- |"]
    for outcome in outcomes:
        note = outcome.reason or " ".join([*outcome.warnings, *outcome.faults])
        if searched and outcome.status == "completed" and outcome.rank is None:
            how = "found only inside the file" if outcome.rank_inside else "not found"
            shared = ", for other files hold it, too" if outcome.shared else ""
            note += f" The sentence from its end is {how}{shared}."
        cells = [outcome.file, outcome.format, outcome.status, outcome.pages or "", sum(outcome.blocks.values()), note]
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = "\n".join([_BEGIN, *_totals(outcomes, searched=searched), "", *rows, _END])
    page.write_text(f"{before}{table}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
