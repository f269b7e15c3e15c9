"""Reads the JSON export of mcp-memory-service (`{"export_metadata": …, "memories": […]}`).

Field names after its importer (src/mcp_memory_service/sync/importer.py).
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
    tidy_tags,
    type_of,
)

KEYS = ("memories",)
SOURCE = "mcp-memory-service"


class _Metadata(msgspec.Struct, frozen=True):
    agent_id: msgspec.Raw = msgspec.Raw()


class _Item(msgspec.Struct, frozen=True):
    content: str | None = None
    content_hash: str | None = None
    tags: list[str] | str | None = None
    memory_type: str | None = None
    metadata: _Metadata | None = None
    created_at: str | float | None = None
    created_at_iso: str | None = None
    updated_at: str | float | None = None
    updated_at_iso: str | None = None


def read_mcp_memory_service(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of an export, in order.  Raises InvalidInput when the file is no such export."""
    return read_elements(file, _record, keys=KEYS)


def _record(element: bytes) -> Record:
    item = decode(element, _Item)
    # Older versions kept tags as one string with commas.
    tags = item.tags.split(",", 1000) if isinstance(item.tags, str) else (item.tags or [])
    agent = short_text((item.metadata or _Metadata()).agent_id)
    kind = type_of(item.memory_type or "note", MemoryType.CONTEXT)
    memory = NewMemory(
        text=require_text(item.content, "content"),
        memory_type=kind,
        # The word it had says more than our type where that one is only the nearest.
        tags=tidy_tags(tags if item.memory_type in (None, kind) else [*tags[:31], item.memory_type]),
        source=SOURCE,
        created_at=moment(item.created_at) or moment(item.created_at_iso),
    )
    return Record(
        memory=memory,
        agent=agent_of(agent),
        id=item.content_hash,
        updated_at=moment(item.updated_at) or moment(item.updated_at_iso),
        raw_agent=agent,
    )
