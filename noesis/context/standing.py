"""The memories that go into every prompt of an agent, for their priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from noesis.browsing import agent_condition, live_condition, load_memories
from noesis.context.fitness import Fitness
from noesis.memory import DAY_MS, Memory, Scope
from noesis.settings import Settings
from noesis.store import Column, Store
from noesis.store.filters import at_least, equals


class Standing:
    """Finds them, the most important first and then the newest."""

    def __init__(self, store: Store, fitness: Fitness, settings: Settings, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._fitness = fitness
        self._settings = settings
        self._now_ms = now_ms

    async def find(self, scope: Scope, left_out: Counter[str]) -> list[Memory]:
        """Those of the least priority or more that are young enough, as many as the settings allow.

        Counts those it passes over in `left_out`, by reason.  Raises a StoreError.
        """
        most = self._settings.assemble_max_entries
        found: list[Memory] = []
        ids = await self._ids(scope)
        while ids and len(found) < most:
            batch, ids = ids[:most], ids[most:]
            memories = await load_memories(self._store.active, batch)
            found += await self._fitness.fit(memories, left_out)
        return found[:most]

    async def _ids(self, scope: Scope) -> Sequence[str]:
        now, days = self._now_ms(), self._settings.assemble_max_age_days
        condition = (
            agent_condition(scope.owner())
            & live_condition(now)
            & equals(Column.CHUNK, 0)
            & at_least(Column.PRIORITY, self._settings.assemble_inject_priority)
        )
        if days:
            condition &= at_least(Column.CREATED_AT, round(now - days * DAY_MS))
        columns = [Column.PRIORITY, Column.CREATED_AT, Column.PARENT_ID]
        rows = await self._store.active.values(columns, condition)
        return [memory_id for _, _, memory_id in sorted(rows, key=lambda row: (-row[0], -row[1], row[2]))]
