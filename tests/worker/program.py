"""A worker in a process of its own, to be killed: python -m tests.worker.program DATABASE REDIS NOTES STALE."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from noesis.control import Control, sqlite_url
from noesis.jobs import Jobs
from noesis.ledger import Ledger
from noesis.worker import Cron, Handler, JobContext, run_worker
from tests.worker.conftest import QUICK, wall_ms

ROOT = Path(__file__).parents[2]


def spawn(database: Path, redis_url: str, notes: Path, stale_s: float) -> subprocess.Popen[bytes]:
    """Start the worker; it writes "ready" to the notes when it works."""
    words = [sys.executable, "-m", "tests.worker.program", str(database), redis_url, str(notes), str(stale_s)]
    return subprocess.Popen(words, cwd=ROOT)


def read(notes: Path) -> list[list[str]]:
    """The notes as lists of words: what, job, process."""
    return [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []


def _note(notes: Path, *words: object) -> None:
    with notes.open("a") as file:
        file.write(" ".join(str(word) for word in words) + "\n")


def handlers(notes: Path) -> dict[str, Handler]:
    """`quick` notes itself; `slow` waits for a file named "go" beside the notes."""

    async def quick(context: JobContext) -> None:
        _note(notes, "ran", context.job.id, os.getpid())

    async def slow(context: JobContext) -> dict[str, object]:
        _note(notes, "began", context.job.id, os.getpid())
        while not (notes.parent / "go").exists():  # noqa: ASYNC110 - the test is another process
            await asyncio.sleep(0.02)
        _note(notes, "ran", context.job.id, os.getpid())
        return {"attempt": context.job.attempts}

    return {"quick": Handler(run=quick, concurrency=4), "slow": Handler(run=slow, max_attempts=2)}


async def main(database: str, redis_url: str, notes: str, stale_s: str) -> None:
    """Work until a signal comes."""
    control = Control.open(sqlite_url(Path(database)))
    jobs = Jobs(
        Ledger(control),
        redis_url=None if redis_url == "none" else redis_url,
        now_ms=wall_ms,
        stale_after_s=float(stale_s),
    )
    crons = [Cron(name="often", job="quick", every_ms=400, key=None)]
    _note(Path(notes), "ready", "-", os.getpid())
    await run_worker(handlers(Path(notes)), jobs, crons, signals=True, options=QUICK)
    await jobs.close()
    control.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
