"""Measures of a ranking, and how sure they are.  Pure, no I/O."""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec
import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

NAMES = ("R@5", "R@10", "nDCG@10", "MRR")
"""What `quality` measures, in its order."""


class Quality(msgspec.Struct, frozen=True):
    """One row of a table: each measure's mean with its 95 % interval, in the order of `NAMES`."""

    name: str
    questions: int
    measures: dict[str, tuple[float, float, float]]


def recall(ranked: Sequence[str], gold: Set[str], k: int) -> float:
    """The share of the gold items among the first `k`, 0 to 1."""
    return len(gold & set(ranked[:k])) / len(gold)


def ndcg(ranked: Sequence[str], gold: Set[str], k: int) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) with gain 1 for a gold item."""
    gained = sum(1 / np.log2(rank + 1) for rank, item in enumerate(ranked[:k], 1) if item in gold)
    best = sum(1 / np.log2(rank + 1) for rank in range(1, min(len(gold), k) + 1))
    return float(gained / best)


def reciprocal_rank(ranked: Sequence[str], gold: Set[str], k: int) -> float:
    """1 / the rank of the first gold item, 0 when none is among the first `k`."""
    return next((1 / rank for rank, item in enumerate(ranked[:k], 1) if item in gold), 0.0)


def quality(ranked: Sequence[str], gold: Set[str]) -> tuple[float, ...]:
    """The measures of `NAMES` for one question with at least one gold item; `ranked` holds no item twice."""
    return (
        recall(ranked, gold, 5),
        recall(ranked, gold, 10),
        ndcg(ranked, gold, 10),
        reciprocal_rank(ranked, gold, 10),
    )


def quality_of(name: str, answers: Sequence[tuple[Sequence[str], Set[str]]]) -> Quality:
    """The row of at least one question: what was found, best first, and what answers it."""
    values = np.array([quality(ranked, gold) for ranked, gold in answers])
    means, intervals = values.mean(axis=0), bootstrap(values)
    return Quality(
        name,
        len(answers),
        {
            measure: (float(means[index]), float(intervals[index][0]), float(intervals[index][1]))
            for index, measure in enumerate(NAMES)
        },
    )


def bootstrap(values: Values, *, resamples: int = 1000, seed: int = 1) -> Values:
    """95 % intervals of the columns' means: percentile bootstrap over rows (Efron 1979).

    `values` is (questions, measures); the result is (measures, 2), low and high.
    """
    rng = np.random.default_rng(seed)
    count = len(values)
    means = np.stack([values[rng.integers(count, size=count)].mean(axis=0) for _ in range(resamples)])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return np.stack([low, high], axis=1)


def p50_p95(values: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile, both 0 when there are no values."""
    if not values:
        return 0.0, 0.0
    low, high = np.percentile(values, [50, 95])
    return float(low), float(high)
