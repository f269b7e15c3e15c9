"""Says whether the tables are looked after: how they lie on the disk, and what upkeep failed with last."""

from __future__ import annotations

from noesis.errors import NoesisError
from noesis.health import Part
from noesis.jobs import Jobs
from noesis.ledger import JobFilter
from noesis.store import Store

JOB = "upkeep"
_LOOK_AT = 10


class UpkeepHealth:
    """Looks at the tables and at the newest upkeep."""

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    async def check(self) -> Part:
        """The part of the health report."""
        try:
            states = await self._store.states()
        except NoesisError as error:
            return _degraded(error.message)
        pieces, size = sum(s.fragments for s in states), sum(s.disk_bytes for s in states)
        summary = (
            f"The tables lie in {pieces:,} piece{'' if pieces == 1 else 's'} and take {size / 2**20:,.0f} MB."
        )
        failure = await self._failure()
        if failure is not None:
            return _degraded(f"The last upkeep failed: {failure} {summary}")
        if any(state.bloated for state in states):
            return _degraded(f"Old versions of the tables wait to be removed. {summary}")
        return Part(name=JOB, state="ok", summary=summary)

    async def _failure(self) -> str | None:
        """What the newest upkeep that came to an end failed with; None when it succeeded, or there was none."""
        found = await self._jobs.list(JobFilter(names=(JOB,)), limit=_LOOK_AT)
        told = (job for job in found.jobs if job.state == "succeeded" or job.error is not None)
        newest = next(told, None)
        return None if newest is None or newest.state == "succeeded" else newest.error


def _degraded(summary: str) -> Part:
    return Part(
        name=JOB,
        state="degraded",
        summary=summary,
        still_works="Everything; searches become slower and the disk fuller until it succeeds.",
        what_to_do="Nothing at first: it is tried again by itself. If it goes on, look at the disk and the"
        " worker's log, or start it by hand on the page of the system.",
    )
