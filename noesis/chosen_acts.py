"""What was done last to memories that were chosen by hand, kept for a day so that it can be undone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NotFound
from noesis.memory import DAY_MS

UNDO_FOR_MS = DAY_MS

chosen_acts = sa.Table(
    "chosen_acts",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("act", sa.String(16), nullable=False),
    sa.Column("left_out", sa.Integer, nullable=False),
    sa.Column("before", sa.Text, nullable=False),
)


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """How one memory stood before the act; times are ms.  `written_at` is what the act left as its last change."""

    id: str
    agent: str
    memory_type: str
    priority: int
    priority_set_by: str
    tags: tuple[str, ...]
    expires_at: int
    archived_at: int | None
    archive_reason: str | None
    written_at: int = 0


class ChosenAct(msgspec.Struct, frozen=True, kw_only=True):
    """One act (change, archive or delete): when (ms), on which memories, and how many could not be had."""

    id: str
    at: int
    act: str
    left_out: int
    before: tuple[Before, ...]


class ChosenActs:
    """Writes and reads them.  They hold ids, types and tags, never texts."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def note(self, act: str, before: Sequence[Before], left_out: int) -> str:
        """Keep an act, and let go of those that are too old; its id."""
        now = self._now_ms()
        act_id = str(uuid.uuid4())
        told = msgspec.json.encode(before).decode()
        values = {"id": act_id, "at": now, "act": act, "left_out": left_out, "before": told}

        def put(connection: sa.Connection) -> None:
            connection.execute(sa.delete(chosen_acts).where(chosen_acts.c.at < now - UNDO_FOR_MS))
            connection.execute(sa.insert(chosen_acts).values(**values))

        await self._control.run(put)
        return act_id

    async def get(self, act_id: str) -> ChosenAct:
        """One act.  Raises NotFound, also for one that was undone or is too old."""
        query = sa.select(chosen_acts).where(chosen_acts.c.id == act_id)
        row = await self._control.read(lambda connection: connection.execute(query).first())
        if row is None or row.at < self._now_ms() - UNDO_FOR_MS:
            raise NotFound("This cannot be undone any more.")
        before = msgspec.json.decode(row.before, type=tuple[Before, ...])
        return ChosenAct(id=row.id, at=row.at, act=row.act, left_out=row.left_out, before=before)

    async def end(self, act_id: str) -> None:
        """Let go of an act that was undone."""
        query = sa.delete(chosen_acts).where(chosen_acts.c.id == act_id)
        await self._control.run(lambda connection: connection.execute(query))

    async def drop(self, ids: Iterable[str]) -> None:
        """Forget what was done to memories that are gone for good."""
        gone = set(ids)

        def remove(connection: sa.Connection) -> None:
            for row in connection.execute(sa.select(chosen_acts.c.id, chosen_acts.c.before)).all():
                before = msgspec.json.decode(row.before, type=tuple[Before, ...])
                kept = [each for each in before if each.id not in gone]
                if len(kept) < len(before):
                    change = sa.update(chosen_acts).where(chosen_acts.c.id == row.id)
                    connection.execute(change.values(before=msgspec.json.encode(kept).decode()))

        await self._control.run(remove)
