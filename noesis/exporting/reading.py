"""Reads the memories of an export from one version of each table, batch by batch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from noesis.browsing import agent_condition, archived_condition, filter_condition, live_condition
from noesis.exporting.values import Exported, Piece, Stage, Wanted
from noesis.rows import by_memory, to_memory
from noesis.store import Column, Condition, Pinned, Row, Table
from noesis.store.filters import EVERYTHING, at_most, equals, one_of

BATCH = 256
MOST_CHUNKS = 1024
"""So many memories are read at once, and so many chunks of long ones."""


class Part:
    """The memories of one table that fit."""

    def __init__(self, table: Table, condition: Condition, passed_over: frozenset[str] = frozenset()) -> None:
        self._table = table
        self._condition = condition & equals(Column.CHUNK, 0)
        self._passed_over = passed_over

    async def count(self) -> int:
        """How many there are."""
        fit = await self._table.count(self._condition)
        if not self._passed_over:
            return fit
        copies = one_of(Column.PARENT_ID, sorted(self._passed_over))
        return fit - await self._table.count(self._condition & copies)

    async def read(self, *, vectors: bool) -> AsyncIterator[list[Exported]]:
        """Them, whole, in batches; no more than one is ever held."""
        async for firsts in self._table.batches(self._condition, BATCH, vectors=vectors):
            for some in _portions(row for row in firsts if row.parent_id not in self._passed_over):
                grouped = by_memory([*some, *await self._others(some, vectors=vectors)])
                yield [_exported(grouped[row.parent_id], vectors=vectors) for row in some]

    async def _others(self, firsts: Sequence[Row], *, vectors: bool) -> list[Row]:
        """The chunks after the first ones."""
        long = [row.parent_id for row in firsts if row.chunks > 1]
        if not long:
            return []
        rows = await self._table.rows(one_of(Column.PARENT_ID, long), vectors=vectors)
        return [row for row in rows if row.chunk > 0]


def parts_of(pinned: Pinned, wanted: Wanted, now_ms: int) -> list[Part]:
    """Where the memories that are wanted lie, at this instant (ms)."""
    condition = agent_condition(wanted.agent) & filter_condition(wanted.filter)
    parts: list[Part] = []
    if wanted.archive is not Stage.ONLY:
        parts.append(Part(pinned.active, condition & live_condition(now_ms)))
    if wanted.archive is not Stage.NONE:
        shown = EVERYTHING if wanted.deleted else archived_condition()
        parts.append(Part(pinned.active, condition & at_most(Column.EXPIRES_AT, now_ms)))
        parts.append(Part(pinned.archive, condition & shown, pinned.copies))
    return parts


def _portions(firsts: Iterable[Row]) -> Iterator[list[Row]]:
    """The first rows in groups whose memories have MOST_CHUNKS chunks, or that are one memory."""
    group: list[Row] = []
    chunks = 0
    for row in firsts:
        if group and chunks + row.chunks > MOST_CHUNKS:
            yield group
            group, chunks = [], 0
        group.append(row)
        chunks += row.chunks
    if group:
        yield group


def _exported(rows: Sequence[Row], *, vectors: bool) -> Exported:
    pieces = tuple(Piece(row.chunk_start, len(row.text), row.vector) for row in rows) if vectors else ()
    return Exported(to_memory(rows), None, pieces)
