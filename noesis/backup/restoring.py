"""Restore: a backup becomes a new generation, is compared, and takes the live one's place.

The generation before is kept, so that one undo leads back to it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from noesis.backup import marks
from noesis.backup.archive import Cancel
from noesis.backup.comparing import Forgotten, difference, forgotten_in
from noesis.backup.control_copy import Way, copy_with_memories, has_people, kept_as_now, take_back
from noesis.backup.taking import Tell, instance_id
from noesis.backup.unpacking import Unpacked, opened
from noesis.backup.values import Difference, Manifest, Preview, Restored
from noesis.control import Control
from noesis.crash_points import crash_point
from noesis.errors import BackupRefused, StoreError
from noesis.store import Store
from noesis.store.locks import FileLock
from noesis.store.siblings import Sibling
from noesis.store.whole import Known, memories_of

_NOTHING = Difference(added=0, lost=0, changed=0, same=0)


class Restoring:
    """Restores whole backups, and says before what that would do."""

    def __init__(
        self,
        store: Store,
        control: Control,
        now_ms: Callable[[], int],
        *,
        key_file: Path | None,
        forgotten: Forgotten,
    ) -> None:
        self._store = store
        self._control = control
        self._now_ms = now_ms
        self._key_file = key_file
        self._forgotten = forgotten

    async def preview(self, path: Path, tell: Tell, cancelled: Cancel) -> Preview:
        """What a restore of this archive would do.

        Raises BackupRefused, StoreIncompatible, StoreFull, Cancelled.
        """
        async with self._store.scratch() as folder:
            unpacked, generation = await opened(path, folder, self._key_file, tell, cancelled)
            then = await memories_of(generation)
            away = await forgotten_in(generation, self._forgotten)
            now = await self._now()
            kept = {memory_id: known for memory_id, known in then.items() if memory_id not in away}
            manifest = unpacked.manifest
            made_with, ours = manifest.embedder, self._store.embedder
            return Preview(
                name=path.name,
                created_at=manifest.created_at,
                difference=difference(kept, now, len(away)),
                foreign=await self._is_foreign(manifest),
                other_model=None not in (made_with, ours) and made_with != ours,
                kept_as_now=() if await self._is_fresh() else kept_as_now(),
            )

    async def restore(
        self, path: Path, *, made_for: str, foreign: bool, tell: Tell, cancelled: Cancel
    ) -> Restored:
        """Put the memories of an archive in the place of those of now, in every process.

        `made_for` names this piece of work: when it is done already, it is not done again.  Another
        instance's archive is refused unless `foreign` is set or there is nothing here yet.  Raises
        BackupRefused, StoreIncompatible, StoreFull, StoreBusy, Cancelled; then nothing was changed.
        """
        if (done := await self.finished(made_for)) is not None:
            return done
        async with self._store.building() as sibling, self._store.scratch() as folder:
            unpacked, _ = await opened(path, folder, self._key_file, tell, cancelled)
            fresh = await self._is_fresh()
            if not fresh and not foreign and await self._is_foreign(unpacked.manifest):
                raise BackupRefused(
                    "This backup is another instance's. Its memories would take the place of those here;"
                    " say so (--foreign) if that is what you want."
                )
            await asyncio.to_thread(self._lay_out, unpacked, sibling, fresh)
            crash_point("restore: laid out")
            away = await self._leave_forgotten(sibling)
            restored = await self._swap(sibling, made_for, len(away), made_by="restore")
        await self.settle()
        return restored

    async def finished(self, made_for: str) -> Restored | None:
        """What this piece of work did, if it was done before and only the telling is left."""
        await self._store.live.follow()
        if self._store.damaged or self._store.info.made_for != made_for:
            return None
        await self.settle()
        memories = len(await self._now())
        return Restored(
            generation=self._store.directory.name,
            previous=self._store.previous,
            memories=memories,
            difference=_NOTHING,
        )

    async def settle(self) -> bool:
        """Take over the control state of the live generation, if a kill has left that undone; whether it had."""
        directory = self._store.directory
        if marks.pending(directory) is None:
            return False
        async with FileLock(directory / "settle.lock").held(60.0):
            way = marks.pending(directory)
            if way is None:
                return False
            await asyncio.to_thread(take_back, self._control, directory / marks.TAKEN, way)
            crash_point("restore: control taken")
            marks.settle(directory)
        return True

    def _lay_out(self, unpacked: Unpacked, sibling: Sibling, fresh: bool) -> None:
        sibling.directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unpacked.store.rename(sibling.directory)
        shutil.move(unpacked.control, sibling.directory / marks.TAKEN)
        copy_with_memories(self._control, sibling.directory / marks.BEFORE)
        marks.mark_pending(sibling.directory, Way.FRESH if fresh else Way.RESTORE)

    async def _leave_forgotten(self, sibling: Sibling) -> dict[str, list[str]]:
        """Drop what belongs to a forgotten source or session, and note what the generation begins with."""
        generation = await sibling.opened()
        away = await forgotten_in(generation, self._forgotten)
        await sibling.drop([row_id for row_ids in away.values() for row_id in row_ids])
        marks.write_baseline(sibling.directory, await memories_of(generation))
        return away

    async def _swap(
        self,
        sibling: Sibling,
        made_for: str,
        away: int,
        *,
        made_by: str,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> Restored:
        """Swap it in; `before` is called while nobody writes any more."""
        generation = await sibling.opened()
        sibling.describe(
            previous=self._store.current, made_by=made_by, made_for=made_for, now_ms=self._now_ms()
        )
        is_over_others = marks.pending(sibling.directory) is not Way.FRESH

        async def last() -> Difference:
            if before is not None:
                await before()
            return difference(await memories_of(generation), await self._now(), away)

        crash_point("restore: before the swap")
        found = await self._store.swap_to(sibling.name, last) or _NOTHING
        crash_point("restore: after the swap")
        return Restored(
            generation=sibling.name,
            previous=self._store.previous,
            memories=found.added + found.changed + found.same,
            difference=found,
            kept_as_now=kept_as_now() if is_over_others else (),
        )

    async def _now(self) -> dict[str, Known]:
        """The memories of now; none when the live store is so damaged that they cannot be read."""
        try:
            return await memories_of(self._store.live)
        except StoreError:
            return {}

    async def _is_fresh(self) -> bool:
        """Whether nothing was done here yet: no memories, no tokens, nobody set a password."""
        if self._store.damaged:
            return False
        return not await self._now() and not await self._control.read(has_people)

    async def _is_foreign(self, manifest: Manifest) -> bool:
        return manifest.instance != await instance_id(self._control)
