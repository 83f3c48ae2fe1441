from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clew.errors import InputError
from clew.retrieval.file_preference import FilePreferences, Preference, admits, weighed, with_preferred
from clew.retrieval.fusion import Route
from clew.storage.base import Posting
from clew.types import Candidate, File, FileFilter, FileStatus, Scope

GREEN = {"company": "青山机械股份有限公司", "aliases": ["青山机械", "000999"]}
FACTS: dict[str, Mapping[str, Any]] = {
    "g18": GREEN | {"period": "2018"},
    "g19": GREEN | {"period": "2019"},
    "b19": {"company": "Blue River Inc.", "aliases": ["BLUE"], "period": "2019"},
    "q3": {"company": "Blue River Inc.", "period": "2020Q3"},
    "note": {"type": "manual"},
}
ALL = Scope(("kb",))


class Stored:
    """Facts in memory; counts how often they are read."""

    def __init__(self) -> None:
        self.facts = dict(FACTS)
        self.reads = 0

    def facts_stamp(self, kb_id: str) -> str:
        return str(len(self.facts))

    def file_facts(self, kb_id: str) -> dict[str, Mapping[str, Any]]:
        self.reads += 1
        return self.facts


@pytest.mark.parametrize(
    ("question", "matching", "conflicting"),
    [
        ("青山机械2019年的营业收入是多少？", {"g19"}, {"g18", "b19", "q3"}),
        ("青山机械股份有限公司的董事长是谁？", {"g18", "g19"}, {"b19", "q3"}),
        ("000999在2018年的净利润", {"g18"}, {"g19", "b19", "q3"}),
        ("What did Blue River earn in 2019?", {"b19"}, {"g18", "g19", "q3"}),
        ("Compare BLUE with 青山机械 in 2019", {"g19", "b19"}, {"g18", "q3"}),
        ("2018年和2019年有什么变化？", {"g18", "g19", "b19"}, {"q3"}),
        ("Blue River in the third quarter of 2020", {"q3"}, {"b19", "g18", "g19"}),
        ("Blue River's second quarter of 2020", {"b19", "q3"}, {"g18", "g19"}),
        ("青山机械2030年的目标", {"g18", "g19"}, {"b19", "q3"}),
        ("The blueprint of the river", set(), set()),
        ("营业收入是多少？", set(), set()),
        ("2030年", set(), set()),
    ],
)
def test_files_of_the_company_and_period_that_are_named(
    question: str, matching: set[str], conflicting: set[str]
) -> None:
    preference = FilePreferences(Stored()).of(question, ["kb"], ALL)
    assert (set(preference.matching), set(preference.conflicting)) == (matching, conflicting)
    assert bool(preference) == bool(matching)


def test_files_outside_the_scope_do_not_count() -> None:
    scope = Scope(("kb",), frozenset({"g18", "b19"}))
    preference = FilePreferences(Stored()).of("青山机械2019年", ["kb"], scope)
    assert (set(preference.matching), set(preference.conflicting)) == ({"g18"}, {"b19"})
    only = FilePreferences(Stored()).of("青山机械2019年", ["kb"], Scope(("kb",), frozenset({"g19"})))
    assert not only


def test_facts_are_read_again_when_they_change() -> None:
    stored = Stored()
    preferences = FilePreferences(stored)
    for _ in range(3):
        preferences.of("青山机械", ["kb"], ALL)
    assert stored.reads == 1
    stored.facts["g20"] = GREEN | {"period": "2020"}
    assert "g20" in preferences.of("青山机械", ["kb"], ALL).matching
    assert stored.reads == 2


def posting(file: str, number: int, score: float) -> Posting:
    return Posting(f"{file}-{number}", f"p-{file}-{number}", file, 1, score)


def test_ten_years_of_reports_do_not_push_back_the_one_that_is_meant() -> None:
    preference = Preference(frozenset({"meant"}), frozenset({"other"}), ("2019",))
    route = Route("bm25", [posting("other", i, 10 - i / 100) for i in range(100)])
    preferred = [posting("meant", 0, 5.0), posting("meant", 1, 4.0)]
    joined = with_preferred(route, [*preferred, route.postings[0]], preference)
    ranks = dict(zip((p.chunk_id for p in joined.postings), joined.ranks or (), strict=True))
    assert len(joined.postings) == 102
    assert (ranks["meant-0"], ranks["meant-1"], ranks["other-0"], ranks["other-99"]) == (1, 2, 1, 100)


def test_what_conflicts_weighs_less_and_nothing_is_lost() -> None:
    preference = Preference(frozenset({"a"}), frozenset({"b"}), ("2019",))

    def candidate(file: str, score: float, rerank: float | None = None) -> Candidate:
        return Candidate(f"c-{file}-{score}", "p", file, "kb", score, ("l2",), rerank_score=rerank)

    candidates = [candidate("b", 0.9), candidate("a", 0.6), candidate("c", 0.5)]
    assert [c.file_id for c in weighed(candidates, preference, 0.5)] == ["a", "c", "b"]
    assert weighed(candidates, preference, 1.0) == candidates
    assert weighed(candidates, Preference(), 0.5) == candidates
    reranked = [candidate("b", 0.1, 0.9), candidate("a", 0.2, 0.5)]
    assert [(c.file_id, c.rerank_score) for c in weighed(reranked, preference, 0.5)] == [("a", 0.5), ("b", 0.45)]


def file(**facts: Any) -> File:
    return File("f", "kb", "n", "t", 1, "k", "h", FileStatus.COMPLETED, 1, "", "", language="zh", facts=facts)


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        (FileFilter(), True),
        (FileFilter(company="青山机械"), True),
        (FileFilter(company="青山机械股份有限公司"), True),
        (FileFilter(company="青山"), False),
        (FileFilter(period="2023"), True),
        (FileFilter(period="2023q3"), True),
        (FileFilter(period="2023Q2"), False),
        (FileFilter(type="quarterly_report", language="zh"), True),
        (FileFilter(language="en"), False),
        (FileFilter(date_from="2023-10"), True),
        (FileFilter(date_from="2023-11"), False),
        (FileFilter(date_to="2023"), True),
        (FileFilter(date_to="2023-10-27"), False),
    ],
)
def test_filters(wanted: FileFilter, passes: bool) -> None:
    known = file(**GREEN, period="2023Q3", type="quarterly_report", date="2023-10-28")
    assert admits(wanted, known) is passes


def test_what_is_not_known_passes_no_filter() -> None:
    assert not admits(FileFilter(period="2023"), file())
    assert not admits(FileFilter(date_to="2023"), file())
    with pytest.raises(InputError, match="last year"):
        admits(FileFilter(period="last year"), file())
