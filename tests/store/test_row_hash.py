"""The row hash: Lance reads a flipped bit back as another value, so every value counts."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from noesis.store import Row, Store
from noesis.store.packing import damaged, row_hash, to_arrow
from noesis.store.schema import new_schema, vector_field
from tests.store.changes import Put
from tests.store.rows import content, make_row, unit_vector

FULL = make_row(
    1,
    session_id="s",
    embedding_reason="why",
    tags=["one", "two"],
    source="notes.md",
    position=4,
    author="Ann",
    author_role="user",
    archived_at=5,
    archive_reason="expired",
    vector=unit_vector(1),
)
SCALARS = [name for name in Row.__struct_fields__ if name not in ("tags", "vector")]


def other(value: object) -> object:
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.parametrize("name", SCALARS)
def test_any_changed_value_changes_the_hash(name: str) -> None:
    changed = msgspec.structs.replace(FULL, **{name: other(getattr(FULL, name))})
    assert row_hash(changed) != row_hash(FULL)


@pytest.mark.parametrize(
    "name", ["session_id", "embedding_reason", "source", "position", "author", "archived_at", "vector"]
)
def test_a_value_that_went_missing_changes_the_hash(name: str) -> None:
    assert row_hash(msgspec.structs.replace(FULL, **{name: None})) != row_hash(FULL)


@pytest.mark.parametrize(
    "tags", [[], ["one"], ["two", "one"], ["one", "two", ""], ["onetwo"], ["one", "twp"]]
)
def test_tags_count_with_their_borders_and_their_order(tags: list[str]) -> None:
    assert row_hash(msgspec.structs.replace(FULL, tags=tags)) != row_hash(FULL)


def test_every_single_flipped_bit_of_the_vector_changes_the_hash() -> None:
    assert FULL.vector is not None
    raw = FULL.vector.tobytes()
    hashes = {row_hash(FULL)}
    for bit in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        vector = np.frombuffer(bytes(flipped), dtype=np.float32)
        hashes.add(row_hash(msgspec.structs.replace(FULL, vector=vector)))
    assert len(hashes) == len(raw) * 8 + 1


def test_a_value_may_not_wander_into_the_next_column() -> None:
    moved = msgspec.structs.replace(FULL, source="notes.m", author="dAnn")
    assert row_hash(moved) != row_hash(FULL)


def test_a_damaged_row_is_found_by_its_id_and_the_others_are_not() -> None:
    schema = new_schema().append(vector_field(16))
    table = to_arrow([FULL, make_row(2, vector=unit_vector(2)), make_row(3)], schema)
    assert damaged(table) == []
    place = schema.get_field_index("priority")
    spoilt = table.set_column(place, schema.field(place), [pa.array([30, 31, 30], pa.int16())])
    assert damaged(spoilt) == [make_row(2).id]


async def test_what_is_written_and_read_back_keeps_its_hash(store: Store) -> None:
    """With every value set, with every optional one missing, and with a vector of a wide range."""
    wide = (np.array([1e-30, -1e-30, 0.0, -0.0] * 4) + unit_vector(5)).astype(np.float32)
    rows = [FULL, make_row(2), make_row(3, vector=wide, text="emoji 👩\u200d💻, 日本, \u200fعربى and \t tab")]
    for row in rows:
        await store.submit(Put(row))
    assert await store.active.damaged() == []
    assert (await content(store))["active"] == {row.id: row_hash(row) for row in rows}
