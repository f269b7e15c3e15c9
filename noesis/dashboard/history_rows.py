"""A memory's history as its page shows it: what happened in words, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard import times
from noesis.dashboard.presenters import Moment, moment
from noesis.events import Changed, Event, EventKind, Value
from noesis.memory import NEVER

MOST_SHOWN = 100

_DONE = {
    EventKind.CREATED: "Stored",
    EventKind.UPDATED: "Changed",
    EventKind.ARCHIVED: "Archived",
    EventKind.RESTORED: "Restored from the archive",
    EventKind.DELETED: "Deleted",
    EventKind.UNDELETED: "Brought back",
    EventKind.SUPERSEDED: "Superseded",
    EventKind.MERGED: "Merged into another",
    EventKind.PURGED: "Removed for good",
}
_NAMES = {
    "memory_type": "type",
    "expires_at": "expires",
    "session_id": "session",
    "created_at": "created",
}
_TIMES = ("expires_at", "created_at")


class HistoryRow(msgspec.Struct, frozen=True):
    """One event: when, what was done, by whom and why, and each field that changed."""

    at: Moment
    done: str
    actor: str
    because: str | None
    changes: tuple[str, ...]


def history_rows(events: Sequence[Event], now_ms: int) -> list[HistoryRow]:
    """The events in words."""
    return [
        HistoryRow(
            moment(event.at, now_ms),
            _DONE[event.kind],
            event.actor,
            event.because,
            tuple(_words(each) for each in event.changed),
        )
        for event in events
    ]


def _words(changed: Changed) -> str:
    name = _NAMES.get(changed.field, changed.field)
    if changed.field == "text":
        return "text"
    return f"{name}: {_value(changed.field, changed.old)} → {_value(changed.field, changed.new)}"


def _value(field: str, value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if field in _TIMES and isinstance(value, int):
        return _time(value)
    return "none" if value is None else str(value)


def _time(at_ms: int) -> str:
    if at_ms == NEVER:
        return "never"
    return times.exact(at_ms) if times.is_shown_exactly(at_ms) else "in a century"
