"""A control database, a real Valkey that can be stopped and started, and short-breathed workers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from noesis.control import Control, sqlite_url
from noesis.jobs import Jobs
from noesis.ledger import Job, Ledger
from noesis.worker import Cron, Handler, WorkerOptions, run_worker
from tests.worker.valkey import Valkey

# Long against the heartbeat, since a busy machine may hold a process up for a second.
STALE_S = 3.0
QUICK = WorkerOptions(
    capacity=4,
    poll_s=0.2,
    poll_alone_s=0.1,
    beat_s=0.1,
    sweep_s=0.2,
    cron_s=0.05,
    grace_s=0.5,
    cancel_grace_s=0.3,
)


class Clock:
    """A wall clock in milliseconds that tests move."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self.now = now_ms

    def __call__(self) -> int:
        return self.now


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


async def until(condition: Callable[[], Awaitable[bool]], within_s: float = 20.0) -> None:
    """Wait for a condition, and fail when it does not come."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.03)


async def ended(jobs: Jobs, job: Job, within_s: float = 20.0) -> Job:
    """Wait until a job has ended."""

    async def has_ended() -> bool:
        return (await jobs.get(job.id)).finished_ms is not None

    await until(has_ended, within_s)
    return await jobs.get(job.id)


@contextlib.asynccontextmanager
async def working(
    jobs: Jobs,
    handlers: Mapping[str, Handler],
    crons: Sequence[Cron] = (),
    options: WorkerOptions = QUICK,
    **more: Any,
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker in this event loop for as long as the context lasts."""
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(handlers, jobs, crons, stop=stop, options=options, **more))
    try:
        yield worker
    finally:
        stop.set()
        await worker


@pytest.fixture
def control_path(tmp_path: Path) -> Path:
    return tmp_path / "control.sqlite"


@pytest.fixture
def control(control_path: Path) -> Iterator[Control]:
    opened = Control.open(sqlite_url(control_path))
    yield opened
    opened.close()


@pytest.fixture
def ledger(control: Control) -> Ledger:
    return Ledger(control)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path / "valkey")
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def jobs(ledger: Ledger, valkey: Valkey) -> AsyncIterator[Jobs]:
    """The queue on the running Valkey."""
    queue = Jobs(ledger, redis_url=valkey.url, now_ms=wall_ms, stale_after_s=STALE_S)
    yield queue
    await queue.close()


@pytest.fixture
async def polled(ledger: Ledger) -> AsyncIterator[Jobs]:
    """The queue without any Redis."""
    queue = Jobs(ledger, redis_url=None, now_ms=wall_ms, stale_after_s=STALE_S)
    yield queue
    await queue.close()
