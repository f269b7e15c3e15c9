"""The history of every memory: what happened to it, written after each commit, append-only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NoesisError
from noesis.events import Changed, Event, EventKind

logger = logging.getLogger("noesis.history")

_PATIENCE_S = 2.0
"""Nobody's write waits longer than this for its history."""
_MOST_WAITING = 50_000
"""Events held while the database takes none: about 20 MB."""
_PRUNED_AT_ONCE = 10_000

table = sa.Table(
    "memory_history",
    metadata,
    # SQLite numbers rows by itself only in a column that is INTEGER by name.
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("memory_id", sa.String(36), nullable=False, index=True),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.String(128), nullable=False),
    sa.Column("because", sa.String(256)),
    sa.Column("changed", sa.Text),
)


class Noted(msgspec.Struct, frozen=True):
    """An event with its number in the log; a later one has a higher number."""

    number: int
    event: Event


class HistoryLog:
    """Writes events, and reads them again.

    `failures` counts writes that the database refused, `lost` events that were given up for good.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._waiting: list[Event] = []
        self._writing: asyncio.Task[None] | None = None
        self.failures = 0
        self.lost = 0

    @property
    def waiting(self) -> int:
        """How many events are not written yet."""
        return len(self._waiting)

    async def witness(self, events: Sequence[Event]) -> None:
        """Write events, all in one transaction; never fails, for what they tell of has been done.

        While the database is not to be had they wait, and are written with the next ones.
        """
        self._waiting += events
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await asyncio.wait([self._writing], timeout=_PATIENCE_S)

    async def _write(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                await self._control.run(partial(_put, events=taken), synced=False)
            except (NoesisError, sa.exc.SQLAlchemyError) as error:
                self._put_back(taken, error)
                return

    def _put_back(self, taken: list[Event], error: Exception) -> None:
        self.failures += 1
        both = [*taken, *self._waiting]
        self._waiting = both[-_MOST_WAITING:]
        self.lost += len(both) - len(self._waiting)
        logger.error(
            "the history was not written",
            extra={"error": type(error).__name__, "waiting": len(self._waiting), "lost": self.lost},
        )

    async def of(self, memory_id: str, *, limit: int, before: int | None = None) -> list[Noted]:
        """A memory's events, newest first; `before` asks for those with a lower number."""
        query = sa.select(table).where(table.c.memory_id == memory_id)
        if before is not None:
            query = query.where(table.c.id < before)
        query = query.order_by(table.c.id.desc()).limit(limit)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return [Noted(row.id, _event(row)) for row in rows]

    async def prune(self, before_ms: int) -> int:
        """Drop events from before this time (ms), page by page; how many went."""
        gone = 0
        while count := await self._control.run(lambda connection: _prune(connection, before_ms)):
            gone += count
        return gone

    async def close(self) -> None:
        """Write what waits; what cannot be written now is lost."""
        if self._writing is not None:
            await self._writing
        await self._write()
        self.lost += len(self._waiting)


def _put(connection: sa.Connection, events: Sequence[Event]) -> None:
    connection.execute(sa.insert(table), [_values(event) for event in events])
    gone = [event.memory_id for event in events if event.kind is EventKind.PURGED]
    # Of a memory that is gone for good its history keeps that it was there, not what it was like.
    for memory_id in gone:
        connection.execute(sa.update(table).where(table.c.memory_id == memory_id).values(changed=None))


def _values(event: Event) -> dict[str, Any]:
    return {
        "memory_id": event.memory_id,
        "agent": event.agent,
        "kind": event.kind.value,
        "at": event.at,
        "actor": event.actor[:128],
        "because": None if event.because is None else event.because[:256],
        "changed": msgspec.json.encode(event.changed).decode() if event.changed else None,
    }


def _event(row: Any) -> Event:
    changed = () if row.changed is None else msgspec.json.decode(row.changed, type=tuple[Changed, ...])
    return Event(
        memory_id=row.memory_id,
        agent=row.agent,
        kind=EventKind(row.kind),
        at=row.at,
        actor=row.actor,
        because=row.because,
        changed=changed,
    )


def _prune(connection: sa.Connection, before_ms: int) -> int:
    """Numbers grow with time: the first event that is young enough ends the search, without an index on the time."""
    young = sa.select(table.c.id).where(table.c.at >= before_ms).order_by(table.c.id).limit(1)
    first = connection.execute(young).scalar()
    old = sa.select(table.c.id).order_by(table.c.id).limit(_PRUNED_AT_ONCE)
    if first is not None:
        old = old.where(table.c.id < first)
    ids = connection.execute(old).scalars().all()
    if ids:
        connection.execute(sa.delete(table).where(table.c.id <= ids[-1]))
    return len(ids)
