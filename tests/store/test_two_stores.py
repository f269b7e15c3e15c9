"""Several stores on one directory, in one process and in two: nothing lost, nothing doubled, all seen."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noesis.errors import StoreBusy
from noesis.store import Store
from noesis.store.filters import EVERYTHING, Column, equals
from noesis.store.locks import StoreLocks
from tests.store.changes import Count, Drop, Put
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW


@pytest.fixture
async def other(store: Store, tmp_path: Path) -> AsyncIterator[Store]:
    """A second store on the same directory, opened beside the first."""
    opened = await Store.open(tmp_path / "store", now_ms=lambda: NOW)
    yield opened
    await opened.close()


async def test_each_store_sees_the_others_writes_at_once(store: Store, other: Store) -> None:
    """Reads by condition, by vector and by words, counts and views."""
    near = unit_vector(1)
    assert await other.active.count(EVERYTHING) == 0
    await store.submit(Put(make_row(1, text="the van key hangs by the door", vector=near)))
    assert await other.active.count(EVERYTHING) == 1
    assert [row.id for row in (await other.active.nearest(near, EVERYTHING, 5))[0]] == [make_row(1).id]
    assert [row.id for row in (await other.active.matching("van", EVERYTHING, 5))[0]] == [make_row(1).id]
    await other.submit(Drop(make_row(1).id))
    assert await store.active.rows(EVERYTHING) == []
    assert (await store.active.nearest(near, EVERYTHING, 5))[0] == []
    assert (await store.active.matching("van", EVERYTHING, 5))[0] == []


async def test_writes_of_different_memories_are_all_there(store: Store, other: Store) -> None:
    stores = [store, other]
    await asyncio.gather(*(stores[number % 2].submit(Put(make_row(number))) for number in range(60)))
    assert sorted((await content(store))["active"]) == sorted(make_row(number).id for number in range(60))
    assert await content(store) == await content(other)


async def test_changes_of_one_memory_do_not_overwrite_each_other(store: Store, other: Store) -> None:
    """Each change reads what the one before wrote, whichever store that went through."""
    stores = [store, other]
    counts = await asyncio.gather(*(stores[number % 2].submit(Count(make_row(1))) for number in range(30)))
    assert sorted(counts) == list(range(30))
    assert [row.priority for row in await store.active.rows(EVERYTHING)] == [29]


async def test_writes_go_on_while_the_tables_are_maintained(store: Store, other: Store) -> None:
    """Compaction rewrites the very rows that are being changed."""
    for number in range(0, 40, 10):
        await asyncio.gather(*(store.submit(Put(make_row(n))) for n in range(number, number + 10)))
    done = asyncio.Event()

    async def maintain() -> int:
        rounds = 0
        while not done.is_set() or rounds == 0:
            rounds += await other.maintain(force=True)
        return rounds

    async def write() -> None:
        for step in range(6):
            for opened, first in ((store, 0), (other, 20)):
                rows = [make_row(number, priority=step) for number in range(first, first + 20)]
                await asyncio.gather(*(opened.submit(Put(row)) for row in rows))
        await store.submit(Drop(make_row(39).id))
        done.set()

    rounds, _ = await asyncio.gather(maintain(), write())
    rows = await store.active.rows(EVERYTHING)
    assert rounds > 0
    assert sorted(row.id for row in rows) == sorted(make_row(number).id for number in range(39))
    assert {row.priority for row in rows} == {5}
    assert await store.active.damaged() == []


async def test_only_one_store_maintains_at_a_time(store: Store, other: Store) -> None:
    async with StoreLocks(store.directory.parents[1] / "locks").maintaining():
        for opened in (store, other):
            with pytest.raises(StoreBusy):
                await opened.maintain(force=True)
        await other.submit(Put(make_row(1)))
    assert await other.maintain(force=True) == 2


PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, json, sys
from pathlib import Path
from noesis.store import Store
from tests.store.changes import Count, Put
from tests.store.rows import make_row, unit_vector
from tests.support import NOW

async def main(directory, first):
    store = await Store.open(Path(directory), now_ms=lambda: NOW)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    own = [store.submit(Put(make_row(n, vector=unit_vector(n)))) for n in range(first, first + 40)]
    same = [store.submit(Put(make_row(n, text=f"shared {n}"))) for n in range(20)]
    counts = [store.submit(Count(make_row(999))) for _ in range(20)]
    for part in range(0, 20, 5):
        await asyncio.gather(*own[part * 2:part * 2 + 10], *same[part:part + 5])
        await store.maintain(force=True) if first == 100 else None
    print(json.dumps(await asyncio.gather(*counts)))
    await store.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def start(directory: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), str(first)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_two_processes_lose_and_double_nothing(store: Store, tmp_path: Path) -> None:
    """Different ids, the same ids, a read-change-write of one id, and one of them maintains meanwhile."""
    processes = [start(tmp_path / "store", first) for first in (100, 200)]
    for process in processes:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
    outputs = await asyncio.gather(*(asyncio.to_thread(p.communicate, "go\n") for p in processes))
    assert [process.returncode for process in processes] == [0, 0]
    counts = [count for output, _ in outputs for count in json.loads(output)]
    assert sorted(counts) == list(range(40))
    rows = await store.active.rows(EVERYTHING)
    expected = [*range(20), *range(100, 140), *range(200, 240), 999]
    assert sorted(row.id for row in rows) == sorted(make_row(number).id for number in expected)
    assert [row.priority for row in rows if row.id == make_row(999).id] == [39]
    assert sum(row.vector is not None for row in rows) == 80
    assert await store.active.damaged() == []


async def test_what_another_process_deletes_is_gone_here(store: Store, tmp_path: Path) -> None:
    await store.submit(Put(make_row(1)))
    await store.submit(Put(make_row(2)))
    program = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from noesis.store import Store
from tests.store.changes import Drop
from tests.store.rows import make_row

async def main():
    store = await Store.open(Path(sys.argv[1]), now_ms=lambda: 0)
    await store.submit(Drop(make_row(1).id))
    await store.maintain(force=True)
    await store.close()

asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(tmp_path / "store")]
    await asyncio.to_thread(subprocess.run, command, cwd=Path(__file__).parents[2], check=True)
    assert await store.active.values([Column.ID], equals(Column.AGENT_ID, "alpha")) == [(make_row(2).id,)]
    assert (await store.active.matching("memory number", EVERYTHING, 5))[0][0].id == make_row(2).id
