"""Turns the rows of the original plugin's store into memories, each document once.

The original wrote a row for each chunk and the whole text into every one of them (src/lancedb.ts of
openclaw-noesis 1.5.2), and a change of priority or TTL reached only one of these rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from noesis.errors import InvalidInput
from noesis.memory import MAX_TAGS, NEVER, MemoryType, NewMemory
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.values import (
    agent_of,
    clamp_priority,
    moment,
    require_text,
    tidy_name,
    tidy_tags,
    type_of,
)

Row = Mapping[str, Any]


class Batch(Protocol):
    """Some rows of one table."""

    @property
    def table(self) -> str:
        """What the table is called."""

    @property
    def archived(self) -> bool:
        """Whether it is the archive."""

    @property
    def first(self) -> int:
        """The number of the first row in its table, from 1."""

    @property
    def rows(self) -> Sequence[Row]:
        """The rows by column."""


class _Document(msgspec.Struct):
    """What the rows of one document say together."""

    priorities: set[int]
    created_at: int | None
    expires_at: int
    archived: bool
    tags: list[str]


async def read_original_rows(
    open_rows: Callable[[], AsyncIterator[Batch]],
) -> AsyncIterator[Record | Unreadable]:
    """One memory for each agent and text, in the order of the rows.

    `open_rows` is called twice: the second pass knows what all rows of a document say, without holding
    any text.  A document counts as archived when all of its rows are, lives as long as the longest of
    them, and has the priority that somebody set by hand, the highest if there are several.
    """
    documents: dict[bytes, _Document] = {}
    async for batch in open_rows():
        for row in batch.rows:
            _note(documents, row, archived=batch.archived)
    async for batch in open_rows():
        for number, row in enumerate(batch.rows, start=batch.first):
            try:
                document = documents.pop(_key(row), None)
                if document is not None:
                    yield _record(row, document)
            except InvalidInput as error:
                yield Unreadable(f"{batch.table} row {number}", error.message)


def _note(documents: dict[bytes, _Document], row: Row, *, archived: bool) -> None:
    try:
        key = _key(row)
    except InvalidInput:
        return  # reported by the second pass, which knows the row's number
    document = documents.setdefault(key, _Document(set(), None, 0, True, []))
    document.archived = document.archived and archived
    document.expires_at = max(document.expires_at, _expiry(row))
    if (priority := _whole(row, "priority")) is not None:
        document.priorities.add(priority)
    if (created := moment(_whole(row, "createdAt") or None)) is not None:
        document.created_at = min(created, document.created_at or created)
    if len(document.tags) < MAX_TAGS:
        document.tags = list(dict.fromkeys([*document.tags, *_tags(row)]))


def _key(row: Row) -> bytes:
    """16 bytes that name the document of a row.  Raises InvalidInput when it has no text."""
    agent = _text(row, "agentId") or ""
    content = require_text(_text(row, "content"), "content")
    try:
        return hashlib.blake2b(f"{agent}\x1f{content}".encode(), digest_size=16).digest()
    except UnicodeEncodeError:
        raise InvalidInput("content holds half of a surrogate pair, which is no character.") from None


def _record(row: Row, document: _Document) -> Record:
    agent = _text(row, "agentId") or None
    kind = type_of(_text(row, "memoryType"), MemoryType.CONTEXT)
    memory = NewMemory(
        text=row["content"],
        memory_type=kind,
        priority=_priority(document.priorities, kind),
        tags=tidy_tags(document.tags),
        session_id=tidy_name(_text(row, "sessionId")),
        source=tidy_name(_text(row, "sourcePath")),
        created_at=document.created_at,
    )
    return Record(
        memory=memory,
        agent=agent_of(agent),
        id=_text(row, "id"),
        archived=document.archived,
        expires_at=document.expires_at,
        raw_agent=agent,
        archive_reason="expired" if document.archived else None,
    )


def _priority(found: set[int], kind: MemoryType) -> int | None:
    # 0 is also what the original wrote when nobody gave a priority.
    by_hand = found - {kind.default_priority, 0}
    return clamp_priority(max(by_hand, default=max(found, default=None)))


def _expiry(row: Row) -> int:
    """When the row expires; 0 is the original's word for never, and a time nobody can mean is taken for it."""
    return moment(_whole(row, "expiresAt") or None) or NEVER


def _tags(row: Row) -> list[str]:
    value = row.get("tags")
    return [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []


def _text(row: Row, name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) else None


def _whole(row: Row, name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) else None
