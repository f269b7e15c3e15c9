"""Undo of a restore or a re-embedding: back to the generation before it, with what was written since."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence

import msgspec

from noesis.backup import marks
from noesis.backup.comparing import forgotten_in, written_since
from noesis.backup.control_copy import Way, copy_with_memories
from noesis.backup.restoring import Restoring
from noesis.backup.values import Restored
from noesis.crash_points import crash_point
from noesis.errors import Conflict
from noesis.rows import vector_text
from noesis.store import Row
from noesis.store.filters import Column, one_of
from noesis.store.generations import Generation
from noesis.store.linking import link_newest
from noesis.store.schema import without_vector
from noesis.store.siblings import Sibling
from noesis.store.whole import Known, memories_of

_AT_ONCE = 500

Written = Mapping[str, Known | None]


class Undoing(Restoring):
    """Undoes restores and re-embeddings; it needs all that a restore does."""

    async def undo(self, *, made_for: str) -> Restored:
        """Go back to the generation before the last restore or re-embedding, and take over what was written since.

        Of a memory that was written in both, the later writing stays.  An undo can be undone the same
        way.  Raises Conflict when there is nothing to undo, or a StoreError.
        """
        if (done := await self.finished(made_for)) is not None:
            return done
        previous, baseline = self._store.previous, marks.read_baseline(self._store.directory)
        if previous is None or baseline is None:
            raise Conflict("There is no restore and no re-embedding that could be undone.")
        async with self._store.building() as sibling:
            await asyncio.to_thread(self._lay_out_previous, previous, sibling)
            carry = _Carrying(self._store.live, sibling, baseline)
            await carry.over()
            crash_point("undo: carried")
            away = await forgotten_in(await sibling.opened(), self._forgotten)
            await sibling.drop([row_id for row_ids in away.values() for row_id in row_ids])
            marks.write_baseline(sibling.directory, await memories_of(await sibling.opened()))
            restored = await self._swap(sibling, made_for, len(away), made_by="undo", before=carry.over)
        await self.settle()
        return msgspec.structs.replace(restored, carried=len(carry.done))

    def _lay_out_previous(self, previous: str, sibling: Sibling) -> None:
        link_newest(self._store.generation_dir(previous), sibling.directory)
        if not (self._store.directory / marks.BEFORE).is_file():
            # A re-embedding left the control state alone.
            return
        shutil.copyfile(self._store.directory / marks.BEFORE, sibling.directory / marks.TAKEN)
        copy_with_memories(self._control, sibling.directory / marks.BEFORE)
        marks.mark_pending(sibling.directory, Way.UNDO)


class _Carrying:
    """Takes what was written in the live generation over into a sibling; again, for what came meanwhile.

    Vectors come along only where both are of one model; else the sibling's own, while its text is the same.
    """

    def __init__(self, live: Generation, sibling: Sibling, baseline: Mapping[str, Known]) -> None:
        self._live = live
        self._sibling = sibling
        self._baseline = baseline
        self.done: dict[str, Known | None] = {}

    async def over(self) -> None:
        """Carry what is not carried yet."""
        written = written_since(self._baseline, await memories_of(self._live))
        new = {
            memory_id: known
            for memory_id, known in written.items()
            if memory_id not in self.done or self.done[memory_id] != known
        }
        ids = sorted(new)
        for start in range(0, len(ids), _AT_ONCE):
            await self._carry(ids[start : start + _AT_ONCE])
        self.done.update(new)

    async def _carry(self, ids: Sequence[str]) -> None:
        there = await self._sibling.opened()
        active, archived = await _rows(self._live, ids)
        old_active, old_archived = await _rows(there, ids)
        gone = set(ids) - {row.parent_id for row in (*active, *archived)}
        # What is gone was in the archive, and its time was over; where it still lives, it stays.
        old = [row for row in (*old_active, *old_archived) if row.parent_id not in gone]
        old += [row for row in old_archived if row.parent_id in gone]
        await self._sibling.drop([row.id for row in old])
        if there.info.embedder != self._live.info.embedder:
            own = {row.id: row for row in (*old_active, *old_archived)}
            active, archived = [[_with_own(row, own) for row in rows] for rows in (active, archived)]
        await self._sibling.put(active, archived=False)
        await self._sibling.put(archived, archived=True)


async def _rows(generation: Generation, ids: Sequence[str]) -> tuple[list[Row], list[Row]]:
    about = one_of(Column.PARENT_ID, ids)
    active, archived = await generation.active.rows(about), await generation.archive.rows(about)
    living = {row.parent_id for row in active}
    return active, [row for row in archived if row.parent_id not in living]


def _with_own(row: Row, own: Mapping[str, Row]) -> Row:
    """The row with the vector that the sibling has of the same text, or waiting for one."""
    there = own.get(row.id)
    if there is None or there.vector is None or vector_text(there) != vector_text(row):
        return without_vector(row)
    return msgspec.structs.replace(
        without_vector(row), vector=there.vector, embedding_state=there.embedding_state
    )
