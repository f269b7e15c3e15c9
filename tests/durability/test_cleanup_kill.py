"""kill -9 in a cleanup, at every named point of a write and at random ones: no memory is lost, none is there twice."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noesis.memory import EXPIRED, Indexed, MemoryFilter, NewMemory, Role, Scope
from noesis.store.filters import EVERYTHING
from tests.support import NOW, Clock, Product, running

OUT = ("write: before", "write: in the archive", "write: out of the active table", "write: synced")
BACK = ("write: before", "write: in the active table", "write: out of the archive", "write: synced")
"""The points that a move to the archive passes, and one back from it."""

ALPHA = Scope("alpha")
EVERYBODY = Scope(None, Role.ADMIN)
DAY_MS = 86_400_000

CLEAN = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from noesis.memory import Scope
from tests.support import Clock, running

async def main(directory, now, what, *ids):
    async with running(Path(directory), clock=Clock(int(now))) as product:
        print("ready", flush=True)
        if what == "clean":
            await product.noesis.retention.cleaning.run(None, confirm=True)
        else:
            await product.noesis.retention.archiving.restore(Scope("alpha"), ids, ttl_days=1)

asyncio.run(main(*sys.argv[1:]))
"""


def start(directory: Path, now: int, what: str, *ids: str, **environ: str) -> subprocess.Popen[bytes]:
    """A process that cleans up, or brings memories back, at this time (ms)."""
    return subprocess.Popen(
        [sys.executable, "-c", CLEAN, str(directory), str(now), what, *ids],
        cwd=Path(__file__).parents[2],
        env=os.environ | environ,
        stdout=subprocess.PIPE,
    )


async def killed(directory: Path, now: int, what: str, *ids: str, point: str) -> None:
    """Run such a process to the point at which it kills itself."""
    process = start(directory, now, what, *ids, NOESIS_CRASH_AT=point)
    await asyncio.to_thread(process.communicate)
    assert process.returncode == -9


async def fill(product: Product, count: int, ttl_days: float, word: str) -> set[str]:
    news = [NewMemory(text=f"{word} number {number}", ttl_days=ttl_days) for number in range(count)]
    answers = await product.noesis.indexing.index_many(ALPHA, news)
    return {answer.id for answer in answers if isinstance(answer, Indexed)}


async def whole(product: Product) -> tuple[set[str], set[str]]:
    """The ids in the active table and in the archive; each memory's one row is in one of them."""
    store = product.noesis.store
    tables = [[row.id for row in await table.rows(EVERYTHING)] for table in (store.active, store.archive)]
    active, archived = (set(ids) for ids in tables)
    assert [len(ids) for ids in tables] == [len(active), len(archived)], "a row is there twice"
    assert not active & archived, "a memory is in both tables"
    assert await store.active.damaged() == await store.archive.damaged() == []
    return active, archived


async def shown(product: Product, *, archived: bool) -> list[str]:
    """What a list shows of a table."""
    found: list[str] = []
    cursor = None
    while True:
        page = await product.noesis.browsing.page(
            EVERYBODY, MemoryFilter(), limit=200, cursor=cursor, archived=archived
        )
        found += [memory.id for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.integration
@pytest.mark.timeout(900)
async def test_a_cleanup_that_is_killed_at_a_point_loses_nothing_and_the_next_one_ends_it(
    tmp_path: Path,
) -> None:
    clock = Clock()
    lives: set[str] = set()
    over: set[str] = set()
    for point in OUT:
        async with running(tmp_path / "data", clock=clock) as product:
            lives |= await fill(product, 12, 0, f"badger {point}")
            expired = await fill(product, 12, 1, f"heron {point}")
        clock.advance(days=1)
        await killed(tmp_path / "data", clock(), "clean", point=point)
        async with running(tmp_path / "data", clock=clock) as product:
            active, archived = await whole(product)
            assert active | archived == over | expired | lives
            assert lives <= active
            assert sorted(await shown(product, archived=False)) == sorted(lives)
            done = await product.noesis.retention.cleaning.run(None)
            assert done.archived == len(active - lives)
            over |= expired
            assert await whole(product) == (lives, over)


@pytest.mark.integration
@pytest.mark.timeout(900)
async def test_bringing_back_that_is_killed_at_a_point_loses_nothing_and_can_be_done_again(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with running(tmp_path / "data", clock=clock) as product:
        ids = await fill(product, 12, 1, "heron")
    for point in BACK:
        async with running(tmp_path / "data", clock=clock) as product:
            clock.advance(days=1)
            await product.noesis.retention.cleaning.run(None)
            assert await whole(product) == (set(), ids)
        await killed(tmp_path / "data", clock(), "restore", *sorted(ids), point=point)
        async with running(tmp_path / "data", clock=clock) as product:
            active, archived = await whole(product)
            assert active | archived == ids
            await product.noesis.retention.archiving.restore(ALPHA, sorted(ids), ttl_days=1)
            assert await whole(product) == (ids, set())


@pytest.mark.integration
async def test_what_a_killed_process_left_in_both_tables_is_shown_once_beside_a_living_one(
    tmp_path: Path,
) -> None:
    """The start of another process cannot sweep while this one is at work; the next cleanup does."""
    clock = Clock()
    async with running(tmp_path / "data", clock=clock) as product:
        ids = await fill(product, 12, 1, "heron")
        clock.advance(days=1)
        await killed(tmp_path / "data", clock(), "clean", point="write: in the archive")
        assert await shown(product, archived=False) == []
        assert sorted(await shown(product, archived=True)) == sorted(ids)
        assert (await product.noesis.retention.cleaning.run(None)).archived == len(ids)
        assert await whole(product) == (set(), ids)


ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(2, marks=[pytest.mark.integration, pytest.mark.timeout(900)]),
        pytest.param(200, marks=[pytest.mark.torture, pytest.mark.timeout(4 * 3600)]),
    ],
)


@ROUNDS
async def test_cleanups_that_are_killed_at_random_moments_lose_nothing(tmp_path: Path, rounds: int) -> None:
    """Each round some more expire, and a process that cleans up is killed in the middle."""
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    chance = random.Random(seed)
    clock = Clock(NOW)
    lives: set[str] = set()
    over: set[str] = set()
    caught = 0
    for round_ in range(rounds):
        async with running(tmp_path / "data", clock=clock) as product:
            if round_ == 0:
                lives = await fill(product, 50, 0, "badger")
            over |= await fill(product, 100, 1, f"heron {round_}")
            await check(product, lives, over)
        clock.advance(days=1.5)
        cleaner = start(tmp_path / "data", clock(), "clean")
        assert cleaner.stdout is not None
        await asyncio.to_thread(cleaner.stdout.readline)
        await asyncio.sleep(chance.uniform(0, 0.8))
        caught += cleaner.poll() is None
        cleaner.kill()
        await asyncio.to_thread(cleaner.communicate)
    async with running(tmp_path / "data", clock=clock) as product:
        await check(product, lives, over)
        await product.noesis.retention.cleaning.run(None, confirm=True)
        assert await whole(product) == (lives, over)
    assert caught > 0


async def check(product: Product, lives: set[str], over: set[str]) -> None:
    """Every memory is there once, what lives is shown, and what is over is in no answer but the archive's."""
    active, archived = await whole(product)
    assert active | archived == lives | over
    assert lives <= active
    reasons = {row.archive_reason for row in await product.noesis.store.archive.rows(EVERYTHING)}
    assert reasons <= {EXPIRED}
