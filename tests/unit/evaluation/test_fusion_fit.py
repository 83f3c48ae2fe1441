import numpy as np
import pytest

from clew.errors import InputError
from clew.evaluation.fusion_fit import JudgedRoutes, _Table, fit_fusion
from clew.evaluation.measures import group_ranks, ndcg_at
from clew.retrieval.fusion import Route, convex_combination
from clew.storage.base import Posting


def questions(n: int, noisy: str, seed: int = 0) -> list[JudgedRoutes]:
    """Questions of which one route scores the right parent highest and the other, ``noisy``, at random; both rank the
    same thirty children of ten parents."""
    random = np.random.default_rng(seed)
    judged = []
    for _ in range(n):
        right = f"p{random.integers(10)}"
        routes = []
        for name in ("bm25", "l2"):
            scores = {f"c{i}": float(random.random()) for i in range(30)}
            if name != noisy:
                scores |= {f"c{i}": 1.0 + 0.1 * float(random.random()) for i in range(30) if f"p{i // 3}" == right}
            best = sorted(scores, key=lambda chunk: -scores[chunk])
            routes.append(Route(name, [Posting(c, f"p{int(c[1:]) // 3}", "f", 1, scores[c]) for c in best]))
        judged.append(JudgedRoutes(routes, (frozenset({right}),)))
    return judged


@pytest.mark.parametrize(("noisy", "good"), [("bm25", "l2"), ("l2", "bm25")])
def test_the_weights_go_to_the_route_that_knows(noisy: str, good: str) -> None:
    fit = fit_fusion(questions(60, noisy))
    assert fit.weights[good] > 0.6
    assert sum(fit.weights.values()) == pytest.approx(1, abs=0.01)
    assert fit.is_better
    assert 0 < fit.low <= fit.gain <= fit.high
    assert fit.convex - fit.rrf == pytest.approx(fit.gain)


def test_a_route_that_finds_nothing_gets_no_weight() -> None:
    judged = [JudgedRoutes([*each.routes, Route("summary", [])], each.groups) for each in questions(30, "l2")]
    assert set(fit_fusion(judged).weights) == {"bm25", "l2"}


def test_noise_is_not_taken_for_a_gain() -> None:
    judged = questions(60, "l2")
    shuffled = [JudgedRoutes(a.routes, b.groups) for a, b in zip(judged, judged[1:] + judged[:1], strict=True)]
    fit = fit_fusion(shuffled)
    assert not fit.is_better


def test_the_same_questions_give_the_same_weights() -> None:
    assert fit_fusion(questions(30, "l2")) == fit_fusion(questions(30, "l2"))


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        fit_fusion(questions(5, "l2"))


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (0.0, 1.0)])
def test_what_is_fitted_is_what_search_does(weights: tuple[float, float]) -> None:
    for judged in questions(10, "l2", seed=3):
        named = dict(zip(("bm25", "l2"), weights, strict=True))
        ranking = list(dict.fromkeys(c.parent_id for c in convex_combination("", judged.routes, weights=named)))
        expected = ndcg_at(group_ranks(ranking, judged.groups), 10)
        assert _Table.of(judged, ("bm25", "l2")).gain(weights) == pytest.approx(expected)
