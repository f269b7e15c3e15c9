"""Quotas: how many memories an agent may have, counted without reading the tables at each write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from noesis.activity import ActivityLog
from noesis.agents import Agents
from noesis.browsing import agent_condition, live_condition
from noesis.errors import QuotaExceeded
from noesis.health import Part
from noesis.refusals import Refusals, Refused
from noesis.store import Column, Store
from noesis.store.filters import equals

_FULL_FOR_S = 0.1
"""A full agent's memories are counted anew after this long: some may have been deleted."""

_COUNTED_FOR_S = 30.0
"""Other processes write too; this is how far two of them may be apart about an agent that is not full."""

_TOLD_AGAIN_MS = 3_600_000

_RECENTLY_MS = 3_600_000
_NAMED = 5


class _Tally(msgspec.Struct):
    """An agent's memories as last counted, those that are on their way into the store, and all that went there."""

    stored: int = 0
    under_way: int = 0
    settled: int = 0
    counted_at: float = float("-inf")

    @property
    def count(self) -> int:
        return self.stored + self.under_way


class Room:
    """What one agent may still store; one for each piece of work, shared by its changes."""

    def __init__(self, agent: str, most: int, tally: _Tally) -> None:
        self._agent = agent
        self._most = most
        self._tally = tally
        self._taken = 0
        self._closed = False
        self.refused = 0

    @property
    def is_full(self) -> bool:
        """Whether a new memory would be refused."""
        return self._most > 0 and self._tally.count >= self._most

    def take(self) -> None:
        """Use the room of one memory.  Raises QuotaExceeded, and then nothing was used."""
        if self.is_full:
            raise self.refusal()
        self._tally.under_way += 1
        self._taken += 1
        if self._closed:
            self.close()

    def refusal(self) -> QuotaExceeded:
        """The error of a memory that finds no room; it is counted."""
        self.refused += 1
        return QuotaExceeded(
            f"{self._agent} has all of the {self._most:,} memories that it may have. Delete some, or ask an"
            " administrator for a larger quota; searching goes on."
        )

    def close(self) -> None:
        """The work is over: what it took is in the store."""
        self._closed = True
        taken, self._taken = self._taken, 0
        self._tally.under_way -= taken
        self._tally.stored += taken
        self._tally.settled += taken


class Quotas:
    """Knows each agent's quota and keeps its count."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        refusals: Refusals,
        activity: ActivityLog,
        now_ms: Callable[[], int],
        *,
        default: int,
    ) -> None:
        self._store = store
        self._agents = agents
        self._refusals = refusals
        self._activity = activity
        self._now_ms = now_ms
        self._default = default
        self._tallies: dict[str, _Tally] = {}
        self._counting = asyncio.Lock()
        self._told_at: dict[str, int] = {}

    async def most(self, agent: str) -> int:
        """How many memories an agent may have, 0 = as many as it likes."""
        own = (await self._agents.policy(agent)).max_memories
        return self._default if own is None else own

    @asynccontextmanager
    async def room(self, agent: str) -> AsyncIterator[Room]:
        """The agent's room for a piece of work that stores memories.  Raises a StoreError."""
        most = await self.most(agent)
        room = Room(agent, most, await self._tally(agent, most))
        try:
            yield room
        finally:
            room.close()
            if room.refused:
                await self._note(agent, most, room.refused)

    async def refused(self) -> dict[str, Refused]:
        """How often each agent was refused in all, and when last."""
        return await self._refusals.all()

    async def check(self) -> Part:
        """The quotas as one part of the system."""
        refused = await self._refusals.all()
        since = self._now_ms() - _RECENTLY_MS
        full = sorted(agent for agent, each in refused.items() if each.last_at > since)
        if not full:
            return Part(name="quotas", state="ok", summary="No agent was refused for its quota lately.")
        told = ", ".join(f"{agent} ({refused[agent].count:,} refused so far)" for agent in full[:_NAMED])
        more = f" and {len(full) - _NAMED:,} more" if len(full) > _NAMED else ""
        return Part(
            name="quotas",
            state="degraded",
            summary=f"New memories are refused, the quota is used up: {told}{more}.",
            still_works="Searching, and storing for all other agents; followed files are read once there is room.",
            what_to_do="Delete memories of the agent or give it a larger quota.",
        )

    async def _tally(self, agent: str, most: int) -> _Tally:
        if most == 0:
            return _Tally()
        tally = self._tallies.setdefault(agent, _Tally())
        if _is_old(tally, most):
            async with self._counting:
                if _is_old(tally, most):
                    await self._recount(agent, tally)
        return tally

    async def _recount(self, agent: str, tally: _Tally) -> None:
        condition = agent_condition(agent) & live_condition(self._now_ms()) & equals(Column.CHUNK, 0)
        began, settled = time.monotonic(), tally.settled
        count = await self._store.active.count(condition)
        # What came in meanwhile may have been counted or not: rather too many than too few.
        tally.stored = count + tally.settled - settled
        tally.counted_at = began

    async def _note(self, agent: str, most: int, refused: int) -> None:
        """Count what was refused; a person is told once an hour."""
        now = self._now_ms()
        await self._refusals.add(agent, refused, now)
        if now - self._told_at.get(agent, now - _TOLD_AGAIN_MS) >= _TOLD_AGAIN_MS:
            self._told_at[agent] = now
            said = f"{agent} has all of its {most:,} memories; new ones are refused."
            await self._activity.record("quota", said, agent=agent, level="warning")


def _is_old(tally: _Tally, most: int) -> bool:
    known_for = _FULL_FOR_S if tally.count >= most else _COUNTED_FOR_S
    return time.monotonic() - tally.counted_at > known_for
