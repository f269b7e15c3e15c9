"""The writer: many changes, few commits, each change whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from noesis.errors import Conflict, EmbedderMismatch, NotFound, StoreError
from noesis.memory import Scope
from noesis.store import Row, Store, Table, View
from noesis.store.filters import EVERYTHING
from tests.store.changes import Count, Drop, Put, Refuse
from tests.store.rows import content, make_row, unit_vector


async def test_many_writers_at_once_make_few_commits_and_lose_nothing(store: Store) -> None:
    rows = [make_row(number) for number in range(64)]
    ids = await asyncio.gather(*(store.submit(Put(row)) for row in rows))
    assert ids == [row.id for row in rows]
    assert store.writer.commits <= 3
    assert store.writer.changes == 64
    stored = await store.active.rows(EVERYTHING)
    assert sorted(row.id for row in stored) == sorted(ids)


async def test_changes_of_one_memory_in_one_batch_build_on_each_other(store: Store) -> None:
    counts = await asyncio.gather(*(store.submit(Count(make_row(1))) for _ in range(20)))
    assert sorted(counts) == list(range(20))
    assert [row.priority for row in await store.active.rows(EVERYTHING)] == [19]


async def test_a_refused_change_goes_to_its_caller_alone(store: Store) -> None:
    changes: list[Put | Refuse] = [Put(make_row(1)), Refuse(make_row(2).id), Put(make_row(3))]
    results = await asyncio.gather(*(store.submit(change) for change in changes), return_exceptions=True)
    assert isinstance(results[1], Conflict)
    assert (results[0], results[2]) == (make_row(1).id, make_row(3).id)
    assert set((await content(store))["active"]) == {make_row(1).id, make_row(3).id}


async def test_a_change_that_fails_in_the_store_takes_no_other_down(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert = Table.upsert

    async def fail_on_poison(self: Table, rows: Sequence[Row]) -> None:
        if any(row.text == "poison" for row in rows):
            raise StoreError("The store could not be written: bad batch")
        await upsert(self, rows)

    monkeypatch.setattr(Table, "upsert", fail_on_poison)
    rows = [make_row(number, text="poison" if number == 7 else f"good {number}") for number in range(16)]
    results = await asyncio.gather(*(store.submit(Put(row)) for row in rows), return_exceptions=True)
    assert [isinstance(result, StoreError) for result in results] == [number == 7 for number in range(16)]
    assert set((await content(store))["active"]) == {row.id for row in rows} - {rows[7].id}


async def test_a_caller_that_leaves_does_not_undo_its_change(store: Store) -> None:
    """C1: a client that disconnects in the middle of a write loses nothing."""
    await store.submit(Put(make_row(1)))
    task = asyncio.create_task(store.submit(Put(make_row(1, priority=90))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.writer.close()
    assert [row.priority for row in await store.active.rows(EVERYTHING)] == [90]


async def test_a_write_that_fails_once_leaves_the_row_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.submit(Put(make_row(1)))
    before = await content(store)

    async def fail(self: Table, rows: Sequence[Row]) -> None:
        raise StoreError("The store could not be written: broken once")

    with monkeypatch.context() as once:
        once.setattr(Table, "upsert", fail)
        with pytest.raises(StoreError):
            await store.submit(Put(make_row(1, priority=90)))
    assert await content(store) == before
    await store.submit(Put(make_row(1, priority=91)))
    assert [row.priority for row in await store.active.rows(EVERYTHING)] == [91]


async def test_a_move_puts_a_memory_into_exactly_one_table(store: Store) -> None:
    chunks = [
        make_row(number, parent_id=make_row(1).id, chunk=number - 1, chunks=3, tags=["a"])
        for number in (1, 2, 3)
    ]
    await store.submit(Put(*chunks))
    await store.submit(Put(*chunks, archived=True))
    assert [len(rows) for rows in (await content(store)).values()] == [0, 3]
    await store.submit(Put(*chunks))
    assert [len(rows) for rows in (await content(store)).values()] == [3, 0]
    await store.submit(Put(*chunks[:1]))
    assert [len(rows) for rows in (await content(store)).values()] == [1, 0]
    await store.submit(Drop(chunks[0].id))
    assert [len(rows) for rows in (await content(store)).values()] == [0, 0]


async def test_vectors_of_another_width_are_refused_and_nothing_is_written(store: Store) -> None:
    await store.submit(Put(make_row(1, vector=unit_vector(1, 16))))
    before = await content(store)
    with pytest.raises(EmbedderMismatch):
        await store.submit(Put(make_row(2, vector=unit_vector(2, 24))))
    assert await content(store) == before
    await store.submit(Put(make_row(3, vector=unit_vector(3, 16))))
    assert await store.active.dimension() == 16


async def test_vectors_of_two_widths_in_one_batch_are_not_both_stored(store: Store) -> None:
    """The narrower of the first two must not be cut, padded or stored as a null."""
    changes = [Put(make_row(n, vector=unit_vector(n, 16 if n % 2 else 24))) for n in range(6)]
    await asyncio.gather(*(store.submit(change) for change in changes), return_exceptions=True)
    width = await store.active.dimension()
    for row in await store.active.rows(EVERYTHING):
        assert row.vector is not None
        assert len(row.vector) == width
    assert await store.active.damaged() == []


class Seen:
    """Reports what the view shows of one memory."""

    hashes: tuple[str, ...] = ()

    def __init__(self, memory_id: str) -> None:
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> tuple[int, int]:
        return len(view.active(self.memory_ids[0])), len(view.archived(self.memory_ids[0]))


async def test_a_row_that_a_kill_left_in_both_tables_counts_as_active(store: Store) -> None:
    row = make_row(1)
    await store.active.upsert([row])
    await store.archive.upsert([msgspec.structs.replace(row, archived_at=1, archive_reason="expired")])
    assert await store.submit(Seen(row.id)) == (1, 0)
    await store.submit(Put(row))
    assert [len(rows) for rows in (await content(store)).values()] == [1, 0]


async def test_a_memory_of_nobody_is_not_found(store: Store) -> None:
    from noesis.browsing import find_rows

    with pytest.raises(NotFound):
        await find_rows(store, Scope(agent="alpha"), "no such id")
