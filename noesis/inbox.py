"""The inbox: captured texts that a person should look at before they become memories."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.browsing import decode_cursor, encode_cursor
from noesis.control import Control, metadata
from noesis.errors import Conflict, NotFound
from noesis.indexing import Indexing
from noesis.memory import Indexed, NewMemory, Role, Scope

inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False, index=True),
    sa.Column("origin", sa.String(512), nullable=False),
    sa.Column("memory", sa.LargeBinary, nullable=False),
    sa.Column("reasons", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("decided_at", sa.BigInteger),
    sa.Column("decided_by", sa.String(128)),
)

trusted = sa.Table(
    "trusted_origins",
    metadata,
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("origin", sa.String(512), primary_key=True),
)


class Decision(enum.StrEnum):
    """What became of a text in the inbox."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A text that waits: whose memory it would be, where it came from, and why it was held.

    `at` is when it was captured (ms since 1970).
    """

    id: str
    agent: str
    origin: str
    memory: NewMemory
    reasons: tuple[str, ...]
    state: Decision
    at: int


class InboxPage(msgspec.Struct, frozen=True):
    """Part of the inbox; `cursor` asks for the next part and is None at the end."""

    waiting: tuple[Waiting, ...]
    cursor: str | None


class Inbox:
    """Keeps what waits, and lets it in or throws it away."""

    def __init__(self, control: Control, indexing: Indexing, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._indexing = indexing
        self._now_ms = now_ms

    async def hold(self, waiting: Sequence[Waiting]) -> int:
        """Put texts into the inbox; how many were new.  One that was decided on stays decided."""

        def put(connection: sa.Connection) -> int:
            ids = [each.id for each in waiting]
            known = set(connection.execute(sa.select(inbox.c.id).where(inbox.c.id.in_(ids))).scalars())
            new = {each.id: _values(each) for each in waiting if each.id not in known}
            if new:
                connection.execute(sa.insert(inbox), list(new.values()))
            return len(new)

        return await self._control.run(put) if waiting else 0

    async def is_trusted(self, agent: str, origin: str) -> bool:
        """Whether a person said that what comes from there need not be looked at."""
        query = sa.select(trusted).where(trusted.c.agent == agent, trusted.c.origin == origin)
        return await self._control.read(lambda connection: connection.execute(query).first()) is not None

    async def page(self, scope: Scope, *, limit: int = 50, cursor: str | None = None) -> InboxPage:
        """What waits and is the caller's, newest first.  Raises InvalidInput for a cursor of no page."""
        query = sa.select(inbox).where(inbox.c.state == Decision.WAITING.value)
        if scope.whose is not None:
            query = query.where(inbox.c.agent == scope.whose)
        if cursor is not None:
            at, waiting_id = decode_cursor(cursor)
            query = query.where(sa.or_(inbox.c.at < at, sa.and_(inbox.c.at == at, inbox.c.id > waiting_id)))
        query = query.order_by(inbox.c.at.desc(), inbox.c.id).limit(limit + 1)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        found = tuple(_waiting(row) for row in rows[:limit])
        more = len(rows) > limit
        return InboxPage(found, encode_cursor((found[-1].at, found[-1].id)) if more else None)

    async def count(self, scope: Scope) -> int:
        """How many wait."""
        query = sa.select(sa.func.count()).where(inbox.c.state == Decision.WAITING.value)
        if scope.whose is not None:
            query = query.where(inbox.c.agent == scope.whose)
        return int(await self._control.read(lambda connection: connection.execute(query).scalar_one()))

    async def get(self, scope: Scope, waiting_id: str) -> Waiting:
        """One text that waits.  Raises NotFound, also for another agent's, and Conflict when it was decided on."""
        query = sa.select(inbox).where(inbox.c.id == waiting_id)
        row = await self._control.read(lambda connection: connection.execute(query).first())
        if row is None or scope.whose not in (None, row.agent):
            raise NotFound("There is nothing with this id in the inbox.")
        if row.state != Decision.WAITING:
            raise Conflict(f"This was {row.state} before.")
        return _waiting(row)

    async def approve(
        self, scope: Scope, waiting_id: str, *, text: str | None = None, always: bool = False
    ) -> Indexed:
        """Make it a memory, with another text if one is given; `always` trusts its origin from now on.

        Raises NotFound, Conflict, InvalidInput or a StoreError; then it still waits.
        """
        waiting = await self.get(scope, waiting_id)
        memory = waiting.memory
        if text is not None:
            memory = msgspec.structs.replace(memory, text=text)
        # First the memory, then the note: after a kill it is stored again, which adds nothing.
        owner = Scope(waiting.agent, Role.AGENT, actor=scope.actor)
        indexed = await self._indexing.index(owner, memory, looked_at=True)
        await self._decide(waiting, Decision.APPROVED, scope.actor, always=always)
        return indexed

    async def reject(self, scope: Scope, waiting_id: str) -> None:
        """Throw it away; the same text is not asked about again.  Raises NotFound or Conflict."""
        waiting = await self.get(scope, waiting_id)
        await self._decide(waiting, Decision.REJECTED, scope.actor)

    async def forget(self, agent: str, *, session_id: str | None = None, source: str | None = None) -> int:
        """Throw away all of an agent's texts of one session or source, decided on or not; how many there were."""
        query = sa.select(inbox.c.id, inbox.c.memory).where(inbox.c.agent == agent, inbox.c.memory != b"")

        def clear(connection: sa.Connection) -> int:
            ids = [
                row.id
                for row in connection.execute(query)
                if _is_of(msgspec.msgpack.decode(row.memory, type=NewMemory), session_id, source)
            ]
            for each in ids:
                mine = inbox.c.id == each
                connection.execute(sa.update(inbox).where(mine).values(memory=b""))
                waits = mine & (inbox.c.state == Decision.WAITING.value)
                connection.execute(sa.update(inbox).where(waits).values(state=Decision.REJECTED.value))
            return len(ids)

        return await self._control.run(clear)

    async def _decide(self, waiting: Waiting, state: Decision, actor: str, *, always: bool = False) -> None:
        values: dict[str, Any] = {"state": state.value, "decided_at": self._now_ms(), "decided_by": actor}
        if state is Decision.REJECTED:
            # What was thrown away is not kept; the id alone keeps it from coming back.
            values["memory"] = b""

        def put(connection: sa.Connection) -> None:
            connection.execute(sa.update(inbox).where(inbox.c.id == waiting.id).values(**values))
            if always:
                origin = {"agent": waiting.agent, "origin": waiting.origin}
                same = sa.select(trusted).filter_by(**origin)
                if connection.execute(same).first() is None:
                    connection.execute(sa.insert(trusted).values(**origin))

        await self._control.run(put)


def _is_of(memory: NewMemory, session_id: str | None, source: str | None) -> bool:
    if source is not None:
        return memory.source == source
    return memory.session_id == session_id


def _values(waiting: Waiting) -> dict[str, Any]:
    return {
        "id": waiting.id,
        "agent": waiting.agent,
        "origin": waiting.origin,
        "memory": msgspec.msgpack.encode(waiting.memory),
        "reasons": "\n".join(waiting.reasons),
        "state": waiting.state.value,
        "at": waiting.at,
    }


def _waiting(row: Any) -> Waiting:
    return Waiting(
        id=row.id,
        agent=row.agent,
        origin=row.origin,
        memory=msgspec.msgpack.decode(row.memory, type=NewMemory),
        reasons=tuple(row.reasons.split("\n")),
        state=Decision(row.state),
        at=row.at,
    )
