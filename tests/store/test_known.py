"""Which memories there may be is known in few bytes, whoever wrote them."""

from __future__ import annotations

import tracemalloc

import pytest

from noesis.store import Store
from noesis.store.known import KnownKeys
from tests.store.changes import Put
from tests.store.rows import make_row

ROWS = 9_000
"""More than are read at once, so that there are several pieces."""


async def test_keys_of_both_tables_are_known_and_others_are_not(store: Store) -> None:
    rows = [make_row(number) for number in range(20)]
    await store.active.append(rows[:15])
    await store.archive.append(rows[15:])
    known = KnownKeys(store.active, store.archive)
    await known.refresh()
    assert all(known.may_have(key) for row in rows for key in (row.id, row.content_hash))
    assert not known.may_have("99999999-0000-5000-8000-000000000000")
    assert not known.may_have(make_row(77).content_hash)
    await store.submit(Put(make_row(50)))
    await known.refresh()
    assert known.may_have(make_row(50).content_hash)


@pytest.mark.parametrize("odd", ["ff", "not a hash", "AB" * 32])
async def test_a_key_of_another_form_does_not_hide_the_others(store: Store, odd: str) -> None:
    rows = [make_row(number, content_hash=odd) if number == 3 else make_row(number) for number in range(6)]
    await store.active.append(rows)
    known = KnownKeys(store.active, store.archive)
    await known.refresh()
    assert all(known.may_have(row.id) for row in rows)
    assert all(known.may_have(row.content_hash) for row in rows if row.content_hash != odd)
    assert known.may_have(odd) == (odd != "not a hash")


async def test_many_keys_are_read_in_pieces(store: Store) -> None:
    await store.active.append([make_row(number) for number in range(ROWS)])
    known = KnownKeys(store.active, store.archive)
    tracemalloc.start()
    try:
        await known.refresh()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert known.may_have(make_row(ROWS - 1).content_hash)
    assert peak < 100 * ROWS
