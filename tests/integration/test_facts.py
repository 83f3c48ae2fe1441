"""A question of one hop from end to end: real records and index, models over real HTTP that say what the test wants."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clew.app import Clew
from clew.cli.main import app as cli
from clew.errors import InputError
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import Passage
from clew.indexing.parsers.base import BlockBuilder
from clew.retrieval.pipeline import RetrievalResult
from clew.trace import StageTrace
from clew.types import FileFilter, Section
from fakes.openai_server import ScriptedServer, Status
from fakes.rerank_server import Answer, RerankServer, cohere, overlap

PASSAGES = [
    Passage("profit", "Results", "The company reported a net profit attributable to shareholders of 12 million."),
    Passage("rhine", "Rivers", "The Rhine flows past Cologne and carries many barges."),
    Passage("dividend", "Dividend", "The board proposes a dividend of 3 per share to the general meeting."),
    *(Passage(f"p{i}", f"Topic {i}", f"Passage {i} is about topic {i} and the number {i * 7}.") for i in range(40)),
]
CLAUSES = "".join(f"Clause {i}: the tenant pays the rent on the first day of the month. " for i in range(60))
LEASES = [
    Passage("terms", "Terms", CLAUSES),
    *(Passage(f"l{i}", f"Lease {i}", f"The rent of flat {i} is due when the tenant has the keys.") for i in range(20)),
]
NOTICE = Passage("notice", "Notice", "The swimming pool closes at nine in the evening.")
QUESTION = "How much did the enterprise earn?"
ANSWER = "net profit attributable to shareholders reported by the company"


def overrides(url: str, **more: Any) -> dict[str, Any]:
    return {"models": {"embedder": {"kind": "openai", "url": url, "model": "fake", "dimension": 32}} | more}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with three KBs, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("built") / "data"
    with ScriptedServer() as server, Clew.open(folder, overrides=overrides(server.url)) as clew:
        clew.create_kb("kb")
        clew.ingest_parsed("kb", "corpus", parsed_corpus(PASSAGES))
        clew.create_kb("leases", settings={"indexing": {"child_tokens": 32, "parent_tokens": 4096}})
        clew.ingest_parsed("leases", "leases", parsed_corpus(LEASES))
        clew.create_kb("copies")
        for i in range(4):
            clew.ingest_parsed("copies", f"copy {i}", parsed_corpus([NOTICE, PASSAGES[i]]))
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data"))


def opened(folder: Path, server: ScriptedServer, *, model: bool = True, **more: Any) -> Clew:
    if model:
        more["enrichment"] = {"url": server.url, "model": "small", "retries": 0}
    return Clew.open(folder, overrides=overrides(server.url, **more))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def ask(
    clew: Clew, question: str = QUESTION, mode: Any = "single", kb: str = "kb", **retrieval: Any
) -> RetrievalResult:
    return clew.search(question, kbs=[kb], mode=mode, kind="fact", overlay={"retrieval": retrieval})


def stage(result: RetrievalResult, name: str) -> StageTrace:
    stages = [*(s for step in result.trace.rounds for s in step.stages), *result.trace.stages]
    [found] = [s for s in stages if s.name == name]
    return found


def titles(result: RetrievalResult) -> list[str]:
    return [hit.section_titles[-1] for hit in result.hits]


# --- HyDE ----------------------------------------------------------------------------------------------------


def test_a_hypothetical_answer_adds_its_routes(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        server.add(ANSWER)
        result = ask(clew)
        assert titles(result)[0] == "Results"
        assert {"bm25", "l2", "hyde_bm25", "hyde_l2"} >= set(result.hits[0].representations) >= {"hyde_bm25"}
        written = stage(result, "hyde")
        assert (written.text, written.note, written.tokens) == (ANSWER, "", 18)
        assert stage(result, "hyde_bm25").candidates_out > 0
        assert stage(result, "hyde_l2").candidates_out > 0
        assert result.trace.usage.calls == 1
        assert "hyde" in result.trace.ms
        assert len(server.chats) == 1


def test_without_a_model_the_routes_are_left_out_and_the_trace_says_so(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server, model=False) as clew:
        result = ask(clew)
        assert stage(result, "hyde").note == "left out: no language model is configured"
        assert not any(r.startswith("hyde") for hit in result.hits for r in hit.representations)
        assert result.trace.degraded == []
        assert result.hits


def test_a_failing_model_costs_nothing_but_its_routes(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        server.add(Status(500))
        result = ask(clew)
        assert stage(result, "hyde").note.startswith("failed, its routes are left out: ")
        assert result.trace.degraded
        assert result.trace.degraded[0].startswith("hyde: ")
        assert titles(result) == titles(ask(clew, hyde="never"))


def test_the_setting_says_when_the_model_is_asked(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        assert stage(ask(clew, hyde="never"), "hyde").note == "left out: retrieval.hyde is never"
        sure = "The Rhine flows past Cologne and carries many barges."
        assert "agree" in stage(ask(clew, sure, hyde="when_weak"), "hyde").note
        assert server.chats == []
        server.add(ANSWER)
        assert stage(ask(clew, "How much did it earn", hyde="when_weak"), "hyde").text == ANSWER


def test_rounds_do_without_it(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        server.add('{"need_more": false, "reason": "complete"}')
        result = ask(clew, mode="multi")
        assert len(server.chats) == 1
        assert not any(s.name.startswith("hyde") for step in result.trace.rounds for s in step.stages)


# --- rerank --------------------------------------------------------------------------------------------------


@pytest.fixture
def overlapping() -> Iterator[RerankServer]:
    with RerankServer(cohere) as running:
        yield running


def reranked(folder: Path, server: ScriptedServer, url: str, **more: Any) -> Clew:
    return opened(folder, server, reranker={"kind": "http", "url": url, "model": "m", "timeout": 5.0}, **more)


@pytest.mark.parametrize("mode", ["single", "multi"])
def test_one_rerank_a_question_orders_the_passages(
    folder: Path, server: ScriptedServer, overlapping: RerankServer, mode: str
) -> None:
    with reranked(folder, server, overlapping.url) as clew:
        if mode == "multi":
            second = "Which dividend does the board propose?"
            server.add(f'{{"need_more": true, "next_question": "{second}", "reason": "asks"}}', '{"need_more": false}')
        question = "topic 3 and the number 21"
        result = ask(clew, question, mode, hyde="never")
        assert len(overlapping.bodies) == 1
        body = overlapping.bodies[0]
        assert body["query"] == question
        assert body["top_n"] == len(body["documents"]) == len(result.hits) <= 20
        scores = [hit.rerank_score for hit in result.hits]
        assert None not in scores
        assert scores == sorted(scores, reverse=True)
        assert result.hits[0].section_titles[-1] == "Topic 3"
        assert stage(result, "rerank").note == "m"
        if mode == "multi":
            assert {e.candidate.round for e in result.evidence} == {1, 2}


def test_passages_may_be_scored_by_the_best_of_the_questions_asked(
    folder: Path, server: ScriptedServer, overlapping: RerankServer
) -> None:
    with reranked(folder, server, overlapping.url) as clew:
        second = "Which dividend does the board propose?"
        server.add(f'{{"need_more": true, "next_question": "{second}", "reason": "asks"}}', '{"need_more": false}')
        question = "topic 3 and the number 21"
        overlay = {"retrieval": {"hyde": "never"}, "recursion": {"rerank_by": "best"}}
        result = clew.search(question, kbs=["kb"], mode="multi", overlay=overlay)
        assert [body["query"] for body in overlapping.bodies] == [question, second]
        assert stage(result, "rerank").note == "m, best of 2 questions"
        first, again = ({d: overlap(b["query"], d) for d in b["documents"]} for b in overlapping.bodies)
        best = sorted((max(first[d], again[d]) for d in first), reverse=True)
        assert [hit.rerank_score for hit in result.hits] == pytest.approx(best)
        assert any(again[d] > first[d] for d in first), "the second question says more of some passage"


def test_parents_are_read_with_their_titles(folder: Path, server: ScriptedServer, overlapping: RerankServer) -> None:
    with reranked(folder, server, overlapping.url) as clew:
        result = ask(clew, "On which day does clause 17 want the rent?", kb="leases", hyde="never")
        [place] = [i for i, hit in enumerate(result.hits) if hit.section_titles[-1] == "Terms"]
        [passage] = [text for text in overlapping.bodies[0]["documents"] if text.startswith("Terms")]
        assert result.hits[place].text in passage
        assert len(passage) > 2 * len(result.hits[place].text)


@pytest.mark.parametrize("answer", [(400, {}), (200, {"results": []}), (200, {"results": [{"index": 99}]})])
def test_a_failing_reranker_leaves_the_fused_order_and_says_so(
    folder: Path, server: ScriptedServer, answer: tuple[int, Any]
) -> None:
    replies: Answer = lambda _: answer  # noqa: E731
    with RerankServer(replies) as failing, reranked(folder, server, failing.url) as clew:
        result = ask(clew, hyde="never")
        assert stage(result, "rerank").note.startswith("degraded")
        assert [entry[:7] for entry in result.trace.degraded] == ["rerank:"]
        assert titles(result) == titles(ask(clew, hyde="never", rerank=False))
        assert all(hit.rerank_score is None for hit in result.hits)
        assert len(result.evidence) == 5


def test_a_knowledge_base_can_do_without(folder: Path, server: ScriptedServer, overlapping: RerankServer) -> None:
    with reranked(folder, server, overlapping.url) as clew:
        result = ask(clew, hyde="never", rerank=False)
        assert stage(result, "rerank").note == "left out: retrieval.rerank is off"
        assert overlapping.bodies == []


def test_doctor_tries_the_reranker(folder: Path, server: ScriptedServer, overlapping: RerankServer) -> None:
    def line(clew: Clew) -> Any:
        [found] = [check for check in clew.check() if check.name == "reranker"]
        return found

    with reranked(folder, server, overlapping.url) as clew:
        assert line(clew).ok
        assert "m orders two passages rightly" in line(clew).detail
    with RerankServer(lambda _: (400, {})) as down, reranked(folder, server, down.url) as clew:
        assert not line(clew).ok
    with opened(folder, server) as clew:
        assert line(clew).ok
        assert "none configured" in line(clew).detail


# --- one ranking ---------------------------------------------------------------------------------------------


def test_near_identical_children_of_one_parent_do_not_push_out_the_others(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        [file] = clew.list_files("leases")
        terms = {child.chunk_id for child in clew.file_children(file.file_id) if child.section_titles == ("Terms",)}
        assert len(terms) >= 20
        result = ask(clew, "When does the tenant pay the rent?", kb="leases", hyde="never")
        fused = stage(result, "fuse")
        assert len(terms & {entry["chunk_id"] for entry in fused.ranking}) == 3
        assert any(entry["reason"] == "too many of one parent" for entry in fused.dropped)
        assert titles(result).count("Terms") == 1
        assert len(set(titles(result))) == 20
        assert stage(result, "parents").candidates_out == 21


def test_the_same_text_counts_once(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        result = ask(clew, "When does the swimming pool close?", kb="copies", hyde="never")
        assert titles(result).count("Notice") == 1
        assert result.hits[0].representations == ("bm25", "l2")
        reasons = [entry["reason"] for entry in stage(result, "fuse").dropped]
        assert sum(reason.startswith("the same text as") for reason in reasons) == 3
        assert len({hit.chunk_id for hit in result.hits}) == len(result.hits)


# --- fusion --------------------------------------------------------------------------------------------------


@pytest.fixture
def command(folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``clew`` on the data folder, in this process; gives what it prints."""
    for name, value in overrides(server.url)["models"]["embedder"].items():
        monkeypatch.setenv(f"CLEW_MODELS__EMBEDDER__{name.upper()}", str(value))

    def run(*words: str) -> Any:
        done = CliRunner().invoke(cli, [*words, "--data", str(folder)])
        if done.exception is not None:
            raise done.exception
        return json.loads(done.stdout) if "--json" in words else done.stdout

    return run


@pytest.fixture
def tune(command: Callable[..., Any]) -> Callable[..., Any]:
    return partial(command, "tune", "fusion")


def test_weights_are_fitted_applied_and_rolled_back(
    folder: Path, server: ScriptedServer, tune: Callable[..., Any], tmp_path: Path
) -> None:
    with opened(folder, server) as clew:
        [file] = clew.list_files("kb")
        parents = clew.file_parents(file.file_id)
        # Vectors of the fake embedder say nothing, keywords everything: the weights have to find that out.
        rows = [
            {"id": i, "question": f"about {parent.section_titles[-1]}", "supporting_ids": [parent.chunk_id]}
            for i, parent in enumerate(parents)
        ]
        kept = {"retrieval": {"bm25_b": 0.4}}
        clew.update_kb("kb", settings=kept)
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit = tune("--kb", "kb", "--queries", str(queries), "--json")
    assert fit["questions"] == len(PASSAGES)
    assert set(fit["weights"]) == {"bm25", "l2"}
    assert fit["low"] <= fit["gain"] <= fit["high"]
    assert fit["applied"] is False
    assert tune("--kb", "kb", "--queries", str(queries), "--apply", "--force", "--json")["applied"] is True
    with opened(folder, server) as clew:
        assert clew.kb("kb").settings["retrieval"] == {
            "bm25_b": 0.4,
            "fusion": "convex",
            "fusion_weights": fit["weights"],
        }
        found = ask(clew, "about Topic 7", hyde="never")
        assert titles(found)[0] == "Topic 7"
        assert found.hits[0].score > 0.1  # ranks would give less than 2 / 61
    assert "default fusion" in tune("--kb", "kb", "--rollback")
    with opened(folder, server) as clew:
        assert clew.kb("kb").settings == kept


def test_labels_that_name_nothing_are_refused(tune: Callable[..., Any], tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": 1, "question": "what?", "supporting_ids": ["nowhere"]}\n')
    with pytest.raises(InputError, match="supporting_ids"):
        tune("--kb", "kb", "--queries", str(queries))
    with pytest.raises(InputError, match="no generated questions"):
        tune("--kb", "kb")
    with pytest.raises(InputError, match="either"):
        tune()


def test_rounds_go_by_ranks_whatever_the_fusion(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server) as clew:
        server.add('{"need_more": false, "reason": "complete"}')
        assert max(hit.score for hit in ask(clew, mode="multi", fusion="convex").hits) < 0.1


# --- representations -----------------------------------------------------------------------------------------


def test_parents_and_sentence_windows_are_searched_where_switched_on(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server, model=False) as clew:
        clew.create_kb("fine", settings={"representations": {"l1": True, "l3": True}})
        clew.ingest_parsed("fine", "fine", parsed_corpus(PASSAGES))
        result = ask(clew, "The Rhine flows past Cologne and carries many barges.", kb="fine")
        assert titles(result)[0] == "Rivers"
        assert set(result.hits[0].representations) == {"bm25", "l1", "l2", "l3"}
        assert {stage(result, name).candidates_out > 0 for name in ("bm25", "l1", "l2", "l3")} == {True}
        less = clew.search("Cologne", kbs=["fine"], mode="single", overlay={"representations": {"l1": False}})
        assert all("l1" not in hit.representations for hit in less.hits)
        assert any("l3" in hit.representations for hit in less.hits)
        assert all("l3" not in hit.representations for hit in ask(clew, "Cologne").hits)


# --- facts about files ---------------------------------------------------------------------------------------

COMPANY = "青山机械股份有限公司"


@pytest.fixture
def reports(folder: Path, server: ScriptedServer) -> Iterator[Clew]:
    """Three years' reports that differ in nothing but their figures, and another company's."""
    with opened(folder, server, model=False) as clew:
        clew.create_kb("reports")
        for year, company, value in ((2018, COMPANY, 11), (2019, COMPANY, 12), (2020, COMPANY, 13), (2019, "蓝河", 99)):
            builder = BlockBuilder()
            builder.paragraph(f"公司本年度实现营业收入{value}亿元，净利润{value // 10}亿元。")
            parsed = builder.finish(f"{company}_{year}年_年度报告.pdf", "application/pdf")
            parsed = replace(parsed, title=f"{company}{year}年年度报告", sections=(Section("", ("",), 0),))
            clew.ingest_parsed("reports", f"{company}_{year}年_年度报告.pdf", parsed)
        yield clew


def test_a_question_about_a_year_is_answered_from_that_years_report(reports: Clew) -> None:
    for year, value in ((2018, 11), (2019, 12), (2020, 13)):
        result = ask(reports, f"青山机械股份有限公司{year}年的营业收入是多少？", kb="reports")
        assert f"{value}亿元" in result.hits[0].text
        assert str(year) in stage(result, "files").note
        assert len(stage(result, "files").dropped) == 3
        assert result.evidence[0].facts == {"company": COMPANY, "period": str(year), "type": "annual_report"}
    switched_off = ask(reports, "青山机械股份有限公司2018年的营业收入是多少？", kb="reports", mismatch_weight=1.0)
    assert all(s.name != "files" for s in switched_off.trace.rounds[0].stages)


def test_facts_filter_a_search_and_stand_in_the_citation(reports: Clew) -> None:
    wanted = reports.files_where(["reports"], FileFilter(company=COMPANY, period="2019"))
    assert [reports.file(file_id).name for file_id in wanted] == [f"{COMPANY}_2019年_年度报告.pdf"]
    result = reports.search("营业收入", kbs=["reports"], files=wanted, mode="single")
    assert {hit.file_id for hit in result.hits} == set(wanted)
    events = list(reports.ask("青山机械股份有限公司2020年营业收入", kbs=["reports"], mode="single"))
    [sources] = [event.data["sources"] for event in events if event.type == "sources"]
    assert sources[0]["facts"] == {"company": COMPANY, "period": "2020", "type": "annual_report"}


def test_corrected_facts_decide_and_stay_when_the_file_is_read_again(reports: Clew) -> None:
    [file] = [file for file in reports.list_files("reports") if "2020" in file.name]
    reports.correct_facts(file.file_id, {"period": "2021"})
    result = ask(reports, "青山机械股份有限公司2021年的营业收入是多少？", kb="reports")
    assert "13亿元" in result.hits[0].text
    reports.wait([reports.update_file(file.file_id, "2020年报.txt", io.BytesIO("营业收入14亿元。".encode())).file_id])
    assert reports.file(file.file_id).facts["period"] == "2021"
    assert reports.file(file.file_id).facts["corrected"] == ["period"]


def test_facts_on_the_command_line(folder: Path, server: ScriptedServer, command: Callable[..., Any]) -> None:
    with opened(folder, server) as clew:
        [file] = clew.list_files("kb")
    assert command("facts", file.file_id, "--set", "period=2020", "--set", "aliases=A,B", "--json") == {
        "period": "2020",
        "aliases": ["A", "B"],
        "corrected": ["period", "aliases"],
    }
    assert "period: 2020" in command("facts", file.file_id)
    asked = ("search", "Which river flows past Cologne?", "--kb", "kb", "--json", "--where")
    assert command(*asked, "period=2020")["hits"]
    assert command(*asked, "period=2021")["hits"] == []
    with pytest.raises(InputError, match="colour"):
        command(*asked, "colour=red")
    assert command("facts", file.file_id, "--unset", "period", "--json")["corrected"] == ["period", "aliases"]


# --- what the documents do not mention -------------------------------------------------------------------------


def answered(clew: Clew, question: str) -> tuple[str, dict[str, Any]]:
    """The answer's text and trace."""
    events = list(clew.ask(question, kbs=["kb"]))
    text = "".join(event.data["text"] for event in events if event.type == "delta")
    [usage] = [event.data for event in events if event.type == "usage"]
    return text, usage["retrieval_trace"]


def test_an_answer_says_plainly_that_the_documents_do_not_mention_what_is_asked(
    folder: Path, server: ScriptedServer
) -> None:
    with opened(folder, server, model=False) as clew:
        text, trace = answered(clew, "What is the boiling point of tungsten?")
        assert trace["unmentioned"] == ["boiling", "point", "tungsten"]
        assert trace["complexity"]["mode"] == "single", "there is no thread to follow"
        assert text.startswith("The selected documents do not mention “boiling”, “point” or “tungsten”")
        text, trace = answered(clew, "Which barges does the Rhine carry?")
        assert trace["unmentioned"] == []
        assert "do not mention" not in text


def test_only_what_the_scope_holds_is_mentioned(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server, model=False) as clew:
        [notice] = [file for file in clew.list_files("copies") if file.name == "copy 0"]
        question = "Which barges does the Rhine carry?"
        assert clew.search(question, kbs=["copies"], kind="fact").trace.unmentioned == []
        narrow = clew.search(question, kbs=["copies"], files=[notice.file_id], kind="fact")
        assert narrow.trace.unmentioned == ["barge", "rhine", "carry"]


def test_the_chat_model_is_told_what_the_documents_do_not_mention(folder: Path, server: ScriptedServer) -> None:
    with opened(folder, server, model=False, chat={"url": server.url, "model": "large", "retries": 0}) as clew:
        clew.update_kb("kb", settings={"retrieval": {"hyde": "never"}})
        server.add(*["资料中没有找到。"] * 3)
        answered(clew, "特朗普的生日是哪天？")
        told = [chat.messages[-1]["content"] for chat in server.chats]
        assert any("所选的资料中没有出现“特朗普”、“生日”" in message for message in told)
