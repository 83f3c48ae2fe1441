"""Check `annual_reports.jsonl` against the reports: every value stands on its pages, and on no other page unnoticed.

    python tests/data/check_annual_reports.py --data FOLDER_WITH_THE_PDF_FILES

A page without its value ends the run with an error. Other pages on which a value occurs are only listed, because the
same characters may state something else there; a person decides.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import pypdfium2

QUESTIONS = Path(__file__).with_name("annual_reports.jsonl")


def page_texts(pdf: Path) -> list[str]:
    """The text layer of every page, in physical order."""
    document = pypdfium2.PdfDocument(pdf)
    return [document[index].get_textpage().get_text_range() for index in range(len(document))]


def occurs(value: str, text: str) -> bool:
    """Whether the value stands in the text, white space aside and never as a part of a longer number."""
    pattern = r"\s*".join(re.escape(character) for character in value if not character.isspace())
    if value[0].isdigit() or value[0] == "-":
        pattern = r"(?<![\d,.])" + pattern
    if value[-1].isdigit():
        pattern += r"(?!\d)"
    return re.search(pattern, text) is not None


def main() -> int:
    """Print faults and the pages to look at; 1 if a page does not hold its value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the PDF files")
    folder: Path = parser.parse_args().data
    reports: dict[str, list[str]] = {}
    faults = 0
    questions = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    for question in questions:
        if question["file"] not in reports:
            reports[question["file"]] = page_texts(folder / question["file"])
        pages = reports[question["file"]]
        holding = {
            number for number, text in enumerate(pages, 1) if any(occurs(value, text) for value in question["values"])
        }
        missing = set(question["pages"]) - holding
        unlisted = holding - set(question["pages"])
        unused = [v for v in question["values"] if not any(occurs(v, pages[page - 1]) for page in question["pages"])]
        if missing or unused:
            faults += 1
            print(f"{question['id']}: pages without a value {sorted(missing)}, values on no page {unused}")
        if unlisted:
            print(f"{question['id']}: also on pages {sorted(unlisted)}; do they state it?")
    print(f"{len(questions)} questions, {faults} with faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
