"""What every search index promises: each sentence of ``clew.storage.base.SearchIndex``."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from clew.errors import StorageError
from clew.storage.base import IndexEntry, IndexFilter, Posting, SearchIndex
from clew.storage.search.collection import SearchParameters
from clew.storage.search.memory import MemoryIndex
from clew.storage.search.qdrant import QdrantEdgeIndex
from clew.storage.search.routed import RoutedIndex
from clew.storage.search.shard import GraphParameters
from clew.types import FloatArray, Representation

DIMENSION = 16
ALL = IndexFilter()
L2, L3, BM25, SUMMARY = Representation.L2, Representation.L3, Representation.BM25, Representation.SUMMARY

Open = Callable[[], SearchIndex]


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Open]:
    """Opens the same stored index again, after closing the one before."""
    opened: list[SearchIndex] = []

    def again() -> SearchIndex:
        if opened:
            opened.pop().close()
        # So low a threshold that "wide" scopes go through the graph where there is one.
        graph = GraphParameters(scan_up_to=50, scan_up_to_filtered=20)
        opened.append(QdrantEdgeIndex(tmp_path, SearchParameters(graph=graph), background=False))
        return opened[-1]

    yield again
    for index in opened:
        index.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every kind of index, but only the embedded one where a test needs one that lasts."""
    if "index" in metafunc.fixturenames:
        kinds = ["embedded"] if "reopen" in metafunc.fixturenames else ["embedded", "memory", "routed"]
        metafunc.parametrize("index", kinds, indirect=True)


@pytest.fixture
def index(request: pytest.FixtureRequest) -> SearchIndex:
    kinds: dict[str, Open] = {
        "embedded": lambda: request.getfixturevalue("reopen")(),
        "memory": MemoryIndex,
        "routed": lambda: RoutedIndex(MemoryIndex(), MemoryIndex(), lambda kb_id: kb_id == "kb"),
    }
    index = kinds[request.param]()
    index.create("kb", DIMENSION)
    return index


def unit(seed: int, dimension: int = DIMENSION) -> FloatArray:
    vector = np.random.default_rng(seed).normal(size=dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def text(chunk: str, terms: str, *, file: str = "f", version: int = 1, section: str = "") -> IndexEntry:
    return IndexEntry(chunk, f"p-{chunk}", file, version, section, BM25, terms=tuple(terms.split()))


def vector(
    chunk: str,
    value: FloatArray,
    *,
    file: str = "f",
    version: int = 1,
    section: str = "",
    representation: Representation = L2,
    part: int = 0,
) -> IndexEntry:
    return IndexEntry(chunk, f"p-{chunk}", file, version, section, representation, vector=value, part=part)


def chunks(postings: Sequence[Posting]) -> list[str]:
    return [posting.chunk_id for posting in postings]


def find(index: SearchIndex, terms: str, filter: IndexFilter = ALL, *, kb: str = "kb", limit: int = 10) -> list[str]:
    return chunks(index.search_text(kb, terms.split(), filter, limit))


def near(index: SearchIndex, value: FloatArray, filter: IndexFilter = ALL, *, limit: int = 10) -> list[str]:
    return chunks(index.search_vector("kb", L2, value, filter, limit))


def bm25(documents: Mapping[str, list[str]], terms: Sequence[str], *, k1: float, b: float) -> list[tuple[str, float]]:
    """Straightforward BM25 with Lucene's inverse document frequency; terms that are given twice count once."""
    average = sum(map(len, documents.values())) / len(documents)
    scores: dict[str, float] = {}
    for term in dict.fromkeys(terms):
        holding = {name: document.count(term) for name, document in documents.items() if term in document}
        weight = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for name, frequency in holding.items():
            norm = k1 * (1 - b + b * len(documents[name]) / average)
            scores[name] = scores.get(name, 0.0) + weight * frequency * (k1 + 1) / (frequency + norm)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def assert_same_ranking(found: Sequence[Posting], expected: Sequence[tuple[str, float]]) -> None:
    wanted = dict(expected)
    assert len(found) == len(wanted)
    for posting, (_, score) in zip(found, expected, strict=True):
        assert posting.score == pytest.approx(score, rel=1e-4)
        assert posting.score == pytest.approx(wanted[posting.chunk_id], rel=1e-4)


# --- create, drop --------------------------------------------------------------------------------------------


def test_create_again_keeps_what_is_there(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "猫")])
    index.create("kb", DIMENSION)
    assert find(index, "猫") == ["a"]


def test_a_collection_says_how_its_entries_are_made(index: SearchIndex) -> None:
    assert (index.made_as("kb"), index.made_as("nothing")) == ("", None)
    index.create("new", DIMENSION, "terms 1")
    index.create("new", DIMENSION, "terms 2")
    assert index.made_as("new") == "terms 1", "what is there is not made anew"
    index.upsert("new", [text("a", "猫")])
    index.mark("new", "terms 2")
    assert index.made_as("new") == "terms 2"
    index.mark("nothing", "terms 2")
    assert index.made_as("nothing") is None


def test_how_entries_are_made_lasts(index: SearchIndex, reopen: Open) -> None:
    index.create("new", DIMENSION, "terms 1")
    assert reopen().made_as("new") == "terms 1"
    reopen().mark("new", "terms 2")
    assert reopen().made_as("new") == "terms 2"


def test_create_with_another_dimension_is_refused(index: SearchIndex, reopen: Open) -> None:
    with pytest.raises(StorageError, match="dimension"):
        index.create("kb", DIMENSION + 1)
    with pytest.raises(StorageError, match="dimension"):
        reopen().create("kb", DIMENSION + 1)


def test_drop_deletes_and_lets_the_name_be_used_again(index: SearchIndex, reopen: Open) -> None:
    index.upsert("kb", [text("a", "猫"), vector("a", unit(1))])
    index.drop("kb")
    assert find(index, "猫") == near(index, unit(1)) == []
    index.create("kb", 8)
    assert index.files("kb") == {}
    index.drop("kb")
    assert reopen().files("kb") == {}


def test_a_kb_without_a_collection_holds_nothing(index: SearchIndex) -> None:
    index.drop("none")
    index.delete("none", "f")
    index.optimise("none")
    assert index.search_text("none", ["猫"], ALL, 10) == []
    assert index.search_vector("none", L2, unit(1), ALL, 10) == []
    assert index.vectors("none", L2, [("a", 1)]) == {}
    assert index.files("none") == {}
    with pytest.raises(StorageError, match="create"):
        index.upsert("none", [text("a", "猫")])


@pytest.mark.parametrize("kb_id", ["../up", "..", "知识库", "a/b", "a b", "A%2Fb", "con.", "x" * 60])
def test_any_kb_id_will_do(reopen: Open, tmp_path: Path, kb_id: str) -> None:
    index = reopen()
    before = {path.name for path in tmp_path.parent.iterdir()}
    index.create(kb_id, DIMENSION)
    index.upsert(kb_id, [text("a", "猫")])
    assert find(reopen(), "猫", kb=kb_id) == ["a"]
    assert {path.name for path in tmp_path.parent.iterdir()} == before


# --- upsert --------------------------------------------------------------------------------------------------


def test_the_same_entry_is_overwritten(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "old", file="f1"), vector("a", unit(1), file="f1")])
    index.upsert("kb", [text("a", "new", file="f2"), vector("a", unit(2), file="f2")])
    assert find(index, "old") == []
    assert find(index, "new") == ["a"]
    assert near(index, unit(1), IndexFilter(file_ids=frozenset({"f1"}))) == []
    assert index.search_vector("kb", L2, unit(2), ALL, 10) == [
        Posting("a", "p-a", "f2", 1, pytest.approx(1.0, abs=1e-3))
    ]
    assert index.files("kb") == {("f2", 1): 2}


def test_the_same_entry_twice_in_one_call_is_written_once(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "old"), text("a", "new")])
    assert (find(index, "old"), find(index, "new")) == ([], ["a"])


def test_versions_and_representations_stand_beside_each_other(index: SearchIndex) -> None:
    index.upsert("kb", [vector("a", unit(1), version=1), vector("a", unit(2), version=2)])
    index.upsert("kb", [vector("a", unit(3), version=2, representation=L3), text("a", "猫", version=2)])
    found = index.search_vector("kb", L2, unit(1), ALL, 10)
    assert [(posting.chunk_id, posting.version) for posting in found] == [("a", 1), ("a", 2)]
    assert index.search_vector("kb", L3, unit(3), ALL, 10) == [
        Posting("a", "p-a", "f", 2, pytest.approx(1.0, abs=1e-3))
    ]
    assert index.files("kb") == {("f", 1): 1, ("f", 2): 3}


def test_an_entry_may_serve_a_vector_and_bm25(index: SearchIndex) -> None:
    index.upsert("kb", [IndexEntry("a", "p", "f", 1, "", L2, vector=unit(1), terms=("猫",))])
    assert find(index, "猫") == near(index, unit(1)) == ["a"]
    assert index.files("kb") == {("f", 1): 1}


def test_nothing_to_write(index: SearchIndex) -> None:
    index.upsert("kb", [])
    assert index.files("kb") == {}


@pytest.mark.parametrize("value", [unit(1, DIMENSION - 1), np.full(DIMENSION, np.nan, dtype=np.float32)])
def test_an_impossible_vector_is_refused_and_nothing_written(index: SearchIndex, value: FloatArray) -> None:
    with pytest.raises(StorageError, match="vector"):
        index.upsert("kb", [text("a", "猫"), vector("b", value)])
    assert find(index, "猫") == []
    with pytest.raises(StorageError, match="vector"):
        index.search_vector("kb", L2, value, ALL, 10) or index.upsert("kb", [vector("b", value)])


def test_unicode(index: SearchIndex) -> None:
    odd = "文件/🙂\u0000\"'é"
    entry = IndexEntry(odd, odd + "p", odd, 1, "0001/", BM25, terms=("𠮷", "é", "gb/t3620.1-2016"))
    index.upsert("kb", [entry])
    only = IndexFilter(file_ids=frozenset({odd}), sections=frozenset({(odd, "0001/")}))
    for term in entry.terms:
        assert [p.parent_id for p in index.search_text("kb", [term], only, 10)] == [odd + "p"]
    assert index.files("kb") == {(odd, 1): 1}


# --- search_text ---------------------------------------------------------------------------------------------


def documents(count: int) -> dict[str, list[str]]:
    rng = np.random.default_rng(7)
    lengths = rng.integers(1, 40, size=count)
    return {f"c{i}": [f"词{x}" for x in rng.zipf(1.4, size=n) if x < 60] or ["x"] for i, n in enumerate(lengths)}


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.5), (1.2, 0.75), (0.4, 0.0), (2.0, 1.0)])
def test_scores_are_bm25(index: SearchIndex, k1: float, b: float) -> None:
    stored = documents(150)
    index.upsert("kb", [text(name, " ".join(terms)) for name, terms in stored.items()])
    for terms in (["词1"], ["词3", "词7", "词2"], ["词5", "词5", "none"]):
        found = index.search_text("kb", terms, ALL, 200, k1=k1, b=b)
        assert_same_ranking(found, bm25(stored, terms, k1=k1, b=b))
        assert all(posting.score > 0 for posting in found)


def test_statistics_follow_overwriting_deleting_and_optimising(index: SearchIndex) -> None:
    stored = documents(120)
    index.upsert("kb", [text(name, " ".join(terms), file=name[-1]) for name, terms in stored.items()])
    index.optimise("kb")
    assert_same_ranking(index.search_text("kb", ["词2"], ALL, 200), bm25(stored, ["词2"], k1=1.2, b=0.5))
    # Now some live in the optimised part, some were deleted from it, some lie beside it.
    index.delete("kb", "3")
    stored = {name: terms for name, terms in stored.items() if name[-1] != "3"}
    stored |= {"c0": ["词2"] * 9, "new": ["词2", "词9"]}
    index.upsert("kb", [text("c0", " ".join(stored["c0"]), file="0"), text("new", "词2 词9", file="n")])
    assert_same_ranking(index.search_text("kb", ["词2"], ALL, 200), bm25(stored, ["词2"], k1=1.2, b=0.5))
    index.optimise("kb")
    assert_same_ranking(index.search_text("kb", ["词2"], ALL, 200), bm25(stored, ["词2"], k1=1.2, b=0.5))


def test_a_filter_does_not_change_scores(index: SearchIndex) -> None:
    stored = documents(60)
    index.upsert("kb", [text(name, " ".join(terms), file=name[-1]) for name, terms in stored.items()])
    expected = [pair for pair in bm25(stored, ["词2", "词5"], k1=1.2, b=0.5) if pair[0][-1] in "37"]
    found = index.search_text("kb", ["词2", "词5"], IndexFilter(file_ids=frozenset("37")), 100)
    assert_same_ranking(found, expected)


def test_vectors_do_not_count_as_documents(index: SearchIndex) -> None:
    stored = documents(40)
    index.upsert("kb", [text(name, " ".join(terms)) for name, terms in stored.items()])
    index.upsert("kb", [vector(f"v{i}", unit(i)) for i in range(40)])
    assert_same_ranking(index.search_text("kb", ["词2"], ALL, 100), bm25(stored, ["词2"], k1=1.2, b=0.5))


def test_two_kbs_have_their_own_entries_and_statistics(index: SearchIndex) -> None:
    index.create("other", DIMENSION)
    one, two = documents(30), {f"o{i}": ["词1", "其他"] for i in range(50)}
    index.upsert("kb", [text(name, " ".join(terms)) for name, terms in one.items()])
    index.upsert("other", [text(name, " ".join(terms)) for name, terms in two.items()])
    index.upsert("other", [vector("o1", unit(1))])
    assert_same_ranking(index.search_text("kb", ["词1"], ALL, 100), bm25(one, ["词1"], k1=1.2, b=0.5))
    assert_same_ranking(index.search_text("other", ["词1"], ALL, 100), bm25(two, ["词1"], k1=1.2, b=0.5))
    assert near(index, unit(1)) == []
    index.drop("other")
    assert_same_ranking(index.search_text("kb", ["词1"], ALL, 100), bm25(one, ["词1"], k1=1.2, b=0.5))


@pytest.mark.parametrize("terms", [[], [""], [" "], ["unknown"]])
def test_terms_that_find_nothing(index: SearchIndex, terms: list[str]) -> None:
    index.upsert("kb", [text("a", "猫 狗"), text("b", "")])
    assert index.search_text("kb", terms, ALL, 10) == []


def test_an_entry_without_terms_is_kept_and_never_found(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "")])
    assert index.files("kb") == {("f", 1): 1}


def test_terms_are_taken_as_they_are(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "ABC gb/t3620.1-2016 的"), text("b", "abc"), text("c", "x" * 64)])
    assert find(index, "ABC") == ["a"]
    assert find(index, "gb/t3620.1-2016") == ["a"]
    assert find(index, "gb") == []
    assert find(index, "的") == ["a"]
    assert find(index, "x" * 64) == ["c"]


def test_limits(index: SearchIndex) -> None:
    index.upsert("kb", [text(f"c{i}", "猫 " * (i + 1) + "狗 " * (9 - i)) for i in range(10)])
    index.upsert("kb", [vector(f"c{i}", unit(i)) for i in range(10)])
    assert find(index, "猫", limit=3) == ["c9", "c8", "c7"]
    assert len(find(index, "猫", limit=1000)) == len(near(index, unit(1), limit=1000)) == 10
    assert find(index, "猫", limit=0) == near(index, unit(1), limit=0) == []


# --- search_vector -------------------------------------------------------------------------------------------


def exact_ranking(stored: Mapping[str, FloatArray], query: FloatArray) -> list[tuple[str, float]]:
    return sorted(((name, float(value @ query)) for name, value in stored.items()), key=lambda pair: -pair[1])


@pytest.mark.parametrize("optimised", [False, True])
def test_scores_are_cosines_best_first(index: SearchIndex, optimised: bool) -> None:
    stored = {f"c{i}": unit(i) for i in range(80)}
    index.upsert("kb", [vector(name, value) for name, value in stored.items()])
    if optimised:
        index.optimise("kb")
    expected = exact_ranking(stored, unit(1000))
    for exact in (True, False):
        found = index.search_vector("kb", L2, unit(1000), ALL, 20, exact=exact)
        assert chunks(found) == [name for name, _ in expected[:20]]
        assert [posting.score for posting in found] == pytest.approx([score for _, score in expected[:20]], abs=1e-3)
    assert expected[-1][1] < 0
    assert index.search_vector("kb", L2, unit(1000), ALL, 80, exact=True)[-1].score < 0


@pytest.mark.parametrize("scan_up_to", [500, 5_000])
def test_scan_and_graph_find_what_an_exact_scan_finds(tmp_path: Path, scan_up_to: int) -> None:
    graph = GraphParameters(scan_up_to=scan_up_to, scan_up_to_filtered=100)
    index = QdrantEdgeIndex(tmp_path, SearchParameters(graph=graph), background=False)
    index.create("kb", DIMENSION)
    stored = {f"c{i}": unit(i) for i in range(2_000)}
    entries = [vector(name, value, file=name[-1]) for name, value in stored.items()]
    for half in (entries[:400], entries[400:]):  # the graph comes when there are enough
        index.upsert("kb", half)
        index.optimise("kb")
    [links] = tmp_path.rglob("links_compressed.bin")
    assert (links.stat().st_size > 20 * len(stored)) == (scan_up_to < len(stored)), "a graph only where it is walked"
    for filter in (ALL, IndexFilter(file_ids=frozenset("02468"))):
        recalls = []
        for seed in range(5000, 5020):
            exact = chunks(index.search_vector("kb", L2, unit(seed), filter, 50, exact=True))
            found = chunks(index.search_vector("kb", L2, unit(seed), filter, 50))
            recalls.append(len(set(exact) & set(found)) / 50)
        assert np.mean(recalls) >= 0.98
    index.close()


def test_a_chunk_with_several_vectors_is_found_once_by_its_best(index: SearchIndex) -> None:
    entries = [
        vector(f"c{i}", unit(100 * i + part), representation=L3, part=part) for i in range(5) for part in range(8)
    ]
    index.upsert("kb", entries)
    query = unit(307)
    best: dict[str, float] = {}
    for entry in entries:
        assert entry.vector is not None
        best[entry.chunk_id] = max(best.get(entry.chunk_id, -1.0), float(entry.vector @ query))
    found = index.search_vector("kb", L3, query, ALL, 4)
    expected = sorted(best.items(), key=lambda pair: -pair[1])[:4]
    assert chunks(found) == [name for name, _ in expected]
    assert [posting.score for posting in found] == pytest.approx([score for _, score in expected], abs=1e-3)
    assert index.files("kb") == {("f", 1): 40}


def test_a_query_of_another_dimension_is_refused(index: SearchIndex) -> None:
    index.upsert("kb", [vector("a", unit(1))])
    with pytest.raises(StorageError, match="dimension 16"):
        index.search_vector("kb", L2, unit(1, 8), ALL, 10)


def test_vectors_by_chunk_and_version(index: SearchIndex) -> None:
    index.upsert("kb", [vector("a", unit(1)), vector("a", unit(2), version=2), vector("b", unit(3))])
    index.upsert("kb", [vector("a", unit(4), representation=L3)])
    found = index.vectors("kb", L2, [("a", 2), ("b", 1), ("b", 2), ("c", 1)])
    assert set(found) == {"a", "b"}
    assert found["a"].dtype == np.float32
    np.testing.assert_allclose(found["a"], unit(2), atol=1e-3)
    np.testing.assert_allclose(index.vectors("kb", L3, [("a", 1)])["a"], unit(4), atol=1e-3)
    assert index.vectors("kb", L2, []) == {}
    assert index.vectors("kb", Representation.SUMMARY, [("a", 1)]) == {}


# --- filters -------------------------------------------------------------------------------------------------

SECTIONED = {
    "root": ("f1", 1, ""),
    "one": ("f1", 1, "0001/"),
    "one-ten": ("f1", 1, "0001/0010/"),
    "one-one": ("f1", 1, "0001/0001/"),
    "ten": ("f1", 1, "0010/"),
    "new": ("f1", 2, "0001/"),
    "other": ("f2", 1, "0001/"),
}


def write_sections(index: SearchIndex) -> None:
    entries: list[IndexEntry] = []
    for seed, (chunk, (file, version, section)) in enumerate(SECTIONED.items()):
        entries.append(text(chunk, "猫", file=file, version=version, section=section))
        entries.append(vector(chunk, unit(seed), file=file, version=version, section=section))
    index.upsert("kb", entries)


FILTERED: list[tuple[IndexFilter, set[str]]] = [
    (ALL, set(SECTIONED)),
    (IndexFilter(file_ids=frozenset({"f2"})), {"other"}),
    (IndexFilter(file_ids=frozenset({"f1", "f2"})), set(SECTIONED)),
    (IndexFilter(file_ids=frozenset({"f"})), set()),
    (IndexFilter(file_ids=frozenset()), set()),
    (IndexFilter(sections=frozenset()), set()),
    (IndexFilter(sections=frozenset({("f1", "0001/")})), {"one", "one-ten", "one-one", "new"}),
    (IndexFilter(sections=frozenset({("f1", "0001")})), {"one", "one-ten", "one-one", "new"}),
    (IndexFilter(sections=frozenset({("f1", "0001/0001/")})), {"one-one"}),
    (IndexFilter(sections=frozenset({("f1", "0010/")})), {"ten"}),
    (IndexFilter(sections=frozenset({("f1", "")})), set(SECTIONED) - {"other"}),
    (IndexFilter(sections=frozenset({("f2", ""), ("f1", "0010/")})), {"other", "ten"}),
    (IndexFilter(sections=frozenset({("f2", "0001/"), ("f1", "0010/")})), {"other", "ten"}),
    (IndexFilter(frozenset({"f2"}), frozenset({("f1", "0001/")})), set()),
    (IndexFilter(frozenset({"f1"}), frozenset({("f1", "0010/"), ("f2", "0001/")})), {"ten"}),
    (IndexFilter(excluded=frozenset({("f1", 1)})), {"new", "other"}),
    (IndexFilter(excluded=frozenset({("f1", 1), ("f1", 2), ("f2", 1)})), set()),
    (IndexFilter(frozenset({"f1"}), excluded=frozenset({("f1", 2), ("f2", 2)})), set(SECTIONED) - {"new", "other"}),
    (IndexFilter(sections=frozenset({("f1", "0001/")}), excluded=frozenset({("f1", 1)})), {"new"}),
]


@pytest.mark.parametrize("optimised", [False, True])
def test_filters(index: SearchIndex, optimised: bool) -> None:
    write_sections(index)
    if optimised:
        index.optimise("kb")
    for filter, expected in FILTERED:
        assert set(find(index, "猫", filter)) == expected, filter
        for exact in (True, False):
            found = index.search_vector("kb", L2, unit(0), filter, 10, exact=exact)
            assert set(chunks(found)) == expected, (filter, exact)


def test_a_filter_on_very_many_files(index: SearchIndex) -> None:
    index.upsert("kb", [text(f"c{i}", "猫", file=f"f{i}") for i in range(20)])
    many = frozenset(f"f{i}" for i in range(10, 20_000))
    assert set(find(index, "猫", IndexFilter(file_ids=many), limit=100)) == {f"c{i}" for i in range(10, 20)}
    hidden = frozenset((f"f{i}", 1) for i in range(10, 20_000))
    assert set(find(index, "猫", IndexFilter(excluded=hidden), limit=100)) == {f"c{i}" for i in range(10)}


# --- delete, files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep_version", "left", "optimised"),
    [
        (None, {"other"}, False),
        (2, {"new", "other"}, False),
        (2, {"new", "other"}, True),
        (1, set(SECTIONED) - {"new"}, False),
        (9, {"other"}, False),
    ],
)
def test_delete(index: SearchIndex, reopen: Open, keep_version: int | None, left: set[str], optimised: bool) -> None:
    write_sections(index)
    if optimised:
        index.optimise("kb")
    index.delete("kb", "none")
    index.delete("kb", "f1", keep_version=keep_version)
    expected = Counter(SECTIONED[chunk][:2] for chunk in left)
    for now in (lambda: index, reopen):
        assert set(find(now(), "猫")) == left
        assert set(near(now(), unit(1))) == left
        assert now().files("kb") == {key: 2 * count for key, count in expected.items()}


def test_delete_of_one_version_and_the_chunks_that_are_left(index: SearchIndex) -> None:
    write_sections(index)
    versions = {SECTIONED[chunk][1] for chunk in SECTIONED if SECTIONED[chunk][0] == "f1"}
    assert versions == {1, 2}
    old = {chunk for chunk, (file_id, version, *_) in SECTIONED.items() if (file_id, version) == ("f1", 1)}
    assert index.chunks("kb", "f1", 1) == {Representation.BM25: old, Representation.L2: old}
    index.delete("kb", "f1", version=1)
    assert set(find(index, "猫")) == {"new", "other"}
    assert index.chunks("kb", "f1", 1) == index.chunks("none", "f1", 1) == {}
    assert index.chunks("kb", "f1", 2)[Representation.BM25] == {"new"}


def test_delete_of_some_representations_leaves_the_others(index: SearchIndex) -> None:
    entries = [text("a", "猫"), vector("a", unit(1)), vector("a", unit(2), representation=SUMMARY, part=3)]
    index.upsert("kb", entries)
    index.delete("kb", "f", representations=[SUMMARY])
    assert find(index, "猫") == near(index, unit(1)) == ["a"]
    assert index.search_vector("kb", SUMMARY, unit(2), ALL, 10) == []


# --- persistence, concurrency, upkeep ------------------------------------------------------------------------


def test_everything_is_there_after_reopening(index: SearchIndex, reopen: Open) -> None:
    stored = documents(60)
    index.upsert("kb", [text(name, " ".join(terms)) for name, terms in stored.items()])
    index.upsert("kb", [vector(name, unit(i)) for i, name in enumerate(stored)])
    before = index.search_vector("kb", L2, unit(99), ALL, 60)
    for optimised in (False, True):
        again = reopen()
        if optimised:
            again.optimise("kb")
        assert_same_ranking(again.search_text("kb", ["词2"], ALL, 100), bm25(stored, ["词2"], k1=1.2, b=0.5))
        after = again.search_vector("kb", L2, unit(99), ALL, 60)
        assert chunks(after) == chunks(before)
        assert again.files("kb") == {("f", 1): 120}


def test_optimise_is_safe_at_any_time(index: SearchIndex) -> None:
    index.optimise("kb")
    index.upsert("kb", [vector("a", unit(1)), text("a", "猫")])
    for _ in range(2):
        index.optimise("kb")
        assert near(index, unit(1)) == find(index, "猫") == ["a"]
    index.delete("kb", "f")
    index.optimise("kb")
    assert near(index, unit(1)) == find(index, "猫") == []


class Together:
    """Runs actions over and over in threads until told to stop, and remembers what they raised."""

    def __init__(self, *actions: Callable[[], None]) -> None:
        self._done = threading.Event()
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(action,)) for action in actions]

    def __enter__(self) -> Together:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _run(self, action: Callable[[], None]) -> None:
        try:
            while not self._done.is_set():
                action()
        except BaseException as error:  # noqa: BLE001 (the test looks at them)
            self.failures.append(error)


def test_searches_and_writes_go_on_beside_each_other_and_beside_optimising(index: SearchIndex) -> None:
    index.upsert("kb", [text("old", "旧 猫"), vector("old", unit(0))])

    def search() -> None:
        assert "old" in find(index, "旧", limit=1000)
        assert "old" in near(index, unit(0), limit=1)
        assert index.vectors("kb", L2, [("old", 1)])
        assert index.files("kb")[("f", 1)] == 2

    with Together(search, search, lambda: index.optimise("kb")) as others:
        for i in range(40):
            index.upsert("kb", [text(f"c{i}", "猫", file=f"f{i}"), vector(f"c{i}", unit(i + 1), file=f"f{i}")])
            if i % 3 == 2:
                index.delete("kb", f"f{i}")
    assert not others.failures
    expected = {"old"} | {f"c{i}" for i in range(40) if i % 3 != 2}
    assert set(find(index, "猫", limit=1000)) == set(near(index, unit(0), limit=1000)) == expected
    index.optimise("kb")
    assert set(find(index, "猫", limit=1000)) == set(near(index, unit(0), limit=1000)) == expected


def write_until_killed(root: Path, first: int) -> None:
    """The child's part of the next test: says each batch's number once it is acknowledged."""
    index = QdrantEdgeIndex(root, background=False)
    index.create("kb", DIMENSION)
    for batch in itertools.count(first):
        names = [f"b{batch}-{i}" for i in range(20)]
        index.upsert("kb", [text(name, f"all {name}", file=f"f{batch}") for name in names])
        index.upsert("kb", [vector(name, unit(batch), file=f"f{batch}") for name in names])
        if batch % 10 == 9:
            index.optimise("kb")
        print(batch, flush=True)


def test_what_was_acknowledged_survives_kill_in_mid_write(tmp_path: Path) -> None:
    code = (
        "import importlib.util, pathlib, sys\n"
        f"spec = importlib.util.spec_from_file_location('contract', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "module.write_until_killed(pathlib.Path(sys.argv[1]), int(sys.argv[2]))\n"
    )
    acknowledged = -1
    for kills in range(4):
        command = [sys.executable, "-c", code, str(tmp_path), str(acknowledged + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in itertools.islice(child.stdout, 4 + kills):
                acknowledged = int(line)
            time.sleep(0.013 * kills)  # another moment of the write each time
            child.kill()
            acknowledged = max([acknowledged, *(int(line) for line in child.stdout if line.endswith("\n"))])
        index = QdrantEdgeIndex(tmp_path, background=False)
        names = {f"b{batch}-{i}" for batch in range(acknowledged + 1) for i in range(20)}
        assert names <= set(find(index, "all", limit=10_000))
        assert names <= set(near(index, unit(0), limit=10_000))
        for name in (f"b{acknowledged}-19", "b0-0"):
            assert find(index, name, IndexFilter(frozenset({f"f{name[1:].split('-')[0]}"}))) == [name]
        index.close()


def test_check_is_one_line(index: SearchIndex) -> None:
    index.upsert("kb", [text("a", "猫")])
    assert index.check().strip()
    assert "\n" not in index.check()
