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

from noesis.errors import StoreIncompatible
from noesis.store import Store, migrations
from noesis.store.generations import current_name, read_info, write_info
from noesis.store.migrations import Step, steps_from, upgrade_in_place
from noesis.store.schema import SCHEMA_VERSION, row_hash
from noesis.store.whole import read_whole
from tests.store.changes import Put
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW

ROWS = range(1, 8)
PROGRAM = """
import asyncio, sys
from pathlib import Path
from noesis.store import migrations
from tests.store.test_upgrade import STEP, opened

migrations.STEPS = (STEP,)

async def main(directory):
    async with opened(Path(directory)):
        pass

asyncio.run(main(sys.argv[1]))
"""


def with_trust(rows: pa.Table) -> pa.Table:
    return rows.append_column("trust", pa.array([""] * rows.num_rows, pa.string()))


STEP = Step(to=1, what="Memories say how far their origin is trusted.", change=with_trust)
"""A made-up step: format 0 is today's without the column `trust`."""


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Store]:
    store = await Store.open(directory, now_ms=lambda: NOW)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def old(tmp_path: Path) -> Path:
    """A store of the made-up format 0, with vectors and a memory in the archive."""
    directory = tmp_path / "old"
    async with opened(directory) as store:
        for number in ROWS:
            await store.submit(Put(make_row(number, vector=unit_vector(number)), archived=number == 7))
        for table in (store.active, store.archive):
            await table.handle.drop_columns(["trust"])
        write_info(store.directory, msgspec.structs.replace(store.info, schema_version=0))
    return directory


async def whole(store: Store) -> dict[str, int]:
    """How many rows each table has; every hash fits."""
    contents = await read_whole(store.live)
    assert not any(table.damaged for table in contents.values())
    return {name: len(table.hashes) for name, table in contents.items()}


async def test_rows_of_an_earlier_format_are_written_anew_at_the_start(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", (STEP,))
    async with opened(old) as store:
        assert await whole(store) == {"memories": 6, "memories_archive": 1}
        assert (store.directory.name, store.previous) == ("0002", "0001")
        assert (store.info.made_by, store.info.schema_version) == ("upgrade", SCHEMA_VERSION)
        assert (await content(store))["active"] == {
            row.id: row_hash(row)
            for row in (make_row(number, vector=unit_vector(number)) for number in ROWS if number != 7)
        }
        await store.submit(Put(make_row(9)))
        assert len((await content(store))["active"]) == 7
    async with opened(old) as again:
        assert again.directory.name == "0002"


async def test_two_processes_that_start_at_once_upgrade_once(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", (STEP,))
    async with opened(old) as one, opened(old) as other:
        for store in (one, other):
            assert await whole(store) == {"memories": 6, "memories_archive": 1}
    assert current_name(old) == "0002"


async def test_a_format_without_a_way_to_todays_is_refused_and_nothing_is_touched(old: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in (old / "generations").rglob("*"))
    with pytest.raises(StoreIncompatible, match="format 0"):
        await Store.open(old, now_ms=lambda: NOW)
    assert sorted((path, path.stat().st_mtime_ns) for path in (old / "generations").rglob("*")) == before
    assert current_name(old) == "0001"


def test_a_way_has_every_step_once() -> None:
    assert steps_from(SCHEMA_VERSION, ()) == []
    assert steps_from(0, (STEP,)) == [STEP]
    with pytest.raises(StoreIncompatible):
        steps_from(0, (STEP, STEP))


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
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "STEPS", (STEP,))
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
    point: str, live: str, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(migrations, "STEPS", (STEP,))
    async with opened(directory) as store:
        assert await whole(store) == {"memories": 6, "memories_archive": 1}
        assert len(list((directory / "generations").iterdir())) == 2
