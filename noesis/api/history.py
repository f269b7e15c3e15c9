"""The route of a memory's history."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import get
from litestar.params import FromPath, FromQuery

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.events import Changed, Event, EventKind, Value
from noesis.memory import NEVER, to_datetime

_TIMES = ("expires_at", "created_at")


class ChangedView(msgspec.Struct, frozen=True):
    """A field that got another value; of a text the values are not kept, of times that are never null."""

    field: str
    old: Value
    new: Value


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """What happened: when, to whose memory, by whom, why, and what it changed."""

    at: datetime
    kind: EventKind
    agent_id: str
    actor: str
    because: str | None
    changed: list[ChangedView]


class HistoryView(msgspec.Struct, frozen=True):
    """Part of a memory's history, newest first; ask for the rest with `cursor`, which is null at the end."""

    id: str
    events: list[EventView]
    cursor: str | None


def event_view(event: Event) -> EventView:
    """The API's form of an event."""
    return EventView(
        at=to_datetime(event.at),
        kind=event.kind,
        agent_id=event.agent,
        actor=event.actor,
        because=event.because,
        changed=[_changed(each) for each in event.changed],
    )


def _changed(changed: Changed) -> ChangedView:
    if changed.field not in _TIMES:
        return ChangedView(changed.field, changed.old, changed.new)
    return ChangedView(changed.field, _time(changed.old), _time(changed.new))


def _time(value: Value) -> str | None:
    """A time as the API writes one, null for never."""
    if not isinstance(value, int) or value == NEVER:
        return None
    return str(msgspec.to_builtins(to_datetime(value)))


@get("/memories/{memory_id:str}/history", summary="What happened to a memory", tags=["memories"])
async def get_history(
    request: ApiRequest,
    noesis: Wired,
    memory_id: FromPath[str],
    limit: FromQuery[int] = 50,
    cursor: FromQuery[str | None] = None,
) -> HistoryView:
    """Every change with who made it, newest first; of a memory that is gone for good for administrators only."""
    page = await noesis.oversight.history.of(request.auth, memory_id, limit=limit, cursor=cursor)
    return HistoryView(memory_id, [event_view(event) for event in page.events], page.cursor)


HANDLERS = [get_history]
