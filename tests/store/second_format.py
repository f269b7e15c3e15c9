"""Writes a store of the second row format, which had no numbers of places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from noesis.store import Row, Table
from noesis.store.generations import ACTIVE, ARCHIVE, connect, create_empty, read_info, write_info
from noesis.store.siblings import point_to
from tests.store.first_format import WIDTH
from tests.support import NOW


async def write(directory: Path, active: Sequence[Row], archive: Sequence[Row]) -> Path:
    """A store with one generation of these rows; where the generation lies."""
    generation = directory / "generations" / "0001"
    await create_empty(generation, NOW)
    connection = await connect(generation)
    for name, rows in ((ACTIVE, active), (ARCHIVE, archive)):
        table = Table(await connection.open_table(name))
        await table.add_vectors(WIDTH)
        await table.append(rows)
        await table.handle.drop_columns(["place", "chunk_place"])
    write_info(generation, msgspec.structs.replace(read_info(generation), schema_version=2))
    point_to(directory, "0001")
    return generation
