"""The part of the page of backups that is about snapshots."""

from __future__ import annotations

import msgspec

from noesis.dashboard.backup_rows import SnapshotRow, snapshot_row
from noesis.dashboard.coming import next_of
from noesis.dashboard.presenters import Moment, moment
from noesis.errors import NoesisError
from noesis.runtime import Noesis


class SnapshotsPart(msgspec.Struct, frozen=True, kw_only=True):
    """How the snapshots stand; `trouble` is why they cannot be told of."""

    enabled: bool
    remote: str | None
    branch: str | None
    tried: Moment | None
    pushed: Moment | None
    next: Moment | None
    error: str | None
    warning: str | None
    trouble: str | None
    rows: tuple[SnapshotRow, ...]


async def snapshots_part(noesis: Noesis, now_ms: int) -> SnapshotsPart:
    """How the snapshots stand now."""
    snapshots, state = noesis.snapshots, await noesis.snapshots.state()
    remote, trouble = None, None
    rows: tuple[SnapshotRow, ...] = ()
    try:
        remote = snapshots.remote
        rows = tuple(snapshot_row(commit, now_ms) for commit in await snapshots.log())
    except NoesisError as error:
        trouble = error.message
    return SnapshotsPart(
        enabled=snapshots.enabled,
        remote=None if remote is None else remote.address,
        branch=state.branch,
        tried=None if state.tried_at is None else moment(state.tried_at, now_ms),
        pushed=None if state.pushed_at is None else moment(state.pushed_at, now_ms),
        next=next_of("snapshot", noesis.settings, now_ms),
        error=state.error,
        warning=state.warning,
        trouble=trouble,
        rows=rows,
    )
