"""Choosing: one act on memories that somebody picked one by one, on exactly so many, and its undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import msgspec

from noesis.audit import Audit
from noesis.browsing import archived_condition, live_condition
from noesis.bulk_editing import BulkDone, BulkEdit, BulkEditing
from noesis.chosen_acts import Before, ChosenAct, ChosenActs
from noesis.errors import Conflict, InvalidInput, QuotaExceeded
from noesis.memory import MAX_LIMIT, Role, Scope
from noesis.quotas import Quotas, Room
from noesis.selecting import Selection
from noesis.store import Column, Row, Store, View
from noesis.store.filters import equals, one_of

CHANGE, ARCHIVE, DELETE = "change", "archive", "delete"
"""What can be done with the chosen."""


class Undone(msgspec.Struct, frozen=True):
    """How many memories are as they were, and how many not: changed since, gone, or without room."""

    count: int
    left_out: int


class Choosing:
    """Acts on chosen memories of any agent, for an administrator."""

    def __init__(
        self,
        store: Store,
        bulk: BulkEditing,
        acts: ChosenActs,
        quotas: Quotas,
        audit: Audit,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._bulk = bulk
        self._acts = acts
        self._quotas = quotas
        self._audit = audit
        self._now_ms = now_ms

    async def standing(self, scope: Scope, ids: Sequence[str]) -> list[Before]:
        """How those of these memories stand that can be acted on, in this order.

        Raises Forbidden but for an administrator, InvalidInput when there are none or too many.
        """
        scope.require(Role.ADMIN)
        wanted = tuple(dict.fromkeys(ids))
        if not 1 <= len(wanted) <= MAX_LIMIT:
            raise InvalidInput(f"Choose 1 to {MAX_LIMIT} memories.", field="id")
        mine = one_of(Column.PARENT_ID, wanted) & equals(Column.CHUNK, 0)
        archived = await self._store.archive.rows(mine & archived_condition(), vectors=False)
        active = await self._store.active.rows(mine & live_condition(self._now_ms()), vectors=False)
        found = {row.parent_id: _before(row) for rows in (archived, active) for row in rows}
        return [found[memory_id] for memory_id in wanted if memory_id in found]

    async def act(
        self,
        scope: Scope,
        act: str,
        ids: Sequence[str],
        confirm_count: int,
        edit: BulkEdit | None = None,
    ) -> str:
        """Do it to exactly so many; gives the act's id, by which it can be undone.

        Raises Conflict when another number of them stands by now, InvalidInput or a StoreError.
        """
        before = [each for each in await self.standing(scope, ids) if act != ARCHIVE or not each.archived_at]
        if len(before) != confirm_count:
            raise Conflict(f"{len(before)} of them are there now, not {confirm_count}. Nothing was changed.")
        noted: list[Before] = []
        left_out = 0
        for archived in (False, True):
            part = tuple(each.id for each in before if (each.archived_at is not None) is archived)
            if part:
                done = await self._part(scope, act, Selection(ids=part, archived=archived), edit)
                left_out += done.left_out
                changed = frozenset(done.ids)
                noted += [
                    msgspec.structs.replace(each, written_at=done.at) for each in before if each.id in changed
                ]
        return await self._acts.note(act, noted, left_out)

    async def get(self, scope: Scope, act_id: str) -> ChosenAct:
        """An act that can be undone still.  Raises NotFound or Forbidden."""
        scope.require(Role.ADMIN)
        return await self._acts.get(act_id)

    async def undo(self, scope: Scope, act_id: str) -> Undone:
        """Put the memories of an act back as they were; one that somebody changed since stays as it is.

        Raises NotFound, Forbidden or a StoreError.
        """
        act = await self.get(scope, act_id)
        async with AsyncExitStack() as stack:
            agents = sorted({each.agent for each in act.before})
            rooms = {agent: await stack.enter_async_context(self._quotas.room(agent)) for agent in agents}
            changes = [PutBackChange(scope, each, rooms[each.agent], self._now_ms()) for each in act.before]
            results = await asyncio.gather(*(self._submit(change) for change in changes))
        await self._acts.end(act_id)
        await self._audit.record(scope.actor, f"{act.act} undone", f"{sum(results)} chosen memories")
        return Undone(sum(results), len(results) - sum(results))

    async def _part(self, scope: Scope, act: str, selection: Selection, edit: BulkEdit | None) -> BulkDone:
        count = len(selection.ids)
        if act == DELETE:
            return await self._bulk.delete(scope, selection, count)
        if act == ARCHIVE:
            return await self._bulk.archive(scope, selection, count)
        return await self._bulk.edit(scope, selection, edit or BulkEdit(), count)

    async def _submit(self, change: PutBackChange) -> bool:
        try:
            return await self._store.submit(change)
        except QuotaExceeded:
            return False


class PutBackChange:
    """Puts one memory back as it stood before an act."""

    hashes: tuple[str, ...] = ()
    because = "undone"

    def __init__(self, scope: Scope, before: Before, room: Room, now_ms: int) -> None:
        self._before = before
        self._room = room
        self._now_ms = now_ms
        self.actor = scope.actor
        self.memory_ids = (before.id,)

    def apply(self, view: View) -> bool:
        """Whether it could be: not when somebody has changed the memory since.  Raises QuotaExceeded."""
        before = self._before
        rows = view.active(before.id) or view.archived(before.id)
        if not rows or rows[0].updated_at != before.written_at:
            return False
        if before.archived_at is None and rows[0].archived_at is not None:
            self._room.take()
        values = {name: getattr(before, name) for name in _KEPT}
        values |= {"tags": list(before.tags), "updated_at": self._now_ms}
        back = [msgspec.structs.replace(row, **values) for row in rows]
        (view.put_active if before.archived_at is None else view.put_archived)(back)
        return True


_KEPT = ("memory_type", "priority", "priority_set_by", "expires_at", "archived_at", "archive_reason")


def _before(row: Row) -> Before:
    kept = {name: getattr(row, name) for name in _KEPT}
    return Before(id=row.parent_id, agent=row.agent_id, tags=tuple(row.tags), **kept)
