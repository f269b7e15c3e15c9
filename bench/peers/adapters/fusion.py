"""Reciprocal rank fusion for peers that bring none of their own.  Standard library only."""

from __future__ import annotations

from collections.abc import Sequence

K = 60
"""The constant of Cormack, Clarke and Büttcher (2009), which most stores took over."""


def fused(rankings: Sequence[Sequence[str]], limit: int) -> list[str]:
    """The ids with the highest sums of 1 / (K + rank), best first; ties in the order of first sight."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (K + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]
