"""Reads the JSON array that our own export and the original plugin's are.

An element of ours has a member `noesis` with what the original did not know.  The original wrote a row
for each chunk of a document, with the whole text in each, so that its ids name no document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from noesis.memory import NEVER, MemoryType, NewMemory
from noesis.sources.foreign.ndjson import Line, check_version, record_of
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.splitting import read_elements
from noesis.sources.foreign.values import (
    agent_of,
    clamp_priority,
    decode,
    moment,
    require_text,
    tidy_name,
    tidy_tags,
    type_of,
)


class _Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    content: str | None = None
    memory_type: str | None = None
    priority: int | None = None
    expires_at: float | None = None
    created_at: float | None = None
    source_path: str | None = None
    tags: list[str | None] | None = None
    noesis: msgspec.Raw = msgspec.Raw()


class _Version(msgspec.Struct, frozen=True):
    version: int


def read_own_array(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of such an array, in order.  Raises InvalidInput when the file is no array."""
    return read_elements(file, _record)


def _record(element: bytes) -> Record:
    row = decode(element, _Row)
    return _ours(row) if bytes(row.noesis) else _of_original(row)


def _ours(row: _Row) -> Record:
    more = bytes(row.noesis)
    check_version(decode(more, _Version).version)
    values = msgspec.structs.asdict(decode(more, Line)) | {
        "id": row.id,
        "agent_id": row.agent_id,
        "session_id": row.session_id or None,
        "text": row.content,
        "priority": row.priority,
        "source": row.source_path or None,
        "tags": tuple(tag for tag in row.tags or () if tag is not None),
    }
    record = record_of(Line(**values), len(values))
    memory = msgspec.structs.replace(
        record.memory,
        memory_type=type_of(row.memory_type, MemoryType.FACT),
        created_at=moment(row.created_at),
    )
    return msgspec.structs.replace(record, memory=memory, expires_at=_expiry(row), ignored_fields=0)


def _of_original(row: _Row) -> Record:
    kind = type_of(row.memory_type, MemoryType.CONTEXT)
    memory = NewMemory(
        text=require_text(row.content, "content"),
        memory_type=kind,
        # 0 is also what the original wrote when nobody gave a priority.
        priority=None if row.priority in (0, kind.default_priority) else clamp_priority(row.priority),
        tags=tidy_tags(row.tags or ()),
        session_id=tidy_name(row.session_id),
        source=tidy_name(row.source_path),
        created_at=moment(row.created_at),
    )
    return Record(
        memory=memory,
        agent=agent_of(row.agent_id or None),
        expires_at=_expiry(row),
        raw_agent=row.agent_id or None,
    )


def _expiry(row: _Row) -> int:
    """When it expires (ms): the original wrote 0 for never."""
    return moment(row.expires_at or None) or NEVER
