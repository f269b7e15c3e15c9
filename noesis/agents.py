"""What the administrator allows each agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("may_read_across", sa.Boolean, nullable=False),
    sa.Column("redaction", sa.String(16)),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("ttl_days", sa.Text),
    sa.Column("max_memories", sa.BigInteger),
    sa.Column("writes_per_minute", sa.Integer),
)

_KNOWN_FOR_S = 1.0

Redaction = Literal["redact", "block", "off"]


class Policy(msgspec.Struct, frozen=True):
    """The policy of one agent; what is not set is closed.

    `redaction` is what happens to secrets in its texts, None: as the settings say.  `ttl_days` is the life
    of its memories that name none, by type, or by `default` for all others; what is not in it is as the
    settings say.  `max_memories` and `writes_per_minute` are limits, 0 = none, None: as the settings say.
    """

    agent: str
    may_read_across: bool = False
    redaction: Redaction | None = None
    ttl_days: dict[str, float] = {}
    max_memories: int | None = None
    writes_per_minute: int | None = None


class Agents:
    """Keeps the policies."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms
        self._known: dict[str, Policy] = {}
        self._known_at = float("-inf")
        self._looking_up = asyncio.Lock()

    async def policies(self) -> dict[str, Policy]:
        """All policies by agent; at most a second old."""
        async with self._looking_up:
            if time.monotonic() - self._known_at > _KNOWN_FOR_S:
                query = sa.select(agents)
                rows = await self._control.read(lambda connection: connection.execute(query).all())
                self._known = {row.name: _policy(row) for row in rows}
                self._known_at = time.monotonic()
        return self._known

    async def policy(self, agent: str) -> Policy:
        """The policy of one agent."""
        return (await self.policies()).get(agent, Policy(agent))

    async def set_policy(self, policy: Policy) -> None:
        """Replace an agent's policy."""
        values = {
            "may_read_across": policy.may_read_across,
            "redaction": policy.redaction,
            "ttl_days": msgspec.json.encode(policy.ttl_days).decode() if policy.ttl_days else None,
            "max_memories": policy.max_memories,
            "writes_per_minute": policy.writes_per_minute,
            "updated_at": self._now_ms(),
        }

        def put(connection: sa.Connection) -> None:
            changed = connection.execute(
                sa.update(agents).where(agents.c.name == policy.agent).values(**values)
            )
            if changed.rowcount == 0:
                connection.execute(sa.insert(agents).values(name=policy.agent, **values))

        await self._control.run(put)
        self._known_at = float("-inf")


def _policy(row: Any) -> Policy:
    lives = {} if row.ttl_days is None else msgspec.json.decode(row.ttl_days, type=dict[str, float])
    return Policy(
        row.name, row.may_read_across, row.redaction, lives, row.max_memories, row.writes_per_minute
    )
