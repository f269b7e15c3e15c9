"""Writes a store of the first row format, in which each value had a column of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from noesis.store import Row
from noesis.store.generations import ACTIVE, ARCHIVE, GenerationInfo, connect, write_info
from noesis.store.siblings import point_to
from tests.support import NOW

_TYPES = {
    "chunk": pa.int32(),
    "chunks": pa.int32(),
    "chunk_start": pa.int32(),
    "embedding_attempts": pa.int32(),
    "embedding_retry_at": pa.int64(),
    "priority": pa.int16(),
    "tags": pa.list_(pa.string()),
    "position": pa.int64(),
    "created_at": pa.int64(),
    "updated_at": pa.int64(),
    "expires_at": pa.int64(),
    "archived_at": pa.int64(),
}
NAMES = (
    *("id", "parent_id", "chunk", "chunks", "chunk_start", "agent_id", "session_id", "memory_type", "text"),
    *("keyword_text", "embedding_state", "embedding_reason", "embedding_attempts", "embedding_retry_at"),
    *("priority", "priority_set_by", "tags", "source", "position", "author", "author_role", "trust"),
    *("content_hash", "created_at", "updated_at", "expires_at", "archived_at", "archive_reason"),
)
WIDTH = 16


def hash_of(row: Row) -> str:
    """The hash as the first format made it."""
    digest = hashlib.blake2b(msgspec.msgpack.encode([getattr(row, name) for name in NAMES]), digest_size=16)
    if row.vector is not None:
        digest.update(row.vector.tobytes())
    return digest.hexdigest()


def table_of(rows: Sequence[Row]) -> pa.Table:
    """The rows as the first format stored them."""
    columns = {
        name: pa.array([getattr(row, name) for row in rows], _TYPES.get(name, pa.string())) for name in NAMES
    }
    columns["row_hash"] = pa.array([hash_of(row) for row in rows])
    vectors = [None if row.vector is None else row.vector.tolist() for row in rows]
    columns["vector"] = pa.array(vectors, pa.list_(pa.float32(), WIDTH))
    return pa.table(columns)


async def write(directory: Path, active: Sequence[Row], archive: Sequence[Row]) -> Path:
    """A store with one generation of these rows; where the generation lies."""
    return await write_tables(directory, table_of(active), table_of(archive), 1)


async def write_tables(directory: Path, active: pa.Table, archive: pa.Table, version: int) -> Path:
    """The same of tables as a format stored them."""
    generation = directory / "generations" / "0001"
    generation.mkdir(parents=True)
    connection = await connect(generation)
    await connection.create_table(ACTIVE, active, on_bad_vectors="null")
    await connection.create_table(ARCHIVE, archive, on_bad_vectors="null")
    write_info(generation, GenerationInfo(schema_version=version, created_at=NOW))
    point_to(directory, "0001")
    return generation
