"""A move is two commits: a process that is killed between them leaves a row twice, never nowhere.

The next start takes the archive's copy back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from noesis.store import Store
from tests.store.changes import Drop, Put
from tests.store.rows import content, make_row
from tests.support import NOW

PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, os, sys
from pathlib import Path
from noesis.store import Store, Table
from tests.store.changes import Put
from tests.store.rows import make_row

async def die(self, rows):
    if rows:
        os._exit(9)

async def main(directory, step, archived):
    store = await Store.open(Path(directory), now_ms=lambda: 0)
    setattr(Table, step, die)
    await store.submit(Put(make_row(1), archived=archived == "archive"))

asyncio.run(main(*sys.argv[1:]))
"""


async def killed(directory: Path, step: str, into: str) -> None:
    command = [sys.executable, "-c", PROGRAM, str(directory), step, into]
    ended = await asyncio.to_thread(subprocess.run, command, cwd=Path(__file__).parents[2])
    assert ended.returncode == 9


@pytest.mark.parametrize("into", ["archive", "active"])
async def test_a_move_that_is_killed_leaves_one_row_after_the_start_and_can_be_done_again(
    into: str, tmp_path: Path
) -> None:
    directory = tmp_path / "store"
    row = make_row(1)
    store = await Store.open(directory, now_ms=lambda: NOW)
    await store.submit(Put(row, archived=into == "active"))
    await store.close()

    await killed(directory, "delete", into)

    store = await Store.open(directory, now_ms=lambda: NOW)
    assert [len(rows) for rows in (await content(store)).values()] == [1, 0]
    await store.submit(Put(row, archived=into == "archive"))
    assert [len(rows) for rows in (await content(store)).values()] == (
        [0, 1] if into == "archive" else [1, 0]
    )
    await store.close()


async def test_a_write_that_is_killed_before_its_first_step_leaves_everything_as_it_was(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "store"
    store = await Store.open(directory, now_ms=lambda: NOW)
    await store.submit(Put(make_row(1)))
    before = await content(store)
    await store.close()

    await killed(directory, "upsert", "archive")

    store = await Store.open(directory, now_ms=lambda: NOW)
    assert await content(store) == before
    await store.submit(Drop(make_row(1).id))
    assert [len(rows) for rows in (await content(store)).values()] == [0, 0]
    await store.close()
