"""Rows are found by the number of their place, and told apart by the place itself."""

from __future__ import annotations

import itertools

import pytest

from noesis.store import Column, Store
from noesis.store.filters import one_of
from noesis.store.places import Place, chunk_number, chunk_place_of, place_of
from tests.store.changes import Put
from tests.store.rows import make_row, unit_vector

MOST = 2**53


def numbers_of(*places: Place) -> list[int]:
    found = [place_of(*place) for place in places]
    return [number for number in found if number is not None]


def test_session_source_and_position_each_make_another_number() -> None:
    lines = [*itertools.product((None, "a", "b"), (None, "a", "b")), ("ab", None), (None, "ab")]
    places = [(*line, position) for line in lines for position in (0, 1, 2, 5000)]
    assert len(set(numbers_of(*places))) == len(places)


def test_numbers_of_one_line_lie_together_in_order() -> None:
    for session, source in (("s", None), (None, "notes.md"), ("\ud800", "é")):
        first, *others = numbers_of(*((session, source, position) for position in range(100)))
        assert others == [first + position for position in range(1, 100)]


def test_every_number_fits_its_column() -> None:
    places = [(f"s{each}", None, position) for each in range(50) for position in (0, MOST, -2)]
    assert all(0 <= number < 2**63 for number in numbers_of(*places))


def test_without_a_position_there_is_no_place() -> None:
    assert place_of("s", "notes.md", None) is None
    assert chunk_place_of("a", 0, 1) is None
    assert chunk_place_of("a", 0, 2) == chunk_number("a", 0) != chunk_number("b", 0)


async def test_rows_are_found_at_their_places_and_others_of_the_same_number_are_not(store: Store) -> None:
    for number, position in enumerate((3, 4, 3 + 2**23)):
        await store.submit(
            Put(make_row(number, vector=unit_vector(number), session_id="s", position=position))
        )
    await store.submit(Put(make_row(7, vector=unit_vector(7), session_id="t", position=3)))
    await store.submit(Put(make_row(8, vector=unit_vector(8))))
    wanted: list[Place] = [("s", None, 3), ("t", None, 4)]
    condition = one_of(Column.PLACE, numbers_of(*wanted))
    assert await store.active.count(condition) == 2
    assert [row.id for row in await store.active.rows_at(condition, wanted)] == [make_row(0).id]


async def test_the_index_finds_them(store: Store) -> None:
    for number in range(3):
        await store.submit(Put(make_row(number, session_id="s", position=number)))
    await store.maintain(force=True)
    condition = one_of(Column.PLACE, numbers_of(("s", None, 1)))
    plan = await store.active.handle.query().where(condition.sql).explain_plan()
    assert "place_idx" in plan


@pytest.mark.parametrize("column", ["place", "chunk_place"])
async def test_a_place_that_is_not_the_rows_own_is_damage(store: Store, column: str) -> None:
    row = make_row(1, session_id="s", position=3)
    await store.submit(Put(row))
    assert await store.active.damaged() == []
    await store.active.handle.update({column: 7})
    assert await store.active.damaged() == [row.id]
