"""Reads our own export: one JSON object a line, each one memory as the API shows it.

docs/export.md tells of the format.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from noesis.embedding.base import EmbedderIdentity
from noesis.errors import InvalidInput
from noesis.memory import NEVER, MemoryType, NewMemory, to_ms
from noesis.sources.foreign.records import GivenChunk, GivenVectors, Record, Unreadable
from noesis.sources.foreign.splitting import count_members
from noesis.sources.foreign.values import agent_of, decode, require_text

FORMAT = "noesis"
VERSION = 1
"""The newest form of the export that this version reads; the first line may name it."""

MAX_LINE_BYTES = 8 << 20

_BOM = b"\xef\xbb\xbf"


NEWER = "This export was written by a newer version of Noesis. Import it with that version."


class Header(msgspec.Struct, frozen=True):
    """The optional first line: how many memories follow, and whose vectors they bring."""

    format: str
    version: int
    memories: int | None = None
    embedder: EmbedderIdentity | None = None


class _Vector(msgspec.Struct, frozen=True):
    start: int
    length: int
    vector: str | None


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A memory; what is left out says nothing."""

    id: str | UnsetType | None = UNSET
    text: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    agent_id: str | UnsetType | None = UNSET
    session_id: str | UnsetType | None = UNSET
    source: str | UnsetType | None = UNSET
    position: int | UnsetType | None = UNSET
    author: str | UnsetType | None = UNSET
    author_role: str | UnsetType | None = UNSET
    created_at: datetime | UnsetType | None = UNSET
    updated_at: datetime | UnsetType | None = UNSET
    expires_at: datetime | UnsetType | None = UNSET
    archived_at: datetime | UnsetType | None = UNSET
    archive_reason: str | UnsetType | None = UNSET
    priority_set_by: str | UnsetType | None = UNSET
    superseded_by: str | UnsetType | None = UNSET
    vectors: tuple[_Vector, ...] | UnsetType | None = UNSET


FIELDS = Line.__struct_fields__
"""The fields of a line that mean something; others are ignored and counted."""

SET_BY = ("type", "caller")
"""Who can have set a priority."""

_AS_GIVEN = ("memory_type", "priority", "tags", "session_id", "source", "position", "author", "author_role")


def read_ndjson(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of an export, in order; a line that cannot be used comes as Unreadable.

    So does, at the end, a file that has fewer memories than its first line promises.  Raises InvalidInput
    on the first step when the first line names a newer form than VERSION.
    """
    header, found = None, 0
    for number, line in _lines(file):
        if number == 1 and line is not None and (header := _header(line)) is not None:
            continue
        found += 1
        if line is None:
            yield Unreadable(f"line {number}", f"It has more than {MAX_LINE_BYTES:,} bytes.")
        else:
            yield _read(line, number, header)
    if header is not None and header.memories is not None and found < header.memories:
        yield Unreadable(
            "the end",
            f"The file ends early: it has {found:,} of the {header.memories:,} memories it promises.",
        )


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines that are not blank, numbered from 1; None for one over the limit."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        too_long = len(line) > MAX_LINE_BYTES and not line.endswith(b"\n")
        while too_long and line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
        if too_long:
            yield number, None
        elif content := (line.removeprefix(_BOM) if number == 1 else line).strip():
            yield number, content


def _header(line: bytes) -> Header | None:
    """The line if it says of which form the export is.  Raises InvalidInput when it is not for us."""
    try:
        header = decode(line, Header)
    except InvalidInput:
        return None
    if header.format != FORMAT:
        raise InvalidInput("This is an export of another program.", field="format")
    check_version(header.version)
    return header


def check_version(version: int) -> None:
    """Raise InvalidInput for a form that this version does not know."""
    if not 1 <= version <= VERSION:
        raise InvalidInput(NEWER, field="version")


def _read(line: bytes, number: int, header: Header | None) -> Record | Unreadable:
    try:
        return record_of(decode(line, Line), count_members(line), None if header is None else header.embedder)
    except InvalidInput as error:
        return Unreadable(f"line {number}", error.message)


def record_of(line: Line, members: int, embedder: EmbedderIdentity | None = None) -> Record:
    """The memory of a line that has so many members.  Raises InvalidInput."""
    given: dict[str, Any] = {
        name: value for name in FIELDS if (value := getattr(line, name)) is not UNSET and value is not None
    }
    known = sum(getattr(line, name) is not UNSET for name in FIELDS)
    memory = NewMemory(
        text=require_text(given.get("text"), "text"),
        created_at=_time(given, "created_at"),
        **{name: given[name] for name in _AS_GIVEN if name in given},
    )
    archived_at = _time(given, "archived_at")
    set_by = given.get("priority_set_by")
    return Record(
        memory=memory,
        agent=agent_of(given.get("agent_id")),
        id=given.get("id"),
        updated_at=_time(given, "updated_at"),
        archived=archived_at is not None,
        # The API writes null for a memory that does not expire; a line without the field says nothing.
        expires_at=NEVER if line.expires_at is None else _time(given, "expires_at"),
        raw_agent=given.get("agent_id"),
        archived_at=archived_at,
        archive_reason=given.get("archive_reason"),
        priority_set_by=set_by if set_by in SET_BY else None,
        superseded_by=given.get("superseded_by"),
        vectors=None if embedder is None else _vectors(given.get("vectors", ()), embedder),
        ignored_fields=members - known,
    )


def _vectors(chunks: tuple[_Vector, ...], embedder: EmbedderIdentity) -> GivenVectors | None:
    """What can be read of the vectors; texts are embedded again where there are none."""
    if not chunks:
        return None
    return GivenVectors(
        embedder, tuple(GivenChunk(each.start, each.length, _numbers(each)) for each in chunks)
    )


def _numbers(chunk: _Vector) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    try:
        data = base64.b64decode(chunk.vector or "", validate=True)
        return np.frombuffer(data, dtype="<f4").astype(np.float32) if data else None
    except (binascii.Error, ValueError):
        return None


def _time(given: dict[str, Any], field: str) -> int | None:
    value = given.get(field)
    return None if value is None else to_ms(value, field)
