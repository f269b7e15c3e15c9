"""The look at a backup that its pages begin with: started, waited for a moment, followed, told."""

from __future__ import annotations

import asyncio

from litestar import Response

from noesis.api.backups import start_look
from noesis.backup import looks
from noesis.backup.values import Wanted
from noesis.dashboard.job_rows import job_row
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.errors import NotFound
from noesis.ledger import LIVE, Job
from noesis.runtime import Noesis

_WAIT_S = 1.0
"""A small backup has been looked at by then, and its page comes at once."""

_LOOK_EVERY_S = 0.05
_OLD_MS = 10 * 60_000
"""What was seen longer ago than this is looked at again: the memories of now have moved on."""


async def begun(noesis: Noesis, name: str, wanted: Wanted, address: str) -> Response[str]:
    """Start a look, and go to the page that shows it; `address` is the page's, to which the look is added."""
    job = await start_look(noesis, name, wanted)
    for _ in range(round(_WAIT_S / _LOOK_EVERY_S)):
        if (await noesis.jobs.get(job.id)).state not in LIVE:
            break
        await asyncio.sleep(_LOOK_EVERY_S)
    return see(f"{address}{'&' if '?' in address else '?'}look={job.id}")


async def look_of(noesis: Noesis, name: str, wanted: Wanted, job_id: str | None) -> Job | None:
    """The look of this id; None where it is another's, unknown, or too long ago."""
    if not job_id:
        return None
    try:
        job = await noesis.jobs.get(job_id)
    except NotFound:
        return None
    is_old = job.finished_ms is not None and noesis.now_ms() - job.finished_ms > _OLD_MS
    return job if job.name == looks.JOB and job.args == looks.arguments(name, wanted) and not is_old else None


def under_way(request: PageRequest, noesis: Noesis, here: str, name: str, job: Job) -> Response[str]:
    """The page that follows a look; it asks again by itself, and what was seen takes its place."""
    row = job_row(job, noesis.now_ms())
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return page(request, "backup_look.html", here=here, name=name, job=row, address=address)
