"""Measure the store as it lies: what its vector index finds, and how fast searches are.  Reads only.

Stored vectors and first lines serve as questions; no text leaves this module.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from noesis.benchmark.figures import Pair, times_of
from noesis.browsing import agent_condition, live_condition
from noesis.candidates import FETCHED
from noesis.memory import Mode, Scope, SearchQuery, Timings
from noesis.ranking.metrics import p50_p95
from noesis.search import Search
from noesis.store import Column, Condition, Row, Store, Table
from noesis.store.filters import EVERYTHING, is_set, one_of
from noesis.store.tables import Matches
from noesis.text.normalise import is_blank

T = TypeVar("T")

VECTORS = 100
QUESTIONS = 50
NEAREST = 10

_QUESTION_CHARS = 500

_SAME = 1e-5
"""Vectors whose similarities differ by less stand at the same place; either is right."""


class OwnStore(msgspec.Struct, frozen=True):
    """A store's figures; times are p50 and p95 in ms.

    `recall` (0..1) is the mean share of the ten nearest by exact search that the vector leg finds too,
    over `vectors_asked` stored vectors; None when there are none.  `vector_index` is None where search is exact.
    `note` says why searches went without vectors, if they did.
    """

    rows: int
    archived_rows: int
    vectors: int
    vector_index: str | None
    indexed_vectors: int
    vectors_asked: int
    recall: float | None
    questions: int
    times_ms: dict[str, Pair]
    note: str | None


class _Nearest(msgspec.Struct):
    """What comparing the index with exact search gave, one entry a vector."""

    recalls: list[float]
    index_ms: list[float]
    exact_ms: list[float]


async def measure_store(store: Store, search: Search, now_ms: Callable[[], int]) -> OwnStore:
    """Measure.  Raises a StoreError."""
    table, live = store.active, live_condition(now_ms())
    has_vectors = await table.dimension() is not None
    vectors = await _sample(table, live & is_set(Column.VECTOR), VECTORS) if has_vectors else []
    asking = await _sample(table, live, QUESTIONS)
    # As a search asks them: with the expiry only while something has expired.
    legs = EVERYTHING if await table.count(live) == await table.count(EVERYTHING) else live
    nearest = await _compared(table, live, legs, vectors)
    keyword_ms = await _by_words(table, legs, asking)
    timings, note = await _searched(store, search, asking)
    active, archive = await store.states()
    return OwnStore(
        rows=active.rows,
        archived_rows=archive.rows,
        vectors=await table.count(is_set(Column.VECTOR)) if has_vectors else 0,
        vector_index=active.vector_index,
        indexed_vectors=active.indexed_vectors,
        vectors_asked=len(vectors),
        recall=float(np.mean(nearest.recalls)) if nearest.recalls else None,
        questions=len(asking),
        times_ms={
            "vector leg": p50_p95(nearest.index_ms),
            "exact search": p50_p95(nearest.exact_ms),
            "keyword leg": p50_p95(keyword_ms),
            **{
                f"whole {name}" if name == "search" else name: pair
                for name, pair in times_of(timings).items()
            },
        },
        note=note,
    )


async def is_empty(store: Store) -> bool:
    """Whether there is no memory at all."""
    return not await store.active.count(EVERYTHING)


async def _sample(table: Table, condition: Condition, most: int) -> list[Row]:
    """Rows that fit, drawn alike from all of them; the same ones while nothing changes."""
    ids = sorted(row_id for (row_id,) in await table.values([Column.ID], condition))
    if not ids:
        return []
    chosen = np.random.default_rng(1).choice(len(ids), min(most, len(ids)), replace=False)
    rows = await table.rows(one_of(Column.ID, [ids[index] for index in chosen]))
    return sorted(rows, key=lambda row: row.id)


async def _compared(table: Table, live: Condition, legs: Condition, rows: Sequence[Row]) -> _Nearest:
    found = _Nearest([], [], [])
    for row in rows:
        if row.vector is None:
            continue
        # One more than the ten, as each finds itself.
        by_index, index_ms = await _timed(table.nearest(row.vector, legs, FETCHED))
        exact, exact_ms = await _timed(table.nearest(row.vector, live, NEAREST + 1, exact=True))
        found.index_ms.append(index_ms)
        found.exact_ms.append(exact_ms)
        wanted = _others(exact, row.id)
        if wanted:
            enough = wanted[-1] - _SAME
            right = [value for value in _others(by_index, row.id) if value >= enough]
            found.recalls.append(len(right) / len(wanted))
    return found


def _others(matches: Matches, own: str) -> list[float]:
    """The similarities of the ten best besides the row itself, best first."""
    rows, similarities = matches
    pairs = zip(rows, similarities.tolist(), strict=True)
    return sorted((value for row, value in pairs if row.id != own), reverse=True)[:NEAREST]


async def _by_words(table: Table, legs: Condition, rows: Sequence[Row]) -> list[float]:
    return [
        (await _timed(table.matching(_question(row), legs & agent_condition(row.agent_id), FETCHED)))[1]
        for row in rows
    ]


async def _searched(store: Store, search: Search, rows: Sequence[Row]) -> tuple[list[Timings], str | None]:
    """Whole searches, each by the agent whose memory lends its first line."""
    # A first vector would make the store this embedder's for good.
    mode = Mode.KEYWORD if store.embedder is None else Mode.HYBRID
    note = "The store has no vectors yet: searches went by words." if store.embedder is None else None
    timings: list[Timings] = []
    for agent in sorted({row.agent_id for row in rows}):
        await search.search(Scope(agent), SearchQuery(text="warm up", mode=mode))
    for row in rows:
        result = await search.search(Scope(row.agent_id), SearchQuery(text=_question(row), mode=mode))
        timings.append(result.timings)
        note = note or result.reason
    return timings, note


def _question(row: Row) -> str:
    """The first line that says something."""
    lines = (line for line in row.text.splitlines() if not is_blank(line))
    return next(lines, row.text)[:_QUESTION_CHARS]


async def _timed(work: Awaitable[T]) -> tuple[T, float]:
    """What some work gave, and how long it took (ms)."""
    started = time.perf_counter()
    result = await work
    return result, (time.perf_counter() - started) * 1000
