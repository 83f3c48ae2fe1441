"""A person looks at questions and their labels: in the terminal, or in a spreadsheet by way of CSV."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from multihop_classifier.training.rows import Row, RowsError

Verdict = Literal["single", "multi", "drop", ""]

COLUMNS = ("id", "verdict", "label", "question", "source")
_AGREES = {"ok", "yes", "y", "right", "对", "是"}
_FORMULA = ("=", "+", "-", "@", "\t")


@dataclass
class Counts:
    """How far the review is."""

    rows: int = 0
    reviewed: int = 0
    by_label: Counter[str] = field(default_factory=Counter)
    """Reviewed ones."""
    changed: int = 0
    """Reviewed ones whose label was corrected."""

    def told(self, needed: int) -> str:
        """One line."""
        missing = max(needed - self.reviewed, 0)
        end = f"{missing} more for a formal training" if missing else "enough for a formal training"
        return (
            f"{self.reviewed} of {self.rows} reviewed (single {self.by_label['single']}, "
            f"multi {self.by_label['multi']}; {self.changed} labels corrected): {end}."
        )


def count(rows: Sequence[Row]) -> Counts:
    """Counts of all rows."""
    counts = Counts(rows=len(rows))
    for row in rows:
        if row.reviewed:
            counts.reviewed += 1
            counts.by_label[row.label] += 1
            counts.changed += bool((row.model_extra or {}).get("label_was"))
    return counts


def decide(row: Row, verdict: Literal["single", "multi"]) -> Row:
    """The row as reviewed; a corrected label leaves what it was in ``label_was``."""
    before = str((row.model_extra or {}).get("label_was", row.label))
    kept = row.model_dump(exclude={"label_was"}) | {"label": verdict, "reviewed": True}
    return Row.model_validate(kept | ({"label_was": before} if before != verdict else {}))


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One line a row that nobody has reviewed yet; spreadsheets take the file as UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        if not row.reviewed:
            writer.writerow([identity(row), "", row.label, _as_text(row.question), row.source])
    path.write_bytes(text.getvalue().encode("utf-8-sig"))


def read_csv(path: Path, rows: Sequence[Row]) -> list[Row]:
    """``rows`` with the verdicts of the file. Only ``id`` and ``verdict`` are read: spreadsheets reformat the rest.

    A verdict is ``ok`` (the label is right), ``single``, ``multi``, ``drop`` (the question is no good), or empty (not
    looked at yet). Raises RowsError for anything else, and for questions that are not among ``rows``.
    """
    verdicts = _verdicts(path, {identity(row): row for row in rows})
    result: list[Row] = []
    for row in rows:
        verdict = verdicts.get(identity(row), "")
        if verdict == "":
            result.append(row)
        elif verdict != "drop":
            result.append(decide(row, verdict))
    return result


def _verdicts(path: Path, known: Mapping[str, Row]) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    try:
        text = _decoded(path.read_bytes())
    except OSError as error:
        raise RowsError(f"{path} cannot be read ({error}).") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), dialect=_dialect(text))
    if not {"id", "verdict"} <= set(reader.fieldnames or ()):
        raise RowsError(f"{path} has no columns id and verdict; write it again (multihop-classifier review --to-csv).")
    for line in reader:
        where = f"{path}, line {reader.line_num}"
        row = known.get((line["id"] or "").strip())
        said = (line["verdict"] or "").strip().lower()
        if row is None:
            if said:
                raise RowsError(f"{where}: no row has the id {line['id']!r}; is this the file of other rows?")
        elif said in _AGREES:
            verdicts[identity(row)] = row.label
        elif said in ("single", "multi", "drop", ""):
            verdicts[identity(row)] = cast(Verdict, said)
        else:
            raise RowsError(f"{where}: the verdict {said!r} is none of ok, single, multi, drop or empty.")
    return verdicts


def review_in_terminal(
    rows: Sequence[Row],
    *,
    ask: Callable[[str], str],
    tell: Callable[[str], None],
    save: Callable[[Sequence[Row]], None],
    needed: int,
) -> list[Row]:
    """Asks for one unreviewed question after the other and saves each verdict; returns all rows that are left.

    ``ask`` raises EOFError or KeyboardInterrupt to end, as ``input`` does.
    """
    result: list[Row | None] = list(rows)
    waiting = [place for place, row in enumerate(rows) if not row.reviewed]
    done: list[int] = []
    tell(count(rows).told(needed))
    tell("Enter: the label is right · s: single · m: multi · d: drop · n: later · b: back · q: quit")
    while len(done) < len(waiting):
        place = waiting[len(done)]
        row = rows[place]
        tell(f"\n{len(done) + 1}/{len(waiting)}  {row.question}")
        try:
            said = ask(f"  [{row.label}] ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            break
        if said == "q":
            break
        if said == "b":
            if done:
                result[done[-1]] = rows[done[-1]]
                done.pop()
        elif said in ("", "s", "m", "d", "n"):
            result[place] = _answered(row, said)
            done.append(place)
        else:
            tell(f"  {said!r} is no answer.")
            continue
        save([row for row in result if row])
    left = [row for row in result if row]
    tell(count(left).told(needed))
    return left


def _answered(row: Row, said: str) -> Row | None:
    """None where the question is dropped."""
    if said in ("d", "n"):
        return None if said == "d" else row
    return decide(row, "single" if said == "s" else "multi" if said == "m" else row.label)


def identity(row: Row) -> str:
    """What a row is known by in a spreadsheet; it starts with a letter, or it might be read as a number."""
    return "q" + hashlib.sha256(row.question.encode("utf-8", "surrogatepass")).hexdigest()[:15]


def _as_text(question: str) -> str:
    """A cell that begins like a formula would be computed."""
    return f"'{question}" if question.startswith(_FORMULA) else question


def _decoded(data: bytes) -> str:
    """Chinese spreadsheets write GB18030 unless told otherwise."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def _dialect(text: str) -> type[csv.Dialect]:
    """Some spreadsheets separate with semicolons or tabs."""
    header = text.partition("\n")[0]

    class Found(csv.excel):
        delimiter = max(",;\t", key=header.count)

    return Found
