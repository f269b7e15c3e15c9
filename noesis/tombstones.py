"""Tombstones: sources and sessions that were forgotten, and must not come back by themselves."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NotFound

_NAMESPACE = uuid.UUID("7c0e4d56-9a57-5b8c-8f7f-0f2a4f3c1d9e")

table = sa.Table(
    "tombstones",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False, index=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("value", sa.String(512), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("memories", sa.Integer, nullable=False),
    sa.Column("finished", sa.Boolean, nullable=False),
)


class Kind(enum.StrEnum):
    """What was forgotten."""

    SOURCE = "source"
    SESSION = "session"


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """One forgotten source or session of an agent: when (ms since 1970), by whom, and how much went.

    Not `finished`, some of it may be there still: a kill came in between.
    """

    id: str
    agent: str
    kind: Kind
    value: str
    at: int
    by: str
    memories: int = 0
    finished: bool = False


# Built once: it is asked before and after each file that is read.
_FORGOTTEN = sa.select(table.c.kind, table.c.value).where(table.c.agent == sa.bindparam("agent"))


class Tombstones:
    """Keeps them.  A call that somebody makes to store a memory is not stopped by one."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def is_forgotten(
        self, agent: str, *, source: str | None = None, session: str | None = None
    ) -> bool:
        """Whether what comes from this source, or belongs to this session, is to stay away."""
        return not {(Kind.SOURCE, source), (Kind.SESSION, session)}.isdisjoint(await self.forgotten(agent))

    async def forgotten(self, agent: str) -> frozenset[tuple[Kind, str]]:
        """All that an agent is to stay without, by kind and name."""
        rows = await self._control.read(
            lambda connection: connection.execute(_FORGOTTEN, {"agent": agent}).all()
        )
        return frozenset((Kind(row.kind), row.value) for row in rows)

    async def add(self, agent: str, kind: Kind, value: str, by: str) -> Tombstone:
        """Set one, not finished yet; one that stands keeps its time and who set it."""
        stone = Tombstone(
            id=id_of(agent, kind, value), agent=agent, kind=kind, value=value, at=self._now_ms(), by=by[:128]
        )

        def put(connection: sa.Connection) -> Tombstone:
            query = sa.select(table).where(table.c.id == stone.id)
            row = connection.execute(query).mappings().first()
            if row is not None:
                same = sa.update(table).where(table.c.id == stone.id)
                connection.execute(same.values(finished=False))
                return _tombstone(row)
            connection.execute(sa.insert(table).values(**msgspec.structs.asdict(stone)))
            return stone

        return await self._control.run(put)

    async def finish(self, stone: Tombstone, memories: int) -> Tombstone:
        """Note that all of it is gone, so many more memories; the tombstone as it is now."""
        values = {"memories": table.c.memories + memories, "finished": True}
        change = sa.update(table).where(table.c.id == stone.id).values(**values)
        await self._control.run(lambda connection: connection.execute(change))
        return msgspec.structs.replace(stone, memories=stone.memories + memories, finished=True)

    async def all(self, agent: str | None) -> list[Tombstone]:
        """An agent's, or everybody's with None; newest first."""
        query = sa.select(table).order_by(table.c.at.desc(), table.c.id)
        if agent is not None:
            query = query.where(table.c.agent == agent)
        rows = await self._control.read(lambda connection: connection.execute(query).mappings().all())
        return [_tombstone(row) for row in rows]

    async def lift(self, agent: str | None, stone_id: str) -> Tombstone:
        """Take one away, of this agent's or with None of anybody's.  Raises NotFound."""

        def take(connection: sa.Connection) -> Tombstone:
            row = connection.execute(sa.select(table).where(table.c.id == stone_id)).mappings().first()
            if row is None or agent not in (None, row["agent"]):
                raise NotFound("Nothing was forgotten under this id.")
            connection.execute(sa.delete(table).where(table.c.id == stone_id))
            return _tombstone(row)

        return await self._control.run(take)


def id_of(agent: str, kind: Kind, value: str) -> str:
    """The id of a tombstone: the same thing of the same agent has one."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join((agent, kind.value, value))))


def _tombstone(row: Any) -> Tombstone:
    values = {name: row[name] for name in Tombstone.__struct_fields__}
    return Tombstone(**values | {"kind": Kind(row["kind"])})
