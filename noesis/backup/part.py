"""Restore of a part: one agent's memories, one source's, or single ones, beside what is there today."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from noesis.backup.archive import Cancel
from noesis.backup.comparing import Forgotten
from noesis.backup.taking import Tell
from noesis.backup.unpacking import opened
from noesis.backup.values import Beside, Brought, Wanted
from noesis.errors import InvalidInput
from noesis.rows import by_memory, to_memory
from noesis.store import Column, Condition, Row, Store, View
from noesis.store.filters import EVERYTHING, equals, one_of
from noesis.store.generations import Generation
from noesis.store.schema import without_vector

_AT_ONCE = 256
MOST_IDS = 1000


class BringBack:
    """Puts one memory as it was in a backup; how it was is the answer: restored or same."""

    hashes: tuple[str, ...] = ()
    because = "restored from a backup"
    mends = True

    def __init__(self, rows: Sequence[Row], *, archived: bool, actor: str) -> None:
        self._rows = rows
        self._archived = archived
        self.actor = actor
        self.memory_ids = (rows[0].parent_id,)

    def apply(self, view: View) -> bool:
        """Whether anything had to be done."""
        memory_id = self._rows[0].parent_id
        now, archived = view.active(memory_id), view.archived(memory_id)
        there = now or archived
        if now_is(self._rows, there) and vectors_are(self._rows, there) and bool(now) is not self._archived:
            return False
        (view.put_archived if self._archived else view.put_active)(self._rows)
        return True


def now_is(then: Sequence[Row], now: Sequence[Row]) -> bool:
    """Whether a memory is what it was, whatever became of its vector."""
    return [_values(row) for row in then] == [_values(row) for row in now]


def vectors_are(then: Sequence[Row], now: Sequence[Row]) -> bool:
    """Whether no vector is another than it was: of the same text and model, then, it is a damaged one."""
    both = [(old.vector, new.vector) for old, new in zip(then, now, strict=True)]
    return all(old is None or new is None or np.array_equal(old, new) for old, new in both)


def _values(row: Row) -> tuple[object, ...]:
    values = msgspec.structs.asdict(row)
    return tuple(value for name, value in values.items() if name != "vector" and "embedding" not in name)


class PartRestoring:
    """Looks into a backup for a part of it, and brings it back memory by memory."""

    def __init__(self, store: Store, *, key_file: Path | None, forgotten: Forgotten) -> None:
        self._store = store
        self._key_file = key_file
        self._forgotten = forgotten

    async def beside(
        self, path: Path, wanted: Wanted, limit: int, tell: Tell, cancelled: Cancel
    ) -> list[Beside]:
        """The wanted memories as they were and as they are, those that differ first; at most `limit`.

        Raises BackupRefused, StoreIncompatible or a StoreError.
        """
        found: list[Beside] = []
        async with self._store.scratch() as folder:
            _, generation = await opened(path, folder, self._key_file, tell, cancelled)
            async for batch, archived in _memories(generation, wanted):
                found += await self._compare(batch, archived)
        order = ("missing", "changed", "forgotten", "same")
        return sorted(found, key=lambda each: (order.index(each.state), each.id))[:limit]

    async def bring(self, path: Path, wanted: Wanted, actor: str, tell: Tell, cancelled: Cancel) -> Brought:
        """Put the wanted memories back as they were; what was forgotten since stays away.

        Doing it again changes nothing.  Raises BackupRefused, StoreIncompatible or a StoreError.
        """
        restored = same = away = 0
        async with self._store.scratch() as folder:
            unpacked, generation = await opened(path, folder, self._key_file, tell, cancelled)
            made_with = unpacked.manifest.embedder
            keeps_vectors = made_with is not None and made_with == self._store.embedder
            async for batch, archived in _memories(generation, wanted):
                kept = [rows for rows in batch if not await self._is_forgotten(rows[0])]
                away += len(batch) - len(kept)
                ready = kept if keeps_vectors else [_without_vectors(rows) for rows in kept]
                changes = [BringBack(rows, archived=archived, actor=actor) for rows in ready]
                done = await asyncio.gather(*(self._store.submit(change) for change in changes))
                restored += sum(done)
                same += len(done) - sum(done)
        return Brought(restored=restored, same=same, forgotten=away)

    async def _compare(self, batch: Sequence[list[Row]], archived: bool) -> list[Beside]:
        about = one_of(Column.PARENT_ID, [rows[0].parent_id for rows in batch])
        active = by_memory(await self._store.active.remains(about))
        stored = by_memory(await self._store.archive.remains(about))
        compared = []
        for then in batch:
            memory_id = then[0].parent_id
            now = active.get(memory_id) or stored.get(memory_id)
            state = "missing" if now is None else "changed"
            if now is not None and now_is(then, now) and archived is (memory_id not in active):
                state = "same"
            if await self._is_forgotten(then[0]):
                state = "forgotten"
            compared.append(
                Beside(
                    id=memory_id,
                    agent_id=then[0].agent_id,
                    then=to_memory(then).text,
                    now=None if now is None else to_memory(now).text,
                    then_archived=archived,
                    now_archived=None if now is None else memory_id not in active,
                    state=state,  # type: ignore[arg-type]
                )
            )
        return compared

    async def _is_forgotten(self, row: Row) -> bool:
        gone = await self._forgotten(row.agent_id)
        return bool(gone & {("source", row.source or ""), ("session", row.session_id or "")})


def condition_of(wanted: Wanted) -> Condition:
    """The rows of the wanted memories.  Raises InvalidInput for no part, or for too many ids."""
    if wanted.whole:
        raise InvalidInput("Name an agent, a source or memories.", field="agent_id")
    if len(wanted.ids) > MOST_IDS:
        raise InvalidInput(f"At most {MOST_IDS:,} memories can be named.", field="ids")
    condition = EVERYTHING
    if wanted.agent is not None:
        condition &= equals(Column.AGENT_ID, wanted.agent)
    if wanted.source is not None:
        condition &= equals(Column.SOURCE, wanted.source)
    if wanted.ids:
        condition &= one_of(Column.PARENT_ID, wanted.ids)
    return condition


async def _memories(generation: Generation, wanted: Wanted) -> AsyncIterator[tuple[list[list[Row]], bool]]:
    """Batches of whole memories, and whether they are archived ones."""
    condition = condition_of(wanted)
    for table, archived in ((generation.active, False), (generation.archive, True)):
        ids = [
            memory_id
            for (memory_id,) in await table.values([Column.PARENT_ID], condition & equals(Column.CHUNK, 0))
        ]
        for start in range(0, len(ids), _AT_ONCE):
            about = one_of(Column.PARENT_ID, ids[start : start + _AT_ONCE])
            rows = await table.rows(about)
            yield list(_sorted(rows)), archived


def _sorted(rows: Iterable[Row]) -> list[list[Row]]:
    return [sorted(chunks, key=lambda row: row.chunk) for chunks in by_memory(rows).values()]


def _without_vectors(rows: Sequence[Row]) -> list[Row]:
    """For an embedder that is another one: the vectors are made anew."""
    return [without_vector(row) for row in rows]
