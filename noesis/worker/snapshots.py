"""The job of snapshots, and when it recurs."""

from __future__ import annotations

from typing import Any

import msgspec

from noesis.errors import Conflict, NoesisError
from noesis.runtime import Noesis
from noesis.settings import Settings
from noesis.worker.crons import Cron
from noesis.worker.handlers import Handler, JobContext


async def snapshot(context: JobContext) -> dict[str, Any]:
    """Commit the store and push it; progress is in steps."""
    noesis: Noesis = context.runtime
    try:
        # Pieces that were put together since then would travel twice.
        await noesis.store.maintain()
        taken = await noesis.snapshots.take(context.progress)
    except Conflict as error:
        return {"nothing": error.message}
    except NoesisError as error:
        await noesis.activity.record("snapshot", error.message, level="error", job_id=context.job.id)
        raise
    if taken.warning is not None:
        await noesis.activity.record("snapshot", taken.warning, level="warning", job_id=context.job.id)
    return msgspec.to_builtins(taken)  # type: ignore[no-any-return]


async def fetch_snapshot(context: JobContext, commit: str | None = None) -> dict[str, Any]:
    """Clone a snapshot, compare all of it, and list it as a backup; progress is in steps."""
    noesis: Noesis = context.runtime
    return msgspec.to_builtins(  # type: ignore[no-any-return]
        await noesis.snapshots.fetch(commit, context.progress)
    )


HANDLERS = {
    "snapshot": Handler(run=snapshot, timeout_s=6 * 3600.0, max_attempts=5, concurrency=1),
    "fetch_snapshot": Handler(run=fetch_snapshot, timeout_s=6 * 3600.0, max_attempts=3, concurrency=1),
}


def crons(settings: Settings) -> tuple[Cron, ...]:
    """The daily snapshot, if it is wanted."""
    if not settings.git_lfs_enabled:
        return ()
    return (Cron(name="snapshot", job="snapshot", key="snapshot", daily_at=settings.git_lfs_schedule),)
