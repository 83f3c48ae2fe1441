"""Labelled questions in JSONL: reading, writing, and the split into training, validation and test."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from multihop_classifier import FEATURE_NAMES
from multihop_classifier.api import Feature

REVIEWED_BEFORE_TRAINING = 500
"""Rows that a person has looked at before a formal training."""

Part = Literal["train", "validation", "test"]


class RowsError(ValueError):
    """A file of rows, or what is asked of it, cannot be used; the message says where and what to do."""


class Row(BaseModel):
    """One labelled question. Fields that are not named here are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)

    question: str = Field(min_length=1, pattern=r"\S")
    label: Literal["single", "multi"]
    source: str = "own"
    """Where the question comes from; sources can be left out as one."""
    group: str = ""
    """Questions of one group (paraphrases) are never divided between parts; empty: the question is its own group."""
    language: str = ""
    features: list[Feature] = Field(default=[], max_length=len(FEATURE_NAMES))
    """Empty where they are not computed yet."""
    features_version: str = ""
    entities: list[str] = []
    """The names in the question, which may be masked."""
    reviewed: bool = False
    """A person has looked at this question and its label."""

    @model_validator(mode="before")
    @classmethod
    def _propose(cls, values: Any) -> Any:
        """A recorded decision that nobody has labelled yet: what was decided is the label to review."""
        if isinstance(values, dict) and values.get("label") is None and "decided" in values:
            return values | {"label": values["decided"], "proposed": True}
        return values

    @property
    def proposed(self) -> bool:
        """Nobody gave this label: it is only what was decided once."""
        return bool((self.model_extra or {}).get("proposed")) and not self.reviewed

    @property
    def multi(self) -> bool:
        return self.label == "multi"


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSONL file; empty lines are skipped. Raises RowsError."""
    rows: list[Row] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    rows.append(_row(line, f"{path}, line {number}"))
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path} cannot be read ({error}).") from error
    if not rows:
        raise RowsError(f"{path} has no rows.")
    return rows


def _row(line: str, where: str) -> Row:
    try:
        return Row.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise RowsError(f"{where}: {field + ': ' if field else ''}{problem['msg']}.") from error


def write_rows(path: Path, rows: Iterable[Row]) -> int:
    """Writes ``path`` whole or not at all; returns the number of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    lines = [json.dumps(row.model_dump(exclude_defaults=True), ensure_ascii=False) + "\n" for row in rows]
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(path)
    return len(lines)


def features_version(rows: Sequence[Row]) -> str:
    """The one version of all features. Raises RowsError where labels or features are missing, or versions differ."""
    if proposed := sum(row.proposed for row in rows):
        raise RowsError(
            f"{proposed} of {len(rows)} rows have no label, only what was decided; review them first "
            "(multihop-classifier review)."
        )
    missing = sum(1 for row in rows if len(row.features) != len(FEATURE_NAMES) or not row.features_version)
    if missing:
        raise RowsError(
            f"{missing} of {len(rows)} rows have no features; compute them first "
            "(python benchmarks/multihop_classifier_rows.py --rows FILE --out FILE)."
        )
    versions = sorted({row.features_version for row in rows})
    if len(versions) > 1:
        raise RowsError(f"The rows have features of several versions ({', '.join(versions)}); compute them again.")
    return versions[0]


def stamped(name: str, rows: Sequence[Row], *, unreviewed: bool) -> str:
    """The version of a model that is trained on ``rows``. Raises RowsError where too few are reviewed.

    ``unreviewed`` allows it; the version then ends in ``-unreviewed``.
    """
    reviewed = sum(1 for row in rows if row.reviewed)
    if reviewed >= REVIEWED_BEFORE_TRAINING:
        return name
    if not unreviewed:
        raise RowsError(
            f"{reviewed} of {len(rows)} rows are reviewed; a formal training needs {REVIEWED_BEFORE_TRAINING}. Review "
            "more (multihop-classifier review), or train all the same with --unreviewed: the model's version then ends "
            "in -unreviewed."
        )
    return f"{name}-unreviewed"


def split(rows: Sequence[Row], *, seed: int = 0) -> dict[Part, list[Row]]:
    """8/1/1, each source and label by itself, groups whole; the same rows always come into the same parts."""
    strata: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        strata[row.source, row.label][row.group or row.question].append(row)
    parts: dict[Part, list[Row]] = {"train": [], "validation": [], "test": []}
    place = 0  # goes on from one stratum to the next, so that small ones are not all training
    for _, groups in sorted(strata.items()):
        for name in sorted(groups, key=lambda name: _hash(f"{seed}\0{name}")):
            part: Part = "validation" if place % 10 == 4 else "test" if place % 10 == 9 else "train"
            parts[part] += groups[name]
            place += 1
    return parts


def capped(rows: Sequence[Row], most: int) -> list[Row]:
    """At most ``most`` rows of each source and label, chosen by the hash of their text: the same in every run."""
    taken: dict[tuple[str, str], int] = defaultdict(int)
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: _hash(row.question)):
        if taken[row.source, row.label] < most:
            taken[row.source, row.label] += 1
            kept.append(row)
    return kept


def balance(rows: Sequence[Row], *, one_label: float = 1.0) -> list[float]:
    """Weights of mean 1: in each language both labels weigh the same, and within a label each of its sources.

    A source with ``one_label`` only weighs this much of another: its manner alone gives its label away.
    """
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    labels: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        counts[row.language, row.label, row.source] += 1
        labels[row.source].add(row.label)
    shares = {source: 1.0 if len(of_source) > 1 else one_label for source, of_source in labels.items()}
    totals: dict[tuple[str, str], float] = defaultdict(float)
    for language, label, source in counts:
        totals[language, label] += shares[source]
    weights = [
        shares[row.source] / (counts[row.language, row.label, row.source] * totals[row.language, row.label])
        for row in rows
    ]
    scale = len(weights) / sum(weights) if weights else 1.0
    return [weight * scale for weight in weights]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
