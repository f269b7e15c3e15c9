"""Stats: what is remembered, and how it lies on the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from noesis.browsing import agent_condition, archived_condition, live_condition
from noesis.embedding.base import EmbedderIdentity
from noesis.memory import EmbeddingState, MemoryType, Scope
from noesis.redacting import Redacting
from noesis.store import Column, Condition, Store, Table
from noesis.store.filters import equals


class Counts(msgspec.Struct, frozen=True):
    """Memories of one table, by what they are."""

    memories: int
    by_agent: dict[str, int]
    by_type: dict[str, int]
    by_priority: dict[str, int]
    by_embedding_state: dict[str, int]


class Disk(msgspec.Struct, frozen=True):
    """How the store lies on the disk; `unindexed` rows are found too, only slower.

    `vector_index` is the kind of the vector index, None where search is exact, and `indexed_vectors`
    the rows it covers.
    """

    rows: int
    bytes: int
    fragments: int
    unindexed_words: int
    unindexed_vectors: int
    vector_index: str | None
    indexed_vectors: int


class Stats(msgspec.Struct, frozen=True):
    """What one agent (or all of them, for an administrator) has in memory.

    `redacted` counts the secrets that were taken out of its texts, by kind.
    """

    active: Counts
    archive: Counts
    embedder: EmbedderIdentity | None
    redacted: dict[str, int]
    disk: Disk | None


class Statistics:
    """Counts memories."""

    def __init__(self, store: Store, redacting: Redacting, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._redacting = redacting
        self._now_ms = now_ms

    async def stats(self, scope: Scope) -> Stats:
        """Counts of the caller's memories; the disk's figures only for who sees all of them."""
        agent = agent_condition(scope.whose)
        return Stats(
            active=await _counts(self._store.active, agent & live_condition(self._now_ms())),
            archive=await self.archived(scope),
            embedder=self._store.embedder,
            redacted=await self._redacting.totals(scope.whose),
            disk=await self.disk(scope),
        )

    async def archived(self, scope: Scope) -> Counts:
        """Counts of the caller's memories in the archive."""
        return await _counts(self._store.archive, agent_condition(scope.whose) & archived_condition())

    async def embedding_states(self, scope: Scope) -> dict[str, int]:
        """How many of the caller's living memories are in each state; every state is named."""
        living = agent_condition(scope.whose) & live_condition(self._now_ms()) & equals(Column.CHUNK, 0)
        counted = await self._store.active.tally([Column.EMBEDDING_STATE], living)
        return _states(Counter(dict(counted)))

    async def disk(self, scope: Scope) -> Disk | None:
        """The disk's figures, for who sees all memories."""
        if scope.agent is not None:
            return None
        states = await self._store.states()
        return Disk(
            rows=sum(state.rows for state in states),
            bytes=sum(state.bytes for state in states),
            fragments=sum(state.fragments for state in states),
            unindexed_words=sum(state.unindexed_words for state in states),
            unindexed_vectors=sum(state.unindexed_vectors for state in states),
            vector_index=next((state.vector_index for state in states if state.vector_index), None),
            indexed_vectors=sum(state.indexed_vectors for state in states),
        )


async def _counts(table: Table, condition: Condition) -> Counts:
    columns = [Column.AGENT_ID, Column.MEMORY_TYPE, Column.PRIORITY, Column.EMBEDDING_STATE]
    counted = await table.tally(columns, condition & equals(Column.CHUNK, 0))
    agents, types, priorities, states = (Counter[Any](), Counter[Any](), Counter[Any](), Counter[Any]())
    for agent, kind, priority, state, count in counted:
        agents[agent] += count
        types[kind] += count
        priorities[_band(priority)] += count
        states[state] += count
    return Counts(
        memories=agents.total(),
        by_agent=_sorted(agents),
        by_type={kind.value: 0 for kind in MemoryType} | _sorted(types),
        by_priority=_sorted(priorities),
        by_embedding_state=_states(states),
    )


def _states(counts: Counter[Any]) -> dict[str, int]:
    return {state.value: 0 for state in EmbeddingState} | _sorted(counts)


def _band(priority: int) -> str:
    low = min(priority // 25 * 25, 75)
    return f"{low}-{100 if low == 75 else low + 24}"


def _sorted(counts: Counter[Any]) -> dict[str, int]:
    return dict(sorted(counts.items()))
