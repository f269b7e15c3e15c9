"""One table of a generation: reading, and the raw writes that only the writer calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import FTS, Bitmap, BTree, LabelList

from noesis.store.calls import not_as_written, reading, told, writing
from noesis.store.filters import EVERYTHING, Column, Condition, one_of
from noesis.store.packing import (
    as_they_lie,
    at_places,
    damaged,
    found_rows,
    from_arrow,
    hash_of,
    is_sound,
    to_arrow,
)
from noesis.store.places import Place
from noesis.store.schema import (
    ADDRESS,
    COLUMNS,
    PACKED,
    ROW_HASH,
    FoundRow,
    Row,
    dimension_of,
    new_schema,
    vector_field,
)
from noesis.store.vector_index import DEFAULT_DEPTH, Depth
from noesis.text.stop_words import STOP_WORDS

T = TypeVar("T")
State = tuple[str, int]
"""The generation of a table, and its version."""
Matches = tuple[list[FoundRow], npt.NDArray[np.float32]]

_MANY_ROWS = 16
_COUNTED_AT_ONCE = 8192
"""All at once a hundred thousand rows take 20 MB for a few figures."""
FOUND_COLUMNS = (PACKED, ADDRESS)
"""What a search reads of a row, beside its vector."""
_SOUND_COLUMNS = (PACKED, Column.AGENT_ID.value)


def keyword_index() -> FTS:
    """The full-text index: words of any script, identifiers split, English stems, accents folded."""
    return FTS(
        base_tokenizer="icu/split",
        language="English",
        stem=True,
        remove_stop_words=True,
        custom_stop_words=list(STOP_WORDS),
        ascii_folding=True,
        with_position=False,
    )


async def create_table(connection: AsyncConnection, name: str) -> None:
    """Create an empty table with its key and the indexes that work on an empty one."""
    table = await connection.create_table(name, schema=new_schema())
    # Without the declared key two processes that upsert one id leave two rows.
    await table.set_unenforced_primary_key("id")
    await table.create_index("keyword_text", config=keyword_index())
    for column in ("agent_id", "memory_type"):
        await table.create_index(column, config=Bitmap())
    await table.create_index("tags", config=LabelList())
    # Neighbours are asked for by the places, all rows of a talk, a file or a memory by the others.
    for column in ("place", "chunk_place", "session_id", "source", "parent_id"):
        await table.create_index(column, config=BTree())


class Table:
    """A view of one table that always shows the newest version, whoever committed it.

    `follow` is called before each read: it attaches the table of another generation after a swap.
    """

    def __init__(
        self,
        table: AsyncTable,
        depth: Depth = DEFAULT_DEPTH,
        generation: str = "",
        follow: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._table = table
        self._depth = depth
        self._follow = follow
        self._dimension: int | None = None
        self.generation = generation

    def attach(self, other: Table) -> None:
        """Be a view of the other's table from now on."""
        self._table, self._dimension, self.generation = other._table, None, other.generation

    @property
    def name(self) -> str:
        """What the table is called in its generation."""
        return self._table.name

    @property
    def handle(self) -> AsyncTable:
        """LanceDB's own handle, for maintenance."""
        return self._table

    async def follow(self) -> None:
        """Be the table of the live generation, if another one was swapped in meanwhile.  Raises StoreError."""
        if self._follow is not None:
            await self._follow()

    async def version(self) -> int:
        """The newest version, whoever committed it."""
        await self.follow()
        return int(await self._read(self._table.version))

    async def state(self) -> State:
        """What tells whether anything was committed between two moments.  Raises StoreError."""
        version = await self.version()
        return self.generation, version

    async def dimension(self) -> int | None:
        """The width of the vectors (dimensions), or None before the first one came."""
        await self.follow()
        if self._dimension is None:
            self._dimension = dimension_of(await self._read(self._table.schema))
        return self._dimension

    async def rows(
        self, condition: Condition, limit: int | None = None, *, vectors: bool = True
    ) -> list[Row]:
        """The rows that fit, in no order, with their vectors or without.

        Raises StoreError when one is not what was stored.
        """
        found = await self.select(await self._columns(_SOUND_COLUMNS), condition, limit)
        return self._sound(found, vectors=vectors)

    async def remains(self, condition: Condition) -> list[Row]:
        """The rows that fit, damaged ones too, to be compared and replaced (`as_they_lie`)."""
        found = await self.select(await self._columns(COLUMNS), condition)
        with told(self.name):
            return as_they_lie(found)

    async def rows_at(self, condition: Condition, places: Collection[Place]) -> list[FoundRow]:
        """The rows that fit and stand at one of these places: session, source, position."""
        found = await self.select(await self._columns(FOUND_COLUMNS), condition)
        with told(self.name):
            return found_rows(at_places(found, places))

    async def select(
        self, columns: Sequence[str], condition: Condition, limit: int | None = None
    ) -> pa.Table:
        """Some columns of the rows that fit."""

        async def run() -> pa.Table:
            query = self._table.query().select(list(columns))
            if condition.sql:
                query = query.where(condition.sql)
            if limit is not None:
                query = query.limit(limit)
            return await query.to_arrow()

        await self.follow()
        return await self._read(run)

    async def take(self, columns: Sequence[str], addresses: Sequence[int]) -> pa.Table:
        """Some columns of the rows at these addresses, of those that are still there, in no order."""
        await self.follow()
        return await self._read(lambda: self._table.take_row_ids([*addresses]).select([*columns]).to_arrow())

    async def still(self, found: Sequence[FoundRow], since: State) -> list[FoundRow]:
        """Those rows that lie where they were read after `since`, and are what was stored.

        Of another one `rows` says what became of it.
        """
        if not found:
            return []
        if await self.state() == since:
            return [row for row in found if is_sound(row.packed, row.vector)]
        there = await self.take([ROW_HASH, ADDRESS], [row.address for row in found])
        hashes = dict(zip(*(there.column(name).to_pylist() for name in (ADDRESS, ROW_HASH)), strict=True))
        return [
            row
            for row in found
            if hashes.get(row.address) == hash_of(row.packed) and is_sound(row.packed, row.vector)
        ]

    async def values(
        self, columns: Sequence[Column], condition: Condition, limit: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Some columns of the rows that fit, one tuple a row."""
        table = await self.select([column.value for column in columns], condition, limit)
        return self._tuples(table, [column.value for column in columns])

    async def count(self, condition: Condition) -> int:
        """How many rows fit."""
        await self.follow()
        return int(await self._read(lambda: self._table.count_rows(condition.sql or None)))

    async def newest(self, condition: Condition, limit: int) -> list[tuple[int, str]]:
        """Creation time (ms) and memory id of the first `limit` rows that fit, newest first, then by id."""
        keys = [Column.CREATED_AT.value, Column.PARENT_ID.value]
        found = await self.select(keys, condition)
        first = pc.select_k_unstable(
            found, limit, sort_keys=[(keys[0], "descending"), (keys[1], "ascending")]
        )
        return self._tuples(found.take(first), keys)

    async def lowest(self, by: Column, condition: Condition, limit: int) -> list[tuple[int, str]]:
        """Value of `by` and memory id of the first `limit` rows that fit, lowest value first, then by id."""
        keys = [by.value, Column.PARENT_ID.value]
        found = await self.select(keys, condition)
        first = pc.select_k_unstable(found, limit, sort_keys=[(key, "ascending") for key in keys])
        return self._tuples(found.take(first), keys)

    async def tally(self, columns: Sequence[Column], condition: Condition) -> list[tuple[Any, ...]]:
        """How many rows fit by the values of some columns: the values, then the count."""
        names = [column.value for column in columns]
        counted: Counter[tuple[Any, ...]] = Counter()
        async for piece in self.pieces(names, condition, _COUNTED_AT_ONCE):
            found = piece.group_by(names).aggregate([([], "count_all")])
            for *values, count in self._tuples(found, [*names, "count_all"]):
                counted[tuple(values)] += count
        return [(*values, count) for values, count in counted.items()]

    async def nearest(
        self, vector: npt.NDArray[np.float32], condition: Condition, limit: int, *, exact: bool = False
    ) -> Matches:
        """The rows whose vectors are nearest, and their cosine similarities, best first.

        `exact` compares with every vector instead of asking the index.  Empty while the table has no
        vectors of this width.
        """
        if await self.dimension() != len(vector):
            return [], np.zeros(0, dtype=np.float32)
        columns = await self._columns(FOUND_COLUMNS)

        async def run() -> pa.Table:
            query = self._table.query().nearest_to(vector).distance_type("cosine")
            if exact:
                query = query.bypass_vector_index()
            else:
                # 0 = as many as a filter needs: a fixed number loses rows that fit.  It comes first
                # because the least may not exceed the most, which is 20 unless told.
                query = query.maximum_nprobes(0).minimum_nprobes(self._depth.nprobes)
                query = query.refine_factor(self._depth.refine(limit))
            if condition.sql:
                query = query.where(condition.sql)
            return await query.select([*columns, "_distance"]).limit(limit).to_arrow()

        found = await self._read(run)
        with told(self.name):
            distances = found.column("_distance").to_numpy(zero_copy_only=False)
            return found_rows(found), (1 - distances).astype(np.float32)

    async def matching(self, text: str, condition: Condition, limit: int) -> Matches:
        """The rows whose words fit best, and their BM25 scores, best first."""
        if not text.strip():
            return [], np.zeros(0, dtype=np.float32)
        found = await self._by_words(text, condition, limit, await self._columns(FOUND_COLUMNS))
        with told(self.name):
            scores = found.column("_score").to_numpy(zero_copy_only=False)
            return found_rows(found), scores.astype(np.float32)

    async def _by_words(
        self, text: str, condition: Condition, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        async def run() -> pa.Table:
            query = self._table.query().nearest_to_text(text, columns=["keyword_text"])
            if condition.sql:
                query = query.where(condition.sql)
            return await query.select([*columns, "_score"]).limit(limit).to_arrow()

        return await self._read(run)

    async def batches(
        self, condition: Condition, size: int, *, vectors: bool = True
    ) -> AsyncIterator[list[Row]]:
        """All rows that fit as of now, in batches of at most `size`, with their vectors or without."""
        async for found in self.pieces(await self._columns(_SOUND_COLUMNS), condition, size):
            yield self._sound(found, vectors=vectors)

    async def pieces(
        self, columns: Sequence[str], condition: Condition, size: int
    ) -> AsyncIterator[pa.Table]:
        """Some columns of all rows that fit as of now, at most `size` rows at once.  Raises StoreError."""

        async def start() -> Any:
            query = self._table.query().select(list(columns))
            if condition.sql:
                query = query.where(condition.sql)
            return await query.to_batches(max_batch_length=size)

        await self.follow()
        batches = await self._read(start)
        while True:
            with told(self.name):
                batch = await anext(batches, None)
                if batch is None:
                    return
                piece = pa.Table.from_batches([batch])
            yield piece

    async def damaged(self) -> list[str]:
        """The ids of the rows whose stored hash does not fit."""
        found: list[str] = []
        async for piece in self.pieces(await self._columns(COLUMNS), EVERYTHING, 4096):
            found.extend(damaged(piece))
        return found

    async def add_vectors(self, dimension: int) -> None:
        """Add the vector column; only under the write lock."""
        await writing(lambda: self._table.add_columns(pa.schema([vector_field(dimension)])))
        self._dimension = dimension

    async def append(self, rows: Sequence[Row]) -> None:
        """Add rows whose ids the table does not have; for a table that nobody else writes to yet."""
        if rows:
            await self.add(await asyncio.to_thread(to_arrow, rows, await self._table.schema()))

    async def add(self, rows: pa.Table) -> None:
        """The same with rows as they lie in a table that has at least these columns."""
        schema = await self._table.schema()
        data = rows.select(schema.names).cast(schema)
        await writing(lambda: self._table.add(data, on_bad_vectors="null"))

    async def upsert(self, rows: Sequence[Row]) -> None:
        """Insert the rows or replace those with the same ids; only under the write lock."""
        if not rows:
            return
        schema = await self._table.schema()
        # Hashing a page of rows takes many milliseconds, in which a search would wait for its turn.
        many = len(rows) > _MANY_ROWS
        data = await asyncio.to_thread(to_arrow, rows, schema) if many else to_arrow(rows, schema)
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        # The indexed path has no check against a row another process inserts meanwhile.
        merge = merge.use_index(False)
        await writing(lambda: merge.execute(data, on_bad_vectors="null"))

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete the rows with these ids; only under the write lock."""
        if ids:
            await writing(lambda: self._table.delete(one_of(Column.ID, ids).sql))

    def _tuples(self, found: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
        with told(self.name):
            return list(zip(*(found.column(name).to_pylist() for name in names), strict=True))

    def _sound(self, found: pa.Table, *, vectors: bool) -> list[Row]:
        """The rows of a result, each compared with its hash, which covers its vector too.

        By the column of the agent a row was let through: what it says itself must be the same.
        """
        with told(self.name):
            rows, packed = from_arrow(found), found.column(PACKED).to_pylist()
            agents = found.column(Column.AGENT_ID).to_pylist()
            wrong = [
                row.id
                for row, each, agent in zip(rows, packed, agents, strict=True)
                if row.agent_id != agent or not is_sound(each, row.vector)
            ]
        if wrong:
            raise not_as_written(self.name, wrong)
        if not vectors:
            for row in rows:
                row.vector = None
        return rows

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        return await reading(call, self.name)

    async def _columns(self, names: Sequence[str]) -> list[str]:
        """These columns and the vector, once there is one."""
        return [*names] if await self.dimension() is None else [*names, "vector"]
