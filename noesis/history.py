"""History: what happened to one memory, for whom it may concern."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from noesis.browsing import check_limit
from noesis.errors import InvalidInput, NotFound
from noesis.events import Event
from noesis.history_log import HistoryLog
from noesis.memory import DAY_MS, Role, Scope
from noesis.store import Column, Store
from noesis.store.filters import equals


class HistoryPage(msgspec.Struct, frozen=True):
    """Part of a memory's history, newest first; `cursor` asks for the next part and is None at the end."""

    events: tuple[Event, ...]
    cursor: str | None


class History:
    """Reads the log, and forgets what is too old."""

    def __init__(self, log: HistoryLog, store: Store, now_ms: Callable[[], int], *, keep_days: int) -> None:
        self._log = log
        self._store = store
        self._now_ms = now_ms
        self._keep_days = keep_days

    async def of(
        self, scope: Scope, memory_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> HistoryPage:
        """What happened to a memory, newest first; a deleted one has its history still.

        That of one that is gone for good is for administrators.  Raises NotFound, also for another
        agent's, and InvalidInput for a limit or a cursor that cannot be.
        """
        check_limit(limit)
        before = None if cursor is None else _number(cursor)
        owner = await self._owner(memory_id)
        if owner is None and scope.role is not Role.ADMIN:
            raise _nothing()
        noted = await self._log.of(memory_id, limit=limit + 1, before=before)
        if owner is None and noted:
            owner = noted[0].event.agent
        if owner is None or scope.whose not in (None, owner):
            raise _nothing()
        events = tuple(each.event for each in noted[:limit])
        return HistoryPage(events, str(noted[limit - 1].number) if len(noted) > limit else None)

    async def prune(self) -> int:
        """Drop what is older than the setting says, 0 days meaning for ever; how many events went."""
        if not self._keep_days:
            return 0
        return await self._log.prune(self._now_ms() - self._keep_days * DAY_MS)

    async def _owner(self, memory_id: str) -> str | None:
        """The agent whose memory it is; None when there is none (any more)."""
        for table in (self._store.active, self._store.archive):
            found = await table.values([Column.AGENT_ID], equals(Column.PARENT_ID, memory_id), limit=1)
            if found:
                return str(found[0][0])
        return None


def _nothing() -> NotFound:
    return NotFound("There is no memory with this id.")


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise InvalidInput("cursor is not one that this history gave out.", field="cursor")
    return int(cursor)
