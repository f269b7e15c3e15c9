"""Workers and Redis that die, forget, fill up or come in twos: every job is done, and done once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from noesis.control import Control
from noesis.jobs import Jobs
from noesis.ledger import JobFilter, Ledger
from noesis.ledger.table import slots
from noesis.worker import Cron, Handler, JobContext
from tests.worker import program
from tests.worker.conftest import STALE_S, ended, until, wall_ms, working
from tests.worker.valkey import Valkey

Spawn = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def spawn(control: Control, control_path: Path, notes: Path) -> Iterator[Spawn]:
    """Start worker processes; those that still live at the end are killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(redis_url: str, stale_s: float = STALE_S) -> subprocess.Popen[bytes]:
        started.append(program.spawn(control_path, redis_url, notes, stale_s))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


async def noted(notes: Path, what: str, times: int = 1) -> None:
    """Wait until workers have noted something a number of times."""

    async def enough() -> bool:
        return sum(words[0] == what for words in program.read(notes)) >= times

    await until(enough, 30)


def runs(notes: Path, what: str = "ran") -> Counter[str]:
    return Counter(words[1] for words in program.read(notes) if words[0] == what)


class Counting:
    """A handler that counts the runs of each job."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.handlers = {"count": Handler(run=self.count, concurrency=4)}

    async def count(self, context: JobContext) -> None:
        await asyncio.sleep(0.005)
        self.runs[context.job.id] += 1


async def all_done(jobs: Jobs, ids: set[str], within_s: float = 30.0) -> None:
    async def done() -> bool:
        counts = await jobs.ledger.counts()
        return counts["succeeded"] >= len(ids) and counts["queued"] + counts["running"] == 0

    await until(done, within_s)


async def test_a_killed_worker_s_job_is_run_exactly_once_more(
    jobs: Jobs, valkey: Valkey, spawn: Spawn, notes: Path
) -> None:
    first = spawn(valkey.url)
    job = await jobs.enqueue("slow", key="once")
    await noted(notes, "began")
    first.kill()
    first.wait()
    (notes.parent / "go").touch()
    second = spawn(valkey.url)
    job = await ended(jobs, job, 30)
    assert (job.state, job.result, job.attempts) == ("succeeded", {"attempt": 2}, 2)
    await asyncio.sleep(0.5)
    assert runs(notes, "began")[job.id] == 2
    assert [words[2] for words in program.read(notes) if words[:2] == ["ran", job.id]] == [str(second.pid)]


async def test_a_job_that_kills_its_workers_is_shown_as_failed(
    jobs: Jobs, valkey: Valkey, spawn: Spawn, notes: Path
) -> None:
    job = await jobs.enqueue("slow")
    for death in (1, 2):
        worker = spawn(valkey.url)
        await noted(notes, "began", death)
        worker.kill()
        worker.wait()
    async with working(jobs, {}):
        job = await ended(jobs, job)
    assert (job.state, job.attempts) == ("failed", 2)
    assert job.error is not None
    assert "attempts (2) are used up" in job.error
    assert [listed.id for listed in (await jobs.list(JobFilter(unseen=True))).jobs] == [job.id]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_hands_jobs_back_within_ten_seconds(
    polled: Jobs, spawn: Spawn, notes: Path, number: int
) -> None:
    worker = spawn("none")
    job = await polled.enqueue("slow")
    await noted(notes, "began")
    worker.send_signal(number)
    assert await asyncio.to_thread(worker.wait, 10) == 0
    now = await polled.get(job.id)
    assert (now.state, now.attempts) == ("queued", 0)


async def test_redis_stopped_and_started_under_load_loses_and_doubles_nothing(
    jobs: Jobs, valkey: Valkey
) -> None:
    counting = Counting()
    ids = set()
    async with working(jobs, counting.handlers):
        for number in range(90):
            if number == 30:
                valkey.halt()
            if number == 60:
                valkey.start()
            ids.add((await jobs.enqueue("count")).id)
            await asyncio.sleep(0.005)
        await all_done(jobs, ids)
    assert counting.runs == Counter(dict.fromkeys(ids, 1))


async def test_the_worker_starts_without_redis_and_hears_it_when_it_comes(jobs: Jobs, valkey: Valkey) -> None:
    valkey.halt()
    counting = Counting()
    async with working(jobs, counting.handlers):
        await ended(jobs, await jobs.enqueue("count"))
        valkey.start()
        job = await jobs.enqueue("count", delay_ms=100)
        await ended(jobs, job)

        async def listens() -> bool:
            return bool(valkey.ask("EXISTS", "noesis:jobs:health-check"))

        await until(listens)
    assert counting.runs[job.id] == 1


async def test_flushall_under_load_loses_and_doubles_nothing(jobs: Jobs, valkey: Valkey) -> None:
    counting = Counting()
    ids = set()
    async with working(jobs, counting.handlers):
        for number in range(60):
            ids.add((await jobs.enqueue("count")).id)
            if number % 10 == 0:
                valkey.ask("FLUSHALL")
        await all_done(jobs, ids)
    assert counting.runs == Counter(dict.fromkeys(ids, 1))


async def test_redis_out_of_memory_stops_no_job(jobs: Jobs, valkey: Valkey) -> None:
    valkey.ask("CONFIG", "SET", "maxmemory", "1mb")
    counting = Counting()
    async with working(jobs, counting.handlers):
        ids = {(await jobs.enqueue("count")).id for _ in range(20)}
        await all_done(jobs, ids)
        valkey.ask("CONFIG", "SET", "maxmemory", "0")
        ids.add((await jobs.enqueue("count")).id)
        await all_done(jobs, ids)
    assert counting.runs == Counter(dict.fromkeys(ids, 1))


async def test_two_workers_share_the_jobs_and_the_cron_slots(
    jobs: Jobs, valkey: Valkey, spawn: Spawn, notes: Path
) -> None:
    workers = [spawn(valkey.url, stale_s=30.0) for _ in range(2)]
    await noted(notes, "ready", 2)
    ids = {(await jobs.enqueue("quick")).id for _ in range(60)}
    await noted(notes, "ran", 63)
    for worker in workers:
        worker.terminate()
        assert await asyncio.to_thread(worker.wait, 10) == 0
    counted = runs(notes)
    assert set(counted.values()) == {1}, "every job and every slot once"
    assert ids <= counted.keys()
    of_crons = sorted(
        job.created_ms
        for job in (await jobs.list(limit=500)).jobs
        if job.key == "cron:often" and job.state == "succeeded"
    )
    assert len({created // 400 for created in of_crons}) == len(of_crons) >= 3


async def test_a_message_wakes_a_worker_in_another_process(
    jobs: Jobs, valkey: Valkey, spawn: Spawn, notes: Path
) -> None:
    """The message is taken away by a worker and leaves nothing behind but arq's health key."""
    spawn(valkey.url)
    await noted(notes, "ready")
    job = await jobs.enqueue("quick")
    await ended(jobs, job)

    async def tidy() -> bool:
        keys = {key.decode() for key in valkey.ask("KEYS", f"*{job.id}*")}
        return not keys and valkey.ask("ZSCORE", "noesis:jobs", f"{job.id}-0") is None

    await until(tidy)


async def test_missed_slots_are_run_once_after_a_pause(ledger: Ledger) -> None:
    jobs = Jobs(ledger, redis_url=None, now_ms=wall_ms)
    counting = Counting()
    cron = Cron(name="often", job="count", every_ms=3_600_000)

    async def remembered() -> bool:
        count = sa.select(sa.func.count()).select_from(slots)
        return bool(await ledger._run(lambda connection: connection.scalar(count)))

    async with working(jobs, counting.handlers, [cron]):
        await until(remembered)
        await asyncio.sleep(0.2)
    assert not counting.runs, "the first slot ever seen is only remembered"
    day = 86_400_000
    jobs.now_ms = lambda: wall_ms() + day
    async with working(jobs, counting.handlers, [cron]):
        await until(lambda: _any(counting))
        await asyncio.sleep(0.3)
    assert list(counting.runs.values()) == [1]
    await jobs.close()


async def _any(counting: Counting) -> bool:
    return bool(counting.runs)
