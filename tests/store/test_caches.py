"""The room for indexes in memory follows the rows, while everything goes on."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

from noesis.store import caches, live
from noesis.store.caches import LEAST_ROOM, room_for
from noesis.store.filters import EVERYTHING
from tests.store.changes import Put
from tests.store.rows import content, make_row
from tests.store.test_swap import build, opened

MIB = 1 << 20


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are counted at each read, and one needs 20 MiB."""
    monkeypatch.setattr(caches, "_ROOM_A_ROW", 20 * MIB)
    monkeypatch.setattr(live, "_COUNTED_EVERY_S", 0.0)


def test_few_rows_have_the_least_room_and_very_many_the_most() -> None:
    sizes = [room_for(rows) for rows in (0, 1000, 70_000, 100_000, 500_000, 1_000_000, 2_000_000, 50_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] == sizes[2] == LEAST_ROOM < sizes[3]
    assert sizes[-1] == sizes[-2] <= 512 * MIB


@pytest.mark.usefixtures("roomy")
async def test_a_store_that_grows_gets_more_room_for_its_indexes(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    rooms: list[int] = []
    for number in range(1, 7):
        await store.submit(Put(make_row(number)))
        assert len((await content(store))["active"]) == number
        rooms.append(store.live.room // MIB)
    assert rooms == [24, 40, 60, 60, 100, 100]
    await store.close()


@pytest.mark.usefixtures("roomy")
async def test_reads_and_writes_go_on_meanwhile(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")

    async def read() -> int:
        seen = 0
        while seen < 12:
            found = len(await store.active.rows(EVERYTHING))
            assert found >= seen
            seen = found
        return seen

    writes = (store.submit(Put(make_row(number))) for number in range(12))
    async with asyncio.timeout(60):
        await asyncio.gather(*(read() for _ in range(4)), *writes)
    assert store.live.room == 240 * MIB
    await store.close()


@pytest.mark.usefixtures("roomy")
async def test_another_generation_has_the_room_of_the_one_before(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    for number in range(1, 4):
        await store.submit(Put(make_row(number)))
    assert await store.active.count(EVERYTHING) == 3
    await build(store, 4)
    assert (store.directory.name, store.live.room) == ("0002", 60 * MIB)
    assert len((await content(store))["active"]) == 4
    await store.close()


async def test_after_upkeep_nothing_is_kept_of_the_versions_before(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    await store.submit(Put(make_row(1)))
    tables = (store.active, store.archive)
    before = [weakref.ref(table.handle) for table in tables]
    assert await store.maintain(force=True) == 2
    assert [table.handle is handle() for table, handle in zip(tables, before, strict=True)] == [False, False]
    gc.collect()
    assert [handle() for handle in before] == [None, None]
    assert len((await content(store))["active"]) == 1
    idle = [table.handle for table in tables]
    assert await store.maintain(force=False) == 0
    assert [table.handle for table in tables] == idle
    await store.close()


async def test_what_was_stored_before_the_start_counts_from_the_first_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path / "s")
    for number in range(3):
        await store.submit(Put(make_row(number)))
    await store.close()
    monkeypatch.setattr(caches, "_ROOM_A_ROW", 20 * MIB)
    again = await opened(tmp_path / "s")
    assert await again.active.count(EVERYTHING) == 3
    assert again.live.room == 60 * MIB
    await again.close()
