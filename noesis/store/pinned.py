"""Both tables as they were in one instant, however long it takes to read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import lancedb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from noesis.errors import StoreReadOnly
from noesis.store.caches import session_of
from noesis.store.calls import reading
from noesis.store.filters import EVERYTHING, Column, equals
from noesis.store.generations import Generation
from noesis.store.locks import StoreLocks
from noesis.store.tables import Table

_ROOM = 8 << 20


class Pinned(msgspec.Struct, frozen=True):
    """One version of each table.

    `copies` are the memories that both tables hold, as a move that was broken off leaves them: they
    count as active.
    """

    active: Table
    archive: Table
    copies: frozenset[str]


@asynccontextmanager
async def pin(generation: Generation, locks: StoreLocks) -> AsyncIterator[Pinned]:
    """Hold one version of each table, between two commits, and keep upkeep from removing them.

    Upkeep goes on meanwhile, but for the removal of old versions.  Raises a StoreError.
    """
    async with locks.pinning():
        directory, versions = await _instant(generation, locks)
        # A connection of its own: a handle stays at its version only while nobody else moves it.
        connection = await lancedb.connect_async(str(directory.absolute()), session=session_of(_ROOM))
        try:
            active, archive = [
                await _at_version(connection, table, version)
                for table, version in zip((generation.active, generation.archive), versions, strict=True)
            ]
            yield Pinned(active, archive, await _copies(active, archive))
        finally:
            connection.close()  # type: ignore[no-untyped-call]


async def _instant(generation: Generation, locks: StoreLocks) -> tuple[Path, tuple[int, int]]:
    """Where the live tables lie, and both versions, in an instant when no memory is on its way."""
    async with AsyncExitStack() as stack:
        # Where nothing can be written nothing can be moved.
        with suppress(StoreReadOnly):
            await stack.enter_async_context(locks.writing())
        versions = await generation.active.version(), await generation.archive.version()
        return generation.directory, versions


async def _at_version(connection: lancedb.AsyncConnection, table: Table, version: int) -> Table:
    handle = await reading(lambda: connection.open_table(table.name), table.name)
    await reading(lambda: handle.checkout(version), table.name)
    return Table(handle)


async def _copies(active: Table, archive: Table) -> frozenset[str]:
    first = equals(Column.CHUNK, 0)
    archived = (await archive.select([Column.PARENT_ID.value], first)).column(0)
    if not len(archived):
        return frozenset()
    living: pa.ChunkedArray = (await active.select([Column.PARENT_ID.value], EVERYTHING)).column(0)
    both = archived.filter(pc.is_in(archived, value_set=living.combine_chunks()))
    return frozenset(both.to_pylist())
