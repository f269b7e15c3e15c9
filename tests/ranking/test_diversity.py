"""No two hits that say the same, and one hit of each memory."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noesis.ranking.diversity import best_of_each, diverse_order
from tests.ranking.pools import EAST, NORTH, unit

TWIN = unit(1, 0.05, 0, 0)
_VECTORS = np.stack([EAST, TWIN, NORTH]).astype(float)
LIKENESS = _VECTORS @ _VECTORS.T
SCORES = np.array([1.0, 0.9, 0.7])


def order(balance: float, limit: int = 3) -> list[int]:
    return [each.index for each in diverse_order(SCORES, LIKENESS, limit, balance)]


def test_a_near_repeat_is_held_back_unless_the_score_alone_ranks() -> None:
    assert order(0.7) == [0, 2, 1]
    assert order(1.0) == [0, 1, 2]


def test_how_alike_a_hit_is_to_those_above_it_is_told() -> None:
    first, other, twin = diverse_order(SCORES, LIKENESS, 3, 0.7)
    assert (first.likeness, other.likeness) == (0, 0)
    assert twin.likeness > 0.99


def test_a_smaller_limit_gives_the_beginning_of_the_same_order() -> None:
    assert [order(0.7, limit) for limit in (1, 2, 9)] == [[0], [0, 2], [0, 2, 1]]


def test_without_vectors_nothing_is_held_back() -> None:
    chosen = diverse_order(SCORES, np.zeros((3, 3)), 3, 0.3)
    assert [(each.index, each.likeness) for each in chosen] == [(0, 0), (1, 0), (2, 0)]


def test_of_nothing_nothing_is_chosen() -> None:
    assert diverse_order(np.zeros(0), np.zeros((0, 0)), 6, 0.7) == []
    assert best_of_each([], np.zeros(0)) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0])), max_size=8))
def test_of_each_memory_its_best_chunk_is_kept_the_first_among_equals(drawn: list[tuple[str, float]]) -> None:
    keys, scores = [key for key, _ in drawn], np.array([score for _, score in drawn])
    kept = best_of_each(keys, scores)
    assert [keys[index] for index in kept] == list(dict.fromkeys(keys))
    for index in kept:
        own = [number for number, key in enumerate(keys) if key == keys[index]]
        assert index == max(own, key=lambda number: (scores[number], -number))
