"""What a change did to a memory, by its rows before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from noesis.events import Changed, Event, EventKind
from noesis.memory import DELETED, MERGED
from noesis.store.schema import Row

_FIELDS = (
    "memory_type",
    "priority",
    "tags",
    "expires_at",
    "session_id",
    "source",
    "author",
    "created_at",
    "trust",
)
"""What a history tells of.  A position is not: it moves with every section that is put in above."""

_LEAVING = {DELETED: EventKind.DELETED, MERGED: EventKind.MERGED}


class Standing(msgspec.Struct, frozen=True):
    """How a memory stands: its rows, none when there is no such memory, and whether it is in the archive."""

    rows: Sequence[Row] = ()
    archived: bool = False


def events_of(moves: Iterable[tuple[Standing, Standing]], change: Any, at: int) -> Iterator[Event]:
    """The events of one change, which may name its `actor`, why (`because`), and an `event_kind` of its own.

    What only gave a memory its vector, or moved it within its file, is no event.
    """
    for before, after in moves:
        changed = tuple(_changed(before, after))
        kind = _kind(before, after, changed)
        if kind is None:
            continue
        row = (after.rows or before.rows)[0]
        because: str | None = getattr(change, "because", None)
        if because is None and kind is EventKind.ARCHIVED:
            because = row.archive_reason
        yield Event(
            memory_id=row.parent_id,
            agent=row.agent_id,
            kind=getattr(change, "event_kind", None) or kind,
            at=at,
            actor=getattr(change, "actor", ""),
            because=because,
            changed=changed,
        )


def _kind(before: Standing, after: Standing, changed: Sequence[Changed]) -> EventKind | None:
    if not before.rows:
        return EventKind.CREATED if after.rows else None
    if not after.rows:
        return EventKind.PURGED
    was, is_now = before.rows[0].archive_reason, after.rows[0].archive_reason
    if after.archived and (not before.archived or was != is_now):
        return _LEAVING.get(is_now or "", EventKind.ARCHIVED)
    if before.archived and not after.archived:
        return EventKind.UNDELETED if was == DELETED else EventKind.RESTORED
    return EventKind.UPDATED if changed else None


def _changed(before: Standing, after: Standing) -> Iterator[Changed]:
    if not before.rows or not after.rows:
        return
    old, new = before.rows[0], after.rows[0]
    if old.content_hash != new.content_hash:
        yield Changed("text")
    for name in _FIELDS:
        was, is_now = getattr(old, name), getattr(new, name)
        if was != is_now:
            yield Changed(name, was, is_now)
