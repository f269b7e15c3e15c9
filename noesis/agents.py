"""What the administrator allows each agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal

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
)

_KNOWN_FOR_S = 1.0

Redaction = Literal["redact", "block", "off"]


class Policy(msgspec.Struct, frozen=True):
    """The policy of one agent; what is not set is closed.

    `redaction` is what happens to secrets in its texts, None: as the settings say.
    """

    agent: str
    may_read_across: bool = False
    redaction: Redaction | None = None


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
                self._known = {row.name: Policy(row.name, row.may_read_across, row.redaction) for row in rows}
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
