"""Rows for tests of the store, and the store's whole content for comparing."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from noesis.embedding import Vector
from noesis.store import Row, Store
from noesis.store.filters import EVERYTHING
from noesis.store.packing import row_hash
from noesis.text.normalise import content_hash
from tests.support import NOW


def make_row(number: int, **values: Any) -> Row:
    """A row with its own id and text."""
    text = str(values.pop("text", f"memory number {number}"))
    row_id = f"00000000-0000-5000-8000-{number:012d}"
    row = Row(
        id=row_id,
        parent_id=row_id,
        chunk=0,
        chunks=1,
        chunk_start=0,
        agent_id="alpha",
        session_id=None,
        memory_type="fact",
        text=text,
        keyword_prefix="",
        embedding_state="pending",
        embedding_reason=None,
        embedding_attempts=0,
        embedding_retry_at=0,
        priority=30,
        priority_set_by="type",
        tags=[],
        source=None,
        position=None,
        author=None,
        author_role=None,
        trust="",
        content_hash=content_hash(text),
        created_at=NOW + number,
        updated_at=NOW + number,
        expires_at=2**63 - 1,
        archived_at=None,
        archive_reason=None,
    )
    return msgspec.structs.replace(row, **values)


def unit_vector(seed: int, width: int = 16) -> Vector:
    """A random direction (float32, length 1)."""
    vector = np.random.default_rng(seed).normal(size=width).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


async def content(store: Store) -> dict[str, dict[str, str]]:
    """The hash of every row by its id, for each table."""
    tables = {"active": store.active, "archive": store.archive}
    return {
        name: {row.id: row_hash(row) for row in await table.rows(EVERYTHING)}
        for name, table in tables.items()
    }
