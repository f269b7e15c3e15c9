"""A large generation is read whole by a process of its own: it finds the same, and ends with whoever asked."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noesis.backup import surveying
from noesis.backup.surveying import Depth, survey
from noesis.errors import Cancelled, StoreError
from noesis.store import generations
from tests.backup.machine import Machine, machine
from tests.store.changes import Put
from tests.store.rows import make_row, unit_vector

MODULE = "noesis.backup.surveying"
WITHIN_S = 60.0


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "data") as opened:
        await opened.write(*range(12))
        await opened.store.submit(Put(make_row(30, vector=unit_vector(30)), archived=True))
        await opened.store.maintain(force=True)
        yield opened


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every generation is a large one."""
    monkeypatch.setattr(surveying, "LARGE", 0)


def children() -> set[int]:
    """The processes that this one has started and that still run."""
    tasks = Path("/proc/self/task")
    while True:
        # A thread that ends meanwhile leaves its children to another one, which may have been looked at.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.parametrize("depth", Depth)
async def test_a_process_finds_what_is_found_here(
    depth: Depth, here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = await survey(here.store.directory, depth)
    monkeypatch.setattr(surveying, "LARGE", 0)
    assert await survey(here.store.directory, depth) == small
    assert (small.rows, small.memories, small.problems) == (13, 13, [])
    assert bool(small.queries) is (depth is Depth.ANEW)


@pytest.mark.usefixtures("large")
async def test_a_backup_is_proven_and_restored_by_processes(here: Machine) -> None:
    path = await here.backup()
    await here.write(20)
    assert (await here.backups.verify(path.name)).ok
    assert (await here.backups.verify_live()).ok
    await here.backups.restore(path, made_for="test", safety_backup=False)
    assert await here.texts() == {make_row(number).text for number in range(12)}


@pytest.mark.usefixtures("large")
async def test_damaged_rows_are_told(here: Machine) -> None:
    row = make_row(3, vector=unit_vector(3))
    handle = here.store.active.handle
    await handle.update({"priority": "99"}, where=f"id = '{row.id}'")
    found = await survey(here.store.directory, Depth.ANEW)
    assert found.damaged == {"memories": 1, "memories_archive": 0}
    assert "1 rows of memories are damaged" in found.problems[0]


@pytest.mark.usefixtures("large")
async def test_what_cannot_be_read_is_an_error(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sorted((here.store.directory / "memories.lance" / "data").iterdir())

    async def as_it_is(place: Path) -> object:
        generation = await opened(place)
        # The process finds another state than the one that was counted.
        for path in data:
            path.rename(path.with_suffix(".gone"))
        return generation

    opened = generations.open_as_it_is
    monkeypatch.setattr(surveying, "open_as_it_is", as_it_is)
    with pytest.raises(StoreError, match=r"memories.*cannot be read|noesis verify"):
        await survey(here.store.directory, Depth.ANEW)


@pytest.mark.usefixtures("large")
async def test_a_process_that_dies_is_an_error(here: Machine) -> None:
    before = children()
    asked = asyncio.create_task(survey(here.store.directory, Depth.ANEW))
    os.kill(await started(before), signal.SIGKILL)
    with pytest.raises(StoreError, match=r"ended the process that read it \(-9\)"):
        await asked


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("way", ["told", "cancelled"])
async def test_a_process_ends_when_nobody_wants_its_answer(way: str, here: Machine) -> None:
    before, unwanted = children(), [False]
    asked = asyncio.create_task(survey(here.store.directory, Depth.ANEW, lambda: unwanted[0]))
    await started(before)
    if way == "told":
        unwanted[0] = True
        with pytest.raises(Cancelled):
            await asked
    else:
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert children() == before


def test_a_process_ends_with_its_caller(tmp_path: Path) -> None:
    # A pipe is no generation, but opening it waits as long as a large one takes to read.
    os.mkfifo(tmp_path / "generation.json")
    command = [sys.executable, "-m", MODULE, str(tmp_path), Depth.ANEW.value]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(WITHIN_S) == 1


async def started(before: set[int]) -> int:
    """The process that was started since."""
    deadline = time.monotonic() + WITHIN_S
    while not (new := children() - before):
        assert time.monotonic() < deadline, "no process was started"
        await asyncio.sleep(0.005)
    return new.pop()
