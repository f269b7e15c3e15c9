"""Backups made while two processes write, archive and compact: each restores to one moment, exactly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noesis.errors import StoreBusy
from noesis.store import Store
from tests.backup.machine import Machine, machine
from tests.store.changes import Drop, Put
from tests.store.rows import content, make_row, unit_vector

Content = dict[str, dict[str, str]]


class Load:
    """Writes, moves to the archive, drops and compacts until it is stopped; remembers what was acknowledged."""

    def __init__(self) -> None:
        self.stored: set[str] = set()
        self.removed: set[str] = set()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def write(self, store: Store, first: int) -> None:
        """Every third memory is moved to the archive, every fifth dropped again."""
        number = first
        while not self._stopped.is_set():
            row = make_row(number, vector=unit_vector(number))
            await store.submit(Put(row))
            self.stored.add(row.id)
            if number % 3 == 0:
                await store.submit(Put(row, archived=True))
            if number % 5 == 0:
                self.removed.add(row.id)
                await store.submit(Drop(row.id))
            number += 1

    async def compact(self, store: Store) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(StoreBusy):
                await store.maintain(force=True)
            await asyncio.sleep(0.05)


def watched(here: Machine, moments: list[Content], monkeypatch: pytest.MonkeyPatch) -> None:
    """Note what the store holds at the very moment at which its files are linked."""
    original: Callable[..., Awaitable[Any]] = here.store.link_to

    async def link_to(directory: Path, last: object = None) -> None:
        async def look() -> None:
            moments.append(await content(here.store))

        await original(directory, look)

    monkeypatch.setattr(here.store, "link_to", link_to)


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(10, marks=pytest.mark.timeout(600)),
        pytest.param(50, marks=[pytest.mark.torture, pytest.mark.timeout(7200)]),
    ],
)
async def test_backups_under_load_restore_to_exactly_what_was_acknowledged(
    rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = {"NOESIS_BACKUP_KEEP_LAST": "100"}
    async with (
        machine(tmp_path / "m", settings=keep) as here,
        machine(tmp_path / "m", settings=keep) as other,
        machine(tmp_path / "fresh") as fresh,
    ):
        load = Load()
        moments: list[Content] = []
        watched(here, moments, monkeypatch)
        at_work = [
            asyncio.create_task(load.write(here.store, 10_000)),
            asyncio.create_task(load.write(other.store, 20_000)),
            asyncio.create_task(load.compact(other.store)),
        ]
        made = []
        for _ in range(rounds):
            before, gone = set(load.stored), set(load.removed)
            here.clock.advance(seconds=1)
            made.append(await here.backups.create())
            held = moments[-1]["active"] | moments[-1]["archive"]
            # What is in the middle of being dropped may be there or not.
            assert before - gone <= held.keys() | load.removed
            assert len(moments) == len(made)
        load.stop()
        await asyncio.gather(*at_work)
        assert len(load.stored) > 2 * rounds
        assert moments[0] != moments[-1]
        for number, backup in enumerate(made):
            path = here.backups.shelf.path(backup.name)
            await fresh.backups.restore(path, made_for=f"{number}", foreign=True, safety_backup=False)
            assert await content(fresh.store) == moments[number]
            assert backup.rows == sum(len(table) for table in moments[number].values())
