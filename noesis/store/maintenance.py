"""Upkeep of the tables: compaction, pruning of old versions, and the indexes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec

from noesis.errors import StoreBusy
from noesis.store.filters import Column, is_set
from noesis.store.generations import Generation
from noesis.store.locks import StoreLocks
from noesis.store.tables import Table, write_error
from noesis.store.vector_index import (
    IndexPolicy,
    Step,
    VectorIndex,
    described,
    design_for,
    has_outgrown,
    is_too_few,
)

_MAX_FRAGMENTS = 50
_MAX_FRAGMENTS_SMALL = 16
_SMALL_ROWS = 20_000
"""A compaction writes a small table whole, which costs less than a few searches through its pieces."""
_MAX_UNINDEXED = 1000
_TRIES = 8
_PRUNE_AFTER = timedelta(hours=1)
"""Old versions are kept this long: longer than any read or backup needs them."""


class TableState(msgspec.Struct, frozen=True):
    """What upkeep looks at: pieces on the disk, rows that the indexes do not cover yet, the vector index.

    `vector_index` is its kind (None: search is exact) and `indexed_vectors` the rows it covers;
    `index_step` is what the policy has to do about it now.
    """

    rows: int
    fragments: int
    bytes: int
    unindexed_words: int
    unindexed_vectors: int
    vector_index: str | None = None
    indexed_vectors: int = 0
    index_step: Step | None = None

    @property
    def worn(self) -> bool:
        """Whether an optimisation is worth its work."""
        most = _MAX_FRAGMENTS_SMALL if self.rows < _SMALL_ROWS else _MAX_FRAGMENTS
        return self.fragments > most or max(self.unindexed_words, self.unindexed_vectors) > _MAX_UNINDEXED

    @property
    def due(self) -> bool:
        """Whether there is anything for upkeep to do."""
        return self.worn or self.index_step is not None


class Upkeep:
    """Looks after the tables of one generation by one policy."""

    def __init__(self, generation: Generation, locks: StoreLocks, policy: IndexPolicy) -> None:
        self._generation = generation
        self._locks = locks
        self._policy = policy

    async def state(self, table: Table) -> TableState:
        """Look at one table."""
        await table.follow()
        stats: Any = await table.handle.stats()
        words, vector_index = 0, None
        for index in await table.handle.list_indices():
            if index.columns == ["keyword_text"]:
                words = index.num_unindexed_rows or 0
            elif index.columns == ["vector"]:
                vector_index = described(index)
        return TableState(
            rows=stats["num_rows"],
            fragments=stats["fragment_stats"]["num_fragments"],
            bytes=stats["total_bytes"],
            unindexed_words=words,
            unindexed_vectors=vector_index.uncovered if vector_index else 0,
            vector_index=vector_index.kind if vector_index else None,
            indexed_vectors=vector_index.covered if vector_index else 0,
            index_step=await self._step(table, stats["num_rows"], vector_index),
        )

    async def maintain(self, *, force: bool) -> int:
        """Optimise each table that needs it; returns how many were.

        Raises StoreBusy when another process is at it.
        """
        async with self._locks.maintaining():
            await self._generation.follow()
            done = 0
            for table in (self._generation.active, self._generation.archive):
                done += await self._maintain_table(table, force=force)
            return done

    async def _maintain_table(self, table: Table, *, force: bool) -> bool:
        state = await self.state(table)
        if state.index_step == "build":
            await _again_on_conflict(lambda: self._build(table))
        elif state.index_step == "drop":
            await _again_on_conflict(lambda: _drop(table))
        if state.worn or force:
            await _again_on_conflict(lambda: self._optimize(table))
        return state.due or force

    async def _step(self, table: Table, rows: int, index: VectorIndex | None) -> Step | None:
        """What the policy has to do; vectors are counted, which reads them, only where rows do not tell."""
        dimension = await table.dimension()
        if dimension is None:
            return None
        if index is None:
            wanted = rows >= self._policy.min_rows and await self._vectors(table) >= self._policy.min_rows
            return "build" if wanted else None
        if is_too_few(self._policy, rows):
            return "drop"
        if index.is_fragmented or not index.follows(design_for(self._policy, dimension)):
            return "build"
        # A record that is missing was not restored with the tables.
        trained = self._generation.trained(table.handle.name) or index.covered
        outgrown = has_outgrown(index, trained, rows)
        return "build" if outgrown and has_outgrown(index, trained, await self._vectors(table)) else None

    async def _build(self, table: Table) -> None:
        """Build the vector index, in place of the one there is; writers and readers go on meanwhile."""
        vectors, dimension = await self._vectors(table), await table.dimension()
        if dimension is not None:
            await table.handle.create_index("vector", config=design_for(self._policy, dimension).config())
            self._generation.record_trained(table.handle.name, vectors)

    async def _optimize(self, table: Table) -> None:
        try:
            await table.handle.optimize(cleanup_older_than=_PRUNE_AFTER)
        except RuntimeError as error:
            if not _cannot_fold(error):
                raise
            await self._build(table)
            await table.handle.optimize(cleanup_older_than=_PRUNE_AFTER)

    async def _vectors(self, table: Table) -> int:
        return await table.count(is_set(Column.VECTOR))


def _cannot_fold(error: RuntimeError) -> bool:
    """Whether partitions were to be split or merged while every new row lacks a vector.

    LanceDB then misses a temporary file of its own and gives up, keyword index and all.
    """
    text = str(error).lower()
    return "not found" in text and "/ivf_" in text


async def _drop(table: Table) -> None:
    for index in await table.handle.list_indices():
        if index.columns == ["vector"]:
            await table.handle.drop_index(index.name)


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
