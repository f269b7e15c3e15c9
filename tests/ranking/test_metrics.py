"""The measures against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from noesis.ranking.metrics import NAMES, bootstrap, ndcg, p50_p95, quality, recall, reciprocal_rank

RANKED = ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("gold", "k", "expected"),
    [({"a"}, 1, 1.0), ({"c"}, 2, 0.0), ({"c"}, 3, 1.0), ({"a", "c"}, 2, 0.5), ({"x", "a", "y", "b"}, 5, 0.5)],
)
def test_recall_is_the_share_of_gold_in_the_first_k(gold: set[str], k: int, expected: float) -> None:
    assert recall(RANKED, gold, k) == expected


@pytest.mark.parametrize(
    ("gold", "k", "expected"), [({"a"}, 10, 1.0), ({"d", "b"}, 10, 0.5), ({"d"}, 3, 0.0), ({"x"}, 10, 0.0)]
)
def test_reciprocal_rank_is_that_of_the_first_gold_item(gold: set[str], k: int, expected: float) -> None:
    assert reciprocal_rank(RANKED, gold, k) == expected


def test_ndcg_weighs_early_places_more() -> None:
    assert ndcg(RANKED, {"a", "b"}, 10) == 1
    assert ndcg(RANKED, {"c"}, 10) == pytest.approx(0.5)  # 1 / log2(3 + 1)
    assert ndcg(RANKED, {"a", "c"}, 10) == pytest.approx(1.5 / (1 + 1 / np.log2(3)))
    assert ndcg(RANKED, {"x"}, 10) == 0


def test_ndcg_of_more_gold_than_places_can_still_be_one() -> None:
    assert ndcg(RANKED, {"a", "b", "c", "d"}, 2) == pytest.approx(1)


def test_nothing_found_measures_zero_everywhere() -> None:
    assert quality([], {"a"}) == (0.0,) * len(NAMES)


def test_quality_measures_at_five_and_at_ten() -> None:
    assert list(quality(RANKED, {"f"})) == pytest.approx([0, 1, 1 / np.log2(7), 1 / 6])


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few = np.array([[0.0], [1.0]] * 10)
    many = np.array([[0.0], [1.0]] * 1000)
    (low, high), (low_of_many, high_of_many) = bootstrap(few)[0], bootstrap(many)[0]
    assert low < low_of_many < 0.5 < high_of_many < high


def test_an_interval_of_a_constant_is_the_constant() -> None:
    assert bootstrap(np.full((7, 2), 0.25)).tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_intervals_are_the_same_for_the_same_seed() -> None:
    values = np.random.default_rng(3).random((40, 4))
    assert bootstrap(values, seed=5).tolist() == bootstrap(values, seed=5).tolist()
    assert bootstrap(values, seed=5).tolist() != bootstrap(values, seed=6).tolist()


def test_each_measure_has_its_own_interval() -> None:
    values = np.stack([np.zeros(30), np.ones(30)], axis=1)
    assert bootstrap(values).tolist() == [[0, 0], [1, 1]]


def test_percentiles_of_times() -> None:
    assert p50_p95(list(range(101))) == (50, 95)
    assert p50_p95([]) == (0, 0)
