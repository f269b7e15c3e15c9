"""Reads the tables of the original plugin's LanceDB directory, as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import lancedb
import msgspec
from lancedb import AsyncConnection, AsyncTable

from noesis.errors import InvalidInput, StoreError
from noesis.store.calls import is_fault

OriginalRow = dict[str, Any]

COLUMNS = (
    "id",
    "agentId",
    "sessionId",
    "content",
    "memoryType",
    "priority",
    "expiresAt",
    "createdAt",
    "sourcePath",
    "tags",
)
"""What is read of a row, as far as the table has it; `embedding`, `chunk` and `checksum` are not."""

_REQUIRED = frozenset(("id", "agentId", "content"))
_ARCHIVE = "archive"
# Each row of a long document holds all of its text again.
_BATCH_ROWS = 32


class OriginalBatch(msgspec.Struct, frozen=True):
    """Some rows of one table, the first of them numbered `first` (from 1)."""

    table: str
    archived: bool
    first: int
    rows: list[OriginalRow]


async def read_original(path: Path) -> AsyncIterator[OriginalBatch]:
    """The rows of every table that has the original's columns, those of the archive last.

    Only ever reads.  Raises InvalidInput when the directory has no such table, StoreError when one
    cannot be read.
    """
    if not path.is_dir():
        raise InvalidInput("There is no such directory.")
    try:
        connection = await lancedb.connect_async(str(path.absolute()))
        tables = await _tables(connection)
        for table in tables:
            async for batch in _batches(table):
                yield batch
    except BaseException as error:
        if not is_fault(error):
            raise
        # LanceDB's message may quote values of the rows.
        raise StoreError("The LanceDB directory cannot be read.") from error
    if not tables:
        raise InvalidInput("The directory has no table of the original plugin.")


async def _tables(connection: AsyncConnection) -> list[AsyncTable]:
    tables = [await connection.open_table(name) for name in (await connection.list_tables()).tables]
    fitting = [table for table in tables if set((await table.schema()).names) >= _REQUIRED]
    return sorted(fitting, key=lambda table: (_is_archive(table), table.name))


async def _batches(table: AsyncTable) -> AsyncIterator[OriginalBatch]:
    present = set((await table.schema()).names)
    query = table.query().select([name for name in COLUMNS if name in present])
    first = 1
    async for batch in await query.to_batches(max_batch_length=_BATCH_ROWS):
        rows = batch.to_pylist()
        yield OriginalBatch(table.name, _is_archive(table), first, rows)
        first += len(rows)


def _is_archive(table: AsyncTable) -> bool:
    return _ARCHIVE in table.name
