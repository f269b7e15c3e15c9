"""Growth: how many of the memories that live were made in each week or month."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from noesis.browsing import agent_condition, live_condition
from noesis.memory import DAY_MS, Scope
from noesis.store import Column, Store
from noesis.store.filters import at_least, equals

WEEK_MS = 7 * DAY_MS

_MONDAY_MS = 4 * DAY_MS
"""The first Monday after 1970-01-01, a Thursday."""


class Growth:
    """Counts memories by when they were made."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    async def weeks(self, scope: Scope, count: int = 26) -> Sequence[tuple[int, int]]:
        """The last weeks, oldest first: the Monday (ms, UTC) each begins on, and the memories made in it."""
        now = self._now_ms()
        newest = (now - _MONDAY_MS) // WEEK_MS
        oldest = newest - count + 1
        condition = (
            agent_condition(scope.whose)
            & live_condition(now)
            & equals(Column.CHUNK, 0)
            & at_least(Column.CREATED_AT, _MONDAY_MS + oldest * WEEK_MS)
        )
        made = [at for (at,) in await self._store.active.values([Column.CREATED_AT], condition)]
        weeks = (np.array(made, dtype=np.int64) - _MONDAY_MS) // WEEK_MS - oldest
        # What is dated ahead of now was made by somebody's wrong clock, and counts for the present week.
        counts = np.bincount(np.clip(weeks, 0, count - 1), minlength=count)
        return [(_MONDAY_MS + (oldest + week) * WEEK_MS, int(counts[week])) for week in range(count)]
