"""Reads what mem0 gives out: the answer of `get_all` or a list of its memories, as JSON.

Field names after mem0's MemoryItem and the keys its `get_all` puts beside it (mem0/memory/main.py), and
the hosted API's `categories` and `expiration_date`.  Exports of a schema of one's own are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from noesis.memory import MemoryType, NewMemory
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.splitting import read_elements
from noesis.sources.foreign.values import (
    agent_of,
    decode,
    moment,
    require_text,
    short_text,
    tidy_name,
    tidy_tags,
    type_of,
)

KEYS = ("results", "memories", "records")
SOURCE = "mem0"


class _Metadata(msgspec.Struct, frozen=True):
    type: msgspec.Raw = msgspec.Raw()
    category: msgspec.Raw = msgspec.Raw()


class _Item(msgspec.Struct, frozen=True):
    id: str | None = None
    memory: str | None = None
    text: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    metadata: _Metadata | None = None
    categories: list[str] | None = None
    created_at: str | float | None = None
    updated_at: str | float | None = None
    expiration_date: str | float | None = None


def read_mem0(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of a mem0 export, in order.  Raises InvalidInput when the file is no such export."""
    return read_elements(file, _record, keys=KEYS)


def _record(element: bytes) -> Record:
    item = decode(element, _Item)
    metadata = item.metadata or _Metadata()
    kind = short_text(metadata.type) or short_text(metadata.category)
    memory = NewMemory(
        text=require_text(item.memory or item.text, "memory"),
        memory_type=type_of(kind, MemoryType.FACT),
        tags=tidy_tags([*(item.categories or ()), kind]),
        session_id=tidy_name(item.run_id),
        source=SOURCE,
        author=tidy_name(item.actor_id or item.user_id),
        author_role=item.role if item.role in ("user", "assistant") else None,
        created_at=moment(item.created_at),
    )
    return Record(
        memory=memory,
        agent=agent_of(item.agent_id),
        id=item.id,
        updated_at=moment(item.updated_at),
        expires_at=moment(item.expiration_date),
        raw_agent=item.agent_id,
    )
