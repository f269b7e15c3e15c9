"""Ranking: from two legs' scores to one order.  Pure numpy, no I/O."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

PRIORITY_SHARE = 0.05
"""How much of the whole score a priority of 100 adds over one of 0.

Enough to put a decision before a passing remark that fits as well, too little to bury a memory that
fits clearly better.
"""


def scaled(scores: Scores) -> Scores:
    """Scores stretched to 0..1 over the candidates; all equal ones become 1 if positive, else 0."""
    if len(scores) == 0:
        return scores
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-9:
        return np.full_like(scores, 1.0 if high > 0 else 0.0)
    return (scores - low) / (high - low)


def contributions(
    vector: Scores, keyword: Scores, priorities: Scores, vector_weight: float, *, has_vector: Flags
) -> dict[str, Scores]:
    """What each part adds to each candidate's score in 0..1; the sum is the score.

    Both legs' scores must be known for every candidate: with "absent = 0" the strongest keyword hit
    outside the vector leg's top loses against any middling vector hit, and the fusion against BM25
    alone.  A candidate that has no vector yet is judged by its words alone, for the same reason.
    Priorities run from 0 to 100.
    """
    rest = 1 - PRIORITY_SHARE
    by_meaning = np.zeros_like(vector)
    by_meaning[has_vector] = scaled(vector[has_vector])
    weights = np.where(has_vector, vector_weight, 0.0).astype(np.float32)
    return {
        "vector": rest * weights * by_meaning,
        "keyword": rest * (1 - weights) * scaled(keyword),
        "priority": PRIORITY_SHARE * priorities / 100,
    }


def diverse_order(scores: Scores, vectors: npt.NDArray[np.float32], limit: int, balance: float) -> list[int]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998): indexes of the chosen, best first.

    `vectors` are unit vectors (n, dimensions), zero where unknown; `balance` is its lambda: 1 ranks
    by score alone.
    """
    remaining = np.ones(len(scores), dtype=bool)
    closest = np.zeros(len(scores), dtype=np.float32)
    chosen: list[int] = []
    for _ in range(min(limit, len(scores))):
        gain = np.where(remaining, balance * scores - (1 - balance) * closest, -np.inf)
        best = int(gain.argmax())
        chosen.append(best)
        remaining[best] = False
        closest = np.maximum(closest, vectors @ vectors[best])
    return chosen
