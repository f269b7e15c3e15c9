"""A row says itself whose it is: where a column that a filter asks for is damaged, nobody is given another's."""

from __future__ import annotations

import httpx
import pyarrow as pa
import pytest

from noesis.store import Row, Table
from noesis.store.filters import EVERYTHING
from noesis.store.packing import to_arrow
from tests.operations.samples import MEMORIES, index, search, texts
from tests.support import Product


async def let_through(table: Table, row: Row, agent: str) -> None:
    """Store a row whose column says that it is this agent's."""
    schema = await table.handle.schema()
    place = schema.get_field_index("agent_id")
    rows = to_arrow([row], schema).set_column(place, schema.field(place), [pa.array([agent])])
    await table.add(rows)


@pytest.fixture
async def foreign(product: Product, alpha: httpx.AsyncClient, beta: httpx.AsyncClient) -> str:
    """The id of a memory of beta's that a filter for alpha's lets through."""
    await index(alpha, "a heron of alpha")
    stored = await index(beta, "a heron of beta", session_id="s", position=1)
    table = product.noesis.store.active
    (row,) = [row for row in await table.rows(EVERYTHING) if row.id == stored["id"]]
    await table.handle.delete(f"id = '{row.id}'")
    await let_through(table, row, "alpha")
    memory_id: str = stored["id"]
    return memory_id


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
async def test_a_search_leaves_it_out(alpha: httpx.AsyncClient, foreign: str, mode: str) -> None:
    assert texts(await search(alpha, "heron", mode=mode)) == ["a heron of alpha"]


async def test_it_comes_in_as_no_neighbour(alpha: httpx.AsyncClient, foreign: str) -> None:
    await index(alpha, "an otter", session_id="s", position=2)
    found = texts(await search(alpha, "otter"))
    assert "an otter" in found
    assert "a heron of beta" not in found


async def test_other_reads_say_that_it_is_damaged(
    product: Product, alpha: httpx.AsyncClient, foreign: str
) -> None:
    for path in (f"{MEMORIES}/{foreign}", MEMORIES):
        reply = await alpha.get(path)
        assert reply.status_code == 500, reply.text
        assert f"{foreign} is not what was stored" in reply.json()["detail"]
    assert await product.noesis.store.active.damaged() == [foreign]
