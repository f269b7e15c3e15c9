"""What the API answers, as values; fields that a newer server adds are passed over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from noesis.memory import EmbeddingState, MemoryType


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One memory; `expires_at` is None when it never expires, `superseded_by` the id of what replaces it."""

    id: str
    agent_id: str
    text: str
    memory_type: MemoryType
    priority: int
    created_at: datetime
    updated_at: datetime
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    source: str | None = None
    position: int | None = None
    author: str | None = None
    author_role: str | None = None
    embedding_state: EmbeddingState = EmbeddingState.READY
    expires_at: datetime | None = None
    archived: bool = False
    archived_at: datetime | None = None
    archive_reason: str | None = None
    superseded_by: str | None = None


class Hit(Memory, frozen=True, kw_only=True):
    """A memory that a search found; `score` lies in 0 to 1 and compares within one answer only."""

    score: float


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The hits of a search, best first; `degraded` says that a part of it was missing, `reason` which."""

    hits: list[Hit]
    took_ms: float
    degraded: bool = False
    reason: str | None = None


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of storing a memory; a `duplicate` was there before and keeps its id."""

    id: str
    duplicate: bool
    chunks: int
    embedding_state: EmbeddingState


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a list, newest first; `cursor` asks for the next part and is None at the end."""

    memories: list[Memory]
    cursor: str | None = None


class Included(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of an assembled block: why it is there, and the tokens it takes."""

    id: str
    why: tuple[str, ...]
    token_count: int
    memory_type: MemoryType
    priority: int
    created_at: datetime
    score: float | None = None


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """The block for a prompt, empty when there is nothing to say, and what it is made of."""

    text: str
    token_count: int
    memories: list[Included]
    left_out: dict[str, int] = {}
    took_ms: float = 0.0
    degraded: bool = False
    reason: str | None = None


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages of a turn will be looked at; a `duplicate` was handed over before."""

    accepted: int
    duplicate: bool = False


class New(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory to store.  `ttl_days` is its life in days, fractions allowed, 0 = never expires."""

    text: str
    memory_type: MemoryType = MemoryType.FACT
    priority: int | None = None
    tags: tuple[str, ...] = ()
    ttl_days: float | None = None
    session_id: str | None = None
    source: str | None = None
    position: int | None = None
    author: str | None = None
    author_role: str | None = None
    created_at: datetime | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a turn; `role` is user, assistant, tool or system, `entry_id` the host's id of it."""

    role: str
    content: str
    timestamp: int | str | None = None
    entry_id: str | None = None
    seq: int | None = None
    author: str | None = None


Stats = dict[str, Any]
"""Counts of what is remembered, as GET /api/v1/stats gives them."""
