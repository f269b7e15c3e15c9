"""The one way into the tables: changes are collected, applied and committed together.

While one commit and its sync run, the changes that arrive meanwhile wait and make the next one: no
timer, no latency when idle, one commit for many writers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow.compute as pc

from noesis.collecting import Collector
from noesis.crash_points import crash_point
from noesis.errors import EmbedderMismatch, NoesisError, StoreError
from noesis.events import Event, Witness
from noesis.store.calls import write_error
from noesis.store.comparing import Standing, events_of
from noesis.store.filters import EVERYTHING, Column, Condition, one_of
from noesis.store.generations import Generation
from noesis.store.known import KnownKeys
from noesis.store.locks import DiskSync, StoreLocks
from noesis.store.schema import Row, without_vector

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

_MAX_CHANGES = 512
"""Changes in one commit: bounds its memory (about 2 MB of vectors) and the wait of the first."""


class View:
    """The memories a batch of changes is about, in both tables, as they are now and as they become.

    A memory is its rows in chunk order; an empty list means that there is none.
    """

    def __init__(self, active: Iterable[Row], archived: Iterable[Row]) -> None:
        self.tables = (_Side(active), _Side(archived))
        self._touched: dict[str, Standing] = {}

    def active(self, memory_id: str) -> list[Row]:
        """The rows of a memory in the active table."""
        return self.tables[0].get(memory_id)

    def archived(self, memory_id: str) -> list[Row]:
        """The rows of a memory in the archive, unless the active table has it too: active wins."""
        return [] if self.active(memory_id) else self.tables[1].get(memory_id)

    def with_hash(self, agent_id: str, content_hash: str) -> list[list[Row]]:
        """The agent's memories with this content, active ones first."""
        found = [rows for side in self.tables for rows in side.memories.values() if rows]
        return [
            rows for rows in found if (rows[0].agent_id, rows[0].content_hash) == (agent_id, content_hash)
        ]

    def put_active(self, rows: Sequence[Row]) -> None:
        """The memory is these rows, and active."""
        self._touch(rows[0].parent_id)
        self.tables[0].put(rows)
        self.tables[1].drop(rows[0].parent_id)

    def put_archived(self, rows: Sequence[Row]) -> None:
        """The memory is these rows, and archived."""
        self._touch(rows[0].parent_id)
        self.tables[1].put(rows)
        self.tables[0].drop(rows[0].parent_id)

    def drop(self, memory_id: str) -> None:
        """The memory is gone from both tables."""
        self._touch(memory_id)
        for side in self.tables:
            side.drop(memory_id)

    def moves(self) -> list[tuple[Standing, Standing]]:
        """The memories that were put or dropped since this was last asked: before and after."""
        touched, self._touched = self._touched, {}
        return [(before, self._standing(memory_id)) for memory_id, before in touched.items()]

    def vectors(self) -> set[int]:
        """Which vectors the rows have, as objects: a changed copy of a row has the same one."""
        return {id(row.vector) for side in self.tables for rows in side.memories.values() for row in rows}

    def let_wait(self, stored: Collection[int]) -> None:
        """Let the rows that are to be written wait for their vectors, unless those are stored ones."""
        for side in self.tables:
            for row_id, row in side.upserts.items():
                if row.vector is not None and id(row.vector) not in stored:
                    side.upserts[row_id] = without_vector(row)

    def _touch(self, memory_id: str) -> None:
        if memory_id not in self._touched:
            self._touched[memory_id] = self._standing(memory_id)

    def _standing(self, memory_id: str) -> Standing:
        active = self.active(memory_id)
        return Standing(active or self.archived(memory_id), archived=not active)


class _Side:
    """One table's part of a view: memories by id, and what has to be written."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.memories: dict[str, list[Row]] = {}
        for row in rows:
            self.memories.setdefault(row.parent_id, []).append(row)
        for chunks in self.memories.values():
            chunks.sort(key=lambda row: row.chunk)
        self.upserts: dict[str, Row] = {}
        self.deletes: set[str] = set()

    def get(self, memory_id: str) -> list[Row]:
        return self.memories.get(memory_id, [])

    def put(self, rows: Sequence[Row]) -> None:
        self.drop(rows[0].parent_id)
        self.memories[rows[0].parent_id] = list(rows)
        for row in rows:
            self.deletes.discard(row.id)
            self.upserts[row.id] = row

    def drop(self, memory_id: str) -> None:
        for row in self.memories.pop(memory_id, []):
            self.upserts.pop(row.id, None)
            self.deletes.add(row.id)


class Change(Protocol[T_co]):
    """One unit of work on the store: all of it is committed or none.

    `apply` is called under the write lock with the newest rows of `memory_ids` and of `hashes`
    (content hashes); it must not wait for anything.  A NoesisError it raises goes to its caller
    alone, and then it must not have altered the view.  Rows it got must not be altered in place:
    put changed copies.  For the history it may have an `actor` (who wants it), a `because` (why), and
    an `event_kind` where before and after do not tell what it meant.  One that `mends` puts rows of its
    own in the place of whatever there is, and gets damaged ones too; to any other they are an error.
    """

    @property
    def memory_ids(self) -> Iterable[str]:
        """The memories to load."""
        ...

    @property
    def hashes(self) -> Iterable[str]:
        """The content hashes whose memories are to be loaded."""
        ...

    def apply(self, view: View) -> T_co:
        """Alter the view and give the caller's answer."""
        ...


class Writer:
    """Commits changes to a generation, one commit at a time."""

    def __init__(
        self,
        generation: Generation,
        locks: StoreLocks,
        disk: DiskSync,
        now_ms: Callable[[], int],
        witness: Witness | None = None,
        is_of_another_embedder: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_of_another_embedder = is_of_another_embedder
        self._generation = generation
        self._locks = locks
        self._disk = disk
        self._now_ms = now_ms
        self._witness = witness
        self._collector: Collector[Change[Any], Any] = Collector(self._commit_or_split, most=_MAX_CHANGES)
        self._known = KnownKeys(generation.active, generation.archive)
        self._torn: set[str] = set()
        self.commits = 0
        self.changes = 0

    async def submit(self, change: Change[T]) -> T:
        """Apply and commit a change; returns when it is on the disk.

        A caller that is cancelled while waiting does not undo the change.
        Raises what `apply` raised, or a StoreError.
        """
        result: T = await self._collector.submit(change)
        return result

    def may_have(self, memory_id: str) -> bool:
        """Whether there may be a memory with this id, as far as the last commit here knew."""
        return self._known.may_have(memory_id)

    async def close(self) -> None:
        """Wait until everything submitted is committed."""
        await self._collector.close()

    async def _commit_or_split(self, changes: list[Change[Any]]) -> list[Any]:
        """Commit a batch; when it fails for a reason of its content, each change on its own."""
        try:
            return await self._commit(changes)
        except StoreError as error:
            if len(changes) == 1 or type(error) is not StoreError:
                raise
        return [await self._commit_alone(change) for change in changes]

    async def _commit_alone(self, change: Change[Any]) -> Any:
        try:
            return (await self._commit([change]))[0]
        except StoreError as error:
            return error

    async def _commit(self, changes: list[Change[Any]]) -> list[Any]:
        async with self._locks.writing():
            # From here to the end of the commit no other generation can take this one's place.
            await self._generation.follow()
            await self._mend()
            view = await self._load(changes)
            stored = view.vectors()
            outcomes, events = self._apply(changes, view)
            if self._is_of_another_embedder():
                view.let_wait(stored)
            crash_point("write: before")
            written = await self._write(view)
        # Also when nothing was written: "it is there already" promises what another process may
        # have committed a moment ago and not synced yet.
        await self._sync()
        crash_point("write: synced")
        self.commits += written
        self.changes += len(changes)
        if self._witness is not None and events:
            await self._witness(events)
        return outcomes

    def _apply(self, changes: Sequence[Change[Any]], view: View) -> tuple[list[Any], list[Event]]:
        """The outcome of each change, and what happened to memories, in order."""
        outcomes: list[Any] = []
        events: list[Event] = []
        at = self._now_ms()
        for change in changes:
            outcomes.append(_applied(change, view))
            events += events_of(view.moves(), change, at)
        return outcomes, events

    async def _load(self, changes: Sequence[Change[Any]]) -> View:
        ids = {memory_id for change in changes for memory_id in change.memory_ids}
        hashes = {content_hash for change in changes for content_hash in change.hashes}
        await self._known.refresh()
        condition = _about(filter(self._known.may_have, ids), filter(self._known.may_have, hashes))
        if condition is None:
            return View((), ())
        # What is to be replaced may be damaged; any other change would give it a hash that fits.
        mends = all(getattr(change, "mends", False) for change in changes)
        tables = (self._generation.active, self._generation.archive)
        active, archived = await asyncio.gather(
            *(table.remains(condition) if mends else table.rows(condition) for table in tables)
        )
        return View(active, archived)

    async def _write(self, view: View) -> bool:
        """Write what changed: copies before deletions, so that a kill leaves a row twice, never nowhere."""
        active, archive = view.tables
        if not (active.upserts or active.deletes or archive.upserts or archive.deletes):
            return False
        rows = [*active.upserts.values(), *archive.upserts.values()]
        await self._fit_vectors(rows)
        try:
            await self._generation.archive.upsert(list(archive.upserts.values()))
            crash_point("write: in the archive")
            await self._generation.active.upsert(list(active.upserts.values()))
            crash_point("write: in the active table")
            await self._generation.active.delete(sorted(active.deletes))
            crash_point("write: out of the active table")
            await self._generation.archive.delete(sorted(archive.deletes))
            crash_point("write: out of the archive")
        except StoreError:
            self._torn.update(row.parent_id for row in rows)
            with contextlib.suppress(StoreError):
                await self._mend()
            raise
        await self._known.committed(key for row in rows for key in (row.parent_id, row.content_hash))
        return True

    async def _mend(self) -> None:
        """Take back the first half of moves whose second half failed; what cannot be now is tried again."""
        if self._torn:
            await drop_copies(self._generation, one_of(Column.PARENT_ID, sorted(self._torn)))
            self._torn.clear()

    async def _fit_vectors(self, rows: Sequence[Row]) -> None:
        """Give the tables their vector column when the first vectors come."""
        widths = {len(row.vector) for row in rows if row.vector is not None}
        if not widths:
            return
        for table in (self._generation.active, self._generation.archive):
            if await table.dimension() is None:
                await table.add_vectors(max(widths))
            if widths != {await table.dimension()}:
                raise EmbedderMismatch(
                    f"Vectors of {sorted(widths)} dimensions do not fit into a store of"
                    f" {await table.dimension()}; nothing was written."
                )

    async def _sync(self) -> None:
        try:
            await self._disk.sync()
        except OSError as error:
            raise write_error(error) from error


async def shared_memories(generation: Generation) -> list[str]:
    """The ids of the memories that both tables hold, as far as can be told without the write lock."""
    column = Column.PARENT_ID.value
    archived = (await generation.archive.select([column], EVERYTHING)).column(column)
    active = (await generation.active.select([column], EVERYTHING)).column(column)
    shared: list[str] = archived.filter(pc.is_in(archived, value_set=active)).unique().to_pylist()
    return shared


async def drop_copies(generation: Generation, about: Condition) -> int:
    """Take out of the archive what the active table holds as well, and return how many rows that were.

    A move that was broken off leaves a memory in both; it stays where it was acknowledged to be, or
    has just come back to.  Only under the write lock.  Raises a StoreError.
    """
    archived = await generation.archive.values([Column.ID, Column.PARENT_ID], about)
    if not archived:
        return 0
    active = {parent for (parent,) in await generation.active.values([Column.PARENT_ID], about)}
    copies = [row_id for row_id, parent in archived if parent in active]
    await generation.archive.delete(sorted(copies))
    return len(copies)


def _applied(change: Change[T], view: View) -> T | NoesisError:
    try:
        return change.apply(view)
    except NoesisError as error:
        return error


def _about(ids: Iterable[str], hashes: Iterable[str]) -> Condition | None:
    parts = [
        one_of(column, sorted(values)).sql
        for column, values in ((Column.PARENT_ID, set(ids)), (Column.CONTENT_HASH, set(hashes)))
        if values
    ]
    return Condition(" OR ".join(parts)) if parts else None
