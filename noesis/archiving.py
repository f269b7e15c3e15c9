"""The archive: look through it by month and type, and bring memories back from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Literal

import msgspec
import numpy as np

from noesis.browsing import Browsing, Page, agent_condition, archived_condition, filter_condition
from noesis.errors import InvalidInput, QuotaExceeded
from noesis.lifetimes import Lifetimes, Lives
from noesis.memory import DELETED, MemoryFilter, MemoryType, Scope, check_ttl, expiry
from noesis.quotas import Quotas, Room
from noesis.store import Column, Row, Store, View
from noesis.store.filters import equals, one_of

MAX_RESTORED = 1000

Outcome = Literal["restored", "active", "deleted", "not_found", "no_room"]


class Shelf(msgspec.Struct, frozen=True):
    """A page of the archive, and how many memories there are in all by the month of their creation
    ("2026-05", newest first) and by type; both without the month that was asked for."""

    page: Page
    months: dict[str, int]
    types: dict[str, int]


class Restored(msgspec.Struct, frozen=True):
    """What became of one id: brought back, there already, deleted (undelete brings it back), not the
    caller's or nowhere, or without room in the agent's quota; `expires_at` (ms) is of what was brought back."""

    id: str
    outcome: Outcome
    expires_at: int | None = None


class Archiving:
    """Looks through the archive and takes out of it."""

    def __init__(
        self,
        store: Store,
        browsing: Browsing,
        lifetimes: Lifetimes,
        quotas: Quotas,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._browsing = browsing
        self._lifetimes = lifetimes
        self._quotas = quotas
        self._now_ms = now_ms

    async def browse(
        self,
        scope: Scope,
        *,
        memory_type: MemoryType | None = None,
        month: str | None = None,
        reason: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        cross_agent: bool = False,
        agent: str | None = None,
    ) -> Shelf:
        """Archived memories, newest first; `month` is that of their creation, `reason` why
        they lie there.  Raises InvalidInput or Forbidden."""
        wanted = MemoryFilter(
            memory_types=() if memory_type is None else (memory_type,), archive_reason=reason
        )
        page = await self._browsing.page(
            scope,
            wanted if month is None else within(wanted, month),
            limit=limit,
            cursor=cursor,
            cross_agent=cross_agent,
            agent=agent,
            archived=True,
        )
        whose = agent_condition(scope.readable(cross_agent=cross_agent, agent=agent))
        all_of_them = whose & archived_condition() & equals(Column.CHUNK, 0)
        types = await self._store.archive.tally([Column.MEMORY_TYPE], all_of_them)
        times = await self._store.archive.values([Column.CREATED_AT], all_of_them & filter_condition(wanted))
        return Shelf(page, by_month([ms for (ms,) in times]), dict(sorted(types)))

    async def restore(
        self, scope: Scope, ids: Sequence[str], ttl_days: float | None = None
    ) -> list[Restored]:
        """Bring memories back, each with this life (days, 0 = never expires) or that of its type.

        Results are in the order of the ids; a memory that expired and was not archived yet is brought back
        as well.  Raises InvalidInput or a StoreError.
        """
        if not 1 <= len(ids) <= MAX_RESTORED:
            raise InvalidInput(f"ids must hold 1 to {MAX_RESTORED:,} ids.", field="ids")
        if ttl_days is not None:
            check_ttl(ttl_days)
        agents = await self._agents_of(scope, ids)
        lives = {agent: await self._lifetimes.of(agent) for agent in set(agents.values())}
        async with AsyncExitStack() as stack:
            rooms = {agent: await stack.enter_async_context(self._quotas.room(agent)) for agent in lives}
            changes = {
                memory_id: RestoreChange(
                    scope, memory_id, lives[agent], ttl_days, rooms[agent], self._now_ms()
                )
                for memory_id, agent in agents.items()
            }
            results = await asyncio.gather(*(self._submit(change) for change in changes.values()))
        done = dict(zip(changes, results, strict=True))
        return [done.get(memory_id, Restored(memory_id, "not_found")) for memory_id in ids]

    async def _agents_of(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        """The agent of each of these memories that the caller owns, in order."""
        mine = one_of(Column.ID, sorted(set(ids))) & agent_condition(scope.whose)
        columns = [Column.PARENT_ID, Column.AGENT_ID]
        found = await asyncio.gather(
            self._store.archive.values(columns, mine), self._store.active.values(columns, mine)
        )
        agents = dict(row for rows in found for row in rows)
        return {memory_id: agents[memory_id] for memory_id in ids if memory_id in agents}

    async def _submit(self, change: RestoreChange) -> Restored:
        try:
            return await self._store.submit(change)
        except QuotaExceeded:
            return Restored(change.memory_ids[0], "no_room")


class RestoreChange:
    """Moves a memory from the archive back, with a new life."""

    hashes: tuple[str, ...] = ()

    def __init__(
        self,
        scope: Scope,
        memory_id: str,
        lives: Lives,
        ttl_days: float | None,
        room: Room,
        now_ms: int,
    ) -> None:
        self._whose = scope.whose
        self._id = memory_id
        self._lives = lives
        self._ttl_days = ttl_days
        self._room = room
        self._now_ms = now_ms
        self.actor = scope.actor
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> Restored:
        """What lives is left as it is; what a person deleted is only brought back by an undelete."""
        rows = view.active(self._id) or view.archived(self._id)
        if not rows or self._whose not in (None, rows[0].agent_id):
            return Restored(self._id, "not_found")
        first = rows[0]
        if first.archive_reason == DELETED:
            return Restored(self._id, "deleted")
        if first.archived_at is None and first.expires_at > self._now_ms:
            return Restored(self._id, "active")
        self._room.take()
        days = self._lives.days(first.memory_type) if self._ttl_days is None else self._ttl_days
        expires_at = expiry(days, self._now_ms)
        view.put_active([self._back(row, expires_at) for row in rows])
        return Restored(self._id, "restored", expires_at)

    def _back(self, row: Row, expires_at: int) -> Row:
        return msgspec.structs.replace(
            row, archived_at=None, archive_reason=None, expires_at=expires_at, updated_at=self._now_ms
        )


def within(wanted: MemoryFilter, month: str) -> MemoryFilter:
    """The filter with the bounds of a month ("2026-05", UTC).  Raises InvalidInput."""
    try:
        first = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidInput("month must look like 2026-05.", field="month") from error
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return msgspec.structs.replace(
        wanted, after=round(first.timestamp() * 1000), before=round(after.timestamp() * 1000)
    )


def by_month(times: Sequence[int]) -> dict[str, int]:
    """How many of these times (ms since 1970) lie in each month, the newest month first."""
    months = np.array(times, dtype="datetime64[ms]").astype("datetime64[M]")
    names, counts = np.unique(months, return_counts=True)
    return {str(name): int(count) for name, count in zip(names[::-1], counts[::-1], strict=True)}
