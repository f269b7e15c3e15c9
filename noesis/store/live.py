"""The live generation as one process sees it: it notices when CURRENT names another one."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from noesis.errors import StoreError
from noesis.store.caches import LEAST_ROOM, room_for
from noesis.store.calls import reading
from noesis.store.generations import Generation, current_name, open_as_it_is
from noesis.store.tables import Table
from noesis.store.vector_index import Depth

Stamp = tuple[int, int, int]

_COUNTED_EVERY_S = 60.0
_OUTGROWN = 1.5


class Live(Generation):
    """Stands for whatever generation CURRENT names.

    Its tables stay the same objects and are attached to the tables of the new generation, so nobody
    who holds them has to be told.  Looking costs one `stat` of CURRENT.  When the rows have outgrown
    the `room` (bytes) for their indexes, the tables are opened anew with more.
    """

    def __init__(self, store_dir: Path, opened: Generation, stamp: Stamp | None, depth: Depth) -> None:
        super().__init__(
            opened.directory,
            Table(opened.active.handle, depth, opened.name, self.follow),
            Table(opened.archive.handle, depth, opened.name, self.follow),
            opened.dropped,
        )
        self._store_dir = store_dir
        self._stamp = stamp
        self._depth = depth
        self._opening = asyncio.Lock()
        self._count_at = time.monotonic()
        self.room = LEAST_ROOM

    async def follow(self) -> None:
        """Attach the tables of the generation that CURRENT names now.  Raises StoreError."""
        if stamp_of(self._store_dir) not in (self._stamp, None):
            await self._follow_current()
        elif time.monotonic() >= self._count_at:
            await self._make_room()

    async def _follow_current(self) -> None:
        async with self._opening:
            stamp = stamp_of(self._store_dir)
            if stamp in (self._stamp, None):
                return
            name = current_name(self._store_dir)
            if name is not None and name != self.directory.name:
                await self._attach(self._store_dir / "generations" / name, self.room)
            self._stamp = stamp

    async def reopen(self) -> None:
        """Open the tables anew, which lets go of all that was kept of versions before.  Raises StoreError."""
        await self.follow()
        async with self._opening:
            await self._attach(self.directory, room_for(await self._rows()))

    async def _make_room(self) -> None:
        """Rows come one by one and while the process runs: they are counted once a minute, which takes 1 ms."""
        self._count_at = time.monotonic() + _COUNTED_EVERY_S
        room = room_for(await self._rows())
        if room < _OUTGROWN * self.room:
            return
        async with self._opening:
            await self._attach(self.directory, room)

    async def _rows(self) -> int:
        tables = [table.handle for table in (self.active, self.archive)]
        return sum([await reading(table.count_rows, table.name) for table in tables])

    async def _attach(self, directory: Path, room: int) -> None:
        try:
            opened = await open_as_it_is(directory, self._depth, room)
        except (RuntimeError, ValueError, OSError) as error:
            raise StoreError(f"The generation {directory.name} cannot be opened.") from error
        self.directory, self.room = opened.directory, room
        self.active.attach(opened.active)
        self.archive.attach(opened.archive)


def stamp_of(store_dir: Path) -> Stamp | None:
    """What changes with every swap, or None while there is no CURRENT."""
    try:
        status = os.stat(store_dir / "CURRENT")  # noqa: PTH116 - asked before every read: no object for it
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
