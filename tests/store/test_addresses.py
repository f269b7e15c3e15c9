"""A row that a search found is looked up at its address: it is the row that was read, or none at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noesis.errors import StoreError
from noesis.store import FoundRow, Row, Store, Table
from noesis.store.filters import EVERYTHING, Column, equals
from noesis.store.packing import row_hash
from tests.store.changes import Drop, Put
from tests.store.damage import damage_text
from tests.store.rows import make_row, unit_vector

ROWS = 8


def row_of(number: int, text: str | None = None) -> Row:
    values = {"vector": unit_vector(number), "session_id": "s", "position": number, "tags": ["a", "b"]}
    return make_row(number, text=text or f"memory number {number}", **values)


async def fill(store: Store) -> None:
    for number in range(ROWS):
        await store.submit(Put(row_of(number)))


async def found(store: Store) -> list[FoundRow]:
    """All rows, as a search reads them."""
    rows, _ = await store.active.matching("memory number", EVERYTHING, 100)
    return rows


EARLIER = ("", 0)
"""A state that no table has: whatever was read, something may have been committed since."""


async def unchanged(table: Table, rows: Sequence[FoundRow]) -> list[FoundRow]:
    """The rows that are still there; a table without a commit since says the same without a look at them."""
    there = await table.still(rows, EARLIER)
    assert await table.still(rows, await table.state()) == there
    return there


def numbers(rows: Sequence[FoundRow | Row]) -> list[int]:
    return sorted(int(row.id[-12:]) for row in rows)


async def test_what_each_read_of_a_search_brings_is_still_there(store: Store) -> None:
    await fill(store)
    await store.maintain(force=True)
    await store.submit(Put(row_of(ROWS, "memory number of late")))
    places = [("s", None, number) for number in range(ROWS + 1)]
    stored = {row.id: row_hash(row) for row in await store.active.rows(EVERYTHING)}
    for rows in (
        await found(store),
        (await store.active.nearest(unit_vector(3), EVERYTHING, 100))[0],
        await store.active.rows_at(equals(Column.SESSION_ID, "s"), places),
    ):
        assert numbers(rows) == [*range(ROWS + 1)]
        assert {row.id: row_hash(row) for row in await unchanged(store.active, rows)} == stored


async def test_of_nothing_nothing_is_there(store: Store) -> None:
    assert await unchanged(store.active, []) == []


async def test_a_row_without_a_vector_is_there_too(store: Store) -> None:
    await store.submit(Put(make_row(1)))
    (row,) = await unchanged(store.active, await found(store))
    assert (row_hash(row), row.vector) == (row_hash(make_row(1)), None)


async def test_a_row_that_was_deleted_or_written_anew_is_left_out(store: Store) -> None:
    await fill(store)
    before, read = await store.active.state(), await found(store)
    await store.submit(Drop(row_of(2).id))
    await store.submit(Put(row_of(5, "memory number five")))
    assert numbers(await store.active.still(read, before)) == [0, 1, 3, 4, 6, 7]
    again = await unchanged(store.active, await found(store))
    assert {row.text for row in again if row.id == row_of(5).id} == {"memory number five"}


async def test_a_row_that_an_optimisation_moved_is_left_out_and_its_old_address_stays_empty(
    store: Store,
) -> None:
    await fill(store)
    read = await found(store)
    await store.submit(Drop(row_of(2).id))
    await store.maintain(force=True)
    moved = await found(store)
    assert not {row.address for row in read} & {row.address for row in moved}
    for number in range(ROWS, 2 * ROWS):
        await store.submit(Put(row_of(number)))
    assert await store.active.still(read, EARLIER) == []
    assert numbers(await store.active.still(moved, EARLIER)) == [0, 1, 3, 4, 5, 6, 7]


async def test_what_lies_at_an_address_in_another_table_is_not_taken_for_the_row(store: Store) -> None:
    """As after the swap of a generation between a search's reads."""
    await store.submit(Put(row_of(1)))
    await store.submit(Put(row_of(2, "memory number two"), archived=True))
    (row,) = await found(store)
    (other,), _ = await store.archive.matching("memory", EVERYTHING, 1)
    assert other.address == row.address
    assert await store.archive.still([row], EARLIER) == []
    assert numbers(await unchanged(store.archive, [other])) == [2]


async def test_a_damaged_row_is_left_out_for_the_read_that_says_so(store: Store) -> None:
    await store.submit(Put(row_of(1, "memory of a heron")))
    await store.submit(Put(row_of(2)))
    damage_text(store.directory, "memory of a heron")
    read, _ = await store.active.nearest(unit_vector(1), EVERYTHING, 2)
    assert numbers(read) == [1, 2]
    assert numbers(await unchanged(store.active, read)) == [2]
    with pytest.raises(StoreError, match="is not what was stored"):
        await store.active.rows(EVERYTHING)
