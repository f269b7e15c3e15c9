"""What a reader of a foreign format yields."""

from __future__ import annotations

import msgspec

from noesis.memory import NewMemory


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One memory as another program had it.  Times are ms since 1970.

    `agent` is its owner when the name is one Noesis allows, `raw_agent` the name as it was written.
    `id` is the other program's.  `expires_at` is NEVER for what does not expire and None where the
    format does not say; `archived_at` and `archive_reason` tell of the archive as far as it is known.
    `ignored_fields` counts the fields of the entry that mean nothing to Noesis.
    """

    memory: NewMemory
    agent: str | None = None
    id: str | None = None
    updated_at: int | None = None
    archived: bool = False
    expires_at: int | None = None
    raw_agent: str | None = None
    archived_at: int | None = None
    archive_reason: str | None = None
    ignored_fields: int = 0


class Unreadable(msgspec.Struct, frozen=True):
    """One entry that could not be used: where it stands and why, never what it says."""

    place: str
    reason: str
