"""A damaged newest manifest is set aside, the version before it is opened, and every process tells of it for a day."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from noesis.memory import MemoryFilter, NewMemory, Scope
from noesis.store import Store
from tests.store.changes import Put
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW, Clock, Product, running

ALPHA = Scope(agent="alpha")
TABLES = ("memories", "memories_archive")
DAMAGES = ("empty", "zeros", "half", "end zeroed", "cut after 4", "cut after 20")


def newest_manifest(directory: Path, table: str) -> Path:
    """Names count down."""
    return min((directory / f"generations/0001/{table}.lance/_versions").glob("*.manifest"))


def damaged(good: bytes, damage: str) -> bytes:
    half = len(good) // 2
    return {
        "empty": b"",
        "zeros": bytes(len(good)),
        "half": good[:half],
        "end zeroed": good[:half] + bytes(len(good) - half),
        "cut after 4": good[:4],
        "cut after 20": good[:20],
    }[damage]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose two last commits were one to each table."""
    directory = tmp_path_factory.mktemp("made") / "s"

    async def make() -> None:
        store = await Store.open(directory, now_ms=lambda: NOW)
        for number in range(4):
            await store.submit(Put(make_row(number, vector=unit_vector(number)), archived=number % 2 == 0))
        await store.close()

    asyncio.run(make())
    return directory


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_the_version_before_is_opened_and_writing_goes_on(
    table: str, damage: str, made: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "s"
    shutil.copytree(made, directory)
    manifest = newest_manifest(directory, table)
    hint = manifest.parent / "latest_version_hint.json"
    manifest.write_bytes(damaged(manifest.read_bytes(), damage))
    hint.write_bytes(b"\0")
    store = await Store.open(directory, now_ms=lambda: NOW)
    [dropped] = store.dropped
    assert dropped.table == table
    assert Path(dropped.quarantined).is_file()
    rows = {name: len(found) for name, found in (await content(store)).items()}
    assert rows == ({"active": 1, "archive": 2} if table == "memories" else {"active": 2, "archive": 1})
    await store.submit(Put(make_row(9)))
    assert len((await content(store))["active"]) == rows["active"] + 1
    await store.close()


@pytest.mark.parametrize("share", [0.05, pytest.param(1.0, marks=pytest.mark.torture)])
async def test_any_damage_to_a_manifest_leaves_a_store_that_opens_reads_and_writes(
    made: Path, tmp_path: Path, share: float
) -> None:
    """Flipped bits, noise and cuts at random places; what opens is one of the versions, whole."""
    store = await Store.open(made, now_ms=lambda: NOW)
    full = await content(store)
    await store.close()
    chance = random.Random(17)
    for number in range(round(600 * share)):
        table = TABLES[number % 2]
        directory = tmp_path / "s"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(made, directory)
        manifest = newest_manifest(directory, table)
        data = bytearray(manifest.read_bytes())
        match number % 3:
            case 0:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case 1:
                for _ in range(20):
                    data[chance.randrange(len(data))] = chance.randrange(256)
            case _:
                del data[chance.randrange(len(data)) :]
        manifest.write_bytes(data)
        store = await Store.open(directory, now_ms=lambda: NOW)
        found = await content(store)
        missing = sum(len(full[name]) - len(found[name]) for name in full)
        assert missing == len(store.dropped), f"round {number}: {table}"
        for name, rows in found.items():
            assert rows.items() <= full[name].items(), f"round {number}: {table}"
        await store.submit(Put(make_row(9)))
        await store.close()


async def test_a_version_that_is_lost_twice_is_kept_twice(made: Path, tmp_path: Path) -> None:
    directory = tmp_path / "s"
    shutil.copytree(made, directory)
    for _ in range(2):
        newest_manifest(directory, "memories").write_bytes(b"")
        store = await Store.open(directory, now_ms=lambda: NOW)
        await store.submit(Put(make_row(9)))
        await store.close()
    kept = [path.name for path in (directory / "quarantine").iterdir() if path.suffix != ".json"]
    assert len(kept) == 2


async def test_every_process_tells_of_it_with_numbers_for_a_day(tmp_path: Path) -> None:
    clock = Clock()
    async with running(tmp_path, clock=clock) as product:
        for text in ("one", "two", "three"):
            await product.noesis.indexing.index(ALPHA, NewMemory(text=text))
    newest_manifest(tmp_path, "memories").write_bytes(b"")

    async def told(product: Product) -> tuple[str, str]:
        part = next(part for part in (await product.noesis.health.report()).parts if part.name == "store")
        return part.state, part.summary

    async with running(tmp_path, clock=clock) as first:
        assert (await told(first))[0] == "degraded"
        async with running(tmp_path, clock=clock) as second:
            state, summary = await told(second)
            assert state == "degraded"
            assert summary.startswith("1 version could not be read")
            assert "of memories" in summary
            assert "2 rows are readable." in summary
            assert len((await second.noesis.browsing.page(ALPHA, MemoryFilter())).memories) == 2
        clock.advance(days=1, seconds=1)
        assert (await told(first))[0] == "ok"


async def test_it_is_told_also_where_it_cannot_be_noted(made: Path, tmp_path: Path) -> None:
    """As on a full disk, where a file can be renamed but none written."""
    directory = tmp_path / "s"
    shutil.copytree(made, directory)
    newest_manifest(directory, "memories").write_bytes(b"")
    (directory / "quarantine" / "dropped.json").mkdir(parents=True)
    now = NOW
    store = await Store.open(directory, now_ms=lambda: now)
    assert [lost.table for lost in store.dropped_lately()] == ["memories"]
    now += 86_400_001
    assert store.dropped_lately() == []
    await store.close()
