"""Change or delete many memories at once: first the count, then the act on exactly so many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from noesis.audit import Audit
from noesis.editing import ArchiveChange, DeleteChange, Edit, EditChange
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.indexing import prepare_tags
from noesis.lifetimes import Lifetimes, Lives
from noesis.memory import Memory, MemoryType, Scope, check_priority, check_tags, check_ttl
from noesis.redacting import Redacting
from noesis.selecting import Selected, Selection, owned, select, still_fits
from noesis.store import Row, Store, View

SAMPLE = 20
_AT_ONCE = 256
"""Memories in one commit: enough that its sync hardly counts, few enough that others wait a moment only."""


class BulkEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What is to change in each of many memories; UNSET leaves a value as it is."""

    memory_type: MemoryType | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    ttl_days: float | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()


class BulkDone(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories it is about.

    Of a preview (not `applied`), `ids` are meant; of an act, `ids` were changed, and `left_out` could
    not be or had ceased to fit in between.  `at` is the time (ms) that is noted with the change.
    """

    ids: tuple[str, ...]
    applied: bool
    at: int
    left_out: int = 0

    @property
    def count(self) -> int:
        """How many."""
        return len(self.ids)

    @property
    def sample(self) -> tuple[str, ...]:
        """The first of them."""
        return self.ids[:SAMPLE]


class BulkEditing:
    """Acts on selections."""

    def __init__(
        self,
        store: Store,
        redacting: Redacting,
        lifetimes: Lifetimes,
        audit: Audit,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._redacting = redacting
        self._lifetimes = lifetimes
        self._audit = audit
        self._now_ms = now_ms

    async def delete(self, scope: Scope, selection: Selection, confirm_count: int | None) -> BulkDone:
        """Delete what is selected, softly as one by one; without `confirm_count` only say what would be.

        Raises InvalidInput without a filter, Forbidden for another agent, Conflict when the count is
        another one, or a StoreError, with what was done until then done.
        """

        return await self._put_away(scope, selection, confirm_count, DeleteChange, "memories deleted")

    async def archive(self, scope: Scope, selection: Selection, confirm_count: int | None) -> BulkDone:
        """Move what is selected to the archive; without `confirm_count` only say what would be.

        Raises as `delete` does.
        """
        return await self._put_away(scope, selection, confirm_count, ArchiveChange, "memories archived")

    async def edit(
        self, scope: Scope, selection: Selection, edit: BulkEdit, confirm_count: int | None
    ) -> BulkDone:
        """Change what is selected; without `confirm_count` only say what would be.  Raises as `delete` does."""
        _check(edit)
        now = self._now_ms()
        selection, found = await self._meant(scope, selection, confirm_count, now)
        if confirm_count is None:
            return _preview(found, now)
        added = {each.agent: edit for each in found}
        lives: dict[str, Lives] = {}
        for agent in added:
            redactor = await self._redacting.redactor(agent)
            added[agent] = msgspec.structs.replace(edit, add_tags=prepare_tags(edit.add_tags, redactor))
            lives[agent] = await self._lifetimes.of(agent)
            await self._redacting.record(agent, redactor.counts)

        def change(each: Selected) -> FittingChange:
            inner = BulkEditChange(scope, each.id, added[each.agent], lives[each.agent], now)
            return FittingChange(each.id, selection, inner, now)

        return await self._apply(scope, "memories edited", selection, found, change, now)

    async def _put_away(
        self,
        scope: Scope,
        selection: Selection,
        confirm_count: int | None,
        kind: type[ArchiveChange | DeleteChange],
        act: str,
    ) -> BulkDone:
        def change(each: Selected) -> FittingChange:
            return FittingChange(each.id, selection, kind(scope, each.id, now), now)

        now = self._now_ms()
        selection, found = await self._meant(scope, selection, confirm_count, now)
        if confirm_count is None:
            return _preview(found, now)
        return await self._apply(scope, act, selection, found, change, now)

    async def _meant(
        self, scope: Scope, selection: Selection, confirm_count: int | None, now_ms: int
    ) -> tuple[Selection, list[Selected]]:
        selection = owned(scope, selection)
        found = await select(self._store, selection, now_ms)
        if confirm_count not in (None, len(found)):
            raise Conflict(f"{len(found)} memories fit now, not {confirm_count}. Nothing was changed.")
        return selection, found

    async def _apply(
        self,
        scope: Scope,
        act: str,
        selection: Selection,
        found: Sequence[Selected],
        change: Callable[[Selected], FittingChange],
        now_ms: int,
    ) -> BulkDone:
        """Page by page; the audit log tells how many were changed, also when the disk stopped it half-way."""
        changed: list[str] = []
        try:
            for start in range(0, len(found), _AT_ONCE):
                changed += await self._page(change(each) for each in found[start : start + _AT_ONCE])
        finally:
            await self._audit.record(scope.actor, act, f"{len(changed)} with {selection.words}")
        return BulkDone(ids=tuple(changed), applied=True, at=now_ms, left_out=len(found) - len(changed))

    async def _page(self, changes: Iterable[FittingChange]) -> list[str]:
        """The ids of those that were changed; a memory that refuses the change stops no other."""
        results = await asyncio.gather(
            *(self._store.submit(change) for change in changes), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, InvalidInput | NotFound):
                raise result
        return [result.id for result in results if isinstance(result, Memory)]


class FittingChange:
    """A change of one memory that is made only if the memory is meant still."""

    hashes: tuple[str, ...] = ()

    def __init__(
        self,
        memory_id: str,
        selection: Selection,
        change: ArchiveChange | DeleteChange | BulkEditChange,
        now_ms: int,
    ) -> None:
        self._selection = selection
        self._change = change
        self._now_ms = now_ms
        self.memory_ids = (memory_id,)
        self.actor = change.actor

    def apply(self, view: View) -> Memory | None:
        """The memory as it is now; None when it does not fit any more."""
        (memory_id,) = self.memory_ids
        rows = (view.archived if self._selection.archived else view.active)(memory_id)
        if not rows or not still_fits(self._selection, rows[0], self._now_ms):
            return None
        return self._change.apply(view)


class BulkEditChange:
    """Alters one of many memories by its newest values."""

    hashes: tuple[str, ...] = ()

    def __init__(self, scope: Scope, memory_id: str, edit: BulkEdit, lives: Lives, now_ms: int) -> None:
        self._scope = scope
        self._edit = edit
        self._lives = lives
        self._now_ms = now_ms
        self.memory_ids = (memory_id,)
        self.actor = scope.actor

    def apply(self, view: View) -> Memory:
        """Raises InvalidInput when it would have too many tags."""
        (memory_id,) = self.memory_ids
        rows = view.active(memory_id) or view.archived(memory_id)
        edit = self._edit
        one = Edit(
            memory_type=edit.memory_type,
            priority=edit.priority,
            ttl_days=edit.ttl_days,
            pinned=edit.pinned,
            tags=_tags(rows[0], edit) if rows else UNSET,
        )
        return EditChange(self._scope, memory_id, one, None, self._lives, self._now_ms).apply(view)


def _tags(row: Row, edit: BulkEdit) -> tuple[str, ...] | UnsetType:
    if not (edit.add_tags or edit.remove_tags):
        return UNSET
    return check_tags([*(tag for tag in row.tags if tag not in edit.remove_tags), *edit.add_tags])


def _preview(found: Sequence[Selected], now_ms: int) -> BulkDone:
    return BulkDone(ids=tuple(each.id for each in found), applied=False, at=now_ms)


def _check(edit: BulkEdit) -> None:
    """Raise InvalidInput unless the edit says something, and only what can be."""
    if edit == BulkEdit():
        raise InvalidInput(
            "Name at least one of memory_type, priority, ttl_days, pinned, add_tags and remove_tags."
        )
    if isinstance(edit.priority, int):
        check_priority(edit.priority)
    if edit.ttl_days is not UNSET:
        check_ttl(edit.ttl_days)
        if edit.pinned is not UNSET:
            raise InvalidInput("Give either ttl_days or pinned.", field="pinned")
    check_tags(edit.add_tags)
    check_tags(edit.remove_tags)
