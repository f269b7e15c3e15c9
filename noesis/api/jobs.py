"""Routes of jobs: long work that goes on after its request."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, FromQuery

from noesis.api.access import ADMIN, GATEWAY, Wired
from noesis.errors import NotFound
from noesis.ledger import Job, JobFilter
from noesis.memory import Role, Scope, to_datetime

_OF_NOBODY = frozenset({"backup", "verify", "snapshot", "upkeep"})
"""Jobs whose progress and result tell of no agent's memories."""

ApiRequest = Request[Any, Scope, Any]


class Progress(msgspec.Struct, frozen=True):
    """How far a job is; `total` is null when it cannot be known."""

    done: int
    total: int | None


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job."""

    id: str
    name: str
    state: str
    progress: Progress
    result: dict[str, Any] | None
    error: str | None
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobsView(msgspec.Struct, frozen=True):
    """Jobs, newest first; ask for the rest with `cursor`, which is null at the end."""

    jobs: list[JobView]
    cursor: str | None


class JobStarted(msgspec.Struct, frozen=True):
    """The job that was started; GET /api/v1/jobs/{job_id} shows how it goes."""

    job_id: str


def started(job: Job) -> JobStarted:
    """The answer of a route that starts a job."""
    return JobStarted(job.id)


def job_view(job: Job) -> JobView:
    """The API's form of a job."""
    return JobView(
        id=job.id,
        name=job.name,
        state=job.state,
        progress=Progress(job.done, job.total),
        result=job.result,
        error=job.error,
        attempts=job.attempts,
        created_at=to_datetime(job.created_ms),
        started_at=_time(job.started_ms),
        finished_at=_time(job.finished_ms),
    )


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else to_datetime(ms)


def may_see(scope: Scope, job: Job) -> bool:
    """Whether a caller may know of a job: an administrator of all; a gateway of those for the agent it acts
    as, and of those that tell nothing of any agent.
    """
    if scope.role is Role.ADMIN or job.name in _OF_NOBODY:
        return True
    return scope.agent is not None and job.args.get("agent") == scope.agent


@get("/jobs", opt=GATEWAY, tags=["jobs"], summary="All jobs")
async def list_jobs(
    request: ApiRequest, noesis: Wired, cursor: FromQuery[str | None] = None, limit: FromQuery[int] = 50
) -> JobsView:
    """Jobs, newest first."""
    page = await noesis.jobs.list(JobFilter(), cursor=cursor, limit=min(max(limit, 1), 200))
    seen = [job_view(job) for job in page.jobs if may_see(request.auth, job)]
    return JobsView(seen, page.next_cursor)


@get("/jobs/{job_id:str}", opt=GATEWAY, tags=["jobs"], summary="One job")
async def get_job(request: ApiRequest, noesis: Wired, job_id: FromPath[str]) -> JobView:
    """One job with its progress, result or error."""
    job = await noesis.jobs.get(job_id)
    if not may_see(request.auth, job):
        raise NotFound("There is no such job.")
    return job_view(job)


@post("/jobs/{job_id:str}/cancel", opt=ADMIN, status_code=200, tags=["jobs"], summary="Cancel a job")
async def cancel_job(noesis: Wired, job_id: FromPath[str]) -> JobView:
    """Cancel a queued job, ask a running one to stop."""
    return job_view(await noesis.jobs.cancel(job_id))


@post("/jobs/{job_id:str}/retry", opt=ADMIN, status_code=200, tags=["jobs"], summary="Run a job again")
async def retry_job(noesis: Wired, job_id: FromPath[str]) -> JobView:
    """Queue a failed or cancelled job again."""
    return job_view(await noesis.jobs.retry(job_id))


HANDLERS = [list_jobs, get_job, cancel_job, retry_job]
