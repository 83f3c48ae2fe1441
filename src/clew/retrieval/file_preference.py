"""Which files a question means: those of the company and the period that it names.

Nothing is excluded: passages of other companies' or other periods' files weigh less, and only where some file matches.
A file of which nothing is known neither gains nor loses.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clew.errors import InputError
from clew.retrieval.fusion import Route
from clew.storage.base import FactRecords, Posting
from clew.text.periods import Period, find_periods, read_period
from clew.trace import StageTrace
from clew.types import Candidate, File, FileFilter, Scope

_KBS_IN_MEMORY = 16
_LEGAL_FORM = re.compile(
    r"(?:股份有限公司|有限责任公司|集团有限公司|有限公司|"
    r",? ?\b(?:incorporated|inc|corporation|corp|company|co|limited|ltd|plc|llc|n\.v|s\.a|ag|se|gmbh)\b\.?)+$",
    re.I,
)
_ASCII = re.compile(r"[\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Preference:
    """Files that match what the question names, and files that are known to be about something else."""

    matching: frozenset[str] = frozenset()
    conflicting: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    """What the question names: companies and periods."""

    def __bool__(self) -> bool:
        return bool(self.matching and self.conflicting)

    def stage(self) -> StageTrace:
        """The trace of the decision."""
        total = len(self.matching) + len(self.conflicting)
        stage = StageTrace("files", total, len(self.matching), note=f"preferred: {', '.join(self.named)}")
        stage.ranking = [{"file_id": file_id} for file_id in sorted(self.matching)[:20]]
        reason = "about another company or period than the question names; weighs less"
        stage.dropped = [{"file_id": file_id, "reason": reason} for file_id in sorted(self.conflicting)[:20]]
        return stage


NO_PREFERENCE = Preference()


@dataclass(frozen=True, slots=True)
class _KbFacts:
    """One KB's files: their periods, and which of them carry a name."""

    stamp: str
    periods: Mapping[str, Period] = field(default_factory=dict)
    companies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Files by the company's name as it is found in questions."""

    @staticmethod
    def of(stamp: str, facts: Mapping[str, Mapping[str, Any]]) -> _KbFacts:
        periods = {file_id: read_period(str(known.get("period", ""))) for file_id, known in facts.items()}
        companies: dict[str, set[str]] = {}
        for file_id, known in facts.items():
            for name in company_names(known):
                companies.setdefault(name, set()).add(file_id)
        return _KbFacts(
            stamp,
            {file_id: period for file_id, period in periods.items() if period is not None},
            {name: frozenset(files) for name, files in companies.items()},
        )


class FilePreferences:
    """Finds out which files a question means. Keeps the facts of a few KBs in memory; safe across threads."""

    def __init__(self, records: FactRecords) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _KbFacts] = OrderedDict()

    def of(self, question: str, kb_ids: Iterable[str], scope: Scope) -> Preference:
        """The preference among the scope's files; :data:`NO_PREFERENCE` where the question names nothing that tells
        them apart."""
        known = [self._facts(kb_id) for kb_id in kb_ids]
        allowed = scope.file_ids
        folded = _folded(question)
        named = _named_companies(folded, known)
        companies = {file_id for name in named for kb in known for file_id in kb.companies.get(name, ())}
        companies = companies if allowed is None else companies & allowed
        having = {file_id for kb in known for files in kb.companies.values() for file_id in files}
        conflicting = having - companies if companies else set[str]()
        said = list(named) if companies else []
        periods = {f: p for kb in known for f, p in kb.periods.items() if allowed is None or f in allowed}
        # Where a company is named, only its own files can answer for the period.
        eligible = {f: p for f, p in periods.items() if not companies or f in companies}
        asked = find_periods(question)
        in_time = {f for f, p in eligible.items() if any(p.agrees_with(wanted) for wanted in asked)}
        if in_time:
            conflicting |= {f for f in eligible if f not in in_time}
            said += [str(period) for period in asked]
        matching = in_time or companies
        conflicting = {f for f in conflicting - matching if allowed is None or f in allowed}
        return Preference(frozenset(matching), frozenset(conflicting), tuple(said))

    def _facts(self, kb_id: str) -> _KbFacts:
        stamp = self._records.facts_stamp(kb_id)
        with self._lock:
            known = self._known.get(kb_id)
        if known is None or known.stamp != stamp:
            known = _KbFacts.of(stamp, self._records.file_facts(kb_id))
        with self._lock:
            self._known[kb_id] = known
            self._known.move_to_end(kb_id)
            while len(self._known) > _KBS_IN_MEMORY:
                self._known.popitem(last=False)
        return known


def company_names(facts: Mapping[str, Any]) -> set[str]:
    """The names by which questions may call a file's company, folded: in full, without its legal form, aliases."""
    aliases = facts.get("aliases") or []
    names = {_folded(str(name)) for name in (facts.get("company") or "", *aliases) if name}
    names |= {_LEGAL_FORM.sub("", name).strip(" ,.") for name in names}
    return {name for name in names if len(name) > 1}


def admits(wanted: FileFilter, file: File) -> bool:
    """Whether the file is one that the filter asks for; what is not known of a file does not pass a filter for it."""
    if wanted.company and _LEGAL_FORM.sub("", _folded(wanted.company)).strip(" ,.") not in company_names(file.facts):
        return False
    if wanted.period:
        asked, own = read_period(wanted.period), read_period(str(file.facts.get("period", "")))
        if asked is None:
            raise InputError(f"period {wanted.period!r}: write a year or a part of one, as 2023 or 2023Q3.")
        if own is None or not own.agrees_with(asked):
            return False
    if (wanted.type and file.facts.get("type") != wanted.type) or (
        wanted.language and file.language != wanted.language
    ):
        return False
    if not wanted.date_from and not wanted.date_to:
        return True
    date = str(file.facts.get("date", ""))
    # A beginning of a date (2023, 2023-04) stands for all the days that begin so.
    return (
        bool(date)
        and wanted.date_from <= date
        and (not wanted.date_to or date[: len(wanted.date_to)] <= wanted.date_to)
    )


def _named_companies(question: str, known: Sequence[_KbFacts]) -> list[str]:
    return list(dict.fromkeys(name for kb in known for name in kb.companies if _occurs(name, question)))


def _occurs(name: str, question: str) -> bool:
    if not _ASCII.fullmatch(name):
        return name in question
    return name in question and re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", question) is not None


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def with_preferred(route: Route, preferred: Sequence[Posting], preference: Preference) -> Route:
    """The route with what it finds in the matching files alone.

    What is not in conflict is ranked without regard to what is, so that ten years' reports cannot push back the one
    that the question means; a conflicting passage keeps its rank among all.
    """
    best = {(p.chunk_id, p.version): p for p in (*route.postings, *preferred)}
    postings = sorted(best.values(), key=lambda posting: -posting.score)
    ranks: list[int] = []
    others = 0
    for place, posting in enumerate(postings, start=1):
        others += posting.file_id not in preference.conflicting
        ranks.append(place if posting.file_id in preference.conflicting else others)
    return Route(route.name, postings, ranks)


def weighed(candidates: Sequence[Candidate], preference: Preference, weight: float) -> list[Candidate]:
    """The candidates with the scores of conflicting files' passages multiplied by ``weight``, best first."""
    if not preference or weight == 1.0:
        return list(candidates)
    scored = [
        replace(
            c,
            score=c.score * weight,
            rerank_score=None if c.rerank_score is None else c.rerank_score * weight,
        )
        if c.file_id in preference.conflicting
        else c
        for c in candidates
    ]
    return sorted(scored, key=lambda c: -(c.score if c.rerank_score is None else c.rerank_score))
