"""What is purged is gone from both tables and from every index, and only what is still meant is purged."""

from __future__ import annotations

import httpx

from noesis.memory import Scope
from noesis.purging import PurgeChange
from noesis.store import Row
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, index, search, texts
from tests.support import Product

TEXT = "The staging database is called heron-2"


def always(_row: Row) -> bool:
    return True


async def test_a_purged_memory_is_found_nowhere(product: Product, alpha: httpx.AsyncClient) -> None:
    active, archived = (await index(alpha, TEXT))["id"], (await index(alpha, "Herons nest early"))["id"]
    await archive(product, archived)
    for memory_id in (active, archived):
        assert await product.noesis.store.submit(PurgeChange(Scope("alpha"), memory_id, "test", always))
        assert (await alpha.get(f"{MEMORIES}/{memory_id}")).status_code == 404
    for mode in ("keyword", "vector"):
        assert texts(await search(alpha, "heron", mode=mode, archive="always")) == []


async def test_a_memory_is_purged_once(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    change = PurgeChange(None, stored, "test", always)
    assert await product.noesis.store.submit(change)
    assert not await product.noesis.store.submit(change)


async def test_another_agents_memory_is_not_purged(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    assert not await product.noesis.store.submit(PurgeChange(Scope("beta"), stored, "test", always))
    assert (await alpha.get(f"{MEMORIES}/{stored}")).status_code == 200


async def test_a_memory_that_is_meant_no_longer_is_kept(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    seen: list[Row] = []

    def still_archived(row: Row) -> bool:
        seen.append(row)
        return row.archived_at is not None

    change = PurgeChange(None, stored, "test", still_archived)
    assert not await product.noesis.store.submit(change)
    await archive(product, stored)
    assert await product.noesis.store.submit(change)
    assert [row.parent_id for row in seen] == [stored, stored]
