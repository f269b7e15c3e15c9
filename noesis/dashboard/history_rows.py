"""A memory's history as its page shows it: what happened in words, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard import times
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.translation import _, gettext_noop, listed
from noesis.dashboard.words import actor_words, field_words, kind_words
from noesis.events import Changed, Event, EventKind, Value
from noesis.memory import NEVER

MOST_SHOWN = 100

_DONE = {
    EventKind.CREATED: gettext_noop("Stored"),
    EventKind.UPDATED: gettext_noop("Changed"),
    EventKind.ARCHIVED: gettext_noop("Archived"),
    EventKind.RESTORED: gettext_noop("Restored from the archive"),
    EventKind.DELETED: gettext_noop("Deleted"),
    EventKind.UNDELETED: gettext_noop("Brought back"),
    EventKind.SUPERSEDED: gettext_noop("Superseded"),
    EventKind.MERGED: gettext_noop("Merged into another"),
    EventKind.PURGED: gettext_noop("Removed for good"),
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
            _(_DONE[event.kind]),
            actor_words(event.actor),
            event.because,
            tuple(_words(each) for each in event.changed),
        )
        for event in events
    ]


def _words(changed: Changed) -> str:
    name = field_words(changed.field)
    if changed.field == "text":
        return name
    old, new = _value(changed.field, changed.old), _value(changed.field, changed.new)
    return _("%(name)s: %(old)s → %(new)s", name=name, old=old, new=new)


def _value(field: str, value: Value) -> str:
    if isinstance(value, list):
        return listed(value) or _("none")
    if field in _TIMES and isinstance(value, int):
        return _time(value)
    if field == "memory_type":
        return kind_words(str(value))
    return _("none") if value is None else str(value)


def _time(at_ms: int) -> str:
    if at_ms == NEVER:
        return _("never")
    return times.exact(at_ms) if times.is_shown_exactly(at_ms) else _("in a century")
