"""The jobs of the product: each takes the runtime, calls an operation and returns its result."""

from __future__ import annotations

import asyncio
import logging
from datetime import time
from typing import Any

import msgspec

from noesis.activity import Level
from noesis.capturing import Captures
from noesis.duplicates.values import Wanted
from noesis.errors import EmbedderError, StoreBusy, StoreError
from noesis.importing.operation import from_args
from noesis.runtime import Noesis
from noesis.settings import Settings
from noesis.worker import backups as backup_jobs
from noesis.worker import reembedding as reembedding_jobs
from noesis.worker import snapshots as snapshot_jobs
from noesis.worker.crons import Cron
from noesis.worker.handlers import Handler, JobContext

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
MINUTE_MS = 60_000
_FORGOTTEN_AFTER_MS = 30_000


async def embed_pending(context: JobContext) -> dict[str, Any]:
    """Fill in the vectors of memories that were stored without.

    An embedder that is away is not this job's failure: the texts wait, and the next turn tries again.
    """
    noesis: Noesis = context.runtime
    try:
        return msgspec.to_builtins(await noesis.filling.fill(context.progress))  # type: ignore[no-any-return]
    except EmbedderError as error:
        return {"waiting": await noesis.filling.pending(), "reason": error.message}


async def prepare_model(context: JobContext) -> dict[str, Any]:
    """Have the model ready, downloading it if need be; progress is in bytes."""
    noesis: Noesis = context.runtime
    await noesis.vectors.prepare(lambda status: context.progress(status.completed, status.total or None))
    await noesis.jobs.enqueue("embed_pending", key="embed_pending")
    return {"model": noesis.vectors.embedder.model_status.sentence}


async def upkeep(context: JobContext, force: bool = False) -> dict[str, Any]:
    """Compact and index the tables that need it, and forget old jobs and events."""
    noesis: Noesis = context.runtime
    try:
        optimized = await noesis.store.maintain(force=force)
    except StoreBusy:
        # Another process is at it, which is as good.
        return {"optimized": 0}
    await noesis.jobs.prune(max_age_ms=30 * DAY_MS, keep=10_000)
    await asyncio.to_thread(noesis.inflow.uploads.sweep)
    await asyncio.to_thread(noesis.backups.looks.sweep)
    await noesis.context.intake.forget_old()
    await noesis.activity.prune(max_age_ms=90 * DAY_MS, keep=100_000)
    await noesis.oversight.history.prune()
    await noesis.oversight.forgetting.finish_erasure()
    # Also where no cleanup runs by itself: the longer nobody looked, the less a jump can be told.
    await noesis.retention.clock.look()
    return {"optimized": optimized}


async def cleanup(context: JobContext, agent: str | None = None, confirm: bool = False) -> dict[str, Any]:
    """Archive what has expired and purge what has lain in the archive for long enough; progress is in memories."""
    noesis: Noesis = context.runtime
    done = await noesis.retention.cleaning.run(
        agent, confirm=confirm, tell=context.progress, stop=context.cancelled
    )
    if done.archived or done.purged or done.reasons:
        said = " ".join([*done.reasons, f"{done.archived:,} archived, {done.purged:,} purged."])
        level: Level = "warning" if done.reasons else "info"
        await noesis.activity.record("cleanup", said, agent=agent, job_id=context.job.id, level=level)
    return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def scan_source(context: JobContext, root: str, confirmed: bool = False) -> dict[str, Any]:
    """Read what changed in a followed place; progress is in files."""
    noesis: Noesis = context.runtime
    found = await noesis.inflow.scanning.scan(root, context.progress, context.cancelled, confirmed=confirmed)
    return msgspec.to_builtins(found)  # type: ignore[no-any-return]


async def scan_all(context: JobContext) -> dict[str, Any]:
    """Start a scan of every followed place, whatever its watcher said."""
    noesis: Noesis = context.runtime
    roots = await noesis.inflow.following.followed()
    for root in roots:
        await noesis.jobs.enqueue("scan_source", key=f"scan:{root.key}", args={"root": root.key})
    return {"sources": len(roots)}


async def import_memories(context: JobContext, **args: Any) -> dict[str, Any]:
    """Bring in a file, a folder or OpenClaw's places; what was uploaded for it is thrown away once it is in."""
    noesis: Noesis = context.runtime
    what, to = from_args(args)
    done = await noesis.inflow.importing.run(what, to, context.progress, context.cancelled)
    if what.upload is not None and done.whole:
        noesis.inflow.uploads.discard(what.upload)
    return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def dedup(context: JobContext, agent: str | None = None, **wanted: Any) -> dict[str, Any]:
    """Look for duplicates among an agent's memories, or each agent's; progress is in memories."""
    noesis: Noesis = context.runtime
    found = await noesis.duplicates.look(
        agent, msgspec.convert(wanted, Wanted), context.progress, context.cancelled
    )
    return msgspec.to_builtins(found)  # type: ignore[no-any-return]


async def capture_turn(context: JobContext, turn: str | None = None) -> dict[str, Any]:
    """Capture a turn that a host handed over, or every one that still waits."""
    intake = context.runtime.context.intake
    turns = [turn] if turn is not None else await intake.waiting()
    captures = Captures()
    for number, each in enumerate(turns):
        captures += await intake.capture(each)
        context.progress(number + 1, len(turns))
        if context.cancelled():
            break
    return msgspec.to_builtins(captures)  # type: ignore[no-any-return]


async def _turns_wait(noesis: Noesis) -> bool:
    """There are turns whose job was never written down, or failed."""
    return bool(await noesis.context.intake.waiting(older_than_ms=_FORGOTTEN_AFTER_MS))


async def _texts_wait(noesis: Noesis) -> bool:
    """There are texts without a vector, and an embedder that could make it."""
    return await noesis.filling.pending() > 0 and (await noesis.vectors.look()).state == "ready"


async def _model_is_missing(noesis: Noesis) -> bool:
    """The embedder is there and does not have the model."""
    return (await noesis.vectors.look()).state == "missing"


async def _upkeep_is_due(noesis: Noesis) -> bool:
    if await noesis.oversight.forgetting.erasure_is_due():
        return True
    return any(state.due for state in await noesis.store.states())


HANDLERS = {
    "embed_pending": Handler(run=embed_pending, timeout_s=3600.0, concurrency=1),
    "prepare_model": Handler(run=prepare_model, timeout_s=6 * 3600.0, max_attempts=1, concurrency=1),
    "scan_source": Handler(run=scan_source, timeout_s=24 * 3600.0, max_attempts=20),
    "scan_all": Handler(run=scan_all, concurrency=1),
    "import": Handler(run=import_memories, timeout_s=24 * 3600.0, max_attempts=20, concurrency=1),
    "dedup": Handler(run=dedup, timeout_s=24 * 3600.0, concurrency=1),
    "capture_turn": Handler(run=capture_turn, timeout_s=600.0, max_attempts=20, concurrency=1),
    **backup_jobs.HANDLERS,
    **snapshot_jobs.HANDLERS,
    **reembedding_jobs.HANDLERS,
    "cleanup": Handler(run=cleanup, timeout_s=6 * 3600.0, concurrency=1),
    "upkeep": Handler(run=upkeep, timeout_s=3600.0, concurrency=1),
}

_CRONS = (
    Cron(
        name="prepare_model",
        job="prepare_model",
        key="prepare_model",
        every_ms=10_000,
        wanted=_model_is_missing,
    ),
    Cron(name="embed_pending", job="embed_pending", key="embed_pending", every_ms=10_000, wanted=_texts_wait),
    Cron(name="capture_turns", job="capture_turn", key="capture_turns", every_ms=30_000, wanted=_turns_wait),
    Cron(name="upkeep", job="upkeep", key="upkeep", every_ms=15_000, wanted=_upkeep_is_due),
    Cron(name="upkeep_nightly", job="upkeep", key="upkeep", daily_at=time(4), args={"force": True}),
)


def crons(settings: Settings) -> tuple[Cron, ...]:
    """The recurring jobs; how often the followed places are looked at, and what expired is archived, are settings."""
    looking = Cron(
        name="scan_all", job="scan_all", key="scan_all", every_ms=settings.scan_minutes * MINUTE_MS
    )
    return (
        *_CRONS,
        looking,
        *_cleaning(settings),
        *backup_jobs.crons(settings),
        *snapshot_jobs.crons(settings),
    )


def _cleaning(settings: Settings) -> tuple[Cron, ...]:
    if settings.cleanup_interval_hours == 0:
        return ()
    every_ms = max(MINUTE_MS, round(settings.cleanup_interval_hours * 60 * MINUTE_MS))
    return (Cron(name="cleanup", job="cleanup", key="cleanup", every_ms=every_ms),)


async def begin(noesis: Noesis) -> None:
    """What the start of a worker sets going; a store that takes nothing does not stop it."""
    await reembedding_jobs.say_if_needed(noesis)
    if noesis.settings.auto_cleanup:
        try:
            await noesis.jobs.enqueue("cleanup", key="cleanup")
        except StoreError as error:
            log.warning("no cleanup at the start: %s", error.message)
