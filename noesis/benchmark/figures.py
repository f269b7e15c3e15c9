"""The figures of asked questions: how well search finds, and where its time goes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.memory import Timings
from noesis.ranking.metrics import Quality, p50_p95, quality_of

Pair = tuple[float, float]


class Asked(msgspec.Struct, frozen=True):
    """A question as it was answered: the ids that answer it, those found, best first, and the times."""

    kind: str
    gold: frozenset[str]
    ranked: tuple[str, ...]
    timings: Timings


class Retrieval(msgspec.Struct, frozen=True):
    """How well search finds in so many memories, over all questions first; `times_ms` are p50 and p95."""

    conversations: int
    memories: int
    quality: list[Quality]
    times_ms: dict[str, Pair]


def rows_of(asked: Sequence[Asked]) -> list[Quality]:
    """A row for all questions and one for each kind, by name."""
    kinds = sorted({item.kind for item in asked})
    groups = {"all": list(asked)}
    if len(kinds) > 1:
        groups |= {kind: [item for item in asked if item.kind == kind] for kind in kinds}
    return [row_of(name, group) for name, group in groups.items()]


def row_of(name: str, asked: Sequence[Asked]) -> Quality:
    """One row over at least one question."""
    return quality_of(name, [(item.ranked, item.gold) for item in asked])


def times_of(timings: Sequence[Timings]) -> dict[str, Pair]:
    """p50 and p95 in ms of a search and its parts.

    Keyword matching runs beside the embedding and is counted in neither part.
    """
    parts = {
        "search": [each.total for each in timings],
        "embedding": [each.embedding for each in timings],
        "store": [each.store for each in timings],
        "ranking and the rest": [max(0.0, each.total - each.embedding - each.store) for each in timings],
    }
    return {name: p50_p95(values) for name, values in parts.items()}
