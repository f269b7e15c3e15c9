"""A sibling generation takes the place of the live one: in every process, whole, and without a restart."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreBusy, StoreError
from noesis.store import Store
from noesis.store.filters import EVERYTHING
from noesis.store.generations import current_name
from noesis.store.linking import link_newest
from tests.store.changes import Put
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW


async def opened(directory: Path) -> Store:
    return await Store.open(directory, now_ms=lambda: NOW)


async def build(store: Store, *numbers: int) -> str:
    """Swap in a copy of the live generation that has these rows besides."""
    async with store.building() as sibling:
        await store.link_to(sibling.directory)
        sibling.describe(previous=store.directory.name, made_by="test", made_for=None, now_ms=NOW)
        await sibling.put([make_row(number) for number in numbers], archived=False)
        await store.swap_to(sibling.name)
        return sibling.name


async def test_both_processes_see_the_new_generation_and_write_into_it(tmp_path: Path) -> None:
    one, other = await opened(tmp_path / "s"), await opened(tmp_path / "s")
    await one.submit(Put(make_row(1)))
    before = await content(other)
    name = await build(one, 2)
    assert current_name(tmp_path / "s") == name == "0002"
    for store in (one, other):
        assert len((await content(store))["active"]) == 2
        assert store.directory.name == name
    await other.submit(Put(make_row(3)))
    assert len((await content(one))["active"]) == 3
    assert (await content(one))["active"].items() > before["active"].items()
    await one.close()
    await other.close()


async def test_what_the_writer_knew_of_the_old_generation_does_not_count_for_the_new_one(
    tmp_path: Path,
) -> None:
    """A memory that only the new generation has is found, and is not stored a second time."""
    one, other = await opened(tmp_path / "s"), await opened(tmp_path / "s")
    for store, number in ((one, 1), (other, 2)):
        await store.submit(Put(make_row(number)))
    await build(one, 7)
    await other.submit(Put(make_row(7), archived=True))
    assert [len(rows) for rows in (await content(one)).values()] == [2, 1]
    await one.close()
    await other.close()


async def test_writes_wait_for_the_swap_and_none_is_lost(tmp_path: Path) -> None:
    one, other = await opened(tmp_path / "s"), await opened(tmp_path / "s")
    stop = asyncio.Event()
    written: list[int] = []

    async def write(store: Store, first: int) -> None:
        number = first
        while not stop.is_set():
            await store.submit(Put(make_row(number)))
            written.append(number)
            number += 1

    writers = [asyncio.create_task(write(store, start)) for store, start in ((one, 1000), (other, 2000))]
    await asyncio.sleep(0.2)

    for _ in range(3):
        async with one.building() as sibling:
            # Linked while nobody writes and swapped in that very moment: nothing can come in between.
            sibling.directory.mkdir()

            async def last(directory: Path = sibling.directory) -> None:
                link_newest(one.directory, directory)

            await one.swap_to(sibling.name, last)
    stop.set()
    await asyncio.gather(*writers)
    rows = {row.created_at - NOW for row in await one.active.rows(EVERYTHING)}
    assert rows == set(written)
    assert len(written) > 6
    await one.close()
    await other.close()


async def test_the_generation_before_is_kept_for_one_undo_and_older_ones_go(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    await store.submit(Put(make_row(1)))
    assert store.previous is None
    for expected in ("0001", "0002", "0003"):
        await build(store, 5)
        assert store.previous == expected
    names = sorted(path.name for path in (tmp_path / "s" / "generations").iterdir())
    assert names == ["0003", "0004"]
    await store.close()


async def test_a_sibling_that_was_not_swapped_in_is_gone(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    async with store.building() as sibling:
        await store.link_to(sibling.directory)
    assert [path.name for path in (tmp_path / "s" / "generations").iterdir()] == ["0001"]
    await store.close()


async def test_only_one_sibling_is_made_at_a_time(tmp_path: Path) -> None:
    one, other = await opened(tmp_path / "s"), await opened(tmp_path / "s")
    async with one.building():
        with pytest.raises(StoreBusy):
            async with other.building():
                raise AssertionError("two were made at once")
    await one.close()
    await other.close()


async def test_nothing_is_swapped_when_the_last_look_objects(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")

    async def object_() -> None:
        raise StoreError("not this one")

    async with store.building() as sibling:
        await store.link_to(sibling.directory)
        with pytest.raises(StoreError, match="not this one"):
            await store.swap_to(sibling.name, object_)
    assert current_name(tmp_path / "s") == "0001"
    await store.submit(Put(make_row(1)))
    await store.close()


async def test_a_generation_that_is_not_there_is_refused(tmp_path: Path) -> None:
    store = await opened(tmp_path / "s")
    with pytest.raises(StoreError):
        await store.swap_to("0007")
    assert store.directory.name == "0001"
    await store.close()


async def test_the_embedder_of_the_new_generation_is_the_one_that_counts(tmp_path: Path) -> None:
    one, other = await opened(tmp_path / "s"), await opened(tmp_path / "s")
    first, second = (EmbedderIdentity("test", name, "0" * 64, 16) for name in ("first", "second"))
    assert await one.adopt(first)
    assert await other.adopt(first)
    async with one.building() as sibling:
        await one.link_to(sibling.directory)
        sibling.describe(previous="0001", made_by="test", made_for=None, now_ms=NOW)
        (await sibling.opened()).record_embedder(second)
        await one.swap_to(sibling.name)
    for store in (one, other):
        assert not await store.adopt(first)
        assert await store.adopt(second)
        assert store.embedder == second
    await one.close()
    await other.close()


async def test_a_link_takes_the_newest_version_alone(tmp_path: Path) -> None:
    """Thirty commits and an optimisation leave many files; a copy needs those of one version."""
    store = await opened(tmp_path / "s")
    for number in range(30):
        await store.submit(Put(make_row(number, vector=unit_vector(number))))
    await store.maintain(force=True)
    expected = await content(store)
    await store.link_to(tmp_path / "copy")
    files = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    data = [path for path in files if path.parent.name == "data"]
    assert len(data) == 1
    assert sum(path.suffix == ".manifest" for path in files) == 2
    (tmp_path / "t" / "generations").mkdir(parents=True)
    (tmp_path / "copy").rename(tmp_path / "t" / "generations" / "0001")
    (tmp_path / "t" / "CURRENT").write_text("0001\n")
    copy = await opened(tmp_path / "t")
    assert await content(copy) == expected
    await copy.close()
    await store.close()


PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from noesis.store import Store
from tests.store.test_swap import build

async def main(directory):
    await build(await Store.open(Path(directory), now_ms=lambda: 0), 2)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(("point", "rows"), [("swap: before the pointer", 1), ("swap: after the pointer", 2)])
async def test_a_kill_leaves_the_old_or_the_new_generation_whole(
    point: str, rows: int, tmp_path: Path
) -> None:
    store = await opened(tmp_path / "s")
    await store.submit(Put(make_row(1)))
    await store.close()
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, str(tmp_path / "s")],
        cwd=Path(__file__).parents[2],
        env={"NOESIS_CRASH_AT": point, "PATH": ""},
    )
    assert ended.returncode == -9
    store = await opened(tmp_path / "s")
    assert len((await content(store))["active"]) == rows
    await build(store, 3)
    assert len((await content(store))["active"]) == rows + 1
    await store.close()
