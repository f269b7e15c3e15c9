"""Runs jobs: claims them in the ledger, keeps their heartbeats going, records how they ended."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from noesis.jobs import Jobs
from noesis.ledger import Job
from noesis.worker.handlers import Handler, JobContext
from noesis.worker.outcome import (
    Failed,
    Outcome,
    Stop,
    Stopped,
    Succeeded,
    backoff_ms,
    given_up,
    outcome_of,
    places,
)

log = logging.getLogger(__name__)

LET_GO_S = 2.0

_chance = random.SystemRandom()

Finished = Callable[[Job], Awaitable[None]]


class _Run:
    """One job in this worker's hands."""

    def __init__(self, job: Job, handler: Handler, runtime: Any) -> None:
        self.job = job
        self.handler = handler
        self.context = JobContext(runtime, job)
        self.stop: Stop | None = None
        self.work: asyncio.Task[dict[str, Any] | None] | None = None
        self.task: asyncio.Task[None] | None = None

    def ask(self, why: Stop) -> None:
        """Tell the handler to stop; the first reason counts."""
        self.stop = self.stop or why
        self.context.ask_to_stop()

    def end(self, why: Stop) -> None:
        """Stop the handler where it waits."""
        self.ask(why)
        if self.work is not None:
            self.work.cancel()


class Runner:
    """Owns the jobs that one worker has in hand, at most `capacity` at a time."""

    def __init__(
        self,
        jobs: Jobs,
        handlers: Mapping[str, Handler],
        *,
        runtime: Any,
        capacity: int,
        cancel_grace_s: float,
        on_finished: Finished | None = None,
        jitter: Callable[[], float] = _chance.random,
    ) -> None:
        self._jobs = jobs
        self._ledger = jobs.ledger
        self._handlers = handlers
        self._runtime = runtime
        self._capacity = capacity
        self._cancel_grace_s = cancel_grace_s
        self._on_finished = on_finished
        self._jitter = jitter
        self._runs: dict[str, _Run] = {}
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def has_room(self) -> bool:
        """Whether another job could be started."""
        return not self._closed and len(self._runs) < self._capacity

    @property
    def running(self) -> int:
        """How many jobs are in hand."""
        return len(self._runs)

    async def fill(self) -> None:
        """Claim and start due jobs while there are some and there is room."""
        # Shielded: a claim that is cancelled half-way is committed all the same, and nobody would
        # know that the job is ours.
        self._filling = asyncio.create_task(self._fill())
        await asyncio.shield(self._filling)

    async def _fill(self) -> None:
        while self.has_room and (names := self._names_with_room()):
            job = await self._ledger.claim(names, self._jobs.now_ms())
            if job is None:
                return
            run = _Run(job, self._handlers[job.name], self._runtime)
            self._runs[job.id] = run
            run.task = asyncio.create_task(self._carry_out(run), name=f"job {job.name} {job.id}")

    def _names_with_room(self) -> dict[str, int]:
        busy = Counter(run.job.name for run in self._runs.values())
        return {
            name: handler.max_attempts
            for name, handler in self._handlers.items()
            if busy[name] < handler.concurrency
        }

    async def beat(self) -> None:
        """Write the heartbeat and progress of all jobs in hand; learn which are to be stopped."""
        runs = dict(self._runs)
        if not runs:
            return
        beats = {job_id: run.context.beat for job_id, run in runs.items()}
        standings = await self._ledger.beat(beats, self._jobs.now_ms())
        for job_id, standing in standings.items():
            run = runs[job_id]
            if standing == "lost":
                run.end("lost")
            elif standing == "cancel" and run.stop is None:
                run.ask("cancel")
                asyncio.get_running_loop().call_later(self._cancel_grace_s, run.end, "cancel")

    async def drain(self, grace_s: float) -> None:
        """Let the jobs in hand end within `grace_s` seconds; then stop them and hand them back.

        No job is started any more.
        """
        self._closed = True
        if self._filling is not None:
            await asyncio.wait({self._filling}, timeout=LET_GO_S)
        for run in self._runs.values():
            run.ask("shutdown")
        await self._wait_for_all(grace_s)
        for run in self._runs.values():
            run.end("shutdown")
        await self._wait_for_all(LET_GO_S)
        for run in list(self._runs.values()):
            await self._record(run, Stopped("shutdown"))

    async def _wait_for_all(self, seconds: float) -> None:
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def _carry_out(self, run: _Run) -> None:
        try:
            await self._record(run, await self._attempt(run))
        except Exception as error:  # noqa: BLE001 - the outermost frame of a job
            # The heartbeat ends here; if the end is not on record, a sweep gives the job to another run.
            log.error("job %s: %s at %s", run.job.id, type(error).__name__, places(error))
        finally:
            del self._runs[run.job.id]
            self._jobs.bell.set()

    async def _attempt(self, run: _Run) -> Outcome:
        log.info("job %s %s started, attempt %d", run.job.name, run.job.id, run.job.attempts)
        if run.stop is not None:
            return Stopped(run.stop)
        work = run.work = asyncio.create_task(_call(run))
        done, _ = await asyncio.wait({work}, timeout=run.handler.timeout_s)
        if not done:
            run.stop = "timeout"
            run.end("timeout")
            await asyncio.wait({work}, timeout=LET_GO_S)
        _log_end(run.job, work)
        return outcome_of(work, run.stop, run.context, run.handler)

    async def _record(self, run: _Run, outcome: Outcome) -> None:
        beat = run.context.beat
        job = msgspec.structs.replace(run.job, done=beat.done, total=beat.total)
        if await self._write(job, outcome):
            await self._tell(job.id)

    async def _write(self, job: Job, outcome: Outcome) -> bool:
        now = self._jobs.now_ms()
        match outcome:
            case Succeeded(result=result):
                return await self._ledger.finish(job, result, now)
            case Failed(error=error, again=True) if job.attempts < job.max_attempts:
                later = now + backoff_ms(job.attempts, self._jitter())
                return await self._ledger.put_back(job, now, not_before_ms=later, error=error)
            case Failed(error=error, again=again):
                return await self._ledger.fail(job, given_up(job, error) if again else error, now)
            case Stopped(why="cancel"):
                return await self._ledger.stopped(job, now)
            case Stopped(why="shutdown"):
                return await self._ledger.put_back(job, now, counted=False)
            case _:
                return False

    async def _tell(self, job_id: str) -> None:
        job = await self._ledger.get(job_id)
        log.info("job %s %s is %s", job.name, job.id, job.state)
        if job.state == "queued":
            await self._jobs.announce(job)
        elif self._on_finished is not None:
            await self._on_finished(job)


async def _call(run: _Run) -> dict[str, Any] | None:
    # A coroutine of its own, so that arguments that do not fit the handler fail like anything else.
    return await run.handler.run(run.context, **run.job.args)


def _log_end(job: Job, work: asyncio.Task[dict[str, Any] | None]) -> None:
    if not work.done():
        log.warning("job %s %s does not end when it is stopped", job.name, job.id)
    elif not work.cancelled() and (error := work.exception()) is not None:
        log.warning("job %s %s: %s at %s", job.name, job.id, type(error).__name__, places(error))
