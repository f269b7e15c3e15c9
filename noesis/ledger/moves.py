"""The moves of a job from state to state; each function runs inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from noesis.errors import Conflict
from noesis.ledger.table import ENDED, Beat, Job, NewJob, Standing, due, get, live, select, slots, table

CLOCK_SKEW_MS = 60_000  # two machines that differ by less do not undo each other's slots


def _change(connection: sa.Connection, job_id: str, **values: Any) -> Job:
    connection.execute(sa.update(table).where(table.c.id == job_id).values(**values))
    return get(connection, job_id)


def change_run(connection: sa.Connection, job_id: str, claims: int, **values: Any) -> bool:
    """Change the running job that this claim holds; False when it holds it no more."""
    held = (table.c.id == job_id) & (table.c.claims == claims) & (table.c.state == "running")
    return connection.execute(sa.update(table).where(held).values(**values)).rowcount == 1


def _live_with_key(connection: sa.Connection, key: str | None) -> Job | None:
    if key is None:
        return None
    found = select(connection, (table.c.key == key) & live)
    return found[0] if found else None


def create(connection: sa.Connection, new: NewJob, args: str, now_ms: int) -> tuple[Job, bool]:
    """Add a queued job, or give the live one with the same key; the flag says whether it is new."""
    existing = _live_with_key(connection, new.key)
    if existing is not None:
        return existing, False
    values = {"id": new.id, "name": new.name, "key": new.key, "not_before_ms": new.not_before_ms}
    try:
        with connection.begin_nested():
            connection.execute(
                sa.insert(table).values(**values, args=args, state="queued", created_ms=now_ms)
            )
    except sa.exc.IntegrityError:
        # On PostgreSQL another process may have inserted the key since we looked.
        existing = _live_with_key(connection, new.key)
        if existing is None:
            raise
        return existing, False
    return get(connection, new.id), True


def claim(connection: sa.Connection, max_attempts: Mapping[str, int], now_ms: int) -> Job | None:
    """Make the oldest due job with one of these names running; None when there is none."""
    query = (
        sa.select(table.c.id, table.c.name)
        .where(due(now_ms) & table.c.name.in_(list(max_attempts)))
        .order_by(table.c.created_ms, table.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    found = connection.execute(query).first()
    if found is None:
        return None
    return _change(
        connection,
        found.id,
        state="running",
        attempts=table.c.attempts + 1,
        max_attempts=max_attempts[found.name],
        claims=table.c.claims + 1,
        started_ms=now_ms,
        heartbeat_ms=now_ms,
    )


def beat(connection: sa.Connection, beats: Mapping[str, Beat], now_ms: int) -> dict[str, Standing]:
    """Refresh heartbeat and progress of each run that is still held, and tell where each stands."""
    standings: dict[str, Standing] = {}
    for job_id, beat in beats.items():
        values = {"heartbeat_ms": now_ms, "done": beat.done, "total": beat.total}
        if change_run(connection, job_id, beat.claims, **values):
            asked = connection.scalar(sa.select(table.c.cancel_requested).where(table.c.id == job_id))
            standings[job_id] = "cancel" if asked else "kept"
        else:
            standings[job_id] = "lost"
    return standings


def cancel(connection: sa.Connection, job_id: str, now_ms: int) -> Job:
    """End a queued job, or mark a running one.  Raises NotFound and Conflict."""
    job = get(connection, job_id, lock=True)
    if job.state == "running":
        return _change(connection, job_id, cancel_requested=True)
    if job.state == "queued":
        return _change(connection, job_id, state="cancelled", cancel_requested=True, finished_ms=now_ms)
    raise Conflict(f"The job has already ended ({job.state}).")


def retry(connection: sa.Connection, job_id: str) -> Job:
    """Queue a failed or cancelled job anew.  Raises NotFound and Conflict."""
    job = get(connection, job_id, lock=True)
    if job.state not in ("failed", "cancelled"):
        raise Conflict(f"Only a failed or cancelled job can be retried; this one is {job.state}.")
    if _live_with_key(connection, job.key) is not None:
        raise Conflict("The same work is queued or running already.")
    fresh = {"attempts": 0, "not_before_ms": 0, "done": 0, "total": None, "result": None, "error": None}
    flags = {"acknowledged": False, "cancel_requested": False, "finished_ms": None, "started_ms": None}
    try:
        with connection.begin_nested():
            return _change(connection, job_id, state="queued", **fresh, **flags)
    except sa.exc.IntegrityError:
        raise Conflict("The same work is queued or running already.") from None


def acknowledge(connection: sa.Connection, job_id: str) -> Job:
    """Mark a failed job as seen.  Raises NotFound and Conflict."""
    if get(connection, job_id, lock=True).state != "failed":
        raise Conflict("Only a failed job can be acknowledged.")
    return _change(connection, job_id, acknowledged=True)


def put_back(connection: sa.Connection, job: Job, now_ms: int, **values: Any) -> bool:
    """Queue the job of this run again, or end it when a cancel was asked for; False when not held."""
    if get(connection, job.id, lock=True).cancel_requested:
        values = {"state": "cancelled", "finished_ms": now_ms, "error": None}
    return change_run(connection, job.id, job.claims, **{"state": "queued", **values})


def release(connection: sa.Connection, job: Job, now_ms: int) -> bool:
    """Take the job from a run that gives no sign of life; False when it did since `job` was read."""
    # Reads again under the lock: a cancel may have come since `job` was read.
    current = get(connection, job.id, lock=True)
    if current.heartbeat_ms != job.heartbeat_ms:
        return False
    if current.cancel_requested or current.attempts < current.max_attempts:
        return put_back(connection, job, now_ms, not_before_ms=0)
    error = (
        f"The worker stopped while it ran this job, and its attempts ({current.attempts}) are used up. "
        "It can be retried by hand."
    )
    return change_run(connection, job.id, job.claims, state="failed", finished_ms=now_ms, error=error)


def lock_slot(connection: sa.Connection, cron: str) -> int | None:
    """The slot remembered for a cron, held against other processes; None when there is none."""
    return connection.scalar(sa.select(slots.c.slot_ms).where(slots.c.name == cron).with_for_update())


def advance_slot(
    connection: sa.Connection, cron: str, last: int | None, slot_ms: int, period_ms: int
) -> bool:
    """Remember a cron's slot; True when it is a new one that is to be run."""
    if last is None:
        # Two first starts at the same moment: the second insert changes nothing.
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(slots).values(name=cron, slot_ms=slot_ms))
        except sa.exc.IntegrityError:
            pass
        return False
    if slot_ms > last or last - slot_ms > max(period_ms, CLOCK_SKEW_MS):
        connection.execute(sa.update(slots).where(slots.c.name == cron).values(slot_ms=slot_ms))
    return slot_ms > last


def prune(connection: sa.Connection, finished_before_ms: int, keep: int) -> int:
    """Delete ended jobs by age and by count, but none that was the last of its name to end well.

    Gives the number deleted.
    """
    ended = table.c.state.in_(ENDED)
    seen = (table.c.state != "failed") | table.c.acknowledged
    latest = sa.select(sa.func.max(table.c.finished_ms)).where(table.c.state == "succeeded")
    last = (table.c.state == "succeeded") & table.c.finished_ms.in_(latest.group_by(table.c.name))
    old = connection.execute(
        sa.delete(table).where(ended & ~last & seen & (table.c.finished_ms < finished_before_ms))
    ).rowcount
    newest = sa.select(table.c.id).where(ended).order_by(table.c.finished_ms.desc(), table.c.id).limit(keep)
    surplus = connection.execute(sa.delete(table).where(ended & ~last & table.c.id.not_in(newest))).rowcount
    return int(old + surplus)
