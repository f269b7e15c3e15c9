"""Read memories without a question: one by id, the newest, a page of a list."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import msgspec

from noesis.errors import InvalidInput, NotFound
from noesis.memory import DELETED, MAX_LIMIT, Memory, MemoryFilter, Scope
from noesis.rows import by_memory, to_memory
from noesis.store import Column, Condition, Row, Store, Table
from noesis.store.filters import (
    EVERYTHING,
    above,
    at_least,
    below,
    differs,
    equals,
    has_all,
    older_than,
    one_of,
)


class Page(msgspec.Struct, frozen=True):
    """Part of a list, newest first; `cursor` asks for the next part and is None at the end."""

    memories: tuple[Memory, ...]
    cursor: str | None


class Browsing:
    """Looks memories up."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    async def get(self, scope: Scope, memory_id: str) -> Memory:
        """One memory of the caller's, from either table.  Raises NotFound, also for another agent's."""
        rows = await find_rows(self._store, scope, memory_id)
        return to_memory(rows)

    async def page(
        self,
        scope: Scope,
        wanted: MemoryFilter,
        *,
        limit: int = 50,
        cursor: str | None = None,
        cross_agent: bool = False,
        agent: str | None = None,
        archived: bool = False,
    ) -> Page:
        """One page of the memories that fit, newest first.  Raises InvalidInput or Forbidden."""
        check_limit(limit)
        condition = (
            agent_condition(scope.readable(cross_agent=cross_agent, agent=agent))
            & filter_condition(wanted)
            & equals(Column.CHUNK, 0)
            & (archived_condition() if archived else live_condition(self._now_ms()))
        )
        if cursor is not None:
            condition &= older_than(*decode_cursor(cursor))
        table = self._store.archive if archived else self._store.active
        keys = await table.newest(condition, limit + 1)
        memories = await load_memories(table, [memory_id for _, memory_id in keys[:limit]])
        return Page(tuple(memories), encode_cursor(keys[limit - 1]) if len(keys) > limit else None)


async def find_rows(store: Store, scope: Scope, memory_id: str) -> list[Row]:
    """All rows of one memory the caller owns, in chunk order; the active table wins.  Raises NotFound."""
    condition = equals(Column.PARENT_ID, memory_id) & agent_condition(scope.whose)
    for table in (store.active, store.archive):
        rows = sorted(await table.rows(condition), key=lambda row: row.chunk)
        if rows:
            return rows
    raise NotFound("There is no memory with this id.")


async def load_memories(table: Table, ids: Sequence[str]) -> list[Memory]:
    """The memories with these ids, whole, in this order; one that is gone meanwhile is left out."""
    if not ids:
        return []
    rows = await table.rows(one_of(Column.PARENT_ID, ids), vectors=False)
    grouped = by_memory(rows)
    return [to_memory(grouped[memory_id]) for memory_id in ids if memory_id in grouped]


def agent_condition(agent: str | None) -> Condition:
    """Only this agent's rows; all when None."""
    return EVERYTHING if agent is None else equals(Column.AGENT_ID, agent)


def live_condition(now_ms: int) -> Condition:
    """Only rows that have not expired at this instant, whether or not the cleanup has run."""
    return above(Column.EXPIRES_AT, now_ms)


def archived_condition() -> Condition:
    """Only archive rows that may be shown: not the deleted ones, which wait for an undo."""
    return differs(Column.ARCHIVE_REASON, DELETED)


def filter_condition(wanted: MemoryFilter) -> Condition:
    """The store's form of a filter."""
    condition = EVERYTHING
    if wanted.memory_types:
        condition &= one_of(Column.MEMORY_TYPE, [kind.value for kind in wanted.memory_types])
    condition &= has_all(Column.TAGS, wanted.tags)
    if wanted.session_id is not None:
        condition &= equals(Column.SESSION_ID, wanted.session_id)
    if wanted.source is not None:
        condition &= equals(Column.SOURCE, wanted.source)
    if wanted.after is not None:
        condition &= at_least(Column.CREATED_AT, wanted.after)
    if wanted.archive_reason is not None:
        condition &= equals(Column.ARCHIVE_REASON, wanted.archive_reason)
    if wanted.before is not None:
        condition &= below(Column.CREATED_AT, wanted.before)
    return condition


def check_limit(limit: int) -> None:
    """Raise InvalidInput unless the limit lies between 1 and 200."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}.", field="limit")


def encode_cursor(key: tuple[int, str]) -> str:
    """The last entry's time (ms) and id as a text that asks for what comes after it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[int, str]:
    """The time and id that a cursor holds.  Raises InvalidInput."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[int, str])
    except (ValueError, msgspec.DecodeError) as error:
        raise InvalidInput("cursor is not one that this list gave out.", field="cursor") from error
