"""Correct, delete and bring back single memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from noesis.browsing import find_rows
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.indexing import cut, prepare_tags, prepare_text, trust_of
from noesis.lifetimes import Lifetimes, Lives
from noesis.memory import (
    BY_HAND,
    DELETED,
    FLAGGED,
    NEVER,
    Memory,
    MemoryType,
    Role,
    Scope,
    check_priority,
    check_tags,
    check_ttl,
    expiry,
)
from noesis.quotas import Quotas, Room
from noesis.redacting import Redacting
from noesis.rows import to_memory, to_rows, vector_text, with_embeddings
from noesis.settings import Settings
from noesis.store import Row, Store, View
from noesis.text.normalise import content_hash
from noesis.vectors import Vectors


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """What is to change; UNSET leaves a value as it is."""

    text: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    ttl_days: float | UnsetType = UNSET
    trusted: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class Editing:
    """Changes memories that exist."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        redacting: Redacting,
        quotas: Quotas,
        lifetimes: Lifetimes,
        settings: Settings,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._redacting = redacting
        self._quotas = quotas
        self._lifetimes = lifetimes
        self._settings = settings
        self._now_ms = now_ms

    async def edit(self, scope: Scope, memory_id: str, edit: Edit) -> Memory:
        """Change one memory and return it; its id, creation time and source stay.

        A priority of None goes back to that of the type; `pinned` true ends its TTL, false gives a pinned one
        the life of its type again; `trusted` is an administrator's word on the text.
        Raises InvalidInput, Forbidden, NotFound, a StoreError.
        """
        _check(edit)
        if edit.trusted is not UNSET:
            scope.require(Role.ADMIN)
        rows = await find_rows(self._store, scope, memory_id)
        redactor = await self._redacting.redactor(rows[0].agent_id)
        if edit.tags is not UNSET:
            edit = msgspec.structs.replace(edit, tags=prepare_tags(edit.tags, redactor))
        new_rows: list[Row] | None = None
        if edit.text is not UNSET:
            new_rows = await self._rows_of_text(to_memory(rows), prepare_text(edit.text, redactor))
        lives = await self._lifetimes.of(rows[0].agent_id)
        change = EditChange(scope, memory_id, edit, new_rows, lives, self._now_ms())
        memory = await self._store.submit(change)
        await self._redacting.record(memory.agent_id, redactor.counts)
        return memory

    async def delete(self, scope: Scope, memory_id: str) -> Memory:
        """Take one memory out of every answer; it can be brought back.  Raises NotFound."""
        return await self._store.submit(DeleteChange(scope, memory_id, self._now_ms()))

    async def undelete(self, scope: Scope, memory_id: str) -> Memory:
        """Bring a deleted memory back.  Raises NotFound, QuotaExceeded, or Conflict when it is not deleted."""
        rows = await find_rows(self._store, scope, memory_id)
        lives = await self._lifetimes.of(rows[0].agent_id)
        async with self._quotas.room(rows[0].agent_id) as room:
            return await self._store.submit(UndeleteChange(scope, memory_id, lives, room, self._now_ms()))

    async def _rows_of_text(self, memory: Memory, text: str) -> list[Row]:
        changed = msgspec.structs.replace(
            memory, text=text, content_hash=content_hash(text), trust=trust_of(text)
        )
        rows = to_rows(changed, cut(text, self._settings, self._vectors))
        results = await self._vectors.of_documents([vector_text(row) for row in rows])
        return with_embeddings(rows, results, self._now_ms())


def _check(edit: Edit) -> None:
    if edit == Edit():
        raise InvalidInput(
            "Name at least one of text, memory_type, priority, tags, ttl_days, trusted and pinned."
        )
    if isinstance(edit.priority, int):
        check_priority(edit.priority)
    if edit.tags is not UNSET:
        check_tags(edit.tags)
    if edit.ttl_days is not UNSET:
        check_ttl(edit.ttl_days)
        if edit.pinned is not UNSET:
            raise InvalidInput("Give either ttl_days or pinned.", field="pinned")


class _OwnedChange:
    """A change of one memory that the caller must own."""

    hashes: tuple[str, ...] = ()

    def __init__(self, scope: Scope, memory_id: str, now_ms: int) -> None:
        self._scope = scope
        self._id = memory_id
        self._now_ms = now_ms
        self.memory_ids = (memory_id,)
        self.actor = scope.actor

    def owned(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows, or NotFound when there are none or they are another agent's."""
        whose = self._scope.whose
        if not rows or whose not in (None, rows[0].agent_id):
            raise NotFound("There is no memory with this id.")
        return rows


class EditChange(_OwnedChange):
    """Alters the rows of a memory where it lies."""

    def __init__(
        self,
        scope: Scope,
        memory_id: str,
        edit: Edit,
        new_rows: list[Row] | None,
        lives: Lives,
        now_ms: int,
    ) -> None:
        super().__init__(scope, memory_id, now_ms)
        self._edit = edit
        self._new_rows = new_rows
        self._lives = lives

    def apply(self, view: View) -> Memory:
        """Take the newest metadata and the new text, put both."""
        active = view.active(self._id)
        rows = self.owned(active or view.archived(self._id))
        if rows[0].archive_reason == DELETED:
            raise NotFound("There is no memory with this id.")
        values = self._values(rows[0])
        changed = [msgspec.structs.replace(row, **values) for row in self._with_text(rows)]
        if active:
            view.put_active(changed)
        else:
            view.put_archived(changed)
        return to_memory(changed)

    def _with_text(self, rows: Sequence[Row]) -> Sequence[Row]:
        if self._new_rows is None:
            return rows
        now = rows[0]
        kept = (
            "memory_type",
            "priority",
            "priority_set_by",
            "tags",
            "expires_at",
            "archived_at",
            "archive_reason",
        )
        values = {name: getattr(now, name) for name in kept}
        return [msgspec.structs.replace(row, **values) for row in self._new_rows]

    def _values(self, row: Row) -> dict[str, object]:
        edit = self._edit
        values: dict[str, object] = {"updated_at": self._now_ms}
        if edit.memory_type is not UNSET:
            values["memory_type"] = edit.memory_type.value
        if isinstance(edit.priority, int):
            values |= {"priority": edit.priority, "priority_set_by": "caller"}
        elif edit.priority is None or (edit.memory_type is not UNSET and row.priority_set_by == "type"):
            kind = MemoryType(str(values.get("memory_type", row.memory_type)))
            values |= {"priority": kind.default_priority, "priority_set_by": "type"}
        if edit.tags is not UNSET:
            values["tags"] = list(edit.tags)
        if edit.ttl_days is not UNSET:
            values["expires_at"] = expiry(edit.ttl_days, self._now_ms)
        if edit.trusted is not UNSET:
            values["trust"] = "" if edit.trusted else FLAGGED
        if edit.pinned is True:
            values["expires_at"] = NEVER
        elif edit.pinned is False and row.expires_at == NEVER:
            days = self._lives.days(str(values.get("memory_type", row.memory_type)))
            values["expires_at"] = expiry(days, self._now_ms)
        return values


class DeleteChange(_OwnedChange):
    """Moves a memory to the archive as deleted."""

    def apply(self, view: View) -> Memory:
        """Deleting twice is an error: the second caller is told that there is nothing."""
        rows = self.owned(view.active(self._id) or view.archived(self._id))
        if rows[0].archive_reason == DELETED:
            raise NotFound("There is no memory with this id.")
        gone = [
            msgspec.structs.replace(
                row, archived_at=self._now_ms, archive_reason=DELETED, updated_at=self._now_ms
            )
            for row in rows
        ]
        view.put_archived(gone)
        return to_memory(gone)


class ArchiveChange(_OwnedChange):
    """Moves an active memory to the archive, because somebody says so."""

    def apply(self, view: View) -> Memory:
        """Raises NotFound when it is not active any more."""
        rows = self.owned(view.active(self._id))
        values = {"archived_at": self._now_ms, "archive_reason": BY_HAND, "updated_at": self._now_ms}
        away = [msgspec.structs.replace(row, **values) for row in rows]
        view.put_archived(away)
        return to_memory(away)


class UndeleteChange(_OwnedChange):
    """Moves a deleted memory back."""

    def __init__(self, scope: Scope, memory_id: str, lives: Lives, room: Room, now_ms: int) -> None:
        super().__init__(scope, memory_id, now_ms)
        self._lives = lives
        self._room = room

    def apply(self, view: View) -> Memory:
        """It gets a new life only when its old one ran out meanwhile."""
        rows = self.owned(view.active(self._id) or view.archived(self._id))
        if rows[0].archive_reason != DELETED:
            raise Conflict("This memory is not deleted.")
        self._room.take()
        expires_at = rows[0].expires_at
        if expires_at <= self._now_ms:
            expires_at = expiry(self._lives.days(rows[0].memory_type), self._now_ms)
        back = [
            msgspec.structs.replace(
                row, archived_at=None, archive_reason=None, expires_at=expires_at, updated_at=self._now_ms
            )
            for row in rows
        ]
        view.put_active(back)
        return to_memory(back)
