"""Makes training rows for ``multihop_classifier``: labelled questions with the features that Clew computes.

    python benchmarks/multihop_classifier_rows.py --data DATA --out rows.jsonl       # the public sets
    python benchmarks/multihop_classifier_rows.py --rows reviewed.jsonl --out rows.jsonl   # your own, reviewed rows

The classifier shares no code with Clew; this script stands between them. Each row of ``--out`` is ``{"question",
"label", "features", "features_version", "source", "language", "entities"}``; fields of ``--rows`` are kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.evaluation.complexity_data import load_labelled
from clew.retrieval.complexity.features import FEATURES_VERSION, extract_features


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--data", type=Path, help="folder with complexity/ and retrieval/")
    given.add_argument("--rows", type=Path, help="JSONL with question and label")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    count = 0
    with arguments.out.open("w", encoding="utf-8") as out:
        for row in public_rows(arguments.data) if arguments.data else own_rows(arguments.rows):
            out.write(json.dumps(with_features(row), ensure_ascii=False) + "\n")
            count += 1
    print(f"{count} rows, features version {FEATURES_VERSION}: {arguments.out}")


def with_features(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its five features, and the entities that augmentation may exchange."""
    seen = extract_features(row["question"])
    return {
        **row,
        "features": [round(value, 4) for value in seen.vector],
        "features_version": FEATURES_VERSION,
        "language": "zh" if seen.chinese else "en",
        "entities": sorted({entity.text for entity in seen.found}),
    }


def public_rows(data: Path) -> Iterator[dict[str, Any]]:
    """The public sets; ``source`` is the family that is left out as one."""
    for item in load_labelled(data):
        yield {"question": item.question, "label": "multi" if item.multi else "single", "source": item.family}


def own_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows as they are in the file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


if __name__ == "__main__":
    main()
