"""The page of activity: what runs, waits and failed, what comes next, and what happened."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from noesis.activity import Event, EventFilter, Level
from noesis.api.access import PAGE, Wired
from noesis.dashboard.job_rows import JobRow, job_row, schedule
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import gettext_noop
from noesis.dashboard.words import event_words
from noesis.errors import Conflict, NotFound
from noesis.ledger import LIVE, JobFilter
from noesis.runtime import Noesis
from noesis.worker.crons import Cron
from noesis.worker.tasks import crons

HERE = "activity"
LEVELS: tuple[Level, ...] = ("info", "warning", "error")

_EVENTS = 50
_JOBS = 100
_ENDED = 15
_LONGEST = 200


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event for the log."""

    at: Moment
    kind: str
    level: Level
    summary: str
    agent: str | None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which events the address asks for; an empty text means all."""

    level: str = ""
    kind: str = ""
    agent: str = ""
    cursor: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether anything but a page further back is asked for."""
        return bool(self.level or self.kind or self.agent)

    def to_filter(self) -> EventFilter:
        """The log's form."""
        return EventFilter(
            kinds=(self.kind,) if self.kind else (),
            levels=tuple(level for level in LEVELS if level == self.level),
            agent=self.agent or None,
        )

    def older(self, cursor: str) -> str:
        """The address of the events before these."""
        fields = {"level": self.level, "kind": self.kind, "agent": self.agent, "cursor": cursor}
        return "/activity?" + urlencode({name: value for name, value in fields.items() if value}) + "#log"


@get("/activity", opt=PAGE, include_in_schema=False)
async def show_activity(request: PageRequest, noesis: Wired) -> Response[str]:
    """Jobs, schedule and log."""
    wanted = _wanted(request.query_params)
    now = noesis.now_ms()
    events = await noesis.activity.list(wanted.to_filter(), cursor=wanted.cursor or None, limit=_EVENTS)
    return page(
        request,
        "activity.html",
        here=HERE,
        jobs=await _jobs(noesis, now),
        schedule=schedule(crons(noesis.settings), await noesis.jobs.ledger.last_ends(), now),
        events=[event_row(event, now) for event in events.events],
        wanted=wanted,
        levels=LEVELS,
        kinds=await noesis.activity.kinds(),
        older=wanted.older(events.next_cursor) if events.next_cursor else None,
    )


@post("/activity/run/{name:str}", opt=PAGE, include_in_schema=False, status_code=200)
async def run_now(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Start a recurring job without waiting for its time.  Raises NotFound."""
    cron = _cron(noesis, name)
    await noesis.jobs.enqueue(cron.job, key=cron.job_key, args=cron.args)
    await noesis.audit.record(request.auth.actor, "job started", cron.job)
    return see("/activity?said=started")


@post("/activity/jobs/{job_id:str}/cancel", opt=PAGE, include_in_schema=False, status_code=200)
async def cancel_job(noesis: Wired, job_id: FromPath[str]) -> Response[str]:
    """Stop a job; one that has ended meanwhile stays as it is."""
    try:
        job = await noesis.jobs.cancel(job_id)
    except Conflict:
        return see("/activity?said=ended-before")
    return see(f"/activity?said={'stopping' if job.state == 'running' else 'stopped'}")


@post("/activity/jobs/{job_id:str}/retry", opt=PAGE, include_in_schema=False, status_code=200)
async def retry_job(noesis: Wired, job_id: FromPath[str]) -> Response[str]:
    """Run a failed or cancelled job again."""
    try:
        await noesis.jobs.retry(job_id)
    except Conflict:
        return see("/activity?said=runs-already")
    return see("/activity?said=again")


@post("/activity/jobs/{job_id:str}/seen", opt=PAGE, include_in_schema=False, status_code=200)
async def acknowledge_job(noesis: Wired, job_id: FromPath[str]) -> Response[str]:
    """Take a failure out of the counts: somebody has seen it."""
    try:
        await noesis.jobs.acknowledge(job_id)
    except Conflict:
        return see("/activity?said=ended-before")
    return see("/activity?said=seen")


async def _jobs(noesis: Noesis, now_ms: int) -> dict[str, list[JobRow]]:
    """The jobs by how they stand; those that came to an end only as far as they are news."""
    live = (await noesis.jobs.list(JobFilter(states=LIVE), limit=_JOBS)).jobs
    failed = (await noesis.jobs.list(JobFilter(unseen=True), limit=_JOBS)).jobs
    ended = (
        await noesis.jobs.list(JobFilter(states=("succeeded", "cancelled", "failed")), limit=_ENDED)
    ).jobs
    unseen = {job.id for job in failed}
    return {
        "running": [job_row(job, now_ms) for job in live if job.state == "running"],
        "queued": [job_row(job, now_ms) for job in live if job.state == "queued"],
        "failed": [job_row(job, now_ms) for job in failed],
        "ended": [job_row(job, now_ms) for job in ended if job.id not in unseen],
    }


def event_row(event: Event, now_ms: int) -> EventRow:
    """An event for the log."""
    return EventRow(
        at=moment(event.at_ms, now_ms),
        kind=event_words(event.kind),
        level=event.level,
        summary=event.summary,
        agent=event.agent,
    )


def _wanted(parameters: Any) -> Wanted:
    fields = {name: (parameters.get(name) or "")[:_LONGEST] for name in Wanted.__struct_fields__}
    return Wanted(**fields)


def _cron(noesis: Noesis, name: str) -> Cron:
    for cron in crons(noesis.settings):
        if cron.name == name:
            return cron
    raise NotFound(gettext_noop("There is no recurring job of this name."))


HANDLERS = [show_activity, run_now, cancel_job, retry_job, acknowledge_job]
