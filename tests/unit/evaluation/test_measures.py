import math

import pytest

from clew.evaluation.measures import all_support_at, group_ranks, ndcg_at, recall_at, reciprocal_rank

RANKING = ["a", "b", "c", "d"]


def test_one_member_of_a_group_suffices() -> None:
    assert group_ranks(RANKING, [frozenset("dx"), frozenset("cb"), frozenset("y")]) == [4, 2, None]


def test_recall_hides_what_all_support_shows() -> None:
    ranks = [1, None]
    assert recall_at(ranks, 5) == 0.5
    assert all_support_at(ranks, 5) == 0.0
    assert all_support_at([1, 5], 5) == 1.0
    assert all_support_at([1, 6], 5) == 0.0


def test_reciprocal_rank() -> None:
    assert reciprocal_rank([None, 4, 2]) == 0.5
    assert reciprocal_rank([None]) == 0.0


def test_ndcg() -> None:
    assert ndcg_at([1, 2], 10) == pytest.approx(1.0)
    assert ndcg_at([2], 10) == pytest.approx(1 / math.log2(3))
    assert ndcg_at([11], 10) == 0.0


def test_a_passage_that_serves_several_groups_is_no_more_than_perfect() -> None:
    assert ndcg_at([1, 1], 10) == 1.0
    assert ndcg_at([2, 2], 10) < 1.0
