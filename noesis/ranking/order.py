"""From a pool to scores: by the learned fusion, by fixed shares, or by one leg alone."""

from __future__ import annotations

import msgspec
import numpy as np

from noesis.ranking.bm25 import Floats
from noesis.ranking.features import GROUPS
from noesis.ranking.fusion import Fusion, probability
from noesis.ranking.pool import Pool
from noesis.ranking.weighted import contributions

_DAY_MS = 86_400_000
_USUAL_PRIORITY = 50

PRIORITY_POINTS = 0.6
"""What a priority of 100 adds over one of 0.

A point multiplies the odds that a memory answers by e.  From the usual 50 to a decision's 85 it is
0.2: enough among memories that fit as well, too little against one that fits clearly better.
"""

RECENCY_POINTS = 1.0
"""What a memory of this moment has over one of long ago, where recency is switched on."""

OWN_POINTS = 0.3
"""What the asking agent's own memories have over others' in a search across agents."""


class Wishes(msgspec.Struct, frozen=True):
    """What counts beside how well a memory fits: age (half-life in days, 0 = not), and who asks."""

    now_ms: int = 0
    half_life_days: float = 0.0
    own_agent: str | None = None


class Judged(msgspec.Struct, frozen=True):
    """The verdict on every passage: `scores` in 0..1, and the parts that add up to `totals`.

    `features` are the single features behind the parts, where there are any.
    """

    scores: Floats
    totals: Floats
    parts: dict[str, Floats]
    features: dict[str, Floats] = {}


def learned(pool: Pool, fusion: Fusion, wishes: Wishes) -> Judged:
    """By the fitted model; the parts are points, the score is the probability they stand for."""
    model = fusion.hybrid if pool.has_vector.any() else fusion.keyword
    points = model.points(pool)
    parts = {"start": np.full(len(pool), model.bias)}
    for group, names in GROUPS.items():
        of_group = [points[name] for name in names if name in points]
        if of_group:
            parts[group] = np.sum(of_group, axis=0)
    parts |= _beside(pool, wishes)
    totals = np.sum(list(parts.values()), axis=0)
    return Judged(probability(totals), totals, parts, points)


def _beside(pool: Pool, wishes: Wishes) -> dict[str, Floats]:
    """What priority, age and the asking agent add, in points."""
    parts = {"priority": PRIORITY_POINTS * (pool.priorities - _USUAL_PRIORITY) / 100}
    if wishes.half_life_days > 0:
        ages = np.array([wishes.now_ms - passage.created_at for passage in pool.passages]) / _DAY_MS
        parts["recency"] = RECENCY_POINTS * 0.5 ** (np.maximum(ages, 0) / wishes.half_life_days)
    if wishes.own_agent is not None and len({passage.agent for passage in pool.passages}) > 1:
        own = [passage.agent == wishes.own_agent for passage in pool.passages]
        parts["own agent"] = OWN_POINTS * np.array(own, dtype=float)
    return parts


def weighted(pool: Pool, vector_weight: float) -> Judged:
    """By fixed shares of the two legs."""
    parts = contributions(pool, vector_weight if pool.has_vector.any() else 0.0)
    totals = np.sum(list(parts.values()), axis=0)
    return Judged(totals, totals, parts)


def by_similarity(pool: Pool) -> Judged:
    """By the cosine similarity alone."""
    return Judged(np.clip(pool.similarities, 0, 1), pool.similarities, {"meaning": pool.similarities})
