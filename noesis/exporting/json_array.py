"""Writes an export as the JSON array that the original plugin's export was, with what it did not know beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from noesis.exporting.ndjson import line_of
from noesis.exporting.values import Exported, Outline
from noesis.memory import NEVER, MemoryType
from noesis.sources.foreign import EXPORT_VERSION


class OriginalRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of the original's export; times are ms, 0 is "never expires".  `noesis` is what it had not."""

    id: str
    agent_id: str
    session_id: str
    content: str
    memory_type: MemoryType
    priority: int
    expires_at: int
    created_at: int
    source_path: str
    checksum: str
    tags: tuple[str, ...]
    noesis: dict[str, Any]


_OF_THE_ORIGINAL = ("id", "agent_id", "session_id", "text", "memory_type", "priority", "source", "tags")
_TIMES = ("created_at", "expires_at")


class JsonArrayWriter:
    """Writes the array, an element a line."""

    file_name = "noesis-export.json"
    media_type = "application/json"

    def __init__(self) -> None:
        self._before = b"[\n"

    def begin(self, _outline: Outline) -> bytes:
        """Nothing: an array has no place for it."""
        return b""

    def write(self, memories: Sequence[Exported]) -> bytes:
        """An element for each memory."""
        written = bytearray()
        for each in memories:
            written += self._before + msgspec.json.encode(_row(each))
            self._before = b",\n"
        return bytes(written)

    def end(self) -> bytes:
        """The closing bracket."""
        return (b"[" if self._before == b"[\n" else b"\n") + b"]\n"


def _row(exported: Exported) -> OriginalRow:
    memory = exported.memory
    more = msgspec.to_builtins(line_of(exported))
    own = {name: value for name, value in more.items() if name not in (*_OF_THE_ORIGINAL, *_TIMES)}
    return OriginalRow(
        id=memory.id,
        agent_id=memory.agent_id,
        session_id=memory.session_id or "",
        content=memory.text,
        memory_type=memory.memory_type,
        priority=memory.priority,
        expires_at=0 if memory.expires_at == NEVER else memory.expires_at,
        created_at=memory.created_at,
        source_path=memory.source or "",
        checksum=memory.content_hash,
        tags=memory.tags,
        noesis={"version": EXPORT_VERSION, **own},
    )
