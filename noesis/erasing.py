"""Erase: take all that came from one source, or belongs to one session, out of the store for good."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from noesis.browsing import agent_condition
from noesis.memory import Memory
from noesis.purging import PurgeChange
from noesis.store import Column, Condition, Row, Store, View
from noesis.store.filters import EVERYTHING, equals
from noesis.tombstones import Kind, Tombstone, Tombstones

FORGOTTEN = "of a source or a session that was forgotten"
"""Why something is left out."""

_AT_ONCE = 256


async def count(store: Store, agent: str, kind: Kind, value: str) -> int:
    """How many memories that is, in both tables: active, archived and deleted ones."""
    return len(await _ids(store, agent, kind, value))


async def erase(store: Store, stone: Tombstone, actor: str) -> list[str]:
    """Purge them; the ids of those that were there.  May be run again after a kill.  Raises a StoreError."""

    def still(row: Row) -> bool:
        return row.agent_id == stone.agent and stone.value == _named(row, stone.kind)

    gone: list[str] = []
    ids = await _ids(store, stone.agent, stone.kind, stone.value)
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        because = f"{stone.kind.value} forgotten"
        changes = [PurgeChange(None, memory_id, actor, still, because) for memory_id in some]
        results = await asyncio.gather(*(store.submit(change) for change in changes))
        gone += [memory_id for memory_id, was_there in zip(some, results, strict=True) if was_there]
    return gone


def names_of(memory: Memory) -> set[tuple[Kind, str]]:
    """The names under which a memory may be forgotten."""
    named = ((Kind.SOURCE, memory.source), (Kind.SESSION, memory.session_id))
    return {(kind, name) for kind, name in named if name is not None}


class Forgotten:
    """What an agent is to stay without, for those who bring memories in by themselves.

    They look before they store, and call `after` when they have: of a tombstone that was set in between
    the look knew nothing, or its purge came before the store.
    """

    def __init__(self, store: Store, tombstones: Tombstones) -> None:
        self._store = store
        self._tombstones = tombstones

    async def of(self, agent: str) -> frozenset[tuple[Kind, str]]:
        """The forgotten sources and sessions."""
        return await self._tombstones.forgotten(agent)

    async def after(self, agent: str, stored: Iterable[tuple[Kind, str]]) -> frozenset[tuple[Kind, str]]:
        """Purge what was just stored under these names and is forgotten now; which of the names are."""
        named = (await self._tombstones.forgotten(agent)).intersection(stored)
        for stone in await self._tombstones.all(agent) if named else ():
            if (stone.kind, stone.value) in named:
                await erase(self._store, stone, stone.by)
        return named


class TouchChange:
    """Writes a memory anew as it is: its rows get a new fragment, which a compaction has to merge."""

    hashes: tuple[str, ...] = ()

    def __init__(self, memory_id: str) -> None:
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> None:
        """Nothing of it changes."""
        (memory_id,) = self.memory_ids
        if rows := view.active(memory_id):
            view.put_active(list(rows))
        elif rows := view.archived(memory_id):
            view.put_archived(list(rows))


async def rewrite(store: Store) -> None:
    """Write the tables' files anew, so that the newest version holds nothing of what was purged.

    A compaction leaves a file alone of which less than a tenth was deleted, unless it has another one
    to merge it with; and it merges only those that the indexes cover, which the first of two passes sees to.
    Raises StoreBusy or another StoreError.
    """
    for table in (store.active, store.archive):
        for (memory_id,) in await table.values([Column.PARENT_ID], EVERYTHING, limit=1):
            await store.submit(TouchChange(memory_id))
    for _ in range(2):
        await store.maintain(force=True)


async def _ids(store: Store, agent: str, kind: Kind, value: str) -> list[str]:
    condition = agent_condition(agent) & _from(kind, value)
    tables = (store.active, store.archive)
    found = [await table.values([Column.PARENT_ID], condition) for table in tables]
    return sorted({str(parent) for rows in found for (parent,) in rows})


def _from(kind: Kind, value: str) -> Condition:
    return equals(Column.SOURCE if kind is Kind.SOURCE else Column.SESSION_ID, value)


def _named(row: Row, kind: Kind) -> str | None:
    return row.source if kind is Kind.SOURCE else row.session_id
