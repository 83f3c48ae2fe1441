"""Puts the results of ``clew eval`` into docs/evaluation.md.

    python benchmarks/evaluation_tables.py --results FOLDER

``FOLDER`` holds what ``clew eval --json FOLDER/NAME.json`` wrote, one file a question set. The tables stand between the
marks in the page; everything else there is written by hand.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
SINGLE_LOOK_UPS = ("bm25", "dense", "single")
MEAN_OF = ("xquad_zh", "xquad_en", "cmrc2018", "drcd", "hotpotqa_tune", "boc_report_zh")

Result = Mapping[str, Any]


def rows(results: Mapping[str, Result]) -> list[str]:
    """One line a set and mode."""
    lines = [
        "| set (questions) | mode | R@2 | R@5 | all@5 | nDCG@10 | rounds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, result in results.items():
        for mode, values in result["modes"].items():
            shares = (values[key] for key in ("recall@2", "recall@5", "all_support@5", "ndcg@10"))
            numbers = [*(f"{100 * share:.1f}" for share in shares), f"{values['rounds']:.1f}"]
            lines.append(" | ".join([f"| {name} ({result['queries']})", mode, *numbers]) + " |")
    return lines


def means(results: Mapping[str, Result], names: Sequence[str]) -> list[str]:
    """The mean R@5 of one look-up over the named sets."""
    values = {
        mode: sum(results[name]["modes"][mode]["recall@5"] for name in names) / len(names) for mode in SINGLE_LOOK_UPS
    }
    said = ", ".join(f"{mode} {100 * value:.1f}" for mode, value in values.items())
    return [f"Mean R@5 of one look-up over {', '.join(names)}: {said}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    results = {path.stem: json.loads(path.read_text()) for path in sorted(parser.parse_args().results.glob("*.json"))}
    lines = rows(results)
    if missing := [name for name in MEAN_OF if name not in results]:
        print(f"no mean: {', '.join(missing)} are missing")
    else:
        lines += ["", *means(results, MEAN_OF)]
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN)], page[page.index(END) :]
    PAGE.write_text("\n".join([before + BEGIN, *lines, after]), encoding="utf-8")


if __name__ == "__main__":
    main()
