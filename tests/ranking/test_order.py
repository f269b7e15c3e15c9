"""What counts beside how well a memory fits: priority, age, and whose it is."""

from __future__ import annotations

import numpy as np
import pytest

from noesis.ranking.bm25 import Floats
from noesis.ranking.fusion import Fusion, Model, Weight, probability, shipped
from noesis.ranking.order import (
    OWN_POINTS,
    PRIORITY_POINTS,
    RECENCY_POINTS,
    Judged,
    Wishes,
    by_similarity,
    learned,
    weighted,
)
from noesis.ranking.pool import Pool
from tests.ranking.pools import EAST, NORTH, WEST, passage, pool_of, unit

DAY_MS = 86_400_000
BY_WORDS = Fusion(
    Model(-1.0, {"words": Weight(2.0, 0.5), "meaning": Weight(1.0, 0.5)}),
    Model(-2.0, {"words": Weight(2.0, 0.5)}),
)


def judge(pool: Pool, **wishes: object) -> Judged:
    return learned(pool, BY_WORDS, Wishes(**wishes))  # type: ignore[arg-type]


def ranked(totals: Floats) -> list[int]:
    return [int(index) for index in np.argsort(-totals, kind="stable")]


def test_of_memories_that_fit_alike_the_one_of_higher_priority_is_first() -> None:
    alike = [passage("heron", priority=priority) for priority in (50, 85, 0, 100)]
    pool = pool_of("heron", alike)
    for verdict in (judge(pool), learned(pool, shipped(), Wishes()), weighted(pool, 0.6)):
        assert ranked(verdict.totals) == [3, 1, 0, 2]


def test_a_decision_comes_before_what_fits_a_little_better() -> None:
    """85 against 50 is 0.21 points: 0.1 better is not enough, 0.3 is."""
    for better, first in ((0.1, 1), (0.3, 0)):
        steered = Fusion(Model(0.0, {}), Model(0.0, {"words": Weight(better, 0.0)}))
        pool = pool_of("heron", [passage("heron"), passage("wiki", priority=85)])
        assert ranked(learned(pool, steered, Wishes()).totals)[0] == first


@pytest.mark.parametrize("rival", [0, 50, 100])
def test_a_priority_of_100_never_buries_what_fits_clearly_better(rival: int) -> None:
    """Clearly better is more than 0.6 points, which is all that priority can make out."""
    steered = Fusion(Model(0.0, {}), Model(0.0, {"words": Weight(PRIORITY_POINTS + 0.01, 0.0)}))
    pool = pool_of("heron", [passage("heron", priority=0), passage("wiki", priority=rival)])
    assert ranked(learned(pool, steered, Wishes()).totals) == [0, 1]
    assert PRIORITY_POINTS == 0.6


def test_the_parts_add_up_and_the_score_is_the_probability_of_their_sum() -> None:
    near = [passage("heron", vector=EAST, priority=70), passage("wiki", vector=NORTH), passage("heron wiki")]
    pool = pool_of("heron wiki", near, EAST)
    verdict = learned(pool, shipped(), Wishes(10 * DAY_MS, 5, "alpha"))
    assert np.allclose(sum(verdict.parts.values()), verdict.totals)
    assert np.allclose(probability(verdict.totals), verdict.scores)
    groups = {
        name: part for name, part in verdict.parts.items() if name not in ("start", "priority", "recency")
    }
    assert np.allclose(sum(groups.values()), sum(verdict.features.values()))


def test_fixed_shares_add_up_to_the_score() -> None:
    near = [passage("heron", vector=EAST, priority=100), passage("wiki", vector=NORTH), passage("heron wiki")]
    verdict = weighted(pool_of("heron", near, EAST), 0.6)
    assert np.allclose(sum(verdict.parts.values()), verdict.scores)
    assert verdict.scores[0] == pytest.approx(1)
    assert verdict.parts["meaning"][0] == pytest.approx(0.95 * 0.6)
    assert verdict.parts["words"][0] == pytest.approx(0.95 * 0.4)
    assert verdict.parts["meaning"][2] == 0, "without a vector the words judge alone"


def test_without_any_vector_the_model_for_words_judges() -> None:
    only_words = pool_of("heron", [passage("heron")], EAST)
    assert judge(only_words).parts["start"].tolist() == [-2]
    both = pool_of("heron", [passage("heron", vector=EAST), passage("wiki")], EAST)
    assert judge(both).parts["start"].tolist() == [-1, -1]


def test_age_counts_nothing_until_it_is_asked_for() -> None:
    now = 100 * DAY_MS
    pool = pool_of("heron", [passage("heron", created_at=day * DAY_MS) for day in (0, 90, 100, 200)])
    assert "recency" not in judge(pool, now_ms=now).parts
    assert len(set(judge(pool, now_ms=now).totals)) == 1
    asked = judge(pool, now_ms=now, half_life_days=10)
    assert ranked(asked.totals) == [2, 3, 1, 0]
    assert asked.parts["recency"].tolist() == pytest.approx(
        [RECENCY_POINTS * 0.5**10, RECENCY_POINTS / 2, RECENCY_POINTS, RECENCY_POINTS]
    )


def test_in_a_search_across_agents_ones_own_come_first_among_equals() -> None:
    pool = pool_of("heron", [passage("heron", agent=agent) for agent in ("beta", "alpha", "gamma")])
    assert ranked(judge(pool, own_agent="alpha").totals) == [1, 0, 2]
    assert judge(pool, own_agent="alpha").parts["own agent"].tolist() == [0, OWN_POINTS, 0]
    assert "own agent" not in judge(pool).parts
    alone = pool_of("heron", [passage("heron"), passage("heron")])
    assert "own agent" not in judge(alone, own_agent="alpha").parts


def test_by_similarity_nothing_else_counts() -> None:
    near = [passage("heron", vector=WEST, priority=100), passage("wiki", vector=unit(1, 1, 0, 0), priority=0)]
    verdict = by_similarity(pool_of("heron", near, EAST))
    assert ranked(verdict.totals) == [1, 0]
    assert verdict.scores.tolist() == pytest.approx([0, 0.5**0.5])


def test_a_question_that_found_nothing_gives_no_scores() -> None:
    for verdict in (
        judge(pool_of("heron", [])),
        weighted(pool_of("heron", []), 0.6),
        by_similarity(pool_of("", [])),
    ):
        assert len(verdict.scores) == len(verdict.totals) == 0
