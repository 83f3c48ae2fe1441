"""The classifier service behind a whole search: what it is asked, and what happens when it hangs or is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.app import Clew
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import Passage
from clew.retrieval.complexity.features import FEATURES_VERSION, extract_features
from fakes.classifier_server import Answer, ClassifierServer, Slow
from fakes.openai_server import ScriptedServer, Status

PASSAGES = [
    Passage("syrah", "西里斯", "西里斯的葡萄酒酒体饱满，带有黑莓和胡椒的香气。"),
    *(Passage(f"other{i}", f"酒庄 {i}", f"酒庄 {i} 位于第 {i} 区，出产白葡萄酒。") for i in range(10)),
]
UNSURE = "西里斯的葡萄酒有什么特点？"

Opener = Callable[..., Clew]


@pytest.fixture
def open_clew(tmp_path: Path) -> Iterator[Opener]:
    """Opens a data folder with a few passages and the classifier at a URL."""
    with ExitStack() as stack:
        models = stack.enter_context(ScriptedServer())

        def opened(url: str, *, timeout: float = 5.0, enrichment: ScriptedServer | None = None) -> Clew:
            overrides = {
                "complexity": {"classifier_url": url, "classifier_timeout": timeout},
                "models": {"embedder": {"kind": "openai", "url": models.url, "model": "fake", "dimension": 32}},
            }
            if enrichment is not None:
                overrides["models"]["enrichment"] = {"url": enrichment.url, "model": "small", "retries": 0}
            clew = stack.enter_context(Clew.open(tmp_path / "data", overrides=overrides))
            clew.create_kb("wine")
            clew.ingest_parsed("wine", "wine", parsed_corpus(PASSAGES))
            return clew

        yield opened


def test_a_search_asks_the_service_with_the_features_of_its_version(open_clew: Opener) -> None:
    with ClassifierServer(0.9) as service:
        decision = open_clew(service.url).search(UNSURE, kbs=["wine"]).trace.complexity
    assert decision is not None
    assert (decision.mode, decision.source, decision.classifier_probability) == ("multi", "classifier", 0.9)
    (asked,) = service.bodies[0]["questions"]
    assert asked["question"] == UNSURE
    assert asked["features"] == pytest.approx(extract_features(UNSURE).vector)
    assert asked["features_version"] == FEATURES_VERSION


def test_a_hanging_service_delays_a_search_by_its_time_out_only(open_clew: Opener) -> None:
    with ClassifierServer(Slow(30.0)) as service:
        clew = open_clew(service.url, timeout=0.3)
        start = time.monotonic()
        result = clew.search(UNSURE, kbs=["wine"])
        assert time.monotonic() - start < 10  # the search itself needs a moment, the service would need thirty
    decision = result.trace.complexity
    assert decision is not None
    assert 250 <= decision.ms["classifier"] < 1500
    assert decision.source == "fallback"
    assert "0.3 s" in decision.failures["classifier"]
    assert result.hits
    stored = clew.records.decisions("complexity")[-1]
    assert stored["failures"] == dict(decision.failures)


def test_service_and_model_away_are_both_recorded_and_the_question_is_answered(open_clew: Opener) -> None:
    with ClassifierServer(Answer(503, {"message": "no weights"})) as service, ScriptedServer([Status(500)] * 20) as llm:
        result = open_clew(service.url, enrichment=llm).search(UNSURE, kbs=["wine"])
    decision = result.trace.complexity
    assert decision is not None
    assert decision.source == "fallback"
    assert {"classifier", "model"} <= set(decision.failures)
    assert result.hits
