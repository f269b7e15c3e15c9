"""The two legs' scores by fixed shares, as an alternative to the learned fusion."""

from __future__ import annotations

import numpy as np

from noesis.ranking.bm25 import Floats
from noesis.ranking.pool import Pool

PRIORITY_SHARE = 0.05
"""How much of the whole score a priority of 100 adds over one of 0.

Enough to put a decision before a passing remark that fits as well, too little to bury a memory that
fits clearly better.
"""


def contributions(pool: Pool, vector_weight: float) -> dict[str, Floats]:
    """What each part adds to each candidate's score in 0..1; the sum is the score.

    Both legs' scores are known for every candidate: with "absent = 0" the strongest keyword hit
    outside the vector leg's top loses against any middling vector hit, and the fusion against BM25
    alone.  A candidate that has no vector yet is judged by its words alone, for the same reason.
    """
    rest = 1 - PRIORITY_SHARE
    weights = np.where(pool.has_vector, vector_weight, 0.0)
    return {
        "meaning": rest * weights * pool.meaning,
        "words": rest * (1 - weights) * pool.words,
        "priority": PRIORITY_SHARE * pool.priorities / 100,
    }
