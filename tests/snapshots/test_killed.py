"""kill -9 at the named points of a snapshot and of its fetch: the remote holds the old or the new one, whole."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noesis.snapshots.operation import Snapshots
from tests.backup.machine import Machine, machine, names

PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from tests.snapshots.test_killed import here_and_remote, quiet

async def main(directory, remote, act):
    async with here_and_remote(Path(directory), Path(remote)) as (_, snapshots):
        if act == "take":
            await snapshots.take(quiet)
        else:
            await snapshots.fetch()

asyncio.run(main(*sys.argv[1:]))
"""

TAKE_POINTS = {
    "snapshot: laid out": 1,
    "snapshot: committed": 1,
    "snapshot: pushed": 2,
    "snapshot: swept": 2,
}
"""Each point, and how many snapshots the remote holds after a kill there."""

OFTEN = ("snapshot: pushed",)
"""These are tried in the everyday tests, the others as torture: each starts a process."""


def quiet(_done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


class here_and_remote:  # noqa: N801 - it is used as a function
    """A machine whose snapshots go to a repository."""

    def __init__(self, directory: Path, remote: Path) -> None:
        self._machine = machine(
            directory, settings={"NOESIS_GIT_LFS_ENABLED": "true", "NOESIS_GIT_LFS_REPO": str(remote)}
        )

    async def __aenter__(self) -> tuple[Machine, Snapshots]:
        here = await self._machine.__aenter__()
        return here, Snapshots(here.control, here.settings, here.backups, here.clock)

    async def __aexit__(self, *of: object) -> None:
        await self._machine.__aexit__(None, None, None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a machine that took one snapshot and has one more memory since, and the remote."""
    folder = tmp_path_factory.mktemp("made")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "remote.git")], check=True)

    async def make() -> None:
        async with here_and_remote(folder / "m", folder / "remote.git") as (here, snapshots):
            await here.write(1, 2)
            await snapshots.take(quiet)
            await here.write(3)

    asyncio.run(make())
    return folder


async def killed(folder: Path, act: str, point: str) -> None:
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, str(folder / "m"), str(folder / "remote.git"), act],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NOESIS_CRASH_AT": point},
    )
    assert ended.returncode == -9


def copied(made: Path, tmp_path: Path) -> Path:
    """The machine at the path it was made for: Git's own settings name the remote."""
    shutil.copytree(made, tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


async def on_the_remote(folder: Path) -> int:
    """How many snapshots the remote's branch holds; its newest is cloned and all of its files compared."""
    async with here_and_remote(folder / "looker", folder / "remote.git") as (_, snapshots):
        clone = folder / "clone"
        await snapshots.clone(clone)
        listed = await asyncio.to_thread(
            subprocess.run, ["git", "-C", str(clone), "rev-list", "HEAD"], capture_output=True, check=True
        )
        await asyncio.to_thread(shutil.rmtree, clone)
        return len(listed.stdout.splitlines())


@pytest.mark.parametrize(
    ("point", "there"),
    [
        pytest.param(*each, marks=() if each[0] in OFTEN else pytest.mark.torture)
        for each in TAKE_POINTS.items()
    ],
)
async def test_a_snapshot_is_on_the_remote_whole_or_not_at_all_and_the_next_one_goes_on(
    point: str, there: int, made: Path, tmp_path: Path
) -> None:
    folder = copied(made, tmp_path)
    await killed(folder, "take", point)
    assert await on_the_remote(folder) == there
    async with here_and_remote(folder / "m", folder / "remote.git") as (here, snapshots):
        assert await here.texts() == names((1, 2, 3))
        await here.write(4)
        taken = await snapshots.take(quiet)
        # What arrived before the kill is ours: the next one replaces it and does not stand aside.
        assert (taken.branch, taken.warning) == ("main", None)
        assert (await here.backups.verify_live()).ok
        assert all(each.pushed for each in await snapshots.log())
        fetched = await snapshots.fetch()
        await here.backups.restore(here.backups.shelf.path(fetched.name), made_for="r", safety_backup=False)
        assert await here.texts() == names((1, 2, 3, 4))


@pytest.mark.torture
async def test_a_fetch_that_was_killed_lists_nothing_and_is_done_again(made: Path, tmp_path: Path) -> None:
    folder = copied(made, tmp_path)
    await killed(folder, "fetch", "snapshot: cloned")
    async with here_and_remote(folder / "m", folder / "remote.git") as (here, snapshots):
        assert await here.backups.list() == []
        fetched = await snapshots.fetch()
        assert (await here.backups.verify(fetched.name)).ok
        assert not (here.directory / "snapshots" / "fetched").exists()
        assert await here.texts() == names((1, 2, 3))
