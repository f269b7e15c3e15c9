"""Upkeep of the tables: compaction, pruning of old versions, and the indexes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
from lancedb.index import IvfRq

from noesis.errors import StoreBusy
from noesis.store.filters import Column, is_set
from noesis.store.generations import Generation
from noesis.store.locks import StoreLocks
from noesis.store.tables import Table, write_error

_MAX_FRAGMENTS = 50
_MAX_FRAGMENTS_SMALL = 16
_SMALL_ROWS = 20_000
"""A compaction writes a small table whole, which costs less than a few searches through its pieces."""
_MAX_UNINDEXED = 1000
_TRIES = 8
_PRUNE_AFTER = timedelta(hours=1)
"""Old versions are kept this long: longer than any read or backup needs them."""


class TableState(msgspec.Struct, frozen=True):
    """What upkeep looks at: pieces on the disk, and rows that the indexes do not cover yet."""

    rows: int
    fragments: int
    bytes: int
    unindexed_words: int
    unindexed_vectors: int
    vector_index: bool

    @property
    def due(self) -> bool:
        """Whether an optimisation is worth its work."""
        most = _MAX_FRAGMENTS_SMALL if self.rows < _SMALL_ROWS else _MAX_FRAGMENTS
        return self.fragments > most or max(self.unindexed_words, self.unindexed_vectors) > _MAX_UNINDEXED


async def table_state(table: Table) -> TableState:
    """Look at one table."""
    stats: Any = await table.handle.stats()
    words = vectors = 0
    has_vector_index = False
    for index in await table.handle.list_indices():
        if index.columns == ["keyword_text"]:
            words = index.num_unindexed_rows or 0
        elif index.columns == ["vector"]:
            has_vector_index, vectors = True, index.num_unindexed_rows or 0
    return TableState(
        rows=stats["num_rows"],
        fragments=stats["fragment_stats"]["num_fragments"],
        bytes=stats["total_bytes"],
        unindexed_words=words,
        unindexed_vectors=vectors,
        vector_index=has_vector_index,
    )


async def maintain(generation: Generation, locks: StoreLocks, *, ann_min_rows: int, force: bool) -> int:
    """Optimise each table that needs it; returns how many were.

    Raises StoreBusy when another process is at it.
    """
    async with locks.maintaining():
        done = 0
        for table in (generation.active, generation.archive):
            done += await _maintain_table(table, ann_min_rows=ann_min_rows, force=force)
        return done


async def _maintain_table(table: Table, *, ann_min_rows: int, force: bool) -> bool:
    state = await table_state(table)
    build = not state.vector_index and await _wants_vector_index(table, state, ann_min_rows)
    if build:
        await _again_on_conflict(
            lambda: table.handle.create_index("vector", config=IvfRq(distance_type="cosine"))
        )
    if not (state.due or force):
        return build
    await _again_on_conflict(lambda: table.handle.optimize(cleanup_older_than=_PRUNE_AFTER))
    return True


async def _wants_vector_index(table: Table, state: TableState, ann_min_rows: int) -> bool:
    dimension = await table.dimension()
    # The index packs eight dimensions into a byte; other widths are searched exactly.
    if dimension is None or dimension % 8 or state.rows < ann_min_rows:
        return False
    return await table.count(is_set(Column.VECTOR)) >= ann_min_rows


async def _again_on_conflict(call: Callable[[], Awaitable[Any]]) -> None:
    """Unlike writes, optimising and indexing give up at the first conflict with a writer."""
    for attempt in range(_TRIES):
        try:
            await call()
        except RuntimeError as error:
            if "conflict" not in str(error).lower():
                raise write_error(error) from error
            await asyncio.sleep(random.uniform(0.05, 0.1 * 2**attempt))  # noqa: S311
        else:
            return
    raise StoreBusy("Upkeep lost against writers every time; it is tried again later.")
