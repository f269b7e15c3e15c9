"""A turn: what one message of a session is to the product, whichever way it came."""

from __future__ import annotations

import msgspec


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session.

    `number` is its place among the session's entries, from 0; it stays the same when the transcript
    grows, and gaps mean nothing.  `entry_id` is the host's own id of the entry, None where it has none.
    `role` is user, assistant, tool or system.  `said_at` is in ms since 1970, None when the transcript does not say.
    `internal` marks what the host itself put in (a heartbeat, a reminder), which nobody said.
    `said_as` tells it from other turns when it came without an id or comes by another way with one;
    it is given where `text` is no longer as it was said, because `redacted` holds.
    """

    session_id: str
    number: int
    role: str
    text: str
    entry_id: str | None = None
    author: str | None = None
    said_at: int | None = None
    internal: bool = False
    said_as: str | None = None
    redacted: bool = False
