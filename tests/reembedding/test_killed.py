"""kill -9 in the middle of a switch: the old or the new generation, whole, and no text is embedded twice."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.reembedding.machine import LoggingEmbedder, fill, lasting, rows, switch, text
from tests.support import WordEmbedder, running

PROGRAM = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, sys
from pathlib import Path
from tests.reembedding.machine import LoggingEmbedder, switch
from tests.support import running

async def main(directory, log, after):
    embedder = LoggingEmbedder(Path(log), int(after) or None, 32, "other")
    async with running(Path(directory), embedder=embedder) as product:
        await switch(product.noesis, "killed")

asyncio.run(main(*sys.argv[1:]))
"""

COUNT = 130
POINTS = {
    "reembed: batch kept": False,
    "reembed: embedded": False,
    "reembed: laid out": False,
    "reembed: before the swap": False,
    "swap: before the pointer": False,
    "swap: after the pointer": True,
    "reembed: after the swap": True,
}
"""Each point, and whether the new generation is live after a kill there."""

OFTEN = ("reembed: laid out", "swap: after the pointer")
"""These are tried in the everyday tests, the others as torture: each starts a process."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with vectors of another embedder."""
    directory = tmp_path_factory.mktemp("made") / "d"

    async def make() -> None:
        async with running(directory) as product:
            await fill(product.noesis, range(COUNT))

    asyncio.run(make())
    return directory


async def killed(directory: Path, log: Path, *, point: str = "", after: int = 0) -> None:
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, str(directory), str(log), str(after)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NOESIS_CRASH_AT": point},
    )
    assert ended.returncode == -9


async def resumed(directory: Path, log: Path, *, live: bool) -> None:
    """The next start finds one of both generations whole, and the repeat of the work ends it."""
    async with running(directory) as product:
        was = await rows(product.noesis)
        assert len(was) == COUNT
        assert {len(row.vector) for row in was.values() if row.vector is not None} == {32 if live else 64}
    async with running(directory, embedder=LoggingEmbedder(log, None, 32, "other")) as product:
        done = await switch(product.noesis, "killed")
        after = await rows(product.noesis)
        assert (done.rows, done.waiting) == (COUNT, 0)
        assert {row_id: lasting(row) for row_id, row in after.items()} == {
            row_id: lasting(row) for row_id, row in was.items()
        }
        assert {len(row.vector) for row in after.values() if row.vector is not None} == {32}
        assert (await product.noesis.backups.verify_live()).ok
        generations = product.noesis.store.place / "generations"
        assert len(list(generations.iterdir())) == 2
        await product.noesis.backups.undo(made_for="undo")
        assert product.noesis.store.embedder == await WordEmbedder().identity()
    embedded = Counter(log.read_text(encoding="utf-8").splitlines())
    assert embedded == {text(number): 1 for number in range(COUNT)}


@pytest.mark.parametrize(
    "point",
    [pytest.param(point, marks=() if point in OFTEN else pytest.mark.torture) for point in POINTS],
)
async def test_a_kill_leaves_the_old_or_the_new_state_and_the_repeat_finishes_it(
    point: str, made: Path, tmp_path: Path
) -> None:
    directory, log = tmp_path / "d", tmp_path / "log"
    shutil.copytree(made, directory)
    await killed(directory, log, point=point)
    await resumed(directory, log, live=POINTS[point])


async def test_a_switch_that_was_killed_half_way_embeds_no_text_twice(made: Path, tmp_path: Path) -> None:
    directory, log = tmp_path / "d", tmp_path / "log"
    shutil.copytree(made, directory)
    await killed(directory, log, after=COUNT // 2)
    assert len(log.read_text(encoding="utf-8").splitlines()) == 128
    await resumed(directory, log, live=False)
