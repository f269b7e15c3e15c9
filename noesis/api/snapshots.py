"""Routes of snapshots: how they stand, take one, fetch one back."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import get, post
from litestar.params import JSONBody

from noesis.api.access import ADMIN, GATEWAY, Wired
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.errors import Conflict
from noesis.ledger import Job
from noesis.memory import to_datetime
from noesis.runtime import Noesis


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot: its commit, when it was made, what it says of itself, and whether the remote has it."""

    commit: str
    created_at: datetime
    subject: str
    pushed: bool


class SnapshotsView(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshots that are kept, newest first, and how the last try went; `remote` holds no secret."""

    enabled: bool
    remote: str | None
    tried_at: datetime | None
    pushed_at: datetime | None
    branch: str | None
    error: str | None
    warning: str | None
    snapshots: list[SnapshotView]


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which snapshot of the remote; without a commit the newest."""

    commit: str | None = None


@get("/snapshots", opt=GATEWAY, tags=["backups"], summary="All snapshots")
async def list_snapshots(noesis: Wired) -> SnapshotsView:
    """The snapshots that are kept, and how the last one went."""
    state, remote = await noesis.snapshots.state(), noesis.snapshots.remote
    return SnapshotsView(
        enabled=noesis.snapshots.enabled,
        remote=None if remote is None else remote.address,
        tried_at=_time(state.tried_at),
        pushed_at=_time(state.pushed_at),
        branch=state.branch,
        error=state.error,
        warning=state.warning,
        snapshots=[
            SnapshotView(
                commit=each.id, created_at=to_datetime(each.at), subject=each.subject, pushed=each.pushed
            )
            for each in await noesis.snapshots.log()
        ],
    )


@post("/snapshots", opt=GATEWAY, status_code=202, tags=["backups"], summary="Take a snapshot")
async def take_snapshot(request: ApiRequest, noesis: Wired) -> JobStarted:
    """Start a snapshot; one that is being taken is the answer to a second request."""
    if not noesis.snapshots.enabled:
        raise Conflict("Snapshots are off: set NOESIS_GIT_LFS_ENABLED, and NOESIS_GIT_LFS_REPO to push them.")
    await noesis.audit.record(request.auth.actor, "snapshot started")
    return started(await noesis.jobs.enqueue("snapshot", key="snapshot"))


@post(
    "/snapshots/fetch",
    opt=ADMIN,
    status_code=202,
    tags=["backups"],
    summary="Fetch a snapshot from the remote",
)
async def fetch_snapshot(request: ApiRequest, noesis: Wired, data: JSONBody[FetchRequest]) -> JobStarted:
    """Start cloning a snapshot; all of it is compared, then it is listed as a backup that can be restored."""
    return started(await start_fetch(noesis, request.auth.actor, data.commit))


async def start_fetch(noesis: Noesis, actor: str, commit: str | None) -> Job:
    """Start fetching the newest snapshot, or that of a commit.  Raises Conflict without a remote, InvalidInput."""
    noesis.snapshots.expect_fetchable(commit)
    await noesis.audit.record(actor, "snapshot fetched", commit or "the newest")
    key = f"fetch_snapshot:{commit or ''}"
    return await noesis.jobs.enqueue("fetch_snapshot", key=key, args={"commit": commit})


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else to_datetime(ms)


HANDLERS = [list_snapshots, take_snapshot, fetch_snapshot]
