"""Upkeep of the tables: compaction, pruning of old versions, and the indexes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from lancedb import AsyncTable

from noesis.errors import StoreBusy, StoreError
from noesis.heap import release_free_memory
from noesis.store.calls import FAULTS, panics_caught, reading, write_error
from noesis.store.filters import Column, is_set
from noesis.store.generations import Generation
from noesis.store.locks import StoreLocks
from noesis.store.pruning import remove_versions, weigh
from noesis.store.tables import Table
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
_KEEP_ALL = timedelta(days=3650)
_PRUNE_AFTER = timedelta(hours=1)
_PRUNE_SOON = timedelta(seconds=5)
"""How old a version has to be to go: ordinarily, and where old ones take more room than the newest or upkeep is
asked for.  A read that meets a removed version is repeated; a long one holds a pin."""
_BLOATED = 2.0
_BLOATED_BYTES = 4 << 20
_BLOATED_VERSIONS = 20
"""Old versions take too much room when there are so many and the table takes so much more than it needs."""


class TableState(msgspec.Struct, frozen=True):
    """What upkeep looks at: pieces on the disk, rows that the indexes do not cover yet, the vector index.

    `bytes` are those of the rows, `disk_bytes` all that the table's folder takes, `needed_bytes` what its
    newest version needs of that, and `stale_versions` the older ones that may go.
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
    disk_bytes: int = 0
    needed_bytes: int = 0
    stale_versions: int = 0

    @property
    def bloated(self) -> bool:
        """Whether old versions take more room than they may."""
        much = self.disk_bytes > _BLOATED * self.needed_bytes + _BLOATED_BYTES
        return much and self.stale_versions >= _BLOATED_VERSIONS

    @property
    def worn(self) -> bool:
        """Whether an optimisation is worth its work."""
        most = _MAX_FRAGMENTS_SMALL if self.rows < _SMALL_ROWS else _MAX_FRAGMENTS
        return self.fragments > most or max(self.unindexed_words, self.unindexed_vectors) > _MAX_UNINDEXED

    @property
    def due(self) -> bool:
        """Whether there is anything for upkeep to do."""
        return self.worn or self.bloated or self.index_step is not None


class Upkeep:
    """Looks after the tables of one generation by one policy."""

    def __init__(self, generation: Generation, locks: StoreLocks, policy: IndexPolicy) -> None:
        self._generation = generation
        self._locks = locks
        self._policy = policy

    async def state(self, table: Table) -> TableState:
        """Look at one table."""
        await table.follow()
        stats: Any = await reading(table.handle.stats, table.name)
        words, vector_index = 0, None
        for index in await reading(table.handle.list_indices, table.name):
            if index.columns == ["keyword_text"]:
                words = index.num_unindexed_rows or 0
            elif index.columns == ["vector"]:
                vector_index = described(index)
        weight = await asyncio.to_thread(weigh, self._folder(table), _before(_PRUNE_SOON))
        return TableState(
            disk_bytes=weight.disk,
            needed_bytes=weight.needed,
            stale_versions=weight.stale_versions,
            rows=stats["num_rows"],
            fragments=stats["fragment_stats"]["num_fragments"],
            bytes=stats["total_bytes"],
            unindexed_words=words,
            unindexed_vectors=vector_index.uncovered if vector_index else 0,
            vector_index=vector_index.kind if vector_index else None,
            indexed_vectors=vector_index.covered if vector_index else 0,
            index_step=await self._step(table, stats["num_rows"], vector_index),
        )

    async def maintain(self, *, force: bool, wait_s: float = 0.0) -> int:
        """Look after each table that needs it, waiting so long for another process; returns how many did.

        Every step is tried, whatever became of the one before it.  Raises StoreBusy when another process
        is at it, and at the end the StoreError of the first step that failed.
        """
        async with self._locks.maintaining(wait_s), _released():
            await self._generation.follow()
            failures: list[StoreError] = []
            done = 0
            for table in (self._generation.active, self._generation.archive):
                done += await self._maintain_table(table, failures, force=force)
            if done:
                await _noting(failures, self._generation.reopen)
            if failures:
                raise failures[0]
            return done

    async def _maintain_table(self, table: Table, failures: list[StoreError], *, force: bool) -> bool:
        state = await self.state(table)
        steps: list[Callable[[], Awaitable[None]]] = []
        if state.index_step == "build":
            steps.append(lambda: _again_on_conflict(lambda: self._build(table)))
        elif state.index_step == "drop":
            steps.append(lambda: _again_on_conflict(lambda: _drop(table)))
        if state.worn or force:
            steps.append(lambda: _again_on_conflict(lambda: self._compact(table)))
        if state.worn or state.bloated or force:
            age = _PRUNE_SOON if state.bloated or force else _PRUNE_AFTER
            steps.append(lambda: self._prune(table, age))
        for step in steps:
            await _noting(failures, step)
        return bool(steps)

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

    async def _compact(self, table: Table) -> None:
        """Make one piece of many, and fold new rows into the indexes."""
        try:
            await optimize(table.handle, _KEEP_ALL)
        except RuntimeError as error:
            if not _cannot_fold(error):
                raise
            await self._build(table)
            await optimize(table.handle, _KEEP_ALL)

    async def _prune(self, table: Table, age: timedelta) -> None:
        """Remove the versions that are older, unless somebody reads one: then the next upkeep does."""
        with suppress(StoreBusy):
            async with self._locks.pruning():
                try:
                    await _again_on_conflict(lambda: optimize(table.handle, age))
                except StoreError:
                    # It compacts before it removes anything, and that has failed.
                    await asyncio.to_thread(remove_versions, self._folder(table), _before(age))

    def _folder(self, table: Table) -> Path:
        return self._generation.directory / f"{table.name}.lance"

    async def _vectors(self, table: Table) -> int:
        return await table.count(is_set(Column.VECTOR))


async def _noting(failures: list[StoreError], step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except StoreError as error:
        failures.append(error)


@asynccontextmanager
async def _released() -> AsyncIterator[None]:
    """Give back at once what upkeep freed: tens of MB that nothing needs until the next one."""
    try:
        yield
    finally:
        await asyncio.to_thread(release_free_memory)


def _cannot_fold(error: RuntimeError) -> bool:
    """Whether partitions were to be split or merged while every new row lacks a vector.

    LanceDB then misses a temporary file of its own and gives up, keyword index and all.
    """
    text = str(error).lower()
    return "not found" in text and "/ivf_" in text


async def optimize(table: AsyncTable, remove_older_than: timedelta) -> None:
    """LanceDB's own upkeep: it compacts, then removes old versions, then folds new rows into the indexes."""
    await table.optimize(cleanup_older_than=remove_older_than)


def _before(age: timedelta) -> float:
    return time.time() - age.total_seconds()


async def _drop(table: Table) -> None:
    for index in await reading(table.handle.list_indices, table.name):
        if index.columns == ["vector"]:
            await table.handle.drop_index(index.name)


async def _again_on_conflict(call: Callable[[], Awaitable[Any]]) -> None:
    """Unlike writes, optimising and indexing give up at the first conflict with a writer."""
    for attempt in range(_TRIES):
        try:
            with panics_caught():
                await call()
        except FAULTS as error:
            if "conflict" not in str(error).lower():
                raise write_error(error) from error
            await asyncio.sleep(random.uniform(0.05, 0.1 * 2**attempt))  # noqa: S311
        else:
            return
    raise StoreError("Upkeep lost against writers every time; it is tried again later.")
