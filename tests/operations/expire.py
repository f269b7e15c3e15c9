"""Let the archive fill, as a clean-up does it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from noesis.memory import EXPIRED
from noesis.rows import by_memory
from noesis.runtime import Noesis
from noesis.store.filters import Column, one_of
from tests.store.changes import Put
from tests.support import Product


async def archive(product: Product, memory_id: str, reason: str = EXPIRED) -> None:
    """Move an active memory to the archive."""
    await archive_all(product.noesis, [memory_id], reason)


async def archive_all(noesis: Noesis, ids: Iterable[str], reason: str = EXPIRED) -> None:
    """Move active memories to the archive, in one commit."""
    values = {"archived_at": noesis.now_ms(), "archive_reason": reason}
    memories = by_memory(await noesis.store.active.rows(one_of(Column.PARENT_ID, ids)))
    changes = [
        Put(*(msgspec.structs.replace(row, **values) for row in rows), archived=True)
        for rows in memories.values()
    ]
    await asyncio.gather(*(noesis.store.submit(change) for change in changes))
