"""Use counts: how often a memory was found, recalled or put into a prompt, and when last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NoesisError
from noesis.extending import Extending, Life
from noesis.memory import DAY_MS
from noesis.store import Column, Store
from noesis.store.filters import equals, one_of

logger = logging.getLogger(__name__)

How = Literal["search", "recall", "assemble"]

FLUSH_AFTER_S = 2.0
"""Uses are written so long after the first of them, together with all that came meanwhile."""

_AT_ONCE = 500
_MOST_WAITING = 50_000
"""Memories whose uses are kept while the database takes none; others are not counted then."""

memory_uses = sa.Table(
    "memory_uses",
    metadata,
    sa.Column("memory_id", sa.String(64), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False, index=True),
    sa.Column("search", sa.Integer, nullable=False),
    sa.Column("recall", sa.Integer, nullable=False),
    sa.Column("assemble", sa.Integer, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),
    sa.Column("renewed_at", sa.BigInteger),
)


class Use(msgspec.Struct):
    """How often a memory was found by a search, recalled, and put into a prompt; `last_at` is ms since 1970."""

    search: int = 0
    recall: int = 0
    assemble: int = 0
    last_at: int = 0

    def add(self, other: Use) -> None:
        """Count these as well."""
        self.search += other.search
        self.recall += other.recall
        self.assemble += other.assemble
        self.last_at = max(self.last_at, other.last_at)


class Uses:
    """Collects uses in memory and writes them in the background: no answer waits for it or fails by it.

    `extending`, if given, is told of the memories that were used.
    """

    def __init__(
        self,
        control: Control,
        store: Store,
        now_ms: Callable[[], int],
        *,
        extending: Extending | None = None,
        flush_after_s: float = FLUSH_AFTER_S,
    ) -> None:
        self._control = control
        self._store = store
        self._now_ms = now_ms
        self._extending = extending
        self._flush_after_s = flush_after_s
        self._waiting: dict[str, Use] = {}
        self._writing = asyncio.Lock()
        self._closing = asyncio.Event()
        self._flusher: asyncio.Task[None] | None = None

    def note(self, ids: Iterable[str], how: How) -> None:
        """Count one use of each of these memories."""
        use = msgspec.structs.replace(Use(last_at=self._now_ms()), **{how: 1})
        self._count(dict.fromkeys(ids, use))
        if self._waiting and (self._flusher is None or self._flusher.done()):
            self._flusher = asyncio.create_task(self._flush_later())

    async def flush(self) -> None:
        """Write what was collected; what cannot be written now waits for the next time."""
        async with self._writing:
            while self._waiting:
                taken = dict(islice(self._waiting.items(), _AT_ONCE))
                for memory_id in taken:
                    del self._waiting[memory_id]
                try:
                    await self._write(taken)
                except (NoesisError, sa.exc.SQLAlchemyError) as error:
                    self._count(taken)
                    logger.warning("uses were not written: %s", type(error).__name__)
                    return

    async def of(self, ids: Iterable[str]) -> dict[str, Use]:
        """The uses of those of these memories that have any, as far as they are written."""
        query = sa.select(memory_uses).where(memory_uses.c.memory_id.in_(list(ids)))
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return {row.memory_id: _use(row) for row in rows}

    async def most_used(self, agent: str | None, limit: int, skip: int = 0) -> list[tuple[str, Use]]:
        """The memories of an agent (None: of all) with the most uses, most first, wherever they lie now."""
        total = memory_uses.c.search + memory_uses.c.recall + memory_uses.c.assemble
        query = _of_agent(sa.select(memory_uses), agent).order_by(total.desc(), memory_uses.c.memory_id)
        query = query.limit(limit).offset(skip)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return [(row.memory_id, _use(row)) for row in rows]

    async def used_ids(self, agent: str | None) -> set[str]:
        """Every memory of an agent (None: of all) that was ever used."""
        query = _of_agent(sa.select(memory_uses.c.memory_id), agent)
        return await self._control.read(lambda connection: set(connection.execute(query).scalars()))

    async def drop(self, ids: Iterable[str]) -> None:
        """Forget the uses of memories that are gone for good."""
        gone = list(ids)
        for memory_id in gone:
            self._waiting.pop(memory_id, None)
        await self._control.run(lambda connection: _delete(connection, gone))

    async def merge(self, ids: Iterable[str], into: str) -> None:
        """Count the uses of memories that were merged as those of the one that was kept."""
        await self.flush()
        merged = list(ids)
        await self._control.run(lambda connection: _merge(connection, merged, into))

    async def close(self) -> None:
        """Write what was collected."""
        self._closing.set()
        if self._flusher is not None:
            await self._flusher
        await self.flush()

    def _count(self, uses: Mapping[str, Use]) -> None:
        for memory_id, use in uses.items():
            if memory_id in self._waiting or len(self._waiting) < _MOST_WAITING:
                self._waiting.setdefault(memory_id, Use()).add(use)

    async def _flush_later(self) -> None:
        while self._waiting and not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._flush_after_s):
                    await self._closing.wait()
            await self.flush()

    async def _write(self, taken: Mapping[str, Use]) -> None:
        """Write the uses of memories that exist, and renew the lives of those that are due."""
        lives, agents = await self._look_up(taken)
        known = {memory_id: use for memory_id, use in taken.items() if memory_id in agents}
        renewed = await self._control.run(lambda connection: _add(connection, known, agents))
        if self._extending is None:
            return
        now = self._now_ms()
        rested = [life for life in lives if now - renewed.get(life.id, 0) >= DAY_MS]
        extended = await self._extending.renew(rested)
        if extended:
            await self._control.run(lambda connection: _note_renewal(connection, extended, now))

    async def _look_up(self, ids: Collection[str]) -> tuple[list[Life], dict[str, str]]:
        """The active ones of these memories, and the agents of all that exist."""
        about = one_of(Column.PARENT_ID, sorted(ids)) & equals(Column.CHUNK, 0)
        columns = [Column.PARENT_ID, Column.AGENT_ID, Column.MEMORY_TYPE, Column.CREATED_AT]
        active = await self._store.active.values([*columns, Column.EXPIRES_AT], about)
        agents = {row[0]: row[1] for row in active}
        if len(agents) < len(ids):
            archived = await self._store.archive.values([Column.PARENT_ID, Column.AGENT_ID], about)
            agents = dict(archived) | agents
        return [Life(*row) for row in active], agents


def _of_agent(query: sa.Select[Any], agent: str | None) -> sa.Select[Any]:
    return query if agent is None else query.where(memory_uses.c.agent == agent)


def _use(row: sa.Row[Any]) -> Use:
    return Use(row.search, row.recall, row.assemble, row.last_at)


def _add(connection: sa.Connection, uses: Mapping[str, Use], agents: Mapping[str, str]) -> dict[str, int]:
    """Add to the counts that are there; when each of these memories was last renewed (ms, 0 for never)."""
    query = sa.select(memory_uses.c.memory_id, memory_uses.c.renewed_at)
    there = connection.execute(query.where(memory_uses.c.memory_id.in_(list(uses)))).all()
    renewed = {row.memory_id: row.renewed_at or 0 for row in there}
    for memory_id, use in uses.items():
        if memory_id in renewed:
            _increase(connection, memory_id, use)
        else:
            values = msgspec.structs.asdict(use) | {"memory_id": memory_id, "agent": agents[memory_id]}
            connection.execute(sa.insert(memory_uses).values(**values))
    return renewed


def _increase(connection: sa.Connection, memory_id: str, use: Use) -> None:
    columns = memory_uses.c
    values = {
        "search": columns.search + use.search,
        "recall": columns.recall + use.recall,
        "assemble": columns.assemble + use.assemble,
        "last_at": use.last_at,
    }
    connection.execute(sa.update(memory_uses).where(columns.memory_id == memory_id).values(**values))


def _note_renewal(connection: sa.Connection, ids: Collection[str], now_ms: int) -> None:
    renewed = memory_uses.c.memory_id.in_(list(ids))
    connection.execute(sa.update(memory_uses).where(renewed).values(renewed_at=now_ms))


def _delete(connection: sa.Connection, ids: Collection[str]) -> None:
    left = list(ids)
    for start in range(0, len(left), _AT_ONCE):
        some = memory_uses.c.memory_id.in_(left[start : start + _AT_ONCE])
        connection.execute(sa.delete(memory_uses).where(some))


def _merge(connection: sa.Connection, ids: Collection[str], into: str) -> None:
    query = sa.select(memory_uses).where(memory_uses.c.memory_id.in_(list(ids)))
    merged = connection.execute(query).all()
    if merged:
        total = Use()
        for row in merged:
            total.add(_use(row))
        _add(connection, {into: total}, {into: merged[0].agent})
        _delete(connection, ids)
