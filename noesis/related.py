"""What stands around one memory, and what is like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from noesis.browsing import (
    agent_condition,
    archived_condition,
    check_limit,
    find_rows,
    live_condition,
    load_memories,
)
from noesis.memory import Memory, Scope
from noesis.store import Column, Condition, Row, Store
from noesis.store.filters import EVERYTHING, equals
from noesis.text.said import plain

_PARTS = 4
"""Of a long memory so many chunks are asked for what is like them."""

_FETCHED = 40
_QUESTION_WORDS = 64

_Place = tuple[tuple[int, int, str], str]
"""Where a memory stands in its session or source (position, creation in ms, id), and in which table."""


class Neighbours(msgspec.Struct, frozen=True):
    """The memories right before and right after one in its session or source, in their order."""

    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


class Alike(msgspec.Struct, frozen=True):
    """A memory, its cosine to the one asked for (None when it was found by words), and ids of repeats of it."""

    memory: Memory
    similarity: float | None
    copies: tuple[str, ...] = ()


class Related:
    """Looks around a memory."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    async def neighbours(self, scope: Scope, memory_id: str, limit: int = 3) -> Neighbours:
        """Up to `limit` memories on each side, archived ones among them; none outside a session or source.

        Turns and sections stand by their number, memories without one by their age.  Raises NotFound,
        also for another agent's, and InvalidInput.
        """
        check_limit(limit)
        row = (await find_rows(self._store, scope, memory_id))[0]
        if row.session_id is None and row.source is None:
            return Neighbours((), ())
        places = await self._places(row)
        own = _key(row.position, row.created_at, memory_id)
        before = sorted(place for place in places if place[0] < own)[-limit:]
        after = sorted(place for place in places if place[0] > own)[:limit]
        return Neighbours(await self._at(before), await self._at(after))

    async def related(self, scope: Scope, memory_id: str, limit: int = 5) -> tuple[Alike, ...]:
        """The active memories of the same agent that are most like it, repeats of a text counted as one.

        By meaning, or by words while it has no vector.  Raises NotFound, also for another agent's, and
        InvalidInput.
        """
        check_limit(limit)
        rows = await find_rows(self._store, scope, memory_id)
        meant = agent_condition(rows[0].agent_id) & live_condition(self._now_ms())
        found = await self._nearest(rows, meant, limit) or await self._by_words(rows, meant)
        found.pop(memory_id, None)
        memories = await load_memories(self._store.active, list(found))
        return tuple(_collapsed((Alike(memory, found[memory.id]) for memory in memories), limit))

    async def _places(self, row: Row) -> list[_Place]:
        """Where the other memories of its session or source stand."""
        line = agent_condition(row.agent_id) & equals(Column.CHUNK, 0)
        for column, value in ((Column.SESSION_ID, row.session_id), (Column.SOURCE, row.source)):
            line &= EVERYTHING if value is None else equals(column, value)
        columns = [Column.POSITION, Column.CREATED_AT, Column.PARENT_ID, Column.SESSION_ID, Column.SOURCE]
        found: dict[str, _Place] = {}
        for table, visible in (
            (self._store.archive, archived_condition()),
            (self._store.active, live_condition(self._now_ms())),
        ):
            for position, created_at, each, session, source in await table.values(columns, line & visible):
                same = (session, source, position is None) == (
                    row.session_id,
                    row.source,
                    row.position is None,
                )
                if same and each != row.parent_id:
                    found[each] = (_key(position, created_at, each), table.name)
        return list(found.values())

    async def _at(self, places: Sequence[_Place]) -> tuple[Memory, ...]:
        known: dict[str, Memory] = {}
        for table in (self._store.archive, self._store.active):
            ids = [key[2] for key, name in places if name == table.name]
            known |= {memory.id: memory for memory in await load_memories(table, ids)}
        return tuple(known[key[2]] for key, _ in places if key[2] in known)

    async def _nearest(self, rows: Sequence[Row], meant: Condition, limit: int) -> dict[str, float | None]:
        """The ids of the nearest memories and their cosines, best first."""
        best: dict[str, float] = {}
        for vector in [row.vector for row in rows if row.vector is not None][:_PARTS]:
            near, cosines = await self._store.active.nearest(vector, meant, limit + _FETCHED)
            for each, cosine in zip(near, cosines, strict=True):
                best[each.parent_id] = max(best.get(each.parent_id, -1.0), float(cosine))
        ranked = sorted(best.items(), key=lambda item: -item[1])
        return dict[str, float | None](ranked)

    async def _by_words(self, rows: Sequence[Row], meant: Condition) -> dict[str, float | None]:
        words = " ".join(rows[0].text.split()[:_QUESTION_WORDS])
        found, _ = await self._store.active.matching(words, meant, _FETCHED)
        return dict.fromkeys((each.parent_id for each in found), None)


def _key(position: int | None, created_at: int, memory_id: str) -> tuple[int, int, str]:
    return (-1 if position is None else position, created_at, memory_id)


def _collapsed(found: Iterable[Alike], limit: int) -> list[Alike]:
    """The first of each text, with the ids of the others."""
    first: dict[str, Alike] = {}
    for each in found:
        text = plain(each.memory.text)
        known = first.get(text)
        if known is not None:
            first[text] = msgspec.structs.replace(known, copies=(*known.copies, each.memory.id))
        elif len(first) < limit:
            first[text] = each
    return list(first.values())
