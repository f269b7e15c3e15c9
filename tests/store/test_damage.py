"""Damaged files: every read of them is right, or an error that says what to do; never a crash or a wrong row."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noesis.errors import StoreError
from noesis.store import Row, Store, Table
from noesis.store.calls import reading, told, writing
from noesis.store.filters import EVERYTHING, Column, equals
from noesis.store.generations import connect, open_tables
from noesis.store.linking import link_newest
from noesis.store.packing import row_hash
from noesis.store.pinned import pin
from noesis.store.vector_index import Depth
from tests.store.changes import Count, Drop, Put
from tests.store.damage import damage_text
from tests.store.rows import make_row, unit_vector
from tests.support import NOW

PARTS = {"data": "data", "indexes": "_indices", "manifests": "_versions"}
DAMAGES = 8


class PanicException(BaseException):
    """Named and derived as the one that pyo3 makes of a panic."""


async def filled(directory: Path) -> tuple[Path, dict[str, str]]:
    """A closed store with indexed and newer rows: where its tables lie, and the hash of every row."""
    store = await Store.open(directory, now_ms=lambda: NOW)
    for number in range(12):
        await store.submit(Put(make_row(number, vector=unit_vector(number), tags=["boat"])))
    await store.maintain(force=True)
    for number in range(12, 15):
        await store.submit(Put(make_row(number, vector=unit_vector(number))))
    hashes = {row.id: row_hash(row) for row in await store.active.rows(EVERYTHING)}
    await store.close()
    return store.directory, hashes


def harm(content: bytes, chance: random.Random) -> bytes:
    """The bytes of a file after something happened to them."""
    data, at = bytearray(content), chance.randrange(len(content))
    match chance.choice(("bit", "bytes", "zeroed", "cut")):
        case "bit":
            data[at] ^= 1 << chance.randrange(8)
        case "bytes":
            for place in chance.choices(range(len(data)), k=8):
                data[place] = chance.randrange(256)
        case "zeroed":
            data[at : at + 512] = bytes(len(data[at : at + 512]))
        case _:
            del data[at:]
    return bytes(data)


async def batches(table: Table) -> list[Row]:
    return [row async for batch in table.batches(EVERYTHING, 8, vectors=False) for row in batch]


READS: tuple[Callable[[Table], Awaitable[Any]], ...] = (
    lambda table: table.rows(EVERYTHING),
    lambda table: table.rows(equals(Column.AGENT_ID, "alpha"), vectors=False),
    batches,
    lambda table: table.count(EVERYTHING),
    lambda table: table.newest(equals(Column.MEMORY_TYPE, "fact"), 5),
    lambda table: table.tally([Column.MEMORY_TYPE], EVERYTHING),
    lambda table: table.matching("memory number", EVERYTHING, 5),
    lambda table: table.nearest(unit_vector(3), EVERYTHING, 5),
    lambda table: table.damaged(),
)


async def outcomes(directory: Path) -> list[Any]:
    """What each read gives, or the error that it raises."""
    try:
        table = (await open_tables(await connect(directory), directory, Depth(nprobes=4))).active
    except StoreError as error:
        return [error]
    return await asyncio.gather(*(read(table) for read in READS), return_exceptions=True)


@pytest.mark.parametrize("part", PARTS)
async def test_whatever_became_of_a_file_a_read_is_right_or_a_clear_error(part: str, tmp_path: Path) -> None:
    chance = random.Random(part)
    whole, hashes = await filled(tmp_path / "store")
    link_newest(whole, tmp_path / "newest")
    paths = sorted((tmp_path / "newest" / "memories.lance" / PARTS[part]).rglob("*"))
    files = [path.relative_to(tmp_path / "newest") for path in paths if path.is_file()]
    refused = 0
    for number in range(DAMAGES):
        harmed = tmp_path / f"harmed{number}"
        shutil.copytree(whole, harmed)
        chosen = harmed / chance.choice(files)
        chosen.write_bytes(harm(chosen.read_bytes(), chance))
        for found in await outcomes(harmed):
            if isinstance(found, StoreError):
                refused += 1
                assert "memories" in found.message
                assert "noesis verify" in found.message
            elif isinstance(found, BaseException):
                raise found
            elif isinstance(found, list) and found and isinstance(found[0], Row):
                for row in found:
                    row.vector = unit_vector(int(row.id[-12:])) if row.vector is None else row.vector
                    assert hashes[row.id] == row_hash(row)
    assert refused


async def test_a_row_that_is_not_what_was_stored_is_never_given_nor_written_anew(store: Store) -> None:
    rows = [make_row(number, vector=unit_vector(number)) for number in range(4)]
    await store.submit(Put(rows[0]))
    await store.submit(Put(rows[1]))
    damage_text(store.directory, "memory number 1")
    for read in (READS[0], READS[1], batches):
        with pytest.raises(StoreError, match=rf"{rows[1].id} is not what was stored.*noesis verify"):
            await read(store.active)
    # A change of it would give it a hash that fits; changes of others go on, in the same commit too.
    with pytest.raises(StoreError, match="not what was stored"):
        await store.submit(Count(rows[1]))
    with pytest.raises(StoreError, match="not what was stored"):
        await store.submit(Drop(rows[1].id))
    assert await store.submit(Count(rows[0])) == rows[0].priority + 1
    assert await store.active.damaged() == [rows[1].id]


async def test_what_brings_a_row_back_mends_it(store: Store) -> None:
    row = make_row(1, vector=unit_vector(1))
    await store.submit(Put(row))
    damage_text(store.directory, row.text)
    back = Put(row)
    back.mends = True  # type: ignore[attr-defined]
    await store.submit(back)
    assert [found.text for found in await store.active.rows(EVERYTHING)] == [row.text]


async def test_a_missing_file_is_named(store: Store) -> None:
    await store.submit(Put(make_row(1)))
    [data] = (store.directory / "memories.lance" / "data").iterdir()
    data.unlink()
    with pytest.raises(StoreError, match=rf"its file memories\.lance/data/{data.name} is damaged or missing"):
        await store.active.rows(EVERYTHING)
    with pytest.raises(StoreError, match="noesis verify"):
        async with pin(store.live, store._locks) as pinned:
            await batches(pinned.active)


async def test_a_panic_is_an_error_of_ours_and_a_cancelled_read_stays_cancelled() -> None:
    async def panic() -> None:
        raise PanicException("index out of bounds")

    with pytest.raises(StoreError, match="the library panicked"):
        await reading(panic, "memories")
    with pytest.raises(StoreError, match="could not be written: the library panicked"):
        await writing(panic)
    for passes in (KeyboardInterrupt(), StoreError("already told")):
        with pytest.raises(type(passes)), told("memories"):
            raise passes
