"""Reads our own export: one JSON object a line, each one memory as the API shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO

import msgspec
from msgspec import UNSET, UnsetType

from noesis.errors import InvalidInput
from noesis.memory import NEVER, MemoryType, NewMemory, to_ms
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.splitting import count_members
from noesis.sources.foreign.values import agent_of, decode, require_text

FORMAT = "noesis"
VERSION = 1
"""The newest form of the export that this version reads; the first line may name it."""

MAX_LINE_BYTES = 8 << 20

_BOM = b"\xef\xbb\xbf"


class Header(msgspec.Struct, frozen=True):
    """The optional first line."""

    format: str
    version: int


class _Line(msgspec.Struct, frozen=True, kw_only=True):
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


FIELDS = _Line.__struct_fields__
"""The fields of a line that mean something; others are ignored and counted."""

_AS_GIVEN = ("memory_type", "priority", "tags", "session_id", "source", "position", "author", "author_role")


def read_ndjson(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of an export, in order; a line that cannot be used comes as Unreadable.

    Raises InvalidInput on the first step when the first line names a newer form than VERSION.
    """
    for number, line in _lines(file):
        if line is None:
            yield Unreadable(f"line {number}", f"It has more than {MAX_LINE_BYTES:,} bytes.")
        elif not (number == 1 and _is_header(line)):
            yield _read(line, number)


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


def _is_header(line: bytes) -> bool:
    """Whether the line says of which form the export is.  Raises InvalidInput when it is not for us."""
    try:
        header = decode(line, Header)
    except InvalidInput:
        return False
    if header.format != FORMAT:
        raise InvalidInput("This is an export of another program.", field="format")
    if not 1 <= header.version <= VERSION:
        raise InvalidInput(
            "This export was written by a newer version of Noesis. Import it with that version.",
            field="version",
        )
    return True


def _read(line: bytes, number: int) -> Record | Unreadable:
    try:
        return _record(decode(line, _Line), count_members(line))
    except InvalidInput as error:
        return Unreadable(f"line {number}", error.message)


def _record(line: _Line, members: int) -> Record:
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
        ignored_fields=members - known,
    )


def _time(given: dict[str, Any], field: str) -> int | None:
    value = given.get(field)
    return None if value is None else to_ms(value, field)
