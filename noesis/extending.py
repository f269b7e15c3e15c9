"""Longer life on use: a memory that is used has its life renewed before it runs out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from noesis.lifetimes import Lifetimes
from noesis.memory import DAY_MS, NEVER
from noesis.store import Row, Store, View


class Life(msgspec.Struct, frozen=True):
    """A memory with its type, creation and expiry (ms since 1970)."""

    id: str
    agent: str
    memory_type: str
    created_at: int
    expires_at: int


class Extending:
    """Renews lives."""

    def __init__(self, store: Store, lifetimes: Lifetimes, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._lifetimes = lifetimes
        self._now_ms = now_ms

    async def renew(self, used: Sequence[Life]) -> tuple[str, ...]:
        """Give those of these memories a new life of their type's length that have less than half of one left.

        Answers with their ids.  Raises a StoreError.
        """
        now = self._now_ms()
        days = {life.id: await self._lifetimes.days(life.agent, life.memory_type) for life in used}
        due = {life.id: days[life.id] for life in used if is_due(life, days[life.id], now)}
        return await self._store.submit(ExtendChange(due, now)) if due else ()


class ExtendChange:
    """Moves the expiry of active memories; `days` are the lives by memory id."""

    hashes: tuple[str, ...] = ()
    actor = "use"
    because = "used with less than half of its life left"

    def __init__(self, days: Mapping[str, float], now_ms: int) -> None:
        self._days = days
        self._now_ms = now_ms
        self.memory_ids = tuple(days)

    def apply(self, view: View) -> tuple[str, ...]:
        """Renew what is still due, as its rows are now; the ids of those."""
        renewed = []
        for memory_id, days in self._days.items():
            rows = view.active(memory_id)
            if rows and is_due(_life(rows[0]), days, self._now_ms):
                expires_at = self._now_ms + round(days * DAY_MS)
                view.put_active([msgspec.structs.replace(row, expires_at=expires_at) for row in rows])
                renewed.append(memory_id)
        return tuple(renewed)


def is_due(life: Life, days: float, now_ms: int) -> bool:
    """Whether less than half of a life of so many days is left.

    What has expired stays so, and what was given a shorter life than its type's keeps that.
    """
    if life.expires_at == NEVER or life.expires_at <= now_ms or days == 0:
        return False
    whole = round(days * DAY_MS)
    return life.expires_at - life.created_at >= whole and (life.expires_at - now_ms) * 2 < whole


def _life(row: Row) -> Life:
    return Life(row.parent_id, row.agent_id, row.memory_type, row.created_at, row.expires_at)
