"""An earlier version's rows are brought to today's format, and a later version's are left alone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from noesis.errors import StoreError, StoreIncompatible
from noesis.store import Column, Row, Store, migrations
from noesis.store.filters import EVERYTHING, differs, equals
from noesis.store.former import third_of_second
from noesis.store.generations import current_name, read_info, write_info
from noesis.store.migrations import STEPS, Step, steps_from, upgrade_in_place
from noesis.store.packing import row_hash
from noesis.store.places import place_number
from noesis.store.schema import SCHEMA_VERSION
from noesis.store.whole import read_whole
from tests.store import first_format, second_format
from tests.store.changes import Put
from tests.store.damage import damage_text
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW

ROWS = range(1, 8)
PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from tests.store.test_upgrade import opened

async def main(directory):
    async with opened(Path(directory)):
        pass

asyncio.run(main(sys.argv[1]))
"""

NEXT = Step(to=SCHEMA_VERSION + 1, what="Another one.", change=lambda rows: rows)


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Store]:
    store = await Store.open(directory, now_ms=lambda: NOW)
    try:
        yield store
    finally:
        await store.close()


def row_of(number: int) -> Row:
    """A row with something in every value."""
    return make_row(
        number,
        vector=unit_vector(number) if number != 3 else None,
        keyword_prefix="[3 May 2026] Ann: ",
        session_id="s",
        tags=["boat", "island"],
        source="notes.md",
        position=number,
        chunk=number % 2,
        chunks=2 if number == 5 else 1,
        author="Ann",
        author_role="user",
        trust="flagged",
        embedding_reason="slow",
        archived_at=NOW if number == 7 else None,
        archive_reason="expired" if number == 7 else None,
    )


@pytest.fixture(params=[first_format, second_format], ids=["format1", "format2"])
async def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store of an earlier format, with vectors and a memory in the archive."""
    directory = tmp_path / "old"
    await request.param.write(directory, [row_of(number) for number in ROWS if number != 7], [row_of(7)])
    return directory


async def whole(store: Store) -> dict[str, int]:
    """How many rows each table has; every hash fits."""
    contents = await read_whole(store.live)
    assert not any(table.damaged for table in contents.values())
    return {name: len(table.hashes) for name, table in contents.items()}


async def test_an_upgrade_says_what_it_is_at(
    old: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_BATCH", 2)
    monkeypatch.setattr(migrations, "_TOLD_EVERY", 2)
    expected = [
        "memories of an earlier format are written anew; until then nothing is answered",
        "4 of 6 rows of memories are written anew",
        f"memories are of format {SCHEMA_VERSION} now; the former ones stay beside them",
    ]
    for messages in (expected, []):
        caplog.clear()
        with caplog.at_level("INFO", "noesis.store.migrations"):
            async with opened(old):
                pass
        assert caplog.messages == messages


async def test_rows_of_an_earlier_format_are_written_anew_at_the_start(old: Path) -> None:
    async with opened(old) as store:
        assert await whole(store) == {"memories": 6, "memories_archive": 1}
        assert (store.directory.name, store.previous) == ("0002", "0001")
        assert (store.info.made_by, store.info.schema_version) == ("upgrade", SCHEMA_VERSION)
        assert (await content(store))["active"] == {
            row.id: row_hash(row) for row in (row_of(number) for number in ROWS if number != 7)
        }
        assert [*(await content(store))["archive"].values()] == [row_hash(row_of(7))]
        found, _ = await store.active.matching("number 5", EVERYTHING, 1)
        near, _ = await store.active.nearest(unit_vector(5), EVERYTHING, 1)
        assert [row.id for row in (*found, *near)] == [row_of(5).id] * 2
        for column, number in ((Column.PLACE, row_of(5).place), (Column.CHUNK_PLACE, row_of(5).chunk_place)):
            assert number is not None
            assert await store.active.values([Column.ID], equals(column, number)) == [(row_of(5).id,)]
        await store.submit(Put(make_row(9)))
        assert len((await content(store))["active"]) == 7
    async with opened(old) as again:
        assert again.directory.name == "0002"


async def test_a_row_that_was_damaged_before_is_told_of_afterwards(old: Path) -> None:
    damage_text(old / "generations" / "0001", "memory number 5")
    async with opened(old) as store:
        assert await store.active.damaged() == [row_of(5).id]
        assert len(await store.active.rows(differs(Column.ID, row_of(5).id))) == 5
        with pytest.raises(StoreError, match=f"{row_of(5).id} is not what was stored"):
            await store.active.rows(EVERYTHING)


@pytest.mark.parametrize("packed", [b"", bytes(16) + b"\xc1", bytes(16) + msgspec.msgpack.encode(["s"])])
def test_a_row_that_cannot_be_read_at_all_comes_along(packed: bytes) -> None:
    names, values = ("session_id", "source", "position", "parent_id", "chunk"), ("s", None, 3, "a", 1)
    rows = pa.table({name: [value] for name, value in zip(names, values, strict=True)} | {"packed": [packed]})
    (row,) = third_of_second(rows).to_pylist()
    assert (row["packed"], row["place"], row["chunk_place"]) == (packed, place_number("s", None, 3), None)


async def test_two_processes_that_start_at_once_upgrade_once(old: Path) -> None:
    async with opened(old) as one, opened(old) as other:
        for store in (one, other):
            assert await whole(store) == {"memories": 6, "memories_archive": 1}
    assert current_name(old) == "0002"


async def test_a_format_without_a_way_to_todays_is_refused_and_nothing_is_touched(old: Path) -> None:
    generation = old / "generations" / "0001"
    write_info(generation, msgspec.structs.replace(read_info(generation), schema_version=0))
    before = sorted((path, path.stat().st_mtime_ns) for path in (old / "generations").rglob("*"))
    with pytest.raises(StoreIncompatible, match="format 0"):
        await Store.open(old, now_ms=lambda: NOW)
    assert sorted((path, path.stat().st_mtime_ns) for path in (old / "generations").rglob("*")) == before
    assert current_name(old) == "0001"


def test_a_way_has_every_step_once() -> None:
    assert [step.to for step in STEPS] == [*range(2, SCHEMA_VERSION + 1)]
    assert steps_from(1, STEPS) == [*STEPS]
    assert steps_from(SCHEMA_VERSION, STEPS) == []
    for wrong in ((*STEPS, *STEPS), STEPS[1:], (*STEPS, NEXT)):
        with pytest.raises(StoreIncompatible):
            steps_from(1, wrong)


async def test_an_older_program_refuses_newer_memories_in_one_line(tmp_path: Path) -> None:
    async with opened(tmp_path / "s") as store:
        await store.submit(Put(make_row(1)))
        place = store.directory / "generation.json"
    newer = json.loads(place.read_bytes()) | {"schema_version": SCHEMA_VERSION + 1, "something": "new"}
    place.write_text(json.dumps(newer))
    with pytest.raises(StoreIncompatible, match="newer version of Noesis") as refused:
        await Store.open(tmp_path / "s", now_ms=lambda: NOW)
    assert "\n" not in refused.value.message
    assert json.loads(place.read_bytes()) == newer


async def test_what_an_archive_of_an_earlier_format_holds_is_upgraded_in_its_place(
    old: Path,
) -> None:
    unpacked = old / "generations" / "0001"
    await upgrade_in_place(unpacked)
    assert read_info(unpacked).schema_version == SCHEMA_VERSION
    async with opened(old) as store:
        assert await whole(store) == {"memories": 6, "memories_archive": 1}
        assert store.directory == unpacked


@pytest.mark.parametrize(
    ("point", "live"),
    [
        ("upgrade: a table written", "0001"),
        pytest.param("upgrade: before the swap", "0001", marks=pytest.mark.torture),
        pytest.param("swap: before the pointer", "0001", marks=pytest.mark.torture),
        pytest.param("swap: after the pointer", "0002", marks=pytest.mark.torture),
    ],
)
async def test_an_upgrade_that_is_killed_is_made_at_the_next_start(
    point: str, live: str, old: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "killed"
    shutil.copytree(old, directory)
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, str(directory)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NOESIS_CRASH_AT": point},
    )
    assert (ended.returncode, current_name(directory)) == (-9, live)
    async with opened(directory) as store:
        assert await whole(store) == {"memories": 6, "memories_archive": 1}
        assert len(list((directory / "generations").iterdir())) == 2
