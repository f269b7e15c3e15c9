"""Over HTTP a damaged store is a problem that says what to do, and no other agent's or wrong text."""

from __future__ import annotations

import httpx
import pytest
from litestar.exceptions import LitestarException

from noesis.errors import StoreError
from noesis.memory import NewMemory, Scope
from tests.store.damage import damage_text
from tests.support import Product


def check_problem(answer: httpx.Response) -> None:
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (500, "store")
    assert "noesis verify" in problem["detail"]
    assert "harbour" not in answer.text


async def test_a_damaged_row_makes_problems_of_all_that_would_show_it(product: Product) -> None:
    alpha = await product.agent("alpha")
    made = await product.noesis.indexing.index_many(
        Scope("alpha"), [NewMemory(text="The harbour opens at seven."), NewMemory(text="Boats are blue.")]
    )
    assert made
    damage_text(product.noesis.store.directory, "The harbour opens")
    found = (await alpha.post("/api/v1/search", json={"query": "blue boats", "limit": 1})).json()
    assert [hit["text"] for hit in found["hits"]] == ["Boats are blue."]
    check_problem(await alpha.post("/api/v1/search", json={"query": "harbour opens at seven"}))
    check_problem(await alpha.get("/api/v1/memories"))
    # Its answer has begun by then: the connection is cut, which every client takes for an error.
    with pytest.raises(LitestarException, match="after response started") as cut:
        await alpha.get("/api/v1/export")
    assert isinstance(cut.value.__cause__, StoreError)
