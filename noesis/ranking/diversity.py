"""Choose the hits: best first, but no two that say the same."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from noesis.ranking.bm25 import Floats


class Chosen(msgspec.Struct, frozen=True):
    """The index of a hit, and its similarity to the one most like it of those chosen before."""

    index: int
    likeness: float


def diverse_order(scores: Floats, likeness: Floats, limit: int, balance: float) -> list[Chosen]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998): the chosen, best first.

    `scores` in 0..1; `likeness` is the cosine similarity of each to each other (n, n), 0 where unknown;
    `balance` is its lambda: 1 ranks by score alone.
    """
    remaining = np.ones(len(scores), dtype=bool)
    closest = np.zeros(len(scores))
    chosen: list[Chosen] = []
    for _ in range(min(limit, len(scores))):
        gain = np.where(remaining, balance * scores - (1 - balance) * closest, -np.inf)
        best = int(gain.argmax())
        chosen.append(Chosen(best, float(closest[best])))
        remaining[best] = False
        closest = np.maximum(closest, likeness[best])
    return chosen


def best_of_each(keys: Sequence[str], scores: Floats) -> list[int]:
    """The index of the best-scored candidate of each key, so that one long text gives one hit."""
    best: dict[str, int] = {}
    for index, key in enumerate(keys):
        if key not in best or scores[index] > scores[best[key]]:
            best[key] = index
    return list(best.values())
