"""The jobs of backups, and when they recur."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from noesis.backup import looks
from noesis.backup.values import Wanted
from noesis.errors import Cancelled, Conflict, NoesisError
from noesis.runtime import Noesis
from noesis.settings import Settings
from noesis.worker.crons import Cron
from noesis.worker.handlers import Handler, JobContext

_DAY_MS = 86_400_000


async def backup(context: JobContext, scheduled: bool = False) -> dict[str, Any]:
    """Make a backup and copy it; progress is in bytes: each is read three times, and travels twice."""
    noesis: Noesis = context.runtime
    try:
        made = await noesis.backups.create(
            scheduled=scheduled, tell=context.progress, cancelled=context.cancelled
        )
    except Cancelled as error:
        return {"cancelled": error.message}
    except NoesisError as error:
        await noesis.activity.record("backup", f"No backup was made: {error.message}", level="error")
        raise
    await noesis.activity.record("backup", f"{made.name}: {made.memories:,} memories, verified.")
    if made.copy_error is not None:
        words = f"{made.name} was not copied to the bucket: {made.copy_error}"
        await noesis.activity.record("backup", words, level="error", job_id=context.job.id)
    return msgspec.to_builtins(made)  # type: ignore[no-any-return]


async def fetch_backup(context: JobContext, name: str) -> dict[str, Any]:
    """Fetch a backup from the bucket; progress is in bytes."""
    noesis: Noesis = context.runtime
    try:
        fetched = await noesis.backups.fetch(name, context.progress, context.cancelled)
    except Cancelled as error:
        return {"cancelled": error.message}
    return msgspec.to_builtins(fetched)  # type: ignore[no-any-return]


async def verify(context: JobContext, name: str | None = None) -> dict[str, Any]:
    """Look at all of a backup, or of the live store."""
    noesis: Noesis = context.runtime
    work = noesis.backups
    tell, cancelled = context.progress, context.cancelled
    try:
        found = await (
            work.verify_live(tell, cancelled) if name is None else work.verify(name, tell, cancelled)
        )
    except Cancelled as error:
        return {"cancelled": error.message}
    if not found.ok:
        await noesis.activity.record("verify", f"{found.name}: {' '.join(found.problems)}", level="error")
    return {**msgspec.to_builtins(found), "ok": found.ok}


async def preview(
    context: JobContext,
    name: str,
    agent: str | None = None,
    source: str | None = None,
    ids: list[str] | None = None,
) -> dict[str, Any]:
    """Say what a restore would do, or lay a part of a backup beside what is there now."""
    noesis: Noesis = context.runtime
    work, tell, cancelled = noesis.backups, context.progress, context.cancelled
    wanted = Wanted(agent=agent, source=source, ids=tuple(ids or ()))
    try:
        path = work.shelf.path(name)
        if wanted.whole:
            return {"preview": msgspec.to_builtins(await work.preview(path, tell, cancelled))}
        memories = await work.beside(path, wanted, looks.MOST_SHOWN, tell, cancelled)
    except Cancelled as error:
        return {"cancelled": error.message}
    except NoesisError as error:
        return looks.refused(error)
    await asyncio.to_thread(work.looks.put, context.job.id, memories)
    return {"memories": len(memories)}


async def restore(
    context: JobContext,
    name: str | None = None,
    undo: bool = False,
    safety_backup: bool = True,
    foreign: bool = False,
    actor: str = "restore",
    agent: str | None = None,
    source: str | None = None,
    ids: list[str] | None = None,
) -> dict[str, Any]:
    """Restore a backup, a part of one, or undo the last restore."""
    noesis: Noesis = context.runtime
    work, tell, cancelled = noesis.backups, context.progress, context.cancelled
    wanted = Wanted(agent=agent, source=source, ids=tuple(ids or ()))
    try:
        if undo:
            done: Any = await work.undo(made_for=context.job.id)
        elif not wanted.whole:
            done = await work.bring(work.shelf.path(name or ""), wanted, actor, tell, cancelled)
        else:
            done = await work.restore(
                work.shelf.path(name or ""),
                made_for=context.job.id,
                safety_backup=safety_backup,
                foreign=foreign,
                tell=tell,
                cancelled=cancelled,
            )
    except Cancelled as error:
        return {"cancelled": error.message}
    what = "the last restore was undone" if undo else f"restored from {name}"
    await noesis.activity.record("restore", f"By {actor}: {what}.")
    return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def drill(context: JobContext) -> dict[str, Any]:
    """Restore the newest backup beside and compare."""
    noesis: Noesis = context.runtime
    try:
        proven = await noesis.backups.drill(context.progress, context.cancelled)
    except Cancelled as error:
        return {"cancelled": error.message}
    except Conflict as error:
        return {"nothing": error.message}
    except NoesisError as error:
        await noesis.activity.record("drill", f"The drill failed: {error.message}", level="error")
        raise
    return msgspec.to_builtins(proven)  # type: ignore[no-any-return]


_LONG_S = 12 * 3600.0

HANDLERS = {
    "backup": Handler(run=backup, timeout_s=_LONG_S, max_attempts=3, concurrency=1),
    "fetch_backup": Handler(run=fetch_backup, timeout_s=_LONG_S, max_attempts=3, concurrency=1),
    "verify": Handler(run=verify, timeout_s=_LONG_S, max_attempts=3, concurrency=1),
    looks.JOB: Handler(run=preview, timeout_s=_LONG_S, max_attempts=3, concurrency=2),
    "restore": Handler(run=restore, timeout_s=_LONG_S, max_attempts=3, concurrency=1),
    "drill": Handler(run=drill, timeout_s=_LONG_S, max_attempts=3, concurrency=1),
}


def crons(settings: Settings) -> tuple[Cron, ...]:
    """The daily backup and the drill, as far as they are wanted."""
    found: list[Cron] = []
    daily_at = settings.backup_schedule
    if daily_at is not None:
        found.append(
            Cron(name="backup", job="backup", key="backup", daily_at=daily_at, args={"scheduled": True})
        )
    if settings.backup_drill_days:
        every_ms = settings.backup_drill_days * _DAY_MS
        found.append(Cron(name="drill", job="drill", key="drill", every_ms=every_ms))
    return tuple(found)
