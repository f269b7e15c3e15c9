"""Reads a generation whole: every row's hash made anew, what the memories are, and whether search works on it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from noesis.store.calls import told
from noesis.store.filters import EVERYTHING, Column, Condition, equals
from noesis.store.generations import ACTIVE, ARCHIVE, Generation
from noesis.store.packing import damaged
from noesis.store.schema import COLUMNS, Row
from noesis.store.tables import Table


class Pace(msgspec.Struct, frozen=True):
    """How many rows are hashed in one piece of work, of how many a few columns are taken over in one, and for
    how long (s) somebody else has the interpreter after each.
    """

    rows: int
    few: int
    breath_s: float


BESIDE_SEARCHES = Pace(64, 512, 0.0003)
"""About a millisecond a piece: whoever waits for the interpreter meanwhile would else ask for it after five
(`sys.getswitchinterval`), several times a search.  Giving it back without a wait gives it to nobody."""

ALONE = Pace(2048, 8192, 0)
"""For a process that does nothing else: larger pieces are read in half the time."""

OnRows = Callable[[int], None]


class TableSum(msgspec.Struct, frozen=True):
    """What a table held: its rows, and the SHA-256 over the ids and hashes of all of them, in order of ids."""

    rows: int
    digest: str


class Contents(msgspec.Struct):
    """One table, read whole: the stored hash of each row by its id, and the rows whose hash does not fit."""

    hashes: dict[str, str]
    damaged: list[str]

    @property
    def sum(self) -> TableSum:
        """The table as a number of rows and one hash."""
        return TableSum(len(self.hashes), digest_of(self.hashes))


class Survey(msgspec.Struct, frozen=True):
    """What a generation holds, by the names of its tables.

    Of one whose rows were hashed anew also how many of them are `damaged`, and which questions (`probe`)
    found their row.
    """

    tables: dict[str, TableSum]
    memories: int
    damaged: dict[str, int] = {}
    queries: dict[str, bool] = {}

    @property
    def rows(self) -> int:
        """The rows of both tables."""
        return sum(table.rows for table in self.tables.values())

    @property
    def problems(self) -> list[str]:
        """What is wrong with it, for people."""
        damaged = [
            f"{count:,} rows of {name} are damaged: their hashes do not fit."
            for name, count in self.damaged.items()
            if count
        ]
        missed = [
            f"A search did not find its own row ({asked})."
            for asked, found in self.queries.items()
            if not found
        ]
        return damaged + missed


class Known(msgspec.Struct, frozen=True, array_like=True):
    """What tells whether a memory was written anew: where it stands, when it was changed, and its content."""

    archived: bool
    updated_at: int
    content_hash: str
    reason: str | None = None


def digest_of(hashes: Mapping[str, str]) -> str:
    """SHA-256 over ids and row hashes, in order of ids."""
    digest = hashlib.sha256()
    for row_id in sorted(hashes):
        digest.update(f"{row_id} {hashes[row_id]}\n".encode())
    return digest.hexdigest()


async def read_table(
    table: Table, on_rows: OnRows = lambda _: None, pace: Pace = BESIDE_SEARCHES
) -> Contents:
    """Read every value of every row and hash it anew.  Raises StoreError when a page cannot be read."""
    found = Contents({}, [])
    async for batch in _batches(table, pace):
        with told(table.name):
            wrong = damaged(batch)
            ids, hashes = batch.column("id").to_pylist(), batch.column("row_hash").to_pylist()
        if twice := [row_id for row_id in ids if row_id in found.hashes]:
            wrong += twice
        found.hashes.update(zip(ids, hashes, strict=True))
        found.damaged += wrong
        on_rows(len(ids))
    return found


async def row_hashes(table: Table, pace: Pace = BESIDE_SEARCHES) -> dict[str, str]:
    """The hash of every row by its id, as it is stored.  Raises StoreError."""
    columns = [Column.ID, Column.ROW_HASH]
    return dict([row async for row in _values(table, columns, EVERYTHING, pace)])


async def read_whole(
    generation: Generation, on_rows: OnRows = lambda _: None, pace: Pace = BESIDE_SEARCHES
) -> dict[str, Contents]:
    """Both tables by name, read whole."""
    return {
        ACTIVE: await read_table(generation.active, on_rows, pace),
        ARCHIVE: await read_table(generation.archive, on_rows, pace),
    }


async def summed(generation: Generation, pace: Pace) -> Survey:
    """What a generation says of itself: each row by its stored hash, unread.  Raises StoreError."""
    sums: dict[str, TableSum] = {}
    for table in (generation.active, generation.archive):
        hashes = await row_hashes(table, pace)
        sums[table.name] = TableSum(len(hashes), digest_of(hashes))
    return Survey(sums, await _memories(generation, pace))


async def surveyed(generation: Generation, pace: Pace, on_rows: OnRows) -> Survey:
    """The same of every value read and hashed anew, and whether searches find what they should.  Raises StoreError."""
    found = await read_whole(generation, on_rows, pace)
    return Survey(
        tables={name: table.sum for name, table in found.items()},
        memories=await _memories(generation, pace),
        damaged={name: len(table.damaged) for name, table in found.items()},
        queries=await probe(generation),
    )


async def _memories(generation: Generation, pace: Pace) -> int:
    """How many there are; one that both tables hold, as a broken move leaves it, is one."""
    ids = set()
    for table in (generation.active, generation.archive):
        firsts = _values(table, [Column.PARENT_ID], equals(Column.CHUNK, 0), pace)
        ids.update([row async for row in firsts])
    return len(ids)


async def memories_of(generation: Generation) -> dict[str, Known]:
    """Every memory by its id; one that both tables hold, as a broken move leaves it, is active."""
    found: dict[str, Known] = {}
    columns = [Column.PARENT_ID, Column.UPDATED_AT, Column.CONTENT_HASH, Column.ARCHIVE_REASON]
    for table, archived in ((generation.archive, True), (generation.active, False)):
        firsts = _values(table, columns, equals(Column.CHUNK, 0))
        async for memory_id, updated_at, content, reason in firsts:
            found[memory_id] = Known(archived, updated_at, content, reason)
    return found


async def probe(generation: Generation) -> dict[str, bool]:
    """Ask one question by words and one by its vector of each table that can answer; whether it was found.

    Raises StoreError when a search fails.
    """
    done: dict[str, bool] = {}
    for table in (generation.active, generation.archive):
        row = await _sample(table)
        if row is None:
            continue
        itself = equals(Column.ID, row.id)
        words, _ = await table.matching(row.keyword_text[:200], itself, 1)
        # A text of nothing but stop words is found by no search and is in order all the same.
        done[f"{table.name}: words"] = bool(words) or not any(map(str.isalnum, row.keyword_text))
        if row.vector is not None:
            near, scores = await table.nearest(row.vector, itself, 1)
            done[f"{table.name}: meaning"] = bool(near) and bool(np.isclose(scores[0], 1, atol=1e-3))
    return done


async def _sample(table: Table) -> Row | None:
    with_vector = Condition("vector IS NOT NULL") if await table.dimension() is not None else EVERYTHING
    for condition in (with_vector, EVERYTHING):
        rows = await table.rows(condition, 1)
        if rows:
            return rows[0]
    return None


async def _values(
    table: Table, columns: Sequence[Column], condition: Condition, pace: Pace = BESIDE_SEARCHES
) -> AsyncIterator[tuple[Any, ...]]:
    names = [column.value for column in columns]
    async for piece in table.pieces(names, condition, pace.few):
        with told(table.name):
            rows = list(zip(*(piece.column(name).to_pylist() for name in names), strict=True))
        for row in rows:
            yield row
        await asyncio.sleep(pace.breath_s)


async def _batches(table: Table, pace: Pace) -> AsyncIterator[pa.Table]:
    vector = [] if await table.dimension() is None else ["vector"]
    async for piece in table.pieces([*COLUMNS, *vector], EVERYTHING, pace.rows):
        yield piece
        await asyncio.sleep(pace.breath_s)
