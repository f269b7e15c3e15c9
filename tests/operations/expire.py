"""Let the archive fill, as a clean-up does it."""

from __future__ import annotations

import msgspec

from noesis.store.filters import Column, equals
from tests.store.changes import Put
from tests.support import Product


async def archive(product: Product, memory_id: str, reason: str = "expired") -> None:
    """Move an active memory to the archive."""
    store = product.noesis.store
    rows = sorted(await store.active.rows(equals(Column.PARENT_ID, memory_id)), key=lambda row: row.chunk)
    values = {"archived_at": product.noesis.now_ms(), "archive_reason": reason}
    await store.submit(Put(*(msgspec.structs.replace(row, **values) for row in rows), archived=True))
