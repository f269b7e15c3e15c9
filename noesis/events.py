"""What happened to a memory, as its history keeps it: never what it says."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Sequence

import msgspec

Value = str | int | list[str] | None
"""A small value of a memory: a type, a priority, tags, a time in ms, a source or a session."""


class EventKind(enum.StrEnum):
    """What was done to a memory."""

    CREATED = "created"
    UPDATED = "updated"
    ARCHIVED = "archived"
    RESTORED = "restored"
    DELETED = "deleted"
    UNDELETED = "undeleted"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    PURGED = "purged"


class Changed(msgspec.Struct, frozen=True):
    """One field of a memory that has another value now; of `text` the values are not kept."""

    field: str
    old: Value = None
    new: Value = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one memory: when (ms since 1970), by whom, why, and which fields it touched."""

    memory_id: str
    agent: str
    kind: EventKind
    at: int
    actor: str = ""
    because: str | None = None
    changed: tuple[Changed, ...] = ()


Witness = Callable[[Sequence[Event]], Awaitable[None]]
"""Is told of the events of a commit once that is on the disk.

It must not fail: the memories are stored, whatever becomes of their history.
"""
