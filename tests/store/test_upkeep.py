"""Upkeep: disk and pieces stay bounded while many write and search, also when compaction fails for a while."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from lancedb import AsyncTable

from noesis.errors import StoreError
from noesis.store import Store, Table
from noesis.store import maintenance as upkeep
from noesis.store.filters import EVERYTHING, Column, equals
from noesis.store.recovery import manifests
from tests.store.changes import Drop, Put
from tests.store.rows import make_row, unit_vector
from tests.support import NOW

HOUR = 3600.0
WIDTH = 384
"""As wide as the vectors of the embedder that ships."""


class Broken:
    """LanceDB's upkeep as it is when it fails so many times before it works again."""

    def __init__(self, times: float) -> None:
        self.times = times
        self.works = upkeep.optimize

    async def __call__(self, table: AsyncTable, age: timedelta) -> None:
        if self.times > 0:
            self.times -= 1
            raise RuntimeError("lance error: a fragment cannot be rewritten")
        await self.works(table, age)


def folder(store: Store, table: Table) -> Path:
    return store.directory / f"{table.name}.lance"


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def versions(store: Store) -> int:
    return len(manifests(folder(store, store.active) / "_versions"))


def grow_old(store: Store, age_s: float = 2 * HOUR) -> None:
    """Let the versions there are have been written long ago, as far as their files tell."""
    for path in manifests(folder(store, store.active) / "_versions"):
        os.utime(path, (time.time() - age_s,) * 2)


async def search_until(done: asyncio.Event, store: Store) -> int:
    """Search in every way, again and again; any error ends the test."""
    count = 0
    while not done.is_set():
        near, words, rows = await asyncio.gather(
            store.active.nearest(unit_vector(1, WIDTH), EVERYTHING, 5),
            store.active.matching("memory number", equals(Column.AGENT_ID, "alpha"), 5),
            store.active.count(EVERYTHING),
        )
        assert len(near[0]) == len(words[0]) == 5
        assert rows >= 10
        count += 1
        await asyncio.sleep(1.0)
    return count


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(300, marks=pytest.mark.timeout(600)),
        pytest.param(3000, marks=[pytest.mark.torture, pytest.mark.timeout(3600)]),
    ],
)
async def test_the_disk_stays_bounded_while_many_write_and_search(
    number: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many single writes and as many updates; upkeep comes by now and then, and fails the first two times."""
    broken = Broken(2)
    monkeypatch.setattr(upkeep, "optimize", broken)
    rows = [make_row(n, vector=unit_vector(n, WIDTH)) for n in range(number)]
    await asyncio.gather(*(store.submit(Put(row)) for row in rows[:10]))
    done = asyncio.Event()
    searches = asyncio.create_task(search_until(done, store))
    failures = 0
    changed = [msgspec.structs.replace(row, priority=row.priority + 1) for row in rows]
    for step, row in enumerate([*rows, *changed]):
        await store.submit(Put(row))
        if step % 30 == 29 and any(state.due for state in await store.states()):
            try:
                await store.maintain()
            except StoreError:
                failures += 1
    assert failures >= 1
    assert broken.times == 0
    await asyncio.sleep(upkeep._PRUNE_SOON.total_seconds() + 0.5)
    await store.maintain(force=True)
    done.set()
    assert await searches >= 3
    fresh = await Store.open(tmp_path / "fresh", now_ms=lambda: NOW)
    await asyncio.gather(*(fresh.submit(Put(row)) for row in changed))
    await fresh.close()
    state = (await store.states())[0]
    assert state.rows == number
    assert state.fragments < 100
    assert size(folder(store, store.active)) <= 3 * size(folder(fresh, fresh.active))
    kept = await store.active.values([Column.ID, Column.PRIORITY], EVERYTHING)
    assert dict(kept) == {row.id: row.priority for row in changed}
    assert await store.active.damaged() == []


async def test_old_versions_go_although_compaction_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is left is whole: rows, words, vectors, and LanceDB's own upkeep once it works again."""
    for n in range(40):
        await store.submit(Put(make_row(n, vector=unit_vector(n))))
    await store.maintain(force=True)
    for n in range(30, 60):
        await store.submit(Put(make_row(n, vector=unit_vector(n), priority=77)))
    await store.submit(Drop(make_row(0).id))
    grow_old(store)
    before, disk = versions(store), size(folder(store, store.active))
    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "optimize", Broken(float("inf")))
        with pytest.raises(StoreError):
            await store.maintain(force=True)
    assert before > 30
    assert versions(store) == 1
    assert size(folder(store, store.active)) < disk / 2
    reopened = await Store.open(store.directory.parents[1], now_ms=lambda: NOW)
    for opened in (store, reopened):
        rows = await opened.active.rows(EVERYTHING)
        assert {row.id for row in rows} == {make_row(n).id for n in range(1, 60)}
        assert sum(row.priority == 77 for row in rows) == 30
        assert await opened.active.damaged() == []
        assert (await opened.active.nearest(unit_vector(7), EVERYTHING, 1))[0][0].id == make_row(7).id
        assert len((await opened.active.matching("memory", EVERYTHING, 100))[0]) == 59
    await reopened.submit(Put(make_row(99)))
    assert await store.maintain(force=True) == 2
    assert await store.active.count(EVERYTHING) == 60
    assert await store.active.damaged() == []
    await reopened.close()


async def test_one_table_that_fails_does_not_keep_the_other_from_its_turn(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(20):
        await store.submit(Put(make_row(n), archived=n % 2 == 0))
    works = upkeep.optimize

    async def partly(table: AsyncTable, age: timedelta) -> None:
        if table.name == store.active.name:
            raise RuntimeError("lance error: a fragment cannot be rewritten")
        await works(table, age)

    monkeypatch.setattr(upkeep, "optimize", partly)
    with pytest.raises(StoreError):
        await store.maintain(force=True)
    active, archive = await store.states()
    assert (active.fragments > 5, archive.fragments) == (True, 1)


async def test_what_is_being_read_is_not_removed(store: Store) -> None:
    """However old the version: its age says nothing about since when it is not the newest any more."""
    for n in range(30):
        await store.submit(Put(make_row(n)))
    grow_old(store)
    await asyncio.sleep(upkeep._PRUNE_SOON.total_seconds() + 0.5)
    async with store.pinned() as pinned:
        await store.submit(Put(make_row(30)))
        assert await store.maintain(force=True) == 2
        rows = [row async for batch in pinned.active.batches(EVERYTHING, 4) for row in batch]
        assert {row.id for row in rows} == {make_row(n).id for n in range(30)}
        held = versions(store)
    assert await store.maintain(force=True) == 2
    assert versions(store) < held / 2


async def test_a_table_is_bloated_when_old_versions_take_more_room_than_it_needs(store: Store) -> None:
    for n in range(30):
        await store.submit(Put(make_row(n)))
    state = (await store.states())[0]
    assert state.needed_bytes <= state.disk_bytes
    assert not state.bloated
    much = msgspec.structs.replace(state, disk_bytes=3 * state.needed_bytes + (5 << 20), stale_versions=30)
    assert much.bloated
    assert much.due
    assert not msgspec.structs.replace(much, stale_versions=3).bloated
    grow_old(store)
    assert (await store.states())[0].stale_versions >= 29
