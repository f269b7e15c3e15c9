"""Routes of the cleanup: what one would do, and the job that does it."""

from __future__ import annotations

import msgspec
from litestar import Response, post
from litestar.params import FromQuery

from noesis.api.access import GATEWAY, Wired
from noesis.api.described import also
from noesis.api.memories import ApiRequest
from noesis.cleaning import Plan

JOB = "cleanup"


class CleanupAnswer(msgspec.Struct, frozen=True):
    """What a cleanup would do, or the job that does it."""

    plan: Plan | None = None
    job_id: str | None = None


@post(
    "/cleanup",
    opt=GATEWAY,
    status_code=202,
    tags=["archive"],
    summary="Archive what has expired",
    responses={200: also(CleanupAnswer, "What a cleanup would do.")},
)
async def cleanup(
    request: ApiRequest, noesis: Wired, plan: FromQuery[bool] = False, confirm: FromQuery[bool] = False
) -> Response[CleanupAnswer]:
    """Start a cleanup of the agent's memories, or of everybody's for an administrator who names none: 202.

    With `plan` it is only said what one would do; `confirm` lets it take a large share, or trust the clock.
    """
    agent = request.auth.whose
    if plan:
        return Response(CleanupAnswer(plan=await noesis.retention.cleaning.plan(agent)), status_code=200)
    key = ":".join([JOB, *([] if agent is None else [agent]), *(["confirmed"] if confirm else [])])
    job = await noesis.jobs.enqueue(JOB, key=key, args={"agent": agent, "confirm": confirm})
    await noesis.audit.record(request.auth.actor, "cleanup started", agent or "all agents")
    return Response(CleanupAnswer(job_id=job.id), status_code=202)


HANDLERS = [cleanup]
