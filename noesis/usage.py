"""Usage: which memories are used most, and which never were."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable

import msgspec

from noesis.browsing import agent_condition, live_condition, load_memories
from noesis.memory import Memory, Scope
from noesis.store import Column, Store
from noesis.store.filters import equals
from noesis.uses import Use, Uses

_PAGE = 50
_PAGES = 10
"""So many times is looked further when what was used most is archived by now."""


class UsedMemory(msgspec.Struct, frozen=True):
    """An active memory with its uses."""

    memory: Memory
    use: Use


class Unused(msgspec.Struct, frozen=True):
    """How many active memories were never used, and the oldest of them, oldest first."""

    count: int
    oldest: tuple[Memory, ...]


class Usage:
    """Looks from the counts to the memories."""

    def __init__(self, uses: Uses, store: Store, now_ms: Callable[[], int]) -> None:
        self._uses = uses
        self._store = store
        self._now_ms = now_ms

    async def most(self, scope: Scope, limit: int) -> tuple[UsedMemory, ...]:
        """The active memories with the most uses, most first; all agents' for an administrator alone."""
        found: list[UsedMemory] = []
        for number in range(_PAGES):
            counted = await self._uses.most_used(scope.whose, _PAGE, number * _PAGE)
            memories = await load_memories(self._store.active, [memory_id for memory_id, _ in counted])
            living = {each.id: each for each in memories if each.expires_at > self._now_ms()}
            found += [UsedMemory(living[key], use) for key, use in counted if key in living]
            if len(found) >= limit or len(counted) < _PAGE:
                break
        return tuple(found[:limit])

    async def never(self, scope: Scope, limit: int) -> Unused:
        """The active memories that no search found, nobody recalled and no prompt held."""
        used = await self._uses.used_ids(scope.whose)
        condition = agent_condition(scope.whose) & live_condition(self._now_ms()) & equals(Column.CHUNK, 0)
        columns = [Column.CREATED_AT, Column.PARENT_ID]
        keys = await self._store.active.values(columns, condition)
        # With a hundred thousand memories this is long enough to hold up others.
        count, oldest = await asyncio.to_thread(_unused, keys, used, limit)
        return Unused(count, tuple(await load_memories(self._store.active, oldest)))


def _unused(keys: Iterable[tuple[int, str]], used: set[str], limit: int) -> tuple[int, list[str]]:
    left = [key for key in keys if key[1] not in used]
    return len(left), [memory_id for _, memory_id in heapq.nsmallest(limit, left)]
