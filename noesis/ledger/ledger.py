"""The durable job ledger: what is to be done, who is doing it, how it ended.

The ledger is the truth about jobs; Redis only wakes workers early.  Each claim of a job raises
its `claims` number, and every later word about that run must carry the same number: a worker that
was paused for so long that its job went to another can no longer change anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.control import Control
from noesis.errors import StoreError
from noesis.ledger import moves, views
from noesis.ledger.table import (
    Beat,
    Job,
    JobState,
    NewJob,
    Standing,
    due,
    encode_args,
    get,
    select,
    table,
)
from noesis.ledger.views import JobFilter, JobPage

log = logging.getLogger(__name__)

RECORD_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)


class Ledger:
    """The `jobs` table; every method is one transaction, and all times are passed in."""

    def __init__(self, control: Control) -> None:
        self._run = control.run

    async def create(self, new: NewJob, now_ms: int) -> tuple[Job, bool]:
        """Add a job, or give the live one that has the same key; the flag says whether it is new."""
        args = encode_args(new.args)
        return await self._run(lambda connection: moves.create(connection, new, args, now_ms))

    async def claim(self, max_attempts: Mapping[str, int], now_ms: int) -> Job | None:
        """Take the oldest due job whose name is a key of `max_attempts`; None when there is none."""
        return await self._run(lambda connection: moves.claim(connection, max_attempts, now_ms))

    async def beat(self, beats: Mapping[str, Beat], now_ms: int) -> dict[str, Standing]:
        """Record that these jobs (by id) are still worked on, and learn where each one stands.

        "cancel": somebody asked for it to stop; "lost": it ended or was given to another worker.
        """
        return await self._run(lambda connection: moves.beat(connection, beats, now_ms))

    async def finish(self, job: Job, result: dict[str, Any] | None, now_ms: int) -> bool:
        """Record success and the job's progress; False when this run no longer holds the job."""
        text = None if result is None else msgspec.json.encode(result).decode()
        return await self._end(job, now_ms, state="succeeded", result=text, error=None)

    async def fail(self, job: Job, error: str, now_ms: int) -> bool:
        """Record a failure for good with a plain sentence; False as in `finish`."""
        return await self._end(job, now_ms, state="failed", error=error)

    async def stopped(self, job: Job, now_ms: int) -> bool:
        """Record that the running job was cancelled; False as in `finish`."""
        return await self._end(job, now_ms, state="cancelled", error=None)

    async def put_back(
        self, job: Job, now_ms: int, *, not_before_ms: int = 0, error: str | None = None, counted: bool = True
    ) -> bool:
        """Queue the running job again, as an attempt that counts or not; False as in `finish`.

        A job that was asked to stop meanwhile is cancelled instead.
        """
        back: dict[str, Any] = {
            "not_before_ms": not_before_ms,
            "error": error,
            "done": job.done,
            "total": job.total,
        }
        if not counted:
            back["attempts"] = table.c.attempts - 1
        return await self._insist(lambda connection: moves.put_back(connection, job, now_ms, **back))

    async def _end(self, job: Job, now_ms: int, **values: Any) -> bool:
        values |= {"finished_ms": now_ms, "done": job.done, "total": job.total}
        return await self._insist(
            lambda connection: moves.change_run(connection, job.id, job.claims, **values)
        )

    async def _insist(self, work: Callable[[sa.Connection], bool]) -> bool:
        # How a run ended is worth waiting for: the work is done, only the record is missing.
        for pause_s in RECORD_PAUSES_S:
            try:
                return await self._run(work)
            except (sa.exc.DBAPIError, StoreError) as error:
                log.warning("the end of a job is not recorded yet (%s)", type(error).__name__)
                await asyncio.sleep(pause_s)
        return await self._run(work)

    async def cancel(self, job_id: str, now_ms: int) -> Job:
        """Cancel a queued job at once, or ask the worker of a running one to stop.

        Raises NotFound, and Conflict when it has ended already.
        """
        return await self._run(lambda connection: moves.cancel(connection, job_id, now_ms))

    async def retry(self, job_id: str) -> Job:
        """Queue a failed or cancelled job again with all its attempts.

        Raises NotFound, and Conflict when it may not be retried or its key is taken by a live job.
        """
        return await self._run(lambda connection: moves.retry(connection, job_id))

    async def acknowledge(self, job_id: str) -> Job:
        """Mark a failed job as seen.  Raises NotFound, and Conflict when it has not failed."""
        return await self._run(lambda connection: moves.acknowledge(connection, job_id))

    async def get(self, job_id: str) -> Job:
        """One job.  Raises NotFound."""
        return await self._run(lambda connection: get(connection, job_id))

    async def page(self, which: JobFilter, cursor: str | None = None, limit: int = 50) -> JobPage:
        """A page of jobs, newest first.  Raises InvalidInput for a bad cursor."""
        return await self._run(lambda connection: views.page(connection, which, cursor, limit))

    async def counts(self) -> dict[JobState, int]:
        """How many jobs are in each state."""
        return await self._run(views.counts)

    async def unseen_failures(self) -> int:
        """How many failed jobs nobody has acknowledged."""
        return await self._run(views.unseen_failures)

    async def last_ends(self) -> dict[str, int]:
        """When a job of each name last ended well (Unix ms), by the name."""
        return await self._run(views.last_ends)

    async def running(self) -> list[Job]:
        """The jobs that some worker holds."""
        return await self._run(lambda connection: select(connection, table.c.state == "running"))

    async def release(self, job: Job, now_ms: int) -> bool:
        """Take a job from a worker that is gone: queued again, cancelled if that was asked for, or
        failed when its attempts are used up.  False when it moved in the meantime.
        """
        return await self._run(lambda connection: moves.release(connection, job, now_ms))

    async def waiting(self, now_ms: int, created_before_ms: int, limit: int) -> list[Job]:
        """The oldest queued jobs that are due and were created before a time."""
        lost = due(now_ms) & (table.c.created_ms <= created_before_ms)
        return await self._run(lambda connection: select(connection, lost, limit))

    async def take_slot(
        self,
        cron: str,
        new: NewJob,
        *,
        slot_of: Callable[[int], int],
        period_ms: int,
        now_ms: Callable[[], int],
    ) -> Job | None:
        """Create the job of a cron's present slot unless it was taken; None when it was.

        `slot_of` gives the slot of a time.  The clock is read while the cron's row is locked: a
        process that waited long for its turn must not speak of a slot that is past.  The first slot
        ever seen is only remembered.  So is the present one when the remembered one lies far ahead:
        then the clock was set back, and the cron must not stand still until it comes round.
        """
        args = encode_args(new.args)

        def work(connection: sa.Connection) -> Job | None:
            last = moves.lock_slot(connection, cron)
            now = now_ms()
            if not moves.advance_slot(connection, cron, last, slot_of(now), period_ms):
                return None
            return moves.create(connection, new, args, now)[0]

        return await self._run(work)

    async def prune(self, finished_before_ms: int, keep: int) -> int:
        """Forget ended jobs that are older than a time (failures only once acknowledged) and all but
        the newest `keep` of the ended ones; the number forgotten.
        """
        return await self._run(lambda connection: moves.prune(connection, finished_before_ms, keep))
