"""Backup, verify and restore in MB/s beside tar and restic on the same files, and search while a backup runs.

Run it with `python -m bench.backups --rows 100000`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

from bench.sample import Sample
from bench.seeding import AGENT, seed
from bench.tables import machine, markdown
from noesis.memory import Role, Scope, SearchQuery
from noesis.runtime import Noesis, open_runtime
from noesis.settings import load

_WARM_UP = 30
_SEARCHES = 200
"""So many searches beside backups at least: a small store's backup is over after a dozen."""
_BETWEEN = 20


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds that the work took."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def run(*command: str, **environment: str) -> float:
    """Seconds that a program took."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return time.perf_counter() - began


def size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def searches(noesis: Noesis, sample: Sample, until: Callable[[], bool]) -> list[float]:
    """The times (ms) of one search after another."""
    scope = Scope(agent=AGENT, role=Role.AGENT, actor="bench")
    took: list[float] = []
    number = 0
    while not until():
        text = sample.memory(number * 37 % sample.count).text
        began = time.perf_counter()
        await noesis.search.search(scope, SearchQuery(text=" ".join(text.split()[:8])))
        took.append((time.perf_counter() - began) * 1000)
        number += 1
    return took


def times(count: int) -> Callable[[], bool]:
    """True from the call after so many on."""
    left = iter(range(count))
    return lambda: next(left, None) is None


async def beside_searches(noesis: Noesis, sample: Sample) -> tuple[list[float], list[float], float]:
    """The times (ms) of searches while nothing else runs, and beside backups; the seconds of a backup.

    Some of the former before and after each backup, so that both meet whatever else the machine does.
    """
    idle: list[float] = []
    during: list[float] = []
    seconds: list[float] = []
    while len(during) < _SEARCHES:
        idle += await searches(noesis, sample, times(_BETWEEN))
        making = asyncio.create_task(timed(noesis.backups.create))
        during += await searches(noesis, sample, making.done)
        seconds.append(await making)
        idle += await searches(noesis, sample, times(_BETWEEN))
    return idle, during, sum(seconds) / len(seconds)


async def measure(folder: Path, rows: int) -> str:
    """The tables of figures."""
    settings = load({"NOESIS_DATA": str(folder / "data"), "NOESIS_EMBEDDER": "local"})
    sample = Sample(rows)
    async with open_runtime(settings) as noesis:
        await seed(noesis, sample)
        linked = folder / "linked"
        await noesis.store.link_to(linked)
        megabytes = size(linked) / 1e6
        await searches(noesis, sample, times(_WARM_UP))
        took: dict[str, float] = {}
        idle, during, seconds = await beside_searches(noesis, sample)
        took["noesis backup (verified), with searches beside it"] = seconds
        shutil.rmtree(settings.backups_dir)
        took["noesis backup (verified)"] = await timed(noesis.backups.create)
        name = (await noesis.backups.list())[0].name
        path = noesis.backups.shelf.path(name)
        sizes = {"noesis backup (verified)": path.stat().st_size}
        took["noesis verify of it"] = await timed(lambda: noesis.backups.verify(name))
        took["noesis restore of it"] = await timed(
            lambda: noesis.backups.restore(path, made_for="bench", safety_backup=False)
        )
    for label, command in (
        ("tar", ("tar", "cf", str(folder / "x.tar"), "-C", str(linked), ".")),
        ("tar and gzip -1", ("sh", "-c", f"tar c -C {linked} . | gzip -1 > {folder}/x.tar.gz")),
        ("tar x of the gzip", ("sh", "-c", f"mkdir {folder}/x && tar xzf {folder}/x.tar.gz -C {folder}/x")),
    ):
        took[label] = run(*command)
    sizes["tar and gzip -1"] = (folder / "x.tar.gz").stat().st_size
    if shutil.which("restic"):
        _restic(folder, linked, took, sizes)
    figures = [
        (
            label,
            f"{seconds:.1f}",
            f"{megabytes / seconds:.0f}",
            f"{sizes[label] / 1e6:.0f}" if label in sizes else "",
        )
        for label, seconds in took.items()
    ]
    p95 = {label: float(np.percentile(times, 95)) for label, times in (("idle", idle), ("backup", during))}
    return "\n\n".join(
        [
            f"{rows:,} memories, {megabytes:.0f} MB; {machine()}",
            markdown(("what", "s", "MB/s", "archive MB"), figures),
            f"Search p95: idle {p95['idle']:.0f} ms, while a backup runs in the same process {p95['backup']:.0f} ms"
            f" ({p95['backup'] / p95['idle']:.2f} times, {len(during)} searches); median {np.median(idle):.0f} and"
            f" {np.median(during):.0f} ms.",
        ]
    )


def _restic(folder: Path, linked: Path, took: dict[str, float], sizes: dict[str, int]) -> None:
    repository = {"RESTIC_REPOSITORY": str(folder / "restic"), "RESTIC_PASSWORD": "bench"}
    cache = ("--cache-dir", str(folder / "cache"))
    run("restic", "init", *cache, **repository)
    took["restic backup"] = run("restic", "backup", *cache, str(linked), **repository)
    sizes["restic backup"] = size(folder / "restic")
    took["restic check --read-data"] = run("restic", "check", "--read-data", *cache, **repository)
    took["restic restore"] = run(
        "restic", "restore", "latest", *cache, "--target", str(folder / "restored"), **repository
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, help="where to work; default: the temporary directory")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        print(asyncio.run(measure(Path(folder), wanted.rows)))


if __name__ == "__main__":
    main()
