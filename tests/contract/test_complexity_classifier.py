"""What every ``ComplexityClassifier`` keeps to, over real HTTP where it is a service."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator

import numpy as np
import pytest

from clew.errors import ServiceRefusedError, ServiceUnavailableError, SettingsError
from clew.models.base import ComplexityClassifier
from clew.models.classifier import HttpComplexityClassifier
from clew.models.complexity_head import ComplexityHead, interactions
from fakes.classifier_server import Answer, ClassifierServer, Slow, prediction

FEATURES = (0.6, 0.0, 0.4, 0.5, 0.25)


@pytest.fixture
def service() -> Iterator[ComplexityClassifier]:
    with ClassifierServer(0.93) as server:
        yield HttpComplexityClassifier(server.url, features_version="1")


@pytest.fixture
def head() -> ComplexityClassifier:
    return ComplexityHead.from_package()


@pytest.fixture(params=["service", "head"])
def classifier(request: pytest.FixtureRequest) -> ComplexityClassifier:
    return request.getfixturevalue(request.param)


def test_is_a_classifier(classifier: ComplexityClassifier) -> None:
    assert isinstance(classifier, ComplexityClassifier)
    assert classifier.name in {"classifier", "head"}


@pytest.mark.parametrize(
    "question", ["《野草》的作者的代表作品有哪些？", "who wrote hamlet", "", "\ud83d", "a" * 100_000]
)
def test_gives_a_probability_and_its_version(classifier: ComplexityClassifier, question: str) -> None:
    said = classifier.predict(question, FEATURES)
    assert 0.0 <= said.multi_hop_probability <= 1.0
    assert said.model_version


class TestHttpComplexityClassifier:
    def test_sends_question_features_and_their_version(self) -> None:
        with ClassifierServer(0.25) as server:
            said = HttpComplexityClassifier(server.url, features_version="7").predict("谁？", FEATURES)
            assert said.multi_hop_probability == 0.25
            assert said.model_version == "fake-1"
            assert server.paths == ["/predict"]
            assert server.bodies == [
                {"questions": [{"question": "谁？", "features": list(FEATURES), "features_version": "7"}]}
            ]

    def test_takes_the_address_with_or_without_path(self) -> None:
        with ClassifierServer(0.25) as server:
            for url in (server.url + "/", server.url + "/predict"):
                HttpComplexityClassifier(url, features_version="1").predict("q", FEATURES)
            assert server.paths == ["/predict", "/predict"]

    @pytest.mark.parametrize(
        "body",
        [
            "not json",
            "<html></html>",
            [],
            {},
            {"predictions": []},
            {"predictions": [{"label": "multi"}]},
            {"predictions": [{"multi_hop_probability": 1.5}]},
            {"predictions": [{"multi_hop_probability": "much"}]},
            '{"predictions": [{"multi_hop_probability": NaN}]}',
            None,
        ],
    )
    def test_an_answer_that_makes_no_sense_is_refused(self, body: object) -> None:
        with ClassifierServer(Answer(200, body)) as server, pytest.raises(ServiceRefusedError, match="classifier_url"):
            HttpComplexityClassifier(server.url, features_version="1").predict("q", FEATURES)

    @pytest.mark.parametrize("status", [500, 502, 503, 429])
    def test_a_service_that_is_not_ready_is_asked_once(self, status: int) -> None:
        with ClassifierServer(Answer(status, {"detail": "no weights"})) as server:
            with pytest.raises(ServiceUnavailableError, match="no weights"):
                HttpComplexityClassifier(server.url, features_version="1").predict("q", FEATURES)
            assert len(server.bodies) == 1

    def test_a_refusal_is_permanent(self) -> None:
        with ClassifierServer(Answer(422, {"detail": "features"})) as server, pytest.raises(ServiceRefusedError):
            HttpComplexityClassifier(server.url, features_version="1").predict("q", FEATURES)

    @pytest.mark.parametrize("reply", [Slow(5.0), Slow(0.05, trickle=True)])
    def test_a_slow_service_is_left_after_the_time_out(self, reply: Slow) -> None:
        with ClassifierServer(reply) as server:
            start = time.monotonic()
            with pytest.raises(ServiceUnavailableError, match=r"0\.3 s"):
                HttpComplexityClassifier(server.url, features_version="1").predict("q", FEATURES, timeout=0.3)
            assert time.monotonic() - start < 1.0

    def test_nobody_there(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ServiceUnavailableError, match="classifier_url"):
            HttpComplexityClassifier(url, features_version="1").predict("q", FEATURES)

    def test_an_impossible_address_is_refused_at_once(self) -> None:
        with pytest.raises(SettingsError):
            HttpComplexityClassifier("not a url", features_version="1")

    def test_numbers_that_json_lacks_never_reach_the_service(self) -> None:
        with ClassifierServer(Answer(200, prediction(0.5))) as server:
            HttpComplexityClassifier(server.url, features_version="1").predict("q", [math.nan, math.inf, 0, 0, 0])
            assert server.bodies[0]["questions"][0]["features"] == [0, 0, 0, 0, 0]


class TestComplexityHead:
    def test_the_vector_counts_and_its_absence_is_said(self) -> None:
        head = ComplexityHead.from_package()
        vector = np.zeros(384, dtype=np.float32)
        vector[0] = 1.0
        with_vector = head.predict("谁？", FEATURES, vector=vector)
        without = head.predict("谁？", FEATURES)
        assert with_vector.multi_hop_probability != without.multi_hop_probability
        assert without.model_version == with_vector.model_version + "-features"

    @pytest.mark.parametrize("features", [(), (0.1,) * 4, (0.1,) * 6])
    def test_it_wants_five_features(self, features: tuple[float, ...]) -> None:
        with pytest.raises(ServiceRefusedError, match="5 features"):
            ComplexityHead.from_package().predict("q", features)

    def test_a_vector_of_another_size_is_refused_by_name(self) -> None:
        head = ComplexityHead.from_package()
        with pytest.raises(ServiceRefusedError, match=head.embedder_name):
            head.predict("q", FEATURES, vector=np.zeros(1024, dtype=np.float32))

    @pytest.mark.parametrize("question", ["谁？", "who"])
    def test_bridges_and_comparisons_raise_the_probability(self, question: str) -> None:
        head = ComplexityHead.from_package()
        plain = head.predict(question, (0, 0, 0, 0, 0.2)).multi_hop_probability
        assert head.predict(question, (0.9, 0, 0.4, 0, 0.4)).multi_hop_probability > plain + 0.2
        assert head.predict(question, (0, 0, 0, 0.9, 0.4)).multi_hop_probability > plain + 0.2

    def test_interactions_tell_the_languages_apart(self) -> None:
        chinese, other = (interactions(FEATURES, chinese=value) for value in (True, False))
        assert len(chinese) == len(other)
        assert chinese != other
        assert chinese[:12] == other[:12]

    def test_it_costs_microseconds(self) -> None:
        head, vector = ComplexityHead.from_package(), np.ones(384, dtype=np.float32)
        start = time.process_time()
        for _ in range(200):
            head.predict("who wrote hamlet", FEATURES, vector=vector)
        assert (time.process_time() - start) / 200 < 0.001
