"""The queue: jobs are written to the ledger first, then a message in Redis wakes a worker.

A message holds a job's id and nothing else.  Redis may be down, wiped, full or absent: enqueueing
works all the same, workers find the job by polling the ledger, and `reconcile` sends it again.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable

import msgspec

from noesis.ledger import Job, JobArgs, JobFilter, JobPage, Ledger, NewJob
from noesis.messages import Messages, RedisStatus

RESEND_AFTER_MS = 5_000
RESEND_LIMIT = 100
EVERYTHING = JobFilter()


class Reconciled(msgspec.Struct, frozen=True):
    """What a sweep did: messages sent again, and the jobs taken from workers that are gone."""

    resent: int = 0
    released: tuple[Job, ...] = ()


class _Sighting(msgspec.Struct, frozen=True):
    heartbeat: tuple[int, int | None]
    since: float


class Jobs:
    """The queue as the rest of the product sees it.

    `redis_url` None means that there is no Redis: workers poll.  `bell` wakes a worker that lives in
    this very process.  `stale_after_s` is how long a running job may give no sign of life.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        redis_url: str | None,
        now_ms: Callable[[], int],
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        monotonic: Callable[[], float] = time.monotonic,
        stale_after_s: float = 30.0,
        queue: str = "noesis:jobs",
    ) -> None:
        self.ledger = ledger
        self.now_ms = now_ms
        self.new_id = new_id
        self.bell = asyncio.Event()
        self.messages = Messages(redis_url, queue=queue, now_ms=now_ms)
        self._monotonic = monotonic
        self._stale_after_s = stale_after_s
        self._sightings: dict[str, _Sighting] = {}

    async def enqueue(
        self, name: str, *, key: str | None = None, args: JobArgs | None = None, delay_ms: int = 0
    ) -> Job:
        """Queue a job, or give the live job that has the same key.

        It is durable when this returns, whatever Redis does.  Arguments are plain values and ids,
        never memory text.  Raises InvalidInput for other arguments.
        """
        now = self.now_ms()
        # 0 instead of now: a clock that is set back must not hold up what is due at once.
        not_before = now + delay_ms if delay_ms > 0 else 0
        new = NewJob(id=self.new_id(), name=name, key=key, args=args or {}, not_before_ms=not_before)
        job, created = await self.ledger.create(new, now)
        if created:
            await self.announce(job)
        return job

    async def announce(self, job: Job) -> None:
        """Wake workers for a queued job; never raises for Redis' sake."""
        self.bell.set()
        await self.messages.send(job)

    async def get(self, job_id: str) -> Job:
        """One job.  Raises NotFound."""
        return await self.ledger.get(job_id)

    async def cancel(self, job_id: str) -> Job:
        """Cancel a queued job at once, ask a running one to stop.  Raises NotFound and Conflict."""
        return await self.ledger.cancel(job_id, self.now_ms())

    async def retry(self, job_id: str) -> Job:
        """Queue a failed or cancelled job again.  Raises NotFound and Conflict."""
        job = await self.ledger.retry(job_id)
        await self.announce(job)
        return job

    async def acknowledge(self, job_id: str) -> Job:
        """Mark a failed job as seen.  Raises NotFound and Conflict."""
        return await self.ledger.acknowledge(job_id)

    async def prune(self, *, max_age_ms: int, keep: int) -> int:
        """Forget ended jobs older than `max_age_ms` and all but the newest `keep`; how many."""
        return await self.ledger.prune(self.now_ms() - max_age_ms, keep)

    async def reconcile(self) -> Reconciled:
        """Take jobs from workers that are gone and send messages again that may be lost."""
        released = [job for job in await self._stale() if await self.ledger.release(job, self.now_ms())]
        moved = tuple([await self.ledger.get(job.id) for job in released])
        for job in moved:
            if job.state == "queued":
                await self.announce(job)
        return Reconciled(await self._resend(), moved)

    async def _stale(self) -> list[Job]:
        # A heartbeat is judged by whether it changes while we watch, on our own monotonic clock:
        # clocks of two machines are never compared, and neither a clock that jumps nor a machine
        # that slept makes a living worker look dead.
        now = self._monotonic()
        sightings: dict[str, _Sighting] = {}
        stale = []
        for job in await self.ledger.running():
            heartbeat = (job.claims, job.heartbeat_ms)
            known = self._sightings.get(job.id)
            since = known.since if known is not None and known.heartbeat == heartbeat else now
            sightings[job.id] = _Sighting(heartbeat, since)
            if now - since >= self._stale_after_s:
                stale.append(job)
        self._sightings = sightings
        return stale

    async def _resend(self) -> int:
        now = self.now_ms()
        sent = 0
        for job in await self.ledger.waiting(now, now - RESEND_AFTER_MS, RESEND_LIMIT):
            if not await self.messages.send(job):
                break
            sent += 1
        return sent

    async def redis_status(self) -> RedisStatus:
        """Whether Redis answers, since when not, and what is wrong with its set-up."""
        return await self.messages.status()

    async def close(self) -> None:
        """Give back the connections."""
        await self.messages.close()

    async def list(
        self, which: JobFilter = EVERYTHING, *, cursor: str | None = None, limit: int = 50
    ) -> JobPage:
        """A page of jobs, newest first.  Raises InvalidInput for a bad cursor."""
        return await self.ledger.page(which, cursor, limit)
