"""The audit log: who did what to what, append-only."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("actor", sa.String(128), nullable=False),
    sa.Column("action", sa.String(64), nullable=False),
    sa.Column("target", sa.String(256), nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
)


class AuditEntry(msgspec.Struct, frozen=True):
    """One line: ids and names only, never memory text.  `outcome` is done or refused; `at` is ms."""

    at: int
    actor: str
    action: str
    target: str
    outcome: str


class Audit:
    """Writes and reads the log."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def record(self, actor: str, action: str, target: str = "", *, outcome: str = "done") -> None:
        """Add a line."""
        line = {
            "at": self._now_ms(),
            "actor": actor[:128],
            "action": action[:64],
            "target": target[:256],
            "outcome": outcome,
        }
        await self._control.run(lambda connection: connection.execute(sa.insert(audit).values(**line)))

    async def newest(self, limit: int) -> list[AuditEntry]:
        """The newest lines, newest first."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return [AuditEntry(row.at, row.actor, row.action, row.target, row.outcome) for row in rows]
