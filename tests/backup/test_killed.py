"""kill -9 at the named points of a backup, a restore and an undo: the old or the new state, whole."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.backup.machine import machine, names
from tests.backup.test_copies import settings_of
from tests.fakes.s3 import serving

PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, json, os, sys
from pathlib import Path
from tests.backup.machine import machine

async def main(directory, act, path):
    async with machine(Path(directory), settings=json.loads(os.environ.get("TEST_SETTINGS", "{}"))) as here:
        if act == "backup":
            await here.backups.create()
        elif act == "restore":
            await here.backups.restore(Path(path), made_for="killed", safety_backup=False)
        else:
            await here.backups.undo(made_for="killed")

asyncio.run(main(*sys.argv[1:]))
"""

THEN, NOW = names((1, 2)), names((1, 2, 3))
BACKUP_POINTS = {
    "backup: linked": 1,
    "backup: partial written": 1,
    "backup: verified": 1,
    "backup: listed": 2,
}
RESTORE_POINTS = {
    "restore: laid out": NOW,
    "restore: before the swap": NOW,
    "swap: before the pointer": NOW,
    "swap: after the pointer": THEN,
    "restore: after the swap": THEN,
    "restore: control taken": THEN,
}
COPY_POINTS = {
    "copy: sent": False,
    "copy: compared": False,
    "copy: noted": True,
}
"""Each point, and whether the copy counts after a kill there."""

UNDO_POINTS = {
    "undo: carried": THEN,
    "swap: before the pointer": THEN,
    "swap: after the pointer": NOW,
    "restore: control taken": NOW,
}
OFTEN = ("backup: verified", "copy: sent", "restore: laid out", "swap: after the pointer")
"""These are tried in the everyday tests, the others as torture: each starts a process."""


def cases(points: Mapping[str, object]) -> list[ParameterSet]:
    return [
        pytest.param(point, expected, marks=() if point in OFTEN else pytest.mark.torture)
        for point, expected in points.items()
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine with a backup of two memories, and a third one since."""
    directory = tmp_path_factory.mktemp("made") / "m"

    async def make() -> None:
        async with machine(directory) as here:
            await here.write(1, 2)
            await here.backup()
            await here.write(3)

    asyncio.run(make())
    return directory


async def killed(
    directory: Path, act: str, point: str, path: Path, settings: Mapping[str, str] | None = None
) -> None:
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, str(directory), act, str(path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NOESIS_CRASH_AT": point, "TEST_SETTINGS": json.dumps(settings or {})},
    )
    assert ended.returncode == -9


def copied(made: Path, tmp_path: Path) -> tuple[Path, Path]:
    directory = tmp_path / "m"
    shutil.copytree(made, directory)
    return directory, next((directory / "backups").glob("*.tar.gz"))


@pytest.mark.parametrize(("point", "listed"), cases(BACKUP_POINTS))
async def test_a_backup_is_listed_whole_or_not_at_all(
    point: str, listed: int, made: Path, tmp_path: Path
) -> None:
    directory, path = copied(made, tmp_path)
    await killed(directory, "backup", point, path)
    async with machine(directory) as here:
        found = await here.backups.list()
        assert len(found) == listed
        for backup in found:
            assert (await here.backups.verify(backup.name)).ok
        await here.backups.create()
        assert len(await here.backups.list()) == listed + 1
        assert not list((directory / "backups").glob("*.partial"))
        assert await here.texts() == NOW


@pytest.mark.parametrize(("point", "counts"), cases(COPY_POINTS))
async def test_a_copy_counts_whole_or_not_at_all_and_the_next_backup_makes_up_for_it(
    point: str, counts: bool, made: Path, tmp_path: Path
) -> None:
    directory, path = copied(made, tmp_path)
    with serving() as bucket:
        settings = settings_of(bucket)
        await killed(directory, "backup", point, path, settings)
        async with machine(directory, settings=settings) as here:
            assert len(await here.backups.list()) == 2
            assert len(await here.backups.copies.held()) == int(counts)
            made_now = await here.backups.create()
            assert made_now.copy_error is None
            held = await here.backups.copies.held()
            assert {each.name for each in held} == {each.name for each in await here.backups.list()}
            for each in held:
                assert (
                    bucket.objects[f"noesis/{each.name}"] == here.backups.shelf.path(each.name).read_bytes()
                )
            assert bucket.uploads == {}
            assert await here.texts() == NOW


@pytest.mark.parametrize(("point", "expected"), cases(RESTORE_POINTS))
async def test_a_restore_leaves_the_old_or_the_new_state_and_its_repeat_finishes_it(
    point: str, expected: set[str], made: Path, tmp_path: Path
) -> None:
    directory, path = copied(made, tmp_path)
    await killed(directory, "restore", point, path)
    async with machine(directory) as here:
        assert await here.texts() == expected
        await here.backups.settle()
        await here.backups.restore(path, made_for="killed", safety_backup=False)
        assert await here.texts() == THEN
        assert (await here.backups.verify_live()).ok
        assert not list(here.store.directory.glob("control.pending"))
        await here.backups.undo(made_for="u")
        assert await here.texts() == NOW


@pytest.mark.parametrize(("point", "expected"), cases(UNDO_POINTS))
async def test_an_undo_leaves_the_old_or_the_new_state_and_its_repeat_finishes_it(
    point: str, expected: set[str], made: Path, tmp_path: Path
) -> None:
    directory, path = copied(made, tmp_path)
    async with machine(directory) as here:
        await here.backups.restore(path, made_for="before", safety_backup=False)
    await killed(directory, "undo", point, path)
    async with machine(directory) as here:
        assert await here.texts() == expected
        await here.backups.undo(made_for="killed")
        assert await here.texts() == NOW
