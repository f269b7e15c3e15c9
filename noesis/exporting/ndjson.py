"""Writes an export as NDJSON: a header, then a memory a line.  docs/export.md tells of the format."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from noesis.embedding.base import EmbedderIdentity
from noesis.exporting.values import Exported, Outline, Piece, Stage
from noesis.memory import NEVER, Memory, MemoryType, to_datetime
from noesis.sources.foreign import EXPORT_FORMAT, EXPORT_VERSION


class HeaderLine(msgspec.Struct, frozen=True, kw_only=True):
    """The first line.  `embedder` is there when the lines have vectors: they are of this model."""

    format: str = EXPORT_FORMAT
    version: int = EXPORT_VERSION
    exported_at: datetime
    memories: int
    agent_id: str | None
    archive: Stage
    embedder: EmbedderIdentity | UnsetType = UNSET


class VectorLine(msgspec.Struct, frozen=True):
    """A chunk: offset and length in characters, and its vector as float32, little endian, in Base64."""

    start: int
    length: int
    vector: str | None


class MemoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """One memory; `expires_at` is null when it never does, `archived_at` when it is active."""

    id: str
    agent_id: str
    session_id: str | None
    memory_type: MemoryType
    text: str
    priority: int
    priority_set_by: str
    tags: tuple[str, ...]
    source: str | None
    position: int | None
    author: str | None
    author_role: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    archived_at: datetime | None
    archive_reason: str | None
    superseded_by: str | UnsetType = UNSET
    vectors: tuple[VectorLine, ...] | UnsetType = UNSET


_AS_IT_IS = tuple(
    name
    for name in MemoryLine.__struct_fields__
    if name not in ("superseded_by", "vectors") and not name.endswith("_at")
)


class NdjsonWriter:
    """Writes the lines."""

    file_name = "noesis-export.ndjson"
    media_type = "application/x-ndjson"

    def begin(self, outline: Outline) -> bytes:
        """The header."""
        return header_of(outline) + b"\n"

    def write(self, memories: Sequence[Exported]) -> bytes:
        """A line for each memory."""
        return b"".join(msgspec.json.encode(line_of(each)) + b"\n" for each in memories)

    def end(self) -> bytes:
        """Nothing: the header says how many lines there are."""
        return b""


def header_of(outline: Outline) -> bytes:
    """The header as JSON."""
    line = HeaderLine(
        exported_at=to_datetime(outline.at),
        memories=outline.memories,
        agent_id=outline.wanted.agent,
        archive=outline.wanted.archive,
        embedder=outline.embedder or UNSET,
    )
    return msgspec.json.encode(line)


def line_of(exported: Exported) -> MemoryLine:
    """A memory as a line."""
    return MemoryLine(
        **values_of(exported.memory),
        superseded_by=exported.superseded_by or UNSET,
        vectors=tuple(_vector(piece) for piece in exported.pieces) or UNSET,
    )


def values_of(memory: Memory) -> dict[str, Any]:
    """A memory's own values as they are written."""
    archived_at = memory.archived_at
    return {
        **{name: getattr(memory, name) for name in _AS_IT_IS},
        "created_at": to_datetime(memory.created_at),
        "updated_at": to_datetime(memory.updated_at),
        "expires_at": None if memory.expires_at == NEVER else to_datetime(memory.expires_at),
        "archived_at": None if archived_at is None else to_datetime(archived_at),
    }


def _vector(piece: Piece) -> VectorLine:
    vector = None if piece.vector is None else base64.b64encode(piece.vector.astype("<f4").tobytes()).decode()
    return VectorLine(piece.start, piece.length, vector)
