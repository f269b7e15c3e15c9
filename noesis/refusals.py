"""How many memories were refused because an agent's quota was used up, kept across restarts."""

from __future__ import annotations

import time
from collections import Counter

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata

refusals = sa.Table(
    "quota_refusals",
    metadata,
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("refused", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),
)

_WRITTEN_EVERY_S = 1.0


class Refused(msgspec.Struct, frozen=True):
    """How many memories of an agent were refused in all, and when last (ms since 1970)."""

    count: int
    last_at: int


class Refusals:
    """Counts in memory and writes down once a second: who is refused all the time must not slow others down.

    A kill loses the counts of the last second.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._unwritten: Counter[str] = Counter()
        self._last_at: dict[str, int] = {}
        self._written_at = float("-inf")

    async def add(self, agent: str, count: int, now_ms: int) -> None:
        """Count refusals of an agent."""
        self._unwritten[agent] += count
        self._last_at[agent] = now_ms
        if time.monotonic() - self._written_at > _WRITTEN_EVERY_S:
            await self._write()

    async def all(self) -> dict[str, Refused]:
        """The counts by agent."""
        await self._write()
        rows = await self._control.read(lambda connection: connection.execute(sa.select(refusals)).all())
        return {row.agent: Refused(row.refused, row.last_at) for row in rows}

    async def _write(self) -> None:
        counts, self._unwritten = self._unwritten, Counter()
        self._written_at = time.monotonic()
        last_at = dict(self._last_at)

        def put(connection: sa.Connection) -> None:
            for agent, count in counts.items():
                more = {"refused": refusals.c.refused + count, "last_at": last_at[agent]}
                changed = connection.execute(
                    sa.update(refusals).where(refusals.c.agent == agent).values(**more)
                )
                if changed.rowcount == 0:
                    values = {"agent": agent, "refused": count, "last_at": last_at[agent]}
                    connection.execute(sa.insert(refusals).values(**values))

        if counts:
            await self._control.run(put)
