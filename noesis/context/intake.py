"""The intake: turns are safe on the disk before the host is answered, and captured by a job afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Sequence

import msgspec
import sqlalchemy as sa

from noesis.capturing import Captures, Capturing, said_as
from noesis.context.messages import Message, turns_of
from noesis.control import Control, metadata
from noesis.errors import InvalidInput
from noesis.memory import check_name
from noesis.redacting import Redacting, Redactor
from noesis.text.turn_text import noise_of, turn_text
from noesis.turns import Turn

ORIGIN = "conversations"
"""What the inbox says of where they come from."""

MOST_MESSAGES = 5_000
KEPT_MS = 30 * 86_400_000
"""How long a key is known after its turn was captured (ms); hosts repeat within minutes."""

taken_turns = sa.Table(
    "taken_turns",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("key_hash", sa.String(64), nullable=False),
    sa.Column("session", sa.String(512), nullable=False),
    sa.Column("next_number", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
    sa.Column("turns", sa.LargeBinary),
    sa.UniqueConstraint("agent", "key_hash"),
)


class GivenTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn as a host gives it: all that was said between two prompts, under the host's own key."""

    session_id: str
    advancement_key: str
    messages: tuple[Message, ...]
    is_heartbeat: bool = False


class Taken(msgspec.Struct, frozen=True):
    """What became of it: how many messages will be looked at, under which id; None when none will be."""

    accepted: int
    duplicate: bool
    turn_id: str | None = None


class Intake:
    """Owns the turns that wait to be captured."""

    def __init__(
        self, control: Control, capturing: Capturing, redacting: Redacting, now_ms: Callable[[], int]
    ) -> None:
        self._control = control
        self._capturing = capturing
        self._redacting = redacting
        self._now_ms = now_ms

    async def accept(self, agent: str, given: GivenTurn) -> Taken:
        """Keep a turn until it is captured; it is on the disk when this returns.

        What a transcript's reader would leave out is not kept, and secrets are taken out first.
        Raises InvalidInput or a StoreError.
        """
        session = check_name(given.session_id, "session_id")
        key = check_name(given.advancement_key, "advancement_key")
        assert session is not None
        assert key is not None
        if len(given.messages) > MOST_MESSAGES:
            raise InvalidInput(f"A turn has at most {MOST_MESSAGES:,} messages.", field="messages")
        redactor = await self._redacting.redactor(agent)
        first = await self._next_number(agent, session)
        turns = turns_of(session, given.messages, first=first, is_heartbeat=given.is_heartbeat)
        kept = await asyncio.to_thread(_worth_keeping, turns, redactor)
        row = {
            "id": str(uuid.uuid4()),
            "agent": agent,
            "key_hash": hashlib.sha256(key.encode()).hexdigest(),
            "session": session,
            "next_number": max((turn.number for turn in turns), default=first - 1) + 1,
            "at": self._now_ms(),
            "turns": msgspec.msgpack.encode(kept) if kept else None,
        }
        if not await self._control.run(lambda connection: _put(connection, row)):
            return Taken(0, duplicate=True)
        await self._redacting.record(agent, redactor.counts)
        return Taken(len(kept), duplicate=False, turn_id=str(row["id"]) if kept else None)

    async def capture(self, turn_id: str) -> Captures:
        """Capture a turn that was kept, and forget its text.  May be run again after a kill.  Raises a StoreError."""
        query = sa.select(taken_turns).where(taken_turns.c.id == turn_id)
        row = await self._control.read(lambda connection: connection.execute(query).first())
        if row is None or row.turns is None:
            return Captures()
        turns = msgspec.msgpack.decode(row.turns, type=list[Turn])
        captures = await self._capturing.capture(row.agent, turns, ORIGIN)
        done = sa.update(taken_turns).where(taken_turns.c.id == turn_id).values(turns=None)
        await self._control.run(lambda connection: connection.execute(done))
        return captures

    async def waiting(self, *, older_than_ms: int = 0) -> list[str]:
        """The ids of the turns that are not captured yet, oldest first."""
        query = sa.select(taken_turns.c.id).where(taken_turns.c.turns.is_not(None)).order_by(taken_turns.c.at)
        if older_than_ms:
            now = self._now_ms()
            # One of later than now was taken before the clock was set back.
            query = query.where((taken_turns.c.at <= now - older_than_ms) | (taken_turns.c.at > now))
        return list(await self._control.read(lambda connection: connection.execute(query).scalars().all()))

    async def forget_old(self) -> int:
        """Forget the keys of turns that were captured long ago; how many."""
        old = sa.delete(taken_turns).where(
            taken_turns.c.turns.is_(None), taken_turns.c.at < self._now_ms() - KEPT_MS
        )
        return await self._control.run(lambda connection: connection.execute(old).rowcount)

    async def _next_number(self, agent: str, session: str) -> int:
        query = sa.select(sa.func.max(taken_turns.c.next_number)).where(
            taken_turns.c.agent == agent, taken_turns.c.session == session
        )
        return int(await self._control.read(lambda connection: connection.execute(query).scalar()) or 0)


def _put(connection: sa.Connection, row: dict[str, object]) -> bool:
    same = sa.select(taken_turns.c.id).where(
        taken_turns.c.agent == row["agent"], taken_turns.c.key_hash == row["key_hash"]
    )
    if connection.execute(same).first() is not None:
        return False
    connection.execute(sa.insert(taken_turns).values(**row))
    return True


def _worth_keeping(turns: Sequence[Turn], redactor: Redactor) -> list[Turn]:
    kept = []
    for turn in turns:
        if noise_of(turn) is not None:
            continue
        try:
            text = redactor.clean(turn_text(turn.text))
            author = None if turn.author is None else redactor.clean(turn.author)
        except InvalidInput:
            # The agent's policy is to refuse texts with secrets: such a turn is never written down.
            continue
        kept.append(
            msgspec.structs.replace(turn, text=text, author=author, said_as=said_as(turn), redacted=True)
        )
    return kept
