"""The forms of snapshots: take one, fetch one back."""

from __future__ import annotations

from litestar import Response, post

from noesis.api.access import PAGE, Wired
from noesis.api.snapshots import start_fetch
from noesis.dashboard.backups_page import backups_page
from noesis.dashboard.forms import read_form
from noesis.dashboard.rendering import PageRequest, see
from noesis.dashboard.translation import gettext_noop
from noesis.errors import Conflict, NoesisError


@post("/backups/snapshots/take", opt=PAGE, include_in_schema=False, status_code=200)
async def take_snapshot(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start a snapshot.  Raises Conflict when they are off."""
    if not noesis.snapshots.enabled:
        raise Conflict(
            gettext_noop(
                "Snapshots are off: set NOESIS_GIT_LFS_ENABLED, and NOESIS_GIT_LFS_REPO to push them."
            )
        )
    await noesis.audit.record(request.auth.actor, "snapshot started")
    await noesis.jobs.enqueue("snapshot", key="snapshot")
    return see("/backups?said=snapshot-started#snapshots")


@post("/backups/snapshots/fetch", opt=PAGE, include_in_schema=False, status_code=200)
async def fetch_snapshot(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start fetching a snapshot of the remote; the newest, or the one that is named."""
    commit = (await read_form(request)).get("commit", "").strip() or None
    try:
        await start_fetch(noesis, request.auth.actor, commit)
    except NoesisError as error:
        return await backups_page(request, noesis, error, of_snapshots=True)
    return see("/backups?said=snapshot-fetched")


HANDLERS = [take_snapshot, fetch_snapshot]
