"""The jobs of the product: each takes the runtime, calls an operation and returns its result."""

from __future__ import annotations

from datetime import time
from typing import Any

import msgspec

from noesis.errors import StoreBusy
from noesis.runtime import Noesis
from noesis.worker.crons import Cron
from noesis.worker.handlers import Handler, JobContext

DAY_MS = 86_400_000


async def embed_pending(context: JobContext) -> dict[str, Any]:
    """Fill in the vectors of memories that were stored without."""
    noesis: Noesis = context.runtime
    return msgspec.to_builtins(await noesis.filling.fill(context.progress))  # type: ignore[no-any-return]


async def upkeep(context: JobContext, force: bool = False) -> dict[str, Any]:
    """Compact and index the tables that need it, and forget old jobs and events."""
    noesis: Noesis = context.runtime
    try:
        optimized = await noesis.store.maintain(force=force)
    except StoreBusy:
        # Another process is at it, which is as good.
        return {"optimized": 0}
    await noesis.jobs.prune(max_age_ms=30 * DAY_MS, keep=10_000)
    await noesis.activity.prune(max_age_ms=90 * DAY_MS, keep=100_000)
    return {"optimized": optimized}


HANDLERS = {
    "embed_pending": Handler(run=embed_pending, timeout_s=3600.0, concurrency=1),
    "upkeep": Handler(run=upkeep, timeout_s=3600.0, concurrency=1),
}

CRONS = (
    Cron(name="embed_pending", job="embed_pending", every_ms=15_000),
    Cron(name="upkeep", job="upkeep", every_ms=60_000),
    Cron(name="upkeep_nightly", job="upkeep", daily_at=time(4), args={"force": True}),
)
