"""A machine with a store, a control database and backups, without the rest of the product."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from noesis.backup.operation import Backups
from noesis.control import Control, sqlite_url
from noesis.settings import Settings, load
from noesis.store import Store
from noesis.store.filters import EVERYTHING
from noesis.tombstones import Tombstones
from tests.store.changes import Put
from tests.store.rows import make_row, unit_vector
from tests.support import Clock


class Machine(msgspec.Struct, kw_only=True):
    """What tests of backups work with."""

    directory: Path
    settings: Settings
    store: Store
    control: Control
    backups: Backups
    tombstones: Tombstones
    clock: Clock

    async def write(self, *numbers: int, **values: Any) -> None:
        """Store memories with these numbers."""
        for number in numbers:
            await self.store.submit(Put(make_row(number, **({"vector": unit_vector(number)} | values))))

    async def backup(self) -> Path:
        """Make a backup and give its file."""
        made = await self.backups.create()
        return self.backups.shelf.path(made.name)

    async def texts(self) -> set[str]:
        """The texts of the living memories."""
        return {row.text for row in await self.store.active.rows(EVERYTHING)}


@asynccontextmanager
async def machine(
    directory: Path, *, despite_damage: bool = False, settings: dict[str, str] | None = None
) -> AsyncIterator[Machine]:
    """A machine on a data directory; a second one on the same directory is another process of it."""
    clock = Clock()
    directory.mkdir(exist_ok=True)
    loaded = load({"NOESIS_DATA": str(directory), **(settings or {})})
    control = Control.open(sqlite_url(directory / "control.sqlite"))
    store = await Store.open(loaded.store_dir, now_ms=clock, despite_damage=despite_damage)
    tombstones = Tombstones(control, clock)
    try:
        yield Machine(
            directory=directory,
            settings=loaded,
            store=store,
            control=control,
            backups=Backups(store, control, loaded, clock, tombstones.forgotten),
            tombstones=tombstones,
            clock=clock,
        )
    finally:
        await store.close()
        control.close()


def names(numbers: range | tuple[int, ...]) -> set[str]:
    """The texts of the memories with these numbers."""
    return {f"memory number {number}" for number in numbers}
