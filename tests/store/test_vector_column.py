"""Vectors: no column before the first one, an index once there are enough, the right answers always."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from noesis.embedding import EmbedderIdentity
from noesis.store import Store
from noesis.store.filters import EVERYTHING, Column, Condition, equals
from noesis.store.schema import vector_field
from noesis.store.vector_index import IndexPolicy
from tests.store.changes import Put
from tests.store.rows import content, make_row, unit_vector
from tests.support import NOW

MANY = 1200
WIDTH = 128


async def test_without_any_vector_there_is_no_column_and_words_are_found(store: Store) -> None:
    await store.submit(Put(make_row(1, text="the heron database is on port 5433")))
    await store.submit(Put(make_row(2, text="lunch is at noon")))
    assert await store.active.dimension() is None
    assert "vector" not in (await store.active.handle.schema()).names
    rows, scores = await store.active.matching("heron port", EVERYTHING, 5)
    assert [row.id for row in rows] == [make_row(1).id]
    assert scores[0] > 0
    rows, scores = await store.active.nearest(unit_vector(1), EVERYTHING, 5)
    assert (rows, len(scores)) == ([], 0)
    assert await store.maintain(force=True) == 2


async def test_the_first_vector_brings_the_column_into_both_tables(store: Store) -> None:
    await store.submit(Put(make_row(1)))
    await store.submit(Put(make_row(2), archived=True))
    await store.submit(Put(make_row(3, vector=unit_vector(3, 24))))
    for table in (store.active, store.archive):
        assert await table.dimension() == 24
        assert (await table.handle.schema()).field("vector").type == vector_field(24).type
    assert [row.vector for row in await store.active.rows(equals(Column.ID, make_row(1).id))] == [None]
    assert await store.active.damaged() == await store.archive.damaged() == []


async def test_a_row_without_a_vector_is_never_near(store: Store) -> None:
    await store.submit(Put(make_row(1, vector=unit_vector(1))))
    await store.submit(Put(make_row(2)))
    rows, _ = await store.active.nearest(unit_vector(9), EVERYTHING, 5)
    assert [row.id for row in rows] == [make_row(1).id]


async def test_the_score_is_the_cosine(store: Store) -> None:
    for number in (1, 2, 3):
        await store.submit(Put(make_row(number, vector=unit_vector(number))))
    rows, scores = await store.active.nearest(unit_vector(2), EVERYTHING, 5)
    expected = [float(unit_vector(2) @ row.vector) for row in rows if row.vector is not None]
    assert rows[0].id == make_row(2).id
    assert scores.tolist() == pytest.approx(sorted(expected, reverse=True), abs=1e-5)


async def test_the_first_embedder_is_recorded_and_another_one_refused(store: Store, tmp_path: Path) -> None:
    first = EmbedderIdentity("test", "one", "0" * 64, 16)
    before = store.embedder
    assert before is None
    assert await store.adopt(first)
    other = await Store.open(tmp_path / "store", now_ms=lambda: NOW)
    assert other.embedder == first
    assert not await other.adopt(EmbedderIdentity("test", "one", "1" * 64, 16))
    assert not await store.adopt(EmbedderIdentity("test", "two", "0" * 64, 24))
    assert store.embedder == first
    await other.close()


@pytest.fixture
async def large(tmp_path: Path) -> Store:
    """A store of two agents with an index over its vectors; every 100th row is beta's."""
    store = await Store.open(tmp_path / "store", now_ms=lambda: NOW, policy=IndexPolicy(min_rows=1000))
    rows = [
        make_row(
            n, vector=unit_vector(n, WIDTH), agent_id="beta" if n % 100 == 0 else "alpha", priority=n % 100
        )
        for n in range(MANY)
    ]
    for start in range(0, MANY, 400):
        await asyncio.gather(*(store.submit(Put(row)) for row in rows[start : start + 400]))
    await store.maintain()
    return store


def nearest_by_hand(query: int, condition: str, count: int) -> list[str]:
    wanted = [n for n in range(MANY) if condition != "beta" or n % 100 == 0]
    wanted = [n for n in wanted if condition != "priority" or n % 100 >= 98]
    scores = np.array([unit_vector(query, WIDTH) @ unit_vector(n, WIDTH) for n in wanted])
    return [make_row(wanted[index]).id for index in np.argsort(-scores)[:count]]


async def test_with_an_index_search_finds_the_same_as_by_hand(large: Store) -> None:
    """A rare agent's rows too: a filter must not be left with what the index happened to pick."""
    assert (await large.states())[0].vector_index
    filters: dict[str, Condition] = {
        "all": EVERYTHING,
        "beta": equals(Column.AGENT_ID, "beta"),
        "priority": Condition("priority >= 98"),
    }
    for name, condition in filters.items():
        found = expected = 0
        for query in range(5000, 5008):
            rows, _ = await large.active.nearest(unit_vector(query, WIDTH), condition, 10)
            ids = nearest_by_hand(query, name, 10)
            assert len(rows) == len(ids)
            found += len({row.id for row in rows} & set(ids))
            expected += len(ids)
        # Random vectors are the hardest case for an index: nothing is really near to anything.
        assert found >= (0.8 if name == "all" else 1) * expected, name
    rows, _ = await large.active.nearest(unit_vector(5000, WIDTH), filters["beta"], 200)
    assert {row.id for row in rows} == {make_row(n).id for n in range(0, MANY, 100)}
    await large.close()


async def test_a_row_that_came_after_the_index_is_found_before_the_next_upkeep(large: Store) -> None:
    new = make_row(9000, vector=unit_vector(9000, WIDTH))
    await large.submit(Put(new))
    rows, scores = await large.active.nearest(unit_vector(9000, WIDTH), EVERYTHING, 3)
    assert rows[0].id == new.id
    assert scores[0] == pytest.approx(1.0, abs=1e-4)
    assert (await large.states())[0].unindexed_vectors == 1
    await large.close()


async def test_few_vectors_get_no_index(store: Store) -> None:
    await store.submit(Put(make_row(1, vector=unit_vector(1))))
    await store.maintain(force=True)
    assert not (await store.states())[0].vector_index
    assert len((await content(store))["active"]) == 1
