"""Routes of the archive: look through it, bring memories back, see what goes for good next."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import get, post
from litestar.params import FromQuery, JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.views import MemoryView, memory_view, named_agent
from noesis.archiving import Outcome, Restored
from noesis.memory import NEVER, MemoryType, to_datetime


class ArchiveView(msgspec.Struct, frozen=True):
    """Part of the archive, newest first, and what there is in all by month of creation and by type."""

    memories: list[MemoryView]
    cursor: str | None
    months: dict[str, int]
    types: dict[str, int]


class RestoreRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The memories to bring back, and how many days they live from now; without, as long as their type."""

    ids: tuple[str, ...]
    ttl_days: float | None = None


class RestoredView(msgspec.Struct, frozen=True):
    """What became of one id; `expires_at` is null when it was not brought back or never expires."""

    id: str
    outcome: Outcome
    expires_at: datetime | None


class RestoreAnswer(msgspec.Struct, frozen=True):
    """How many memories were brought back, and what became of each id, in order."""

    restored: int
    results: list[RestoredView]


class ExpiringView(msgspec.Struct, frozen=True):
    """A memory of the archive, and when it is purged for good."""

    memory: MemoryView
    purge_at: datetime


class ExpiringAnswer(msgspec.Struct, frozen=True):
    """What is purged next, the next to go first."""

    archive_ttl_days: float
    deleted_keep_days: float
    memories: list[ExpiringView]


@get("/archive", tags=["archive"], summary="Look through the archive")
async def browse_archive(
    request: ApiRequest,
    noesis: Wired,
    memory_type: FromQuery[MemoryType | None] = None,
    month: FromQuery[str | None] = None,
    agent_id: FromQuery[str | None] = None,
    cross_agent: FromQuery[bool] = False,
    limit: FromQuery[int] = 50,
    cursor: FromQuery[str | None] = None,
) -> ArchiveView:
    """Archived memories, newest first, in pages; `month` (2026-05) is that of their creation."""
    shelf = await noesis.retention.archiving.browse(
        request.auth,
        memory_type=memory_type,
        month=month,
        limit=limit,
        cursor=cursor,
        cross_agent=cross_agent,
        agent=named_agent(agent_id),
    )
    memories = [memory_view(memory) for memory in shelf.page.memories]
    return ArchiveView(memories, shelf.page.cursor, shelf.months, shelf.types)


@post("/archive/restore", status_code=200, tags=["archive"], summary="Bring archived memories back")
async def restore_archived(
    request: ApiRequest, noesis: Wired, data: JSONBody[RestoreRequest]
) -> RestoreAnswer:
    """Make archived memories active again, with a new life; each id has an outcome of its own."""
    results = await noesis.retention.archiving.restore(request.auth, data.ids, data.ttl_days)
    views = [RestoredView(each.id, each.outcome, _time(each)) for each in results]
    return RestoreAnswer(sum(each.outcome == "restored" for each in results), views)


@get("/archive/expiring", tags=["archive"], summary="What is purged next")
async def list_expiring(
    request: ApiRequest, noesis: Wired, agent_id: FromQuery[str | None] = None, limit: FromQuery[int] = 50
) -> ExpiringAnswer:
    """Archived and deleted memories that are purged for good next, and when."""
    found = await noesis.retention.purging.expiring(request.auth, limit=limit, agent=named_agent(agent_id))
    return ExpiringAnswer(
        noesis.settings.archive_ttl_days,
        noesis.settings.deleted_keep_days,
        [ExpiringView(memory_view(each.memory), to_datetime(each.purge_at)) for each in found],
    )


def _time(restored: Restored) -> datetime | None:
    return None if restored.expires_at in (None, NEVER) else to_datetime(restored.expires_at or 0)


HANDLERS = [browse_archive, restore_archived, list_expiring]
